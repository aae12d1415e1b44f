//! The session that strategies are written against: a measured connection that knows the run's table.

use std::time::Duration;

use super::PgError;
use super::target::Target;
use super::wire::{Flight, ParamType, Statement, WireSession};
use crate::backend::BackendError;
use crate::workload::{Inputs, Workload};

/// One measured connection, bound to the model's table in the run's schema.
#[derive(Debug)]
pub struct PostgresSession {
    wire: WireSession,
    table: String,
    select: Statement,
}

impl PostgresSession {
    /// Connects; `schema` holds the model's table. No answer is awaited longer than `deadline`.
    ///
    /// # Errors
    /// Why there is no connection, or that there is no such table.
    pub fn connect(target: &Target, schema: &str, deadline: Duration) -> Result<Self, PgError> {
        let mut wire = WireSession::connect(target, deadline)?;
        let table = format!("\"{}\".model_field", schema.replace('"', "\"\""));
        let select = wire.prepare(&format!("SELECT name, field_value FROM {table}"), &[])?;
        Ok(Self { wire, table, select })
    }

    /// Prepares a statement in a round trip of its own.
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare(&mut self, sql: &str, parameters: &[ParamType]) -> Result<Statement, PgError> {
        self.wire.prepare(sql, parameters)
    }

    /// Prepares the update of one field: `$1` its name, `$2` its value.
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare_update(&mut self) -> Result<Statement, PgError> {
        let sql = format!("UPDATE {} SET field_value = $2 WHERE name = $1", self.table);
        self.wire.prepare(&sql, &[ParamType::Text, ParamType::Float8])
    }

    /// Commands that leave together, with one Sync.
    pub fn flight(&mut self) -> Flight<'_> {
        self.wire.flight()
    }

    /// Reads the whole model in one flight, in no particular order, as the study does.
    ///
    /// # Errors
    /// What the server says, or that the rows are not the model.
    pub fn read_model(&mut self, workload: &Workload) -> Result<Inputs, BackendError> {
        let mut reader = workload.reader();
        let mut foreign = Ok(());
        let mut flight = self.wire.flight();
        flight.execute(self.select, &[])?;
        flight.land(|row| {
            if foreign.is_ok() {
                foreign = reader.accept(row.text(0)?, row.float8(1)?);
            }
            Ok(())
        })?;
        foreign?;
        Ok(reader.finish()?)
    }

    /// One Sync and its answer.
    ///
    /// # Errors
    /// Any error of the connection.
    pub fn empty_round_trip(&mut self) -> Result<(), PgError> {
        self.wire.empty_round_trip()
    }

    /// Brings the session back to idle after a preview that failed.
    ///
    /// # Errors
    /// Any error of the connection.
    pub fn reset(&mut self) -> Result<(), PgError> {
        self.wire.reset()
    }

    /// Makes the server count what this session did, and ends it.
    pub fn close(mut self) {
        // A connection that is gone has nothing left to count.
        let _ = self.wire.flush_statistics();
    }
}
