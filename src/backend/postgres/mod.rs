//! PostgreSQL: where it is, how to talk to it, and what it says about itself.
//!
//! Two clients stand side by side. [`wire`] is the measured path: a blocking session in which a strategy states its
//! flights, so that the number of round trips is a property of the strategy and not of a driver. [`control`] does
//! everything that is not timed (set-up, checks, counters) through the `postgres` crate. Both connect to the same
//! [`target`] under the same TLS rules, [`tls`], and fail with the same [`PgError`].

pub mod control;
mod dialect;
mod driver;
mod error;
mod in_h2;
mod in_sqlite;
mod pool;
mod session;
mod table;
pub mod target;
mod template;
pub mod tls;
pub mod wire;

pub use control::{Control, TableState};
pub use dialect::Dialect;
pub use driver::Driver;
pub use error::{PgError, ServerError};
pub use in_sqlite::Overlay;
pub use pool::{POOL_CLONES, Pool};
pub use session::{PostgresSession, Updates, land_model};
pub use table::ModelTable;
pub use target::{Secret, Surroundings, Target, TargetError};
pub use template::{CloneBy, Template};
pub use wire::{Flight, Landing, Param, ParamType, Statement};
