//! A run on disk: the only room that knows Parquet.
//!
//! ```text
//! results/LEDGER.jsonl           one line a registration, a start and an end, each chained to the one before
//! results/<run>/
//!   manifest.toml                the manifest, verbatim
//!   manifest.parquet             the resolved manifest, program and source identity
//!   environment.parquet          facts about machine, build and server, at start, at each resumption, and at the end
//!   cells.parquet  forks.parquet  pairs.parquet
//!   chain.jsonl                  the integrity chain, whose last line's SHA-256 is the run's root
//!   SHA256SUMS                   written last: a run with it is sealed
//!   announced.sums               only while running: sums of what was there before the first fork
//!   parts/                       only while running: one durable part a fork, each with its sums
//! ```
//!
//! Each part is durable (written, flushed, renamed) before the next fork starts, so a crash loses at most the fork in
//! progress. [`Archive::open`] reads sealed and unsealed runs alike and says which it is.
//!
//! The process that writes a run holds a lock on its `manifest.toml`, which the system drops when the process ends,
//! however it ends. A run that broke off is gone on with ([`RunWriter::take_up`]) or sealed as it is ([`recover()`]); either
//! can itself be killed at any moment and done again.

mod audit;
mod by_fork;
mod chain;
mod codec;
mod convert;
mod durable;
mod error;
mod guard;
mod ledger;
mod lock;
mod read;
mod recover;
mod registered;
mod rows;
mod rows_digest;
mod schema;
mod sums;
mod take_up;
mod times;
mod timestamp;
mod write;

pub use audit::ChainFault;
pub use chain::{Chain, ChainEntry, LostFork, SealState};
pub use error::{ReadError, TakeUpError, WriteError};
pub use ledger::{ForksKept, History, Ledger, LedgerEntry, LedgerState};
pub use read::{Archive, Completeness, RunFiles};
pub use recover::{Recovered, Recovery, recover};
pub use registered::{ClaimFault, Registered, Standing, claims_of, claims_rows, registration_rows};
pub use rows::{
    CellRow, FactRow, ForkPairs, ForkPart, ForkRow, ForkStatus, ForkSteps, ForkWire, PairRow, PairSide, PairStatus,
    Phase, PoolWork, Setting, SideRow, StepRow, When, WirePlace, WireRow, WireWay,
};
pub use schema::{Column, Kind, SCHEMA_MAJOR, SCHEMA_VERSION, TABLES, Table};
pub use sums::{FileSums, Inventory, inventory};
pub use take_up::TakenUp;
pub use times::{ForkTimes, Times};
pub use timestamp::{EvidenceFile, Stamp, TimestampError, evidence_beside};
pub use write::{RunIdentity, RunWriter};
