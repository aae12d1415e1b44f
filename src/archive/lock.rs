//! Whether a run is being written: its process holds an advisory lock (`flock`) on the run's `manifest.toml`.
//!
//! That file is there before anything else and is never replaced. The system drops the lock when the process ends,
//! however it ends, and no worker inherits it; one that was just being started when its run was killed holds it for a moment,
//! between fork and exec, so who finds it held tries again for a while. So the lock is free exactly when nobody writes the run: after a
//! `kill -9` as after a good end. On a file system that is shared between machines it says as much as that system's
//! locks do.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::durable;
use super::error::{TakeUpError, WriteError};

/// Name of the file that is locked.
pub(super) const MANIFEST_TEXT: &str = "manifest.toml";

/// How often a lock that is held is asked for.
const TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// The right to write a run; given back when dropped.
#[derive(Debug)]
pub(super) struct RunLock {
    _file: File,
}

impl RunLock {
    /// Writes the manifest of a new run, durably. It is locked before it has its name.
    pub fn with_manifest(directory: &Path, text: &str) -> Result<Self, WriteError> {
        let path = directory.join(MANIFEST_TEXT);
        let lock = |file: &mut File| {
            file.lock()?;
            file.write_all(text.as_bytes())?;
            file.try_clone()
        };
        let file = durable::write_with(&path, |file| lock(file).map_err(WriteError::io(&path)))?;
        Ok(Self { _file: file })
    }

    /// Takes the lock of a run that nobody writes.
    pub fn take(directory: &Path) -> Result<Self, TakeUpError> {
        let path = directory.join(MANIFEST_TEXT);
        let io = |source: io::Error| WriteError::io(&path)(source);
        let file = OpenOptions::new().write(true).open(&path).map_err(io)?;
        let mut outcome = file.try_lock();
        for _ in 1..TRIES {
            if !matches!(outcome, Err(TryLockError::WouldBlock)) {
                break;
            }
            thread::sleep(BETWEEN_TRIES);
            outcome = file.try_lock();
        }
        match outcome {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(TakeUpError::Running {
                run: directory.to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(io(source).into()),
        }
    }
}
