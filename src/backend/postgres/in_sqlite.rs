//! What strategies say to SQLite behind a socket in SQLite's own words: the statements that it is given in the worker's
//! process, by the client that measures PostgreSQL. H2 is given its own in the same places.

use super::dialect::Dialect;
use super::session::PostgresSession;
use super::wire::{Flight, Param, ParamType, Statement};
use super::{PgError, in_h2};
use crate::backend::sqlite::sql;
use crate::workload::{Override, Overrides, Shape};

/// The statements around the session's temporary table of overrides.
#[derive(Debug, Clone, Copy)]
pub struct Overlay {
    empty: Statement,
    fill: Statement,
    /// The read of the model joined with the table; see [`land_model`](super::land_model).
    pub select: Statement,
}

impl PostgresSession {
    /// Prepares the read of the model with the overrides as parameters; it fits all overrides of the same fields. Goes with
    /// [`Flight::execute_fields`].
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare_reenacted(&mut self, overrides: &Overrides) -> Result<Statement, PgError> {
        let shape = self.table().shape();
        let types = [key_type(shape), ParamType::Float8].repeat(overrides.len());
        let select = match self.dialect() {
            Dialect::H2 => in_h2::reenacted(self.table(), overrides),
            _ => sql::reenacted(shape, overrides),
        };
        self.prepare(&select, &types)
    }

    /// Makes the session's temporary table of overrides, if it is not there yet, and prepares what is done with it.
    ///
    /// # Errors
    /// What the server says.
    pub fn prepare_overlay(&mut self) -> Result<Overlay, PgError> {
        let shape = self.table().shape();
        let (table, empty, fill, select) = match self.dialect() {
            Dialect::H2 => (
                in_h2::OVERLAY,
                in_h2::EMPTY_OVERLAY,
                in_h2::FILL_OVERLAY,
                in_h2::overlaid(self.table()),
            ),
            _ => (
                sql::OVERLAY,
                sql::EMPTY_OVERLAY,
                sql::FILL_OVERLAY,
                sql::overlaid(shape),
            ),
        };
        self.simple(table)?;
        Ok(Overlay {
            empty: self.prepare(empty, &[])?,
            fill: self.prepare(fill, &[key_type(shape), ParamType::Text, ParamType::Float8])?,
            select: self.prepare(&select, &[])?,
        })
    }
}

impl Flight<'_> {
    /// Adds an execution whose parameters are the key and the value of each override, in their order.
    ///
    /// # Errors
    /// As [`Flight::execute`].
    pub fn execute_fields(&mut self, statement: Statement, overrides: &Overrides, shape: Shape) -> Result<(), PgError> {
        let parameters = overrides
            .iter()
            .flat_map(|field| [key(field, shape), Param::Float8(field.value)]);
        let parameters: Vec<Param<'_>> = parameters.collect();
        self.execute(statement, &parameters)
    }

    /// Adds what empties the table of overrides and fills it.
    ///
    /// # Errors
    /// As [`Flight::execute`].
    pub fn fill_overlay(&mut self, overlay: Overlay, overrides: &Overrides, shape: Shape) -> Result<(), PgError> {
        self.execute(overlay.empty, &[])?;
        for field in overrides {
            let column = if shape == Shape::Wide {
                field.wide().1
            } else {
                "field_value"
            };
            let parameters = [key(field, shape), Param::Text(column), Param::Float8(field.value)];
            self.execute(overlay.fill, &parameters)?;
        }
        Ok(())
    }
}

fn key_type(shape: Shape) -> ParamType {
    if shape == Shape::Wide {
        ParamType::Int8
    } else {
        ParamType::Text
    }
}

fn key(field: &Override, shape: Shape) -> Param<'_> {
    if shape == Shape::Wide {
        Param::Int8(field.wide().0)
    } else {
        Param::Text(&field.name)
    }
}
