//! The measured path: a blocking session in which a strategy states its flights.
//!
//! A driver decides for its user how many round trips a piece of work takes. Here the round trips are what is measured,
//! so the strategy decides: it fills a [`Flight`] with prepared commands and lands it, which is one write, one Sync and
//! one wait. Parameters and results are binary. In steady state nothing is allocated: the flight's and the answer's
//! buffers are kept, and rows are read where they lie.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use preview_cost::backend::postgres::{PgError, target::Target, wire::{Param, ParamType, WireSession}};
//! # fn preview(target: &Target) -> Result<(), PgError> {
//! let mut session = WireSession::connect(target, Duration::from_secs(10))?;
//! let update = session.prepare(
//!     "UPDATE model_field SET field_value = $2 WHERE name = $1",
//!     &[ParamType::Text, ParamType::Float8],
//! )?;
//! let mut flight = session.flight();
//! flight.execute(update, &[Param::Text("growth_0"), Param::Float8(0.05)])?;
//! let landing = flight.land(|_row| Ok(()))?;
//! assert_eq!(landing.rows_affected, 1);
//! # Ok(())
//! # }
//! ```

mod flight;
mod link;
mod message;
mod row;
mod startup;
mod stream;

use std::collections::BTreeMap;
use std::time::Duration;

use postgres_protocol::message::frontend;

pub use flight::{Flight, Landing, Param, ParamType, Statement};
pub use row::Row;

use self::link::Link;
use self::row::Columns;
use super::PgError;
use super::target::Target;

/// Whether the session is in a transaction, as the server last said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    /// In none.
    Idle,
    /// In one.
    Open,
    /// In one that failed: only a rollback helps.
    Failed,
}

/// What has passed over the connection since the session was ready, its start not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Writes after which an answer was awaited: round trips.
    pub flights: u64,
    /// Sync messages sent.
    pub syncs: u64,
    /// Bytes of protocol sent, before TLS.
    pub bytes_sent: u64,
    /// Bytes of protocol received, after TLS.
    pub bytes_received: u64,
}

/// A blocking session with a PostgreSQL server.
///
/// After [`PgError::Server`] the session lives on; [`reset`](Self::reset) makes it idle. After [`PgError::Timeout`],
/// `reset` waits once more for what is owed. After [`PgError::Lost`] only a new session helps.
#[derive(Debug)]
pub struct WireSession {
    link: Link,
    server: ServerState,
    columns: Columns,
    statements: Vec<PreparedStatement>,
}

/// What the server has said about itself and the session.
#[derive(Debug)]
struct ServerState {
    parameters: BTreeMap<String, String>,
    process_id: i32,
    status: TransactionStatus,
}

#[derive(Debug)]
struct PreparedStatement {
    name: String,
    parameters: usize,
}

impl WireSession {
    /// Connects and authenticates. From then on, no read and no write waits longer than `deadline`; until then, the
    /// target's `connect_timeout` holds for each step.
    ///
    /// # Errors
    ///
    /// [`PgError::Connect`], [`PgError::Tls`], [`PgError::Authentication`], [`PgError::Refused`], [`PgError::Timeout`],
    /// or, when the other side is not a PostgreSQL server, [`PgError::Protocol`] or [`PgError::Lost`].
    pub fn connect(target: &Target, deadline: Duration) -> Result<Self, PgError> {
        let (link, server) = startup::start(target, deadline)?;
        Ok(Self {
            link,
            server,
            columns: Columns::default(),
            statements: Vec::new(),
        })
    }

    /// From now on acknowledges what is read at once. A server that sends an answer in pieces, and waits with each for the
    /// acknowledgement of the one before, would be held up by the kernel's delay of 40 ms, and that is not its own time.
    pub fn acknowledge_at_once(&mut self) {
        self.link.acknowledge_at_once();
    }

    /// Prepares `sql` in a round trip of its own (Parse and Sync). The types of all parameters are given; results will
    /// come in binary form.
    ///
    /// # Errors
    ///
    /// [`PgError::Server`] where the server cannot parse `sql`, or any error of the connection.
    pub fn prepare(&mut self, sql: &str, parameters: &[ParamType]) -> Result<Statement, PgError> {
        let index = self.statements.len();
        let name = format!("s{index}");
        let out = self.link.begin();
        frontend::parse(&name, sql, parameters.iter().map(|parameter| parameter.oid()), out)
            .map_err(link::unsendable)?;
        // Kept even if the server refuses it, so that a name is never used twice.
        self.statements.push(PreparedStatement {
            name,
            parameters: parameters.len(),
        });
        self.link.send_with_sync()?;
        self.land_answer(|_| Ok(()))?;
        Ok(Statement::new(index))
    }

    /// An empty flight. What is not landed is never sent.
    pub fn flight(&mut self) -> Flight<'_> {
        Flight::new(self)
    }

    /// One Sync and its answer: the shortest exchange the protocol has, hence the distance to the server.
    ///
    /// # Errors
    ///
    /// Any error of the connection.
    pub fn empty_round_trip(&mut self) -> Result<(), PgError> {
        self.link.begin();
        self.link.send_with_sync()?;
        self.land_answer(|_| Ok(())).map(|_| ())
    }

    /// Runs one or more statements as text, and drops their rows. For what is not measured.
    ///
    /// # Errors
    ///
    /// [`PgError::Server`] where a statement fails, or any error of the connection.
    pub fn simple(&mut self, sql: &str) -> Result<Landing, PgError> {
        self.simple_rows(sql, |_| Ok(()))
    }

    /// Runs one or more statements as text in one message. Each row goes to `on_row`; its columns are text.
    ///
    /// # Errors
    ///
    /// As [`simple`](Self::simple), or what `on_row` returned.
    pub fn simple_rows<F>(&mut self, sql: &str, on_row: F) -> Result<Landing, PgError>
    where
        F: FnMut(Row<'_>) -> Result<(), PgError>,
    {
        frontend::query(sql, self.link.begin()).map_err(link::unsendable)?;
        self.link.send()?;
        self.land_answer(on_row)
    }

    /// Brings the session back to idle from whatever a failed strategy left behind: answers that are still owed are
    /// awaited and dropped, and an open transaction is rolled back.
    ///
    /// # Errors
    ///
    /// Any error of the connection; then the session is of no more use.
    pub fn reset(&mut self) -> Result<(), PgError> {
        while self.link.owed() > 0 {
            match self.land_answer(|_| Ok(())) {
                Ok(_) | Err(PgError::Server(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if self.server.status != TransactionStatus::Idle {
            self.simple("ROLLBACK")?;
        }
        Ok(())
    }

    /// Makes the server add this session's counters (updates, dead tuples, …) to the shared statistics now, where it
    /// can (PostgreSQL 15 and newer). An older server does so on its own, within about a second of idling.
    ///
    /// # Errors
    ///
    /// As [`simple`](Self::simple).
    pub fn flush_statistics(&mut self) -> Result<(), PgError> {
        if self.server_major().is_some_and(|major| major >= 15) {
            self.simple("SELECT pg_catalog.pg_stat_force_next_flush()")?;
        }
        Ok(())
    }

    /// The server's major version, as it reported it.
    pub fn server_major(&self) -> Option<u32> {
        let version = self.parameter("server_version")?;
        version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    /// Ends the session and waits until the server has ended its side, so that nothing of it is left there.
    ///
    /// # Errors
    ///
    /// [`PgError::Timeout`].
    pub fn leave(mut self) -> Result<(), PgError> {
        self.link.leave()
    }

    /// A parameter that the server has reported, e.g. `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.server.parameters.get(name).map(String::as_str)
    }

    /// The process id of the server's backend.
    pub fn backend_pid(&self) -> i32 {
        self.server.process_id
    }

    /// Whether the session is in a transaction.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.server.status
    }

    /// What has passed over the connection.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic()
    }

    /// Whether the connection is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.link.is_encrypted()
    }
}
