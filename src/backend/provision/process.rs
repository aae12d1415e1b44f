//! Running other programs with a deadline, and ending them for certain.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::error::ProvisionError;
use super::leash::Leash;

/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(5);

/// What a finished program left.
pub(super) struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// What it said on standard error, or else on standard output, or else how it ended; one line, cut to a
    /// length that a message can carry.
    pub fn complaint(&self) -> String {
        let text = [&self.stderr, &self.stdout].into_iter().find(|t| !t.trim().is_empty());
        text.map_or_else(|| self.status.to_string(), |text| one_line(text))
    }
}

/// Runs a program to its end with nothing on its standard input. It is killed at the deadline, or when the leash
/// is cut; without a leash only the deadline ends it, which is what clean-up needs.
///
/// Its output goes to unnamed files, not pipes: a grandchild that keeps a pipe open cannot hold this up.
pub(super) fn run(
    command: &mut Command,
    deadline: Duration,
    leash: Option<&Leash>,
) -> Result<Finished, ProvisionError> {
    run_fed(command, Stdio::null(), deadline, leash)
}

/// The same with something on its standard input.
pub(super) fn run_fed(
    command: &mut Command,
    input: Stdio,
    deadline: Duration,
    leash: Option<&Leash>,
) -> Result<Finished, ProvisionError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| ProvisionError::io(format!("run {name}"), &error);
    let (mut stdout, mut stderr) = (unnamed_file().map_err(failed)?, unnamed_file().map_err(failed)?);
    command.stdin(input);
    command
        .stdout(stdout.try_clone().map_err(failed)?)
        .stderr(stderr.try_clone().map_err(failed)?);
    let mut child = command.spawn().map_err(failed)?;
    match wait(&mut child, deadline, leash) {
        Ok(Some(status)) => {
            let (stdout, stderr) = (contents(&mut stdout), contents(&mut stderr));
            Ok(Finished { status, stdout, stderr })
        }
        Ok(None) => {
            end(&mut child);
            let detail = format!("it did not finish within {} s", deadline.as_secs());
            Err(ProvisionError::Io {
                action: format!("run {name}"),
                detail,
            })
        }
        Err(error) => {
            end(&mut child);
            Err(error)
        }
    }
}

/// In memory, so that a program can also say that the disk is full.
#[cfg(target_os = "linux")]
fn unnamed_file() -> std::io::Result<File> {
    use nix::sys::memfd::{MFdFlags, memfd_create};
    Ok(memfd_create("preview-cost-output", MFdFlags::MFD_CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file() -> std::io::Result<File> {
    tempfile::tempfile()
}

/// Waits for a child: its status, or `None` at the deadline, or the leash's error.
pub(super) fn wait(
    child: &mut Child,
    deadline: Duration,
    leash: Option<&Leash>,
) -> Result<Option<ExitStatus>, ProvisionError> {
    let end = Instant::now() + deadline;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) if Instant::now() >= end => return Ok(None),
            Ok(None) => {}
            Err(error) => return Err(ProvisionError::io("wait for a child process", &error)),
        }
        match leash {
            Some(leash) => leash.sleep(POLL)?,
            None => std::thread::sleep(POLL),
        }
    }
}

/// Sends a signal to a child that has not been waited for. A child that is gone already needs none.
pub(super) fn signal(child: &Child, signal: Signal) {
    let _ = kill(Pid::from_raw(child.id() as i32), signal);
}

/// Kills and reaps.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Everything in a file that a child has written to.
fn contents(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.map_or_else(
        |error| format!("(its output cannot be read: {error})"),
        |_| lossy(&bytes),
    )
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last `count` lines of a log file; a log that cannot be read says so.
pub(super) fn last_lines(log: &Path, count: usize) -> String {
    match std::fs::read(log) {
        Ok(bytes) => tail(&lossy(&bytes), count),
        Err(error) => format!("(cannot read {}: {error})", log.display()),
    }
}

/// The last `count` lines of a text.
pub(super) fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// A text's lines that are not blank, joined to one of at most 400 characters.
fn one_line(text: &str) -> String {
    let joined = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect::<Vec<_>>()
        .join("; ");
    match joined.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &joined[..end]),
        None => joined,
    }
}

/// Whether a path is a file that somebody may execute.
pub(super) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The directories of PATH.
pub(super) fn path_directories() -> Vec<PathBuf> {
    std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_status_and_complaint_come_back() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo out; echo first >&2; echo >&2; echo second >&2; exit 3"]);
        let finished = run(&mut command, Duration::from_secs(10), None).unwrap();
        assert_eq!((finished.status.code(), finished.stdout.as_str()), (Some(3), "out\n"));
        assert_eq!(finished.complaint(), "first; second");
    }

    #[test]
    fn the_deadline_and_the_leash_end_a_program() {
        let mut command = Command::new("/bin/sleep");
        command.arg("60");
        let late = run(&mut command, Duration::from_millis(20), None).err().unwrap();
        assert!(
            matches!(&late, ProvisionError::Io { action, .. } if action.contains("sleep")),
            "{late}"
        );
        let leash = Leash::default();
        leash.cut();
        let cut = run(&mut command, Duration::from_mins(1), Some(&leash)).err();
        assert_eq!(cut, Some(ProvisionError::Interrupted));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = run(&mut Command::new("/nowhere/initdb"), Duration::from_secs(1), None)
            .err()
            .unwrap();
        assert!(error.to_string().contains("cannot run /nowhere/initdb"), "{error}");
    }

    #[test]
    fn tails_and_long_lines() {
        assert_eq!(tail("a\nb\nc\n\n", 2), "b\nc");
        assert_eq!(tail("", 2), "");
        assert_eq!(one_line(&"x".repeat(500)).chars().count(), 401);
    }
}
