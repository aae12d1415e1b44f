//! The ways to produce a preview, one file each, behind one small trait.
//!
//! A strategy is written against a backend's session; the session carries both sides of a pair, so that no side has a
//! warmer connection than the other. Adding a strategy takes a new file with its [`Facts`], a line for its
//! name, and a line in the registry of each engine that can do it.

mod copy;
mod copy_fresh;
mod facts;
mod instance;
mod name;
mod overlay_temp;
mod reenact;
mod registry;
mod rollback;
mod rollback_driver;
mod rollback_one_message;
mod rollback_pipelined;
mod rollback_serial;
mod rollback_set;
mod savepoint;
mod sqlite_clone;
mod template;
mod template_pool;
mod undo_function;

use thiserror::Error;

pub use facts::{Facts, Ground, Honour, Need};
pub use name::StrategyName;
pub use registry::{on_postgres, on_sqlite, on_wire};

use crate::backend::postgres::PgError;
use crate::backend::{BackendError, BackgroundWork};
use crate::step::Steps;
use crate::workload::{Answer, Overrides, ReadError};

/// A kind of database engine that strategies are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// SQLite, in the worker's process or behind a socket.
    Sqlite,
    /// PostgreSQL, over a connection.
    Postgres,
    /// H2, over a connection.
    H2,
}

impl Engine {
    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::H2 => "h2",
        }
    }
}

/// One way to produce a preview on the session `S`. A worker opens it before the warm-up and calls it once a side.
pub trait Strategy<S> {
    /// Produces the answer for the overrides; the whole call is timed, and tells when its steps begin.
    ///
    /// # Errors
    /// Why there is no answer. The session may be left inside a transaction: the caller resets it, outside the timed
    /// window.
    fn preview(&mut self, session: &mut S, overrides: &Overrides, steps: &mut Steps) -> Result<Answer, PreviewError>;

    /// Goes to the backend and back with nothing to do, over a connection of its own; false where its previews go over the
    /// session that both sides share.
    ///
    /// # Errors
    /// What the backend says.
    fn own_round_trip(&mut self) -> Result<bool, PreviewError> {
        Ok(false)
    }

    /// What it did beside its previews so far; `None` for one that does nothing then.
    fn background(&self) -> Option<BackgroundWork> {
        None
    }
}

/// Why a preview gave no answer.
#[derive(Debug, Error)]
pub enum PreviewError {
    /// The backend said no, or nothing.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// What was read back is not the model.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The write touched other rows than it should have.
    #[error("the write touched {touched} rows where it overrides {overridden}")]
    Write {
        /// Rows that the backend reports.
        touched: u64,
        /// Rows that the overrides name.
        overridden: u64,
    },
}

impl From<PgError> for PreviewError {
    fn from(error: PgError) -> Self {
        Self::Backend(error.into())
    }
}

fn all_written(touched: u64, overrides: &Overrides) -> Result<(), PreviewError> {
    let overridden = overrides.len() as u64;
    if touched == overridden {
        Ok(())
    } else {
        Err(PreviewError::Write { touched, overridden })
    }
}
