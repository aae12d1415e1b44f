//! SHA256SUMS: what `sha256sum --check` understands.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::error::ReadError;
use crate::digest;

/// Name of the file that seals a run.
pub(super) const SUMS: &str = "SHA256SUMS";

/// Name of the file that guards what stands on disk before the first fork, until the run is sealed.
pub(super) const ANNOUNCED: &str = "announced.sums";

/// Names of files, each with its SHA-256.
pub type FileSums = BTreeMap<String, String>;

/// SHA-256 of a file, lower-case hexadecimal.
pub(super) fn sha256_of(path: &Path) -> io::Result<String> {
    digest::of_reader(File::open(path)?)
}

/// Sums of the named files of a directory.
pub(super) fn of_files(directory: &Path, names: &[String]) -> io::Result<FileSums> {
    let sum = |name: &String| Ok((name.clone(), sha256_of(&directory.join(name))?));
    names.iter().map(sum).collect()
}

/// The text of a sums file, sorted by name.
pub(super) fn lines(sums: &FileSums) -> String {
    sums.iter().flat_map(|(name, sum)| [sum, "  ", name, "\n"]).collect()
}

/// Checks every file that a sums file names; gives what it says.
pub(super) fn check(sums: &Path) -> Result<FileSums, ReadError> {
    let directory = sums.parent().unwrap_or(Path::new("."));
    let expected = read(sums)?;
    for (name, expected) in &expected {
        let (path, shown) = (directory.join(name), shown(sums));
        match sha256_of(&path) {
            Ok(actual) if actual == *expected => {}
            Ok(_) => return Err(ReadError::Changed { path, sums: shown }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing(path, shown)),
            Err(source) => return Err(ReadError::Io { path, source }),
        }
    }
    Ok(expected)
}

/// The files of a run, held against its sums.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// Number of those that are what the sums say.
    pub intact: usize,
    /// Those that are not.
    pub changed: Vec<String>,
    /// Those that are not here.
    pub missing: Vec<String>,
}

/// Every file that SHA256SUMS names in a run's directory; `None` where there is no such file.
///
/// # Errors
/// What can't be read, and sums that are none.
pub fn inventory(directory: &Path) -> Result<Option<Inventory>, ReadError> {
    let sums = directory.join(SUMS);
    if !sums.exists() {
        return Ok(None);
    }
    let mut inventory = Inventory::default();
    for (name, expected) in read(&sums)? {
        let path = directory.join(&name);
        match sha256_of(&path) {
            Ok(actual) if actual == expected => inventory.intact += 1,
            Ok(_) => inventory.changed.push(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => inventory.missing.push(name),
            Err(source) => return Err(ReadError::Io { path, source }),
        }
    }
    Ok(Some(inventory))
}

/// What a sums file says, unchecked.
pub(super) fn read(sums: &Path) -> Result<FileSums, ReadError> {
    let text = std::fs::read_to_string(sums).map_err(|source| ReadError::Io {
        path: sums.to_owned(),
        source,
    })?;
    let mut named = FileSums::new();
    if !text.is_empty() && !text.ends_with('\n') {
        // Its last line may be half of one.
        return Err(ReadError::Sums {
            path: sums.to_owned(),
            line: text.lines().count(),
        });
    }
    for (index, line) in text.lines().enumerate() {
        let malformed = || ReadError::Sums {
            path: sums.to_owned(),
            line: index + 1,
        };
        let (expected, name) = line.split_once("  ").ok_or_else(malformed)?;
        if expected.len() != 64 || name.is_empty() || name.contains(['/', '\\']) {
            return Err(malformed());
        }
        if named.insert(name.to_owned(), expected.to_owned()).is_some() {
            return Err(malformed());
        }
    }
    Ok(named)
}

/// The file's own name, for messages.
fn shown(sums: &Path) -> String {
    sums.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn missing(path: PathBuf, sums: String) -> ReadError {
    ReadError::Inventory {
        path,
        problem: "is missing, and is named in",
        sums,
    }
}

/// Holds that all these files are named.
pub(super) fn name_all(named: &FileSums, expected: &[String], sums: &Path) -> Result<(), ReadError> {
    match expected.iter().find(|name| !named.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(ReadError::Inventory {
            path: sums.with_file_name(name),
            problem: "is not named in",
            sums: shown(sums),
        }),
    }
}
