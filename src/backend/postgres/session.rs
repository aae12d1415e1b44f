//! The session that strategies are written against: a measured connection that knows the run's table.

use std::time::Duration;

use super::PgError;
use super::dialect::Dialect;
use super::driver::Driver;
use super::table::ModelTable;
use super::target::Target;
use super::wire::{Flight, Landing, Param, ParamType, Statement, WireSession};
use crate::backend::{BackendError, Creations};
use crate::workload::{Inputs, Override, Shape, Workload};

/// One measured connection, bound to the model's table in the run's schema.
#[derive(Debug)]
pub struct PostgresSession {
    wire: WireSession,
    target: Target,
    schema: String,
    deadline: Duration,
    dialect: Dialect,
    creations: Option<Creations>,
    table: ModelTable,
    select: Statement,
}

impl PostgresSession {
    /// Connects; `schema` holds the model's table in the workload's shape. No answer is awaited longer than `deadline`.
    ///
    /// # Errors
    /// Why there is no connection, or that there is no such table.
    pub fn connect(target: &Target, schema: &str, workload: &Workload, deadline: Duration) -> Result<Self, PgError> {
        Self::connect_to(Dialect::Postgres, target, schema, workload, deadline)
    }

    /// The same to an engine that speaks PostgreSQL's protocol.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_to(
        dialect: Dialect,
        target: &Target,
        schema: &str,
        workload: &Workload,
        deadline: Duration,
    ) -> Result<Self, PgError> {
        let mut wire = WireSession::connect(target, deadline)?;
        if dialect.sends_in_pieces() {
            wire.acknowledge_at_once();
        }
        let table = ModelTable::in_schema(schema, workload.shape()).said_in(dialect);
        let select = wire.prepare(&table.select(), &[])?;
        Ok(Self {
            wire,
            target: target.clone(),
            schema: schema.to_owned(),
            deadline,
            dialect,
            creations: None,
            table,
            select,
        })
    }

    /// Notes with the run whatever is made beyond the run's schema.
    #[must_use]
    pub fn noting(self, creations: Creations) -> Self {
        Self {
            creations: Some(creations),
            ..self
        }
    }

    pub(in crate::backend) fn creations(&self) -> Option<&Creations> {
        self.creations.as_ref()
    }

    pub(in crate::backend) fn target(&self) -> &Target {
        &self.target
    }

    pub(in crate::backend) fn schema(&self) -> &str {
        &self.schema
    }

    pub(in crate::backend) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The process that serves it, as the server says.
    pub fn process(&self) -> i32 {
        self.wire.backend_pid()
    }

    /// The server's major version; 0 where it does not say.
    pub(super) fn server_major(&self) -> u32 {
        self.wire.server_major().unwrap_or_default()
    }

    pub(super) fn wire(&mut self) -> &mut WireSession {
        &mut self.wire
    }

    /// A further connection of the same kind, for a strategy that must keep a transaction open beside the pairs.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn another(&self, workload: &Workload) -> Result<Self, PgError> {
        Self::connect_to(self.dialect, &self.target, &self.schema, workload, self.deadline)
    }

    /// A further connection by way of a driver.
    ///
    /// # Errors
    /// Why there is no connection.
    pub fn driver(&self) -> Result<Driver, PgError> {
        Driver::connect(&self.target, self.deadline)
    }

    /// The model's table in SQL.
    pub fn table(&self) -> &ModelTable {
        &self.table
    }

    /// Prepares the beginning of a transaction that will write.
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare_begin(&mut self) -> Result<Statement, PgError> {
        self.wire.prepare(self.dialect.begin(), &[])
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The beginning of a transaction that will write, as text.
    pub fn begin(&self) -> &'static str {
        self.dialect.begin()
    }

    /// Makes the server answer in text that is read back as the same double.
    ///
    /// # Errors
    /// What the server says.
    pub fn answer_exactly(&mut self) -> Result<(), PgError> {
        if let Some(sql) = self.dialect.exact_text() {
            self.wire.simple(sql)?;
        }
        Ok(())
    }

    /// Runs a query as text whose one value is a whole number.
    ///
    /// # Errors
    /// What the server says, or that it is none.
    pub fn number(&mut self, sql: &str) -> Result<i64, PgError> {
        let mut number = None;
        self.wire.simple_rows(sql, |row| {
            number = row.text(0)?.parse().ok();
            Ok(())
        })?;
        number.ok_or_else(|| PgError::Protocol(format!("{sql} gave no whole number")))
    }

    /// Prepares a statement in a round trip of its own.
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare(&mut self, sql: &str, parameters: &[ParamType]) -> Result<Statement, PgError> {
        self.wire.prepare(sql, parameters)
    }

    /// Prepares the update of one field, for every column that a drag writes.
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare_updates(&mut self, workload: &Workload) -> Result<Updates, PgError> {
        let is_wide = self.table.shape() == Shape::Wide;
        let key = if is_wide { ParamType::Int8 } else { ParamType::Text };
        let mut updates = Updates {
            is_wide,
            by_column: Vec::new(),
        };
        for field in &workload.overrides(0.0) {
            let column = updates.column_of(field);
            if updates.by_column.iter().all(|(known, _)| *known != column) {
                let statement = self
                    .wire
                    .prepare(&self.table.update(column), &[key, ParamType::Float8])?;
                updates.by_column.push((column, statement));
            }
        }
        Ok(updates)
    }

    /// The read of the whole model, prepared when the session began; see [`land_model`].
    pub fn select(&self) -> Statement {
        self.select
    }

    /// The type of the column that holds values, as SQL writes it.
    ///
    /// # Errors
    /// What the server says.
    pub fn value_type(&mut self) -> Result<String, PgError> {
        let mut value_type = String::new();
        self.wire.simple_rows(&self.table.value_type(), |row| {
            row.text(0)?.clone_into(&mut value_type);
            Ok(())
        })?;
        Ok(value_type)
    }

    /// Runs statements as text, drops their rows. For what is done before the pairs.
    ///
    /// # Errors
    /// What the server says.
    pub fn simple(&mut self, sql: &str) -> Result<Landing, PgError> {
        self.wire.simple(sql)
    }

    /// Runs statements as text in one message; exactly one of them reads the model.
    ///
    /// # Errors
    /// What the server says, or that the rows are not the model.
    pub fn simple_model(&mut self, sql: &str, workload: &Workload) -> Result<(Landing, Inputs), BackendError> {
        let mut reader = workload.reader();
        let mut foreign = Ok(());
        let landing = self.wire.simple_rows(sql, |row| {
            if foreign.is_ok() {
                foreign = ModelTable::accept_text(workload.shape(), &mut reader, row)?;
            }
            Ok(())
        })?;
        foreign?;
        Ok((landing, reader.finish()?))
    }

    /// Commands that leave together, with one Sync.
    pub fn flight(&mut self) -> Flight<'_> {
        self.wire.flight()
    }

    /// One command in a flight of its own; gives the rows that it touched.
    ///
    /// # Errors
    /// What the server says.
    pub fn execute(&mut self, statement: Statement) -> Result<u64, PgError> {
        let mut flight = self.wire.flight();
        flight.execute(statement, &[])?;
        Ok(flight.land(|_| Ok(()))?.rows_affected)
    }

    /// Reads the whole model in one flight, in no particular order, as the study does.
    ///
    /// # Errors
    /// What the server says, or that the rows are not the model.
    pub fn read_model(&mut self, workload: &Workload) -> Result<Inputs, BackendError> {
        let select = self.select;
        let mut flight = self.wire.flight();
        flight.execute(select, &[])?;
        Ok(land_model(flight, workload)?.1)
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
        self.count();
    }

    /// Makes the server count what this session did.
    pub fn count(&mut self) {
        if self.dialect.counts() {
            // A connection that is gone has nothing left to count.
            let _ = self.wire.flush_statistics();
        }
    }
}

/// The prepared updates of single fields.
#[derive(Debug, Clone)]
pub struct Updates {
    is_wide: bool,
    by_column: Vec<(&'static str, Statement)>,
}

impl Updates {
    /// Adds the update of one field to a flight.
    ///
    /// # Errors
    /// [`PgError::Protocol`] for a field of a column that no drag writes; or as [`Flight::execute`].
    pub fn execute(&self, flight: &mut Flight<'_>, field: &Override) -> Result<(), PgError> {
        let column = self.column_of(field);
        let known = self.by_column.iter().find(|(known, _)| *known == column);
        let Some(&(_, statement)) = known else {
            return Err(PgError::Protocol(format!("no update of {column} was prepared")));
        };
        let key = if self.is_wide {
            Param::Int8(field.wide().0)
        } else {
            Param::Text(&field.name)
        };
        flight.execute(statement, &[key, Param::Float8(field.value)])
    }

    fn column_of(&self, field: &Override) -> &'static str {
        if self.is_wide { field.wide().1 } else { "field_value" }
    }
}

/// Lands a flight in which exactly one command reads the model, and reads it.
///
/// # Errors
/// What the server says, or that the rows are not the model.
pub fn land_model(flight: Flight<'_>, workload: &Workload) -> Result<(Landing, Inputs), BackendError> {
    let mut reader = workload.reader();
    let mut foreign = Ok(());
    let landing = flight.land(|row| {
        if foreign.is_ok() {
            foreign = ModelTable::accept(workload.shape(), &mut reader, row)?;
        }
        Ok(())
    })?;
    foreign?;
    Ok((landing, reader.finish()?))
}
