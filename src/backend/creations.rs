//! What a run has made outside its own files, noted before it is made: after a `kill -9` this is how it is found.
//!
//! One JSON object a line, durable when the call returns. The file goes when everything in it is gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The file's name in a run's directory.
const FILE: &str = "creations.jsonl";

/// One thing that a run made, or what must be known to remove it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Creation {
    /// The supervisor's process: while it lives, the run does.
    Process(u32),
    /// The server is somebody else's, so that what is made there must be removed there.
    Guest,
    /// A schema on the server.
    Schema(String),
    /// A database on the server.
    Database(String),
    /// A prepared data directory, in the directory for temporary files.
    ServerDirectory(PathBuf),
    /// A directory within the run's.
    Directory(String),
}

/// The file of one run.
#[derive(Debug, Clone)]
pub struct Creations(PathBuf);

impl Creations {
    /// The file in a run's directory, whether or not it is there.
    pub fn of_run(directory: &Path) -> Self {
        Self(directory.join(FILE))
    }

    /// The file at a path.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Notes what is about to be made.
    ///
    /// # Errors
    /// What the system says; then it must not be made.
    pub fn note(&self, creation: &Creation) -> io::Result<()> {
        let mut line = serde_json::to_vec(creation)?;
        line.push(b'\n');
        let mut file = OpenOptions::new().append(true).create(true).open(&self.0)?;
        file.write_all(&line)?;
        file.sync_all()?;
        match self.0.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Everything that was noted; nothing where there is no file. A line that was cut off was not durable, so what it
    /// names was not made.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self) -> io::Result<Vec<Creation>> {
        match fs::read_to_string(&self.0) {
            Ok(text) => Ok(text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Removes the file, when all that it names is gone.
    ///
    /// # Errors
    /// What the system says.
    pub fn forget(&self) -> io::Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read_back_and_a_torn_line_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let creations = Creations::of_run(directory.path());
        assert_eq!(creations.read().unwrap(), []);
        let noted = [
            Creation::Process(7),
            Creation::Guest,
            Creation::Schema("a\"b".to_owned()),
            Creation::Database("c".to_owned()),
        ];
        for creation in &noted {
            creations.note(creation).unwrap();
        }
        let mut file = OpenOptions::new().append(true).open(creations.path()).unwrap();
        file.write_all(b"{\"database\":\"d").unwrap();
        assert_eq!(creations.read().unwrap(), noted);
        creations.forget().unwrap();
        creations.forget().unwrap();
    }
}
