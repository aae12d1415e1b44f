//! SQLite in the worker's own process: no socket, no server, the same SQL.
//!
//! Statements are prepared once and cached; a preview pays for binding and stepping only, as it would in a program
//! that drags a slider for real.

mod clone;
pub mod served;
pub(in crate::backend) mod sql;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Params, params};

use super::BackendError;
use crate::workload::{COLUMNS, Inputs, Override, Overrides, Shape, Workload};
use clone::OwnFile;

/// One connection that holds a fresh model.
pub struct SqliteSession {
    connection: Connection,
    shape: Shape,
    file: Option<OnFile>,
    /// Removed after the connection is closed.
    own_file: Option<OwnFile>,
}

/// The file that a database is, and how it was opened.
#[derive(Debug, Clone)]
struct OnFile {
    path: PathBuf,
    journal_mode: String,
    synchronous: String,
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
            shape: Shape::Kv,
            file: None,
            own_file: None,
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
        Ok(Self {
            connection,
            shape: Shape::Kv,
            file: Some(OnFile {
                path: path.to_owned(),
                journal_mode: journal_mode.to_owned(),
                synchronous: synchronous.to_owned(),
            }),
            own_file: None,
        })
    }

    /// Creates the model's table with its stored rows, in the workload's shape.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn create_model(&mut self, workload: &Workload) -> Result<(), BackendError> {
        self.shape = workload.shape();
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(&sql::create(self.shape))?;
        {
            let mut insert = transaction.prepare(sql::insert(self.shape))?;
            if self.shape == Shape::Wide {
                for (plan, [cash, burn, price, growth, churn, subs]) in workload.wide_rows() {
                    insert.execute(params![plan, cash, burn, price, growth, churn, subs])?;
                }
            } else {
                for (name, value) in workload.rows() {
                    insert.execute(params![name, value])?;
                }
            }
        }
        transaction.execute_batch(sql::after(self.shape))?;
        transaction.commit()?;
        self.connection.execute_batch("ANALYZE")?;
        Ok(())
    }

    /// Runs statements as text. For what is done before the pairs.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn batch(&mut self, sql: &str) -> Result<(), BackendError> {
        Ok(self.connection.execute_batch(sql)?)
    }

    /// Takes the write lock at once, so that a preview can't fail half-way for want of it.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn begin_immediate(&mut self) -> Result<(), BackendError> {
        self.run("BEGIN IMMEDIATE")
    }

    /// Writes the fields one by one; gives the number of rows that it touched.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn update_all(&mut self, overrides: &Overrides) -> Result<u64, BackendError> {
        let mut touched = 0;
        for field in overrides {
            let mut update = self.connection.prepare_cached(sql::update(self.shape, field))?;
            touched += if self.shape == Shape::Wide {
                update.execute(params![field.wide().0, field.value])?
            } else {
                update.execute(params![field.name, field.value])?
            };
        }
        Ok(touched as u64)
    }

    /// Reads the whole model, in no particular order.
    ///
    /// # Errors
    /// What SQLite says, or that the rows are not the model.
    pub fn read_model(&mut self, workload: &Workload) -> Result<Inputs, BackendError> {
        self.read(sql::select(self.shape), [], workload)
    }

    /// The read with the overrides as parameters, for [`read_over`](Self::read_over). It fits all overrides of the same
    /// fields.
    pub fn reenacted(&self, overrides: &Overrides) -> String {
        sql::reenacted(self.shape, overrides)
    }

    /// Reads the model with overrides laid over it.
    ///
    /// # Errors
    /// As [`read_model`](Self::read_model).
    pub fn read_over(
        &mut self,
        select: &str,
        overrides: &Overrides,
        workload: &Workload,
    ) -> Result<Inputs, BackendError> {
        let parameters = overrides.iter().flat_map(|field| [self.key(field), field.value.into()]);
        let parameters: Vec<rusqlite::types::Value> = parameters.collect();
        self.read(select, rusqlite::params_from_iter(parameters), workload)
    }

    /// Makes the session's temporary table of overrides, if it is not there yet.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn create_overlay(&mut self) -> Result<(), BackendError> {
        self.run(sql::OVERLAY)
    }

    /// Empties the table of overrides and fills it.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn fill_overlay(&mut self, overrides: &Overrides) -> Result<(), BackendError> {
        self.run(sql::EMPTY_OVERLAY)?;
        let mut insert = self.connection.prepare_cached(sql::FILL_OVERLAY)?;
        for field in overrides {
            let column = if self.shape == Shape::Wide {
                field.wide().1
            } else {
                "field_value"
            };
            insert.execute(params![self.key(field), column, field.value])?;
        }
        Ok(())
    }

    /// The read of the model joined with the table of overrides, for [`read_with`](Self::read_with).
    pub fn overlaid(&self) -> String {
        sql::overlaid(self.shape)
    }

    /// Reads the model by a query of the caller's.
    ///
    /// # Errors
    /// As [`read_model`](Self::read_model).
    pub fn read_with(&mut self, select: &str, workload: &Workload) -> Result<Inputs, BackendError> {
        self.read(select, [], workload)
    }

    fn key(&self, field: &Override) -> rusqlite::types::Value {
        if self.shape == Shape::Wide {
            field.wide().0.into()
        } else {
            field.name.clone().into()
        }
    }

    fn read(&self, select: &str, parameters: impl Params, workload: &Workload) -> Result<Inputs, BackendError> {
        let mut select = self.connection.prepare_cached(select)?;
        let mut rows = select.query(parameters)?;
        let mut reader = workload.reader();
        while let Some(row) = rows.next()? {
            if self.shape == Shape::Wide {
                for column in 0..COLUMNS.len() {
                    if let Some(value) = row.get(column + 1)? {
                        reader.accept_wide(row.get(0)?, column, value)?;
                    }
                }
            } else {
                let name = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
                reader.accept(name, row.get(1)?)?;
            }
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

    /// Runs one statement, prepared once.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn run(&mut self, sql: &str) -> Result<(), BackendError> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}

/// The version of the SQLite library in this executable, e.g. `3.54.1`.
pub fn library_version() -> &'static str {
    rusqlite::version()
}
