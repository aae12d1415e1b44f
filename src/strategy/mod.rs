//! The ways to produce a preview, one file each, behind one small trait.
//!
//! A strategy is written against a backend's session; the session carries both sides of a pair, so that no side has a
//! warmer connection than the other. Adding a strategy takes a new file, a name in [`StrategyName`] and a line in the
//! registry of each backend that it supports.

mod copy;
mod registry;
mod rollback;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use registry::{on_postgres, on_sqlite};

use crate::backend::BackendError;
use crate::backend::postgres::PgError;
use crate::workload::{Answer, Overrides, ReadError};

/// A kind of database engine that strategies are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// SQLite, in the worker's process.
    Sqlite,
    /// PostgreSQL, over a connection.
    Postgres,
}

impl Engine {
    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// A strategy's name, as manifests and tables use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyName {
    /// Write the overrides, read the model back, compute, roll back.
    Rollback,
    /// Apply the overrides to a loaded copy in memory and compute.
    Copy,
}

impl StrategyName {
    /// Every strategy there is.
    pub const ALL: [Self; 2] = [Self::Rollback, Self::Copy];

    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rollback => "rollback",
            Self::Copy => "copy",
        }
    }

    /// The engines that can do it.
    pub fn engines(self) -> &'static [Engine] {
        match self {
            Self::Rollback | Self::Copy => &[Engine::Sqlite, Engine::Postgres],
        }
    }

    /// Round trips that one preview takes where the backend is at a distance.
    pub fn round_trips(self) -> u32 {
        match self {
            Self::Rollback => 3,
            Self::Copy => 0,
        }
    }
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One way to produce a preview on the session `S`. A worker opens it before the warm-up and calls it once a side.
pub trait Strategy<S> {
    /// Produces the answer for the overrides; the whole call is timed.
    ///
    /// # Errors
    /// Why there is no answer. The session may be left inside a transaction: the caller resets it, outside the timed
    /// window.
    fn preview(&mut self, session: &mut S, overrides: &Overrides) -> Result<Answer, PreviewError>;
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
