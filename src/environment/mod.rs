//! Facts about the machine, the build and the server, each with its status and its source.
//!
//! A time without its machine is an anecdote. So a run reads these facts when it starts and again when it ends,
//! and archives both readings: what the machine was, what the program was made of, and what changed in between.
//! A reader can then tell a slow strategy from a throttled laptop, and a rerun on the same build from one on
//! another.
//!
//! Nothing here fails. A fact that can't be read is a row that says why (see [`FactStatus`]). Nothing here names
//! a person or a machine either: host name, user names and full paths stay out of the archive.

mod acks;
mod build_identity;
mod change;
mod discretion;
mod fact;
mod host;
mod privacy;
mod repository;

pub use acks::delayed_acks;
pub use build_identity::{BuildIdentity, build_facts, identity};
pub use change::{Change, differences, moves_by_nature};
pub use discretion::Discretion;
pub use fact::{Fact, FactStatus};
pub use host::host_facts;
pub use repository::Committed;
