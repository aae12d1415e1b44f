//! Where the model lives: sessions that strategies are written against, and the servers that a run starts for itself.
//!
//! A session offers what its engine offers, statement by statement: a strategy, not the session, decides in how many
//! flights a preview leaves. Set-up, counters and checks go another way (`postgres::control`), never in a timed window.

pub mod creations;
mod instance;
pub mod postgres;
pub mod provision;
pub mod sqlite;

use std::time::Duration;

use thiserror::Error;

pub use creations::Creations;
pub use instance::Instance;

use crate::workload::ReadError;

/// Why a backend gave no answer.
#[derive(Debug, Error)]
pub enum BackendError {
    /// PostgreSQL, or the way to it.
    #[error(transparent)]
    Postgres(#[from] postgres::PgError),
    /// SQLite.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// What was asked for can't be done here.
    #[error("{0}")]
    Unable(String),
    /// What is stored is not the model.
    #[error("the stored model is damaged: {0}")]
    Stored(#[from] ReadError),
}

impl BackendError {
    /// Whether nothing more can come over this session.
    pub fn is_connection_lost(&self) -> bool {
        match self {
            Self::Postgres(error) => error.is_connection_lost(),
            Self::Sqlite(_) | Self::Unable(_) | Self::Stored(_) => false,
        }
    }

    /// Whether the answer did not come in time.
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Postgres(error) => error.is_timeout(),
            Self::Sqlite(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy),
            Self::Unable(_) | Self::Stored(_) => false,
        }
    }
}

/// What was done beside the previews and is in no preview's time, and what previews waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackgroundWork {
    /// Time of the work.
    pub time: Duration,
    /// Previews that had to wait.
    pub waits: u32,
    /// How long they waited, within their own times.
    pub waited: Duration,
}

impl BackgroundWork {
    /// That of both sides of a pair, where either does any.
    pub fn of_both(sides: [Option<Self>; 2]) -> Option<Self> {
        sides.into_iter().flatten().reduce(|one, other| Self {
            time: one.time + other.time,
            waits: one.waits + other.waits,
            waited: one.waited + other.waited,
        })
    }
}

/// What the measured loop needs of a session, whatever its engine.
pub trait Session {
    /// Brings the session back to where a preview may begin, after one that failed.
    ///
    /// # Errors
    /// What the backend says; no further preview is possible then.
    fn reset(&mut self) -> Result<(), BackendError>;

    /// Goes to the backend and back with nothing to do; false where there is no way to go.
    ///
    /// # Errors
    /// What the backend says.
    fn empty_round_trip(&mut self) -> Result<bool, BackendError>;
}

impl Session for sqlite::SqliteSession {
    fn reset(&mut self) -> Result<(), BackendError> {
        Self::reset(self)
    }

    fn empty_round_trip(&mut self) -> Result<bool, BackendError> {
        Ok(false)
    }
}

impl Session for postgres::PostgresSession {
    fn reset(&mut self) -> Result<(), BackendError> {
        Ok(Self::reset(self)?)
    }

    fn empty_round_trip(&mut self) -> Result<bool, BackendError> {
        Self::empty_round_trip(self)?;
        Ok(true)
    }
}
