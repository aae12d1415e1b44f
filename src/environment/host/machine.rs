//! Reading `/proc` and `/sys` with an honest status when it fails.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::FactStatus;

/// What was read, or why it was not.
pub(super) type Reading<T = String> = Result<T, FactStatus>;

/// The file tree that facts are read from: this machine's, or in a test a made-up one.
pub(super) struct Machine {
    root: PathBuf,
}

impl Machine {
    /// The machine that this process runs on.
    pub(super) fn here() -> Self {
        Self {
            root: PathBuf::from("/"),
        }
    }

    /// A made-up machine whose `/` is `root`.
    #[cfg(test)]
    pub(super) fn under(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The text of a file without the white space around it; absent if there is no text in it.
    pub(super) fn read(&self, path: &str) -> Reading {
        let bytes = fs::read(self.at(path)).map_err(|error| status_of(&error))?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if text.is_empty() {
            Err(FactStatus::Absent)
        } else {
            Ok(text)
        }
    }

    /// What `parse` finds in a file; absent if it finds nothing.
    pub(super) fn find<T>(&self, path: &str, parse: impl Fn(&str) -> Option<T>) -> Reading<T> {
        self.read(path).and_then(|text| parse(&text).ok_or(FactStatus::Absent))
    }

    /// Whether there is such a file or directory.
    pub(super) fn has(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    /// The sorted names in a directory.
    pub(super) fn names(&self, directory: &str) -> Reading<Vec<String>> {
        let entries = fs::read_dir(self.at(directory)).map_err(|error| status_of(&error))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Reads `file` in each directory below `directory` whose name is `prefix` and a number.
    pub(super) fn read_each(&self, directory: &str, prefix: &str, file: &str) -> Reading<Vec<String>> {
        let mut names = self.names(directory)?;
        names.retain(|name| name.strip_prefix(prefix).is_some_and(is_number));
        any_of(
            names
                .iter()
                .map(|name| self.read(&format!("{directory}/{name}/{file}"))),
        )
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// The readings that succeeded. With none, the first status that says more than absent, else absent.
pub(super) fn any_of<T>(readings: impl Iterator<Item = Reading<T>>) -> Reading<Vec<T>> {
    let mut found = Vec::new();
    let mut status = FactStatus::Absent;
    for reading in readings {
        match reading {
            Ok(value) => found.push(value),
            Err(why) if status == FactStatus::Absent => status = why,
            Err(_) => {}
        }
    }
    if found.is_empty() { Err(status) } else { Ok(found) }
}

/// Refusals are denied; everything else that keeps a kernel file from being read means that the kernel doesn't
/// offer it (no such file, pressure accounting switched off, a sensor without a reading).
fn status_of(error: &Error) -> FactStatus {
    if error.kind() == ErrorKind::PermissionDenied {
        FactStatus::Denied
    } else {
        FactStatus::Absent
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The directory that exists at `path` or nearest above it, with all links resolved.
pub(super) fn nearest_directory(path: &Path) -> Reading<PathBuf> {
    let absolute = std::path::absolute(path).map_err(|error| status_of(&error))?;
    for candidate in absolute.ancestors() {
        match candidate.canonicalize() {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(status_of(&error)),
        }
    }
    Err(FactStatus::Absent)
}
