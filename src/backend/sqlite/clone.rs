//! Databases of their own, cloned from a session's.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::serialize::Data;
use rusqlite::{Connection, MAIN_DB};

use super::SqliteSession;
use crate::backend::BackendError;

/// Where SQLite's header says which journal a database has, to write and to read: 1 for a rollback journal, 2 for a
/// write-ahead log. A database in a buffer can't have a log, and must not say so.
const JOURNAL_VERSIONS: std::ops::Range<usize> = 18..20;
const ROLLBACK_JOURNAL: u8 = 1;

/// A database in a file that goes with its session.
#[derive(Debug)]
pub(super) struct OwnFile(PathBuf);

impl OwnFile {
    fn remove(&self) -> std::io::Result<()> {
        for suffix in ["-journal", "-wal", "-shm"] {
            // Most of them are not there.
            let _ = fs::remove_file(beside(&self.0, suffix));
        }
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // `throw_away` tells what goes wrong; here a preview has failed already.
        let _ = self.remove();
    }
}

impl SqliteSession {
    /// Whether the database is a file.
    pub fn is_on_file(&self) -> bool {
        self.file.is_some()
    }

    /// A copy in memory, page by page.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn backup(&self) -> Result<Self, BackendError> {
        let mut connection = Connection::open_in_memory()?;
        {
            let backup = Backup::new(&self.connection, &mut connection)?;
            let done = backup.step(-1)?;
            if done != StepResult::Done {
                return Err(BackendError::Unable(format!("the backup is not done: {done:?}")));
            }
        }
        Ok(self.with_shape(connection))
    }

    /// A copy in memory, by way of a buffer.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn deserialized(&mut self) -> Result<Self, BackendError> {
        let mut connection = Connection::open_in_memory()?;
        match self.connection.serialize(MAIN_DB)? {
            Data::Owned(mut data) => {
                if let Some(versions) = data.get_mut(JOURNAL_VERSIONS) {
                    versions.fill(ROLLBACK_JOURNAL);
                }
                connection.deserialize(MAIN_DB, data, false)?;
            }
            // A database that lives in a buffer already has no log.
            Data::Shared(data) => connection.deserialize_read_exact(MAIN_DB, &*data, data.len(), false)?,
        }
        Ok(self.with_shape(connection))
    }

    /// A copy of the database's file beside it, opened with the same journal. The write lock keeps writers out of the
    /// file while it is copied, and what stands in a write-ahead log is brought into the file before.
    ///
    /// # Errors
    /// What SQLite or the system says, or that the database is no file.
    pub fn clone_file(&mut self) -> Result<Self, BackendError> {
        let Some(file) = self.file.clone() else {
            return Err(BackendError::Unable("a database in memory has no file".to_owned()));
        };
        let path = beside(&file.path, ".clone");
        if file.journal_mode == "wal" {
            self.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))?;
        }
        self.begin_immediate()?;
        let copied = fs::copy(&file.path, &path);
        self.rollback()?;
        let own = OwnFile(path.clone());
        copied.map_err(|error| BackendError::Unable(format!("cannot copy {} : {error}", file.path.display())))?;
        let timeout = Duration::from_secs(1);
        let mut clone = Self::on_file(&path, &file.journal_mode, &file.synchronous, timeout)?;
        clone.shape = self.shape;
        clone.own_file = Some(own);
        Ok(clone)
    }

    /// Ends a session and removes its database where the database is its own.
    ///
    /// # Errors
    /// What SQLite or the system says.
    pub fn throw_away(self) -> Result<(), BackendError> {
        let Self {
            connection, own_file, ..
        } = self;
        connection.close().map_err(|(_, error)| error)?;
        if let Some(file) = own_file {
            file.remove()
                .map_err(|error| BackendError::Unable(format!("cannot remove {}: {error}", file.0.display())))?;
        }
        Ok(())
    }

    fn with_shape(&self, connection: Connection) -> Self {
        Self {
            connection,
            shape: self.shape,
            file: None,
            own_file: None,
        }
    }
}

fn beside(path: &std::path::Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
