//! Directories as `pack` lays them out, taken apart into runs. In one of a single run its files have plain names, and
//! `SHA256SUMS` is that of the whole directory; in one of several, each file has its run's id before its name.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

/// Where a run's files lie under their own names.
pub(super) struct Place {
    directory: PathBuf,
    /// The run's id, where it comes from a packed directory.
    pub packed: Option<String>,
    /// Links to a packed run's files, for as long as they are needed.
    _links: Option<TempDir>,
}

impl Place {
    pub fn path(&self) -> &Path {
        &self.directory
    }
}

/// The runs of a directory: itself, or those that were packed into it.
pub(super) fn places(directory: &Path) -> io::Result<Vec<Place>> {
    let packed = runs(directory);
    if packed.is_empty() {
        return Ok(vec![Place {
            directory: directory.to_owned(),
            packed: None,
            _links: None,
        }]);
    }
    packed.into_iter().map(|run| laid_out(directory, run)).collect()
}

/// The runs whose own sums lie in a directory as `<run>.SHA256SUMS`. What can't be listed holds none.
fn runs(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| name.strip_suffix(".SHA256SUMS").map(str::to_owned))
        .collect()
}

/// The files of one packed run, as links in a temporary directory, and the ledger.
fn laid_out(directory: &Path, run: String) -> io::Result<Place> {
    let links = tempfile::tempdir()?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let own = match name.strip_prefix(&run).and_then(|rest| rest.strip_prefix('.')) {
            Some(own) => own,
            None if name != "SHA256SUMS" => name,
            None => continue,
        };
        symlink(std::path::absolute(entry.path())?, links.path().join(own))?;
    }
    Ok(Place {
        directory: links.path().to_owned(),
        packed: Some(run),
        _links: Some(links),
    })
}
