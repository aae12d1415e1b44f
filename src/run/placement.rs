//! Which processors the two ends of a preview run on.
//!
//! Whether a server wakes up on the client's processor or on another one moves a round trip by a factor of two and more, and
//! the system decides it anew in each fork. An experiment that is about less than that keeps the two apart: the worker on
//! the first processor that it may use, the server's process on the second. The proxy is left alone.

use std::fs;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::backend::BackendError;
use crate::manifest::Processors;

/// The worker keeps to its processor from now on.
pub(super) fn of_worker(processors: Processors) -> Result<(), BackendError> {
    if processors == Processors::Free {
        return Ok(());
    }
    keep(Pid::from_raw(0), first_two()?[0])
}

/// Every thread of the server's process keeps to the other one from now on.
pub(super) fn of_server(processors: Processors, process: i32) -> Result<(), BackendError> {
    if processors == Processors::Free {
        return Ok(());
    }
    let processor = first_two()?[1];
    let threads = fs::read_dir(format!("/proc/{process}/task")).map_err(|error| unable(&error))?;
    for thread in threads.flatten() {
        let number = thread.file_name().to_string_lossy().parse();
        keep(Pid::from_raw(number.unwrap_or(process)), processor)?;
    }
    Ok(())
}

/// The first two processors of this machine that a process may use. What the worker may use is no longer asked once it keeps
/// to one, so it is its parent's that counts.
fn first_two() -> Result<[usize; 2], BackendError> {
    let allowed = sched_getaffinity(nix::unistd::getppid()).map_err(|error| unable(&error))?;
    let mut processors = (0..CpuSet::count()).filter(|&processor| allowed.is_set(processor).unwrap_or(false));
    match (processors.next(), processors.next()) {
        (Some(first), Some(second)) => Ok([first, second]),
        _ => Err(BackendError::Unable(
            "measure.processors is \"apart\", and this machine lets a process use one processor alone".to_owned(),
        )),
    }
}

fn keep(process: Pid, processor: usize) -> Result<(), BackendError> {
    let mut set = CpuSet::new();
    let outcome = set.set(processor).and_then(|()| sched_setaffinity(process, &set));
    outcome.map_err(|error| unable(&error))
}

fn unable(error: &dyn std::error::Error) -> BackendError {
    BackendError::Unable(format!(
        "measure.processors is \"apart\", and a process cannot be kept to one: {error}"
    ))
}
