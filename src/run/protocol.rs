//! What supervisor and worker say to each other: JSON lines over the worker's standard streams.
//!
//! The order goes through a pipe and not through arguments, since it may hold a password. When the pipe closes, the
//! supervisor is gone, and the worker ends itself.

use serde::{Deserialize, Serialize};

use crate::archive::{ForkRow, PairRow, StepRow, WireRow};
use crate::backend::postgres::Target;
use crate::backend::sqlite::served::ServedFile;
use crate::manifest::{Processors, Socket, StepsWish};
use crate::plan::Cell;
use crate::units::{ForkIndex, Nanos, Seed};

/// Hidden subcommand that a worker runs as.
pub const WORKER: &str = "worker";
/// Rows in one message.
pub const ROWS_PER_MESSAGE: usize = 4_096;

/// What a worker is to do; the first line on its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub struct ForkOrder {
    /// The cell.
    pub cell: Cell,
    /// Which of the cell's forks.
    pub fork: ForkIndex,
    /// Place within the run.
    pub position: u32,
    /// Measured pairs.
    pub previews: u32,
    /// Pairs before them.
    pub warmup: u32,
    /// The experiment's seed.
    pub seed: Seed,
    /// Whether each pair's order is a coin's; else orders are balanced.
    pub coin: bool,
    /// Whether the steps of previews are noted.
    pub steps: StepsWish,
    /// Which processors worker and server run on.
    pub processors: Processors,
    /// Longest that one answer of the backend may take.
    pub timeout: Nanos,
    /// Where the model lives.
    pub place: Place,
}

/// Where a worker finds its backend.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// SQLite in memory.
    SqliteMemory,
    /// SQLite on a new file.
    SqliteFile {
        /// The file; the worker makes and removes it.
        path: std::path::PathBuf,
        /// `PRAGMA journal_mode`.
        journal_mode: String,
        /// `PRAGMA synchronous`.
        synchronous: String,
    },
    /// SQLite behind a socket; the worker starts the server.
    Served {
        /// The kind of socket.
        socket: Socket,
        /// The file; in memory without one. The worker has it made, and removes it.
        file: Option<ServedFile>,
    },
    /// H2 by its own server.
    H2 {
        /// The server.
        target: Target,
    },
    /// PostgreSQL.
    Postgres {
        /// The server.
        target: Target,
        /// The run's schema, which exists.
        schema: String,
        /// The file in which whatever else is made there is noted first.
        creations: std::path::PathBuf,
    },
}

/// What a worker says, one a line on its standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// So many pairs are done; said between pairs, a few times a second at most.
    Progress {
        /// Pairs done, warm-up included.
        pairs: u32,
    },
    /// Pairs, in the order in which they ran; all of them come before `Fork`.
    Pairs(Vec<PairRow>),
    /// Steps of their previews, in the same order.
    Steps(Vec<StepRow>),
    /// What passed the proxy, in the order in which it was received.
    Passages(Vec<WireRow>),
    /// The fork is over, well or not; the last word.
    Fork(Box<ForkRow>),
    /// There was nothing to measure; the last word.
    Unable {
        /// Why.
        message: String,
    },
}
