//! Files that are there, whole, or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::error::WriteError;

/// Writes a file so that after a crash either the whole of it is there or nothing: temporary name, flush to disk,
/// rename, flush of the directory.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_with(path, |file| file.write_all(bytes).map_err(WriteError::io(path)))
}

/// The same for a file that is written piece by piece.
pub(super) fn write_with<T>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<T, WriteError>,
) -> Result<T, WriteError> {
    let temporary = path.with_extension("tmp");
    let written = File::create(&temporary)
        .map_err(WriteError::io(path))
        .and_then(|mut file| {
            let filled = fill(&mut file)?;
            file.sync_all().map_err(WriteError::io(path))?;
            Ok(filled)
        });
    let renamed = written.and_then(|filled| {
        fs::rename(&temporary, path).map_err(WriteError::io(path))?;
        if let Some(directory) = path.parent() {
            sync_directory(directory)?;
        }
        Ok(filled)
    });
    if renamed.is_err() {
        // The error that led here says more than a failed removal would.
        let _ = fs::remove_file(&temporary);
    }
    renamed
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(directory: &Path) -> Result<(), WriteError> {
    File::open(directory)
        .and_then(|handle| handle.sync_all())
        .map_err(WriteError::io(directory))
}

/// Removes a file that may be there.
pub(super) fn remove_file(path: &Path) -> Result<(), WriteError> {
    unless_absent(fs::remove_file(path)).map_err(WriteError::io(path))
}

/// Removes a directory that may be there, and all in it.
pub(super) fn remove_directory(path: &Path) -> Result<(), WriteError> {
    unless_absent(fs::remove_dir_all(path)).map_err(WriteError::io(path))
}

fn unless_absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
