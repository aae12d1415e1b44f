//! Ending a server of this machine, and removing what it leaves.

use std::fs;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::error::ProvisionError;
use super::process;

/// Fast shutdown, then immediate shutdown, then by force; each with the time that it gets.
const SHUTDOWN: [(Signal, Duration); 3] = [
    (Signal::SIGINT, Duration::from_secs(10)),
    (Signal::SIGQUIT, Duration::from_secs(5)),
    (Signal::SIGKILL, Duration::from_secs(5)),
];
/// Processes of a server that was killed may write for a moment longer.
const REMOVAL_ATTEMPTS: usize = 20;

/// Ends the server, politely first. Returns a status only if it tells of trouble: the server had ended before it was
/// asked to, or could not shut down in order.
pub(super) fn halt(child: &mut Child) -> Result<Option<ExitStatus>, ProvisionError> {
    for (signal, patience) in SHUTDOWN {
        process::signal(child, signal);
        if let Some(status) = process::wait(child, patience, None)? {
            return Ok(Some(status).filter(|status| signal == Signal::SIGINT && !status.success()));
        }
    }
    let detail = format!("the server's process {} does not end", child.id());
    let advice = format!("look at it with: ps -f -p {}", child.id());
    Err(ProvisionError::CleanUp { detail, advice })
}

/// Removes the directory; one that is gone already is as good.
pub(super) fn remove(directory: &Path) -> Result<(), ProvisionError> {
    let mut last = String::new();
    for _ in 0..REMOVAL_ATTEMPTS {
        match fs::remove_dir_all(directory) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !directory.exists() => {
                return Ok(());
            }
            Err(error) => last = error.to_string(),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let detail = format!("cannot remove {} ({last})", directory.display());
    Err(ProvisionError::CleanUp {
        detail,
        advice: format!("remove it with: rm -r {}", directory.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_counts_as_removed() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("data")).unwrap();
        assert_eq!(remove(directory.path()), Ok(()));
        assert_eq!(remove(directory.path()), Ok(()));
    }
}
