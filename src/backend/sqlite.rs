//! SQLite in the worker's own process: no socket, no server, the same SQL.
//!
//! Statements are prepared once and cached; a preview pays for binding and stepping only, as it would in a program
//! that drags a slider for real.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, params};

use super::BackendError;
use crate::workload::{Inputs, Workload};

const CREATE: &str = "CREATE TABLE model_field (\
                      name varchar(64) PRIMARY KEY, field_value double precision NOT NULL)";
const INSERT: &str = "INSERT INTO model_field (name, field_value) VALUES (?1, ?2)";
const SELECT: &str = "SELECT name, field_value FROM model_field";
const UPDATE: &str = "UPDATE model_field SET field_value = ?2 WHERE name = ?1";

/// One connection that holds a fresh model.
pub struct SqliteSession {
    connection: Connection,
}

/// What a fork archives about its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteState {
    /// `PRAGMA journal_mode` as SQLite reports it.
    pub journal_mode: String,
    /// `PRAGMA synchronous`, 0 to 3.
    pub synchronous: i64,
    /// Size of the database.
    pub database_bytes: i64,
    /// Pages that hold nothing.
    pub free_pages: i64,
}

impl SqliteSession {
    /// A database in memory.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn in_memory() -> Result<Self, BackendError> {
        Ok(Self {
            connection: Connection::open_in_memory()?,
        })
    }

    /// A new database in the file `path`, which must not exist.
    ///
    /// `timeout` bounds the wait for a lock.
    ///
    /// # Errors
    /// What SQLite says, also when it does not grant the journal mode.
    pub fn on_file(
        path: &Path,
        journal_mode: &str,
        synchronous: &str,
        timeout: Duration,
    ) -> Result<Self, BackendError> {
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        connection.busy_timeout(timeout)?;
        connection.pragma_update(None, "journal_mode", journal_mode)?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        Ok(Self { connection })
    }

    /// Creates the model's table with its stored rows.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn create_model(&mut self, workload: &Workload) -> Result<(), BackendError> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(CREATE)?;
        {
            let mut insert = transaction.prepare(INSERT)?;
            for (name, value) in workload.rows() {
                insert.execute(params![name, value])?;
            }
        }
        transaction.commit()?;
        self.connection.execute_batch("ANALYZE")?;
        Ok(())
    }

    /// Takes the write lock at once, so that a preview can't fail half-way for want of it.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn begin_immediate(&mut self) -> Result<(), BackendError> {
        self.run("BEGIN IMMEDIATE")
    }

    /// Writes one field; gives the number of rows that it touched.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn update(&mut self, name: &str, value: f64) -> Result<u64, BackendError> {
        Ok(self.connection.prepare_cached(UPDATE)?.execute(params![name, value])? as u64)
    }

    /// Reads the whole model, in no particular order.
    ///
    /// # Errors
    /// What SQLite says, or that the rows are not the model.
    pub fn read_model(&mut self, workload: &Workload) -> Result<Inputs, BackendError> {
        let mut select = self.connection.prepare_cached(SELECT)?;
        let mut rows = select.query([])?;
        let mut reader = workload.reader();
        while let Some(row) = rows.next()? {
            let name = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            reader.accept(name, row.get(1)?)?;
        }
        Ok(reader.finish()?)
    }

    /// Ends the transaction without a trace.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn rollback(&mut self) -> Result<(), BackendError> {
        self.run("ROLLBACK")
    }

    /// Brings the session back to where a preview may begin, after one that failed.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn reset(&mut self) -> Result<(), BackendError> {
        if self.connection.is_autocommit() {
            Ok(())
        } else {
            self.rollback()
        }
    }

    /// Journal, size and free pages as they are now.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn state(&self) -> Result<SqliteState, BackendError> {
        let number = |pragma: &str| {
            self.connection
                .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
        };
        Ok(SqliteState {
            journal_mode: self
                .connection
                .pragma_query_value(None, "journal_mode", |row| row.get(0))?,
            synchronous: number("synchronous")?,
            database_bytes: number("page_count")? * number("page_size")?,
            free_pages: number("freelist_count")?,
        })
    }

    fn run(&mut self, sql: &str) -> Result<(), BackendError> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}

/// The version of the SQLite library in this executable, e.g. `3.54.1`.
pub fn library_version() -> &'static str {
    rusqlite::version()
}
