//! The model's table in SQL: what strategies say to it, in each schema shape.
//!
//! Overrides come as single values, or as a relation `o` whose columns are `name, field_value`, and in the wide shape
//! `plan, field, field_value`.

use super::PgError;
use super::dialect::Dialect;
use super::wire::{Flight, Param, ParamType, Row, Statement, WireSession};
use crate::backend::BackendError;
use crate::step::{Step, Steps};
use crate::workload::{COLUMNS, Inputs, InputsReader, Override, Overrides, ReadError, Shape, Workload};

/// The table in a run's schema.
#[derive(Debug, Clone)]
pub struct ModelTable {
    name: String,
    shape: Shape,
    dialect: Dialect,
}

impl ModelTable {
    /// The table `model_field` in `schema`.
    pub fn in_schema(schema: &str, shape: Shape) -> Self {
        Self {
            name: format!("\"{}\".model_field", schema.replace('"', "\"\"")),
            shape,
            dialect: Dialect::Postgres,
        }
    }

    /// The same table in another engine.
    #[must_use]
    pub fn said_in(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Its name, quoted, with the schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is laid out.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    fn is_wide(&self) -> bool {
        self.shape == Shape::Wide
    }

    /// The read of the whole model, without an order, as the study reads it.
    pub fn select(&self) -> String {
        self.select_from(&self.name)
    }

    /// The same read for a message of text, in which names come as they are in every engine.
    pub fn select_as_text(&self) -> String {
        if self.is_wide() {
            self.select()
        } else {
            let value = self.dialect.value("field_value");
            format!("SELECT name, {value} FROM {}", self.name)
        }
    }

    /// The same read from another relation of the table's row type.
    pub fn select_from(&self, relation: &str) -> String {
        if self.is_wide() {
            format!("SELECT plan, {} FROM {relation}", COLUMNS.join(", "))
        } else {
            let (name, value) = (self.dialect.name("name"), self.dialect.value("field_value"));
            format!("SELECT {name}, {value} FROM {relation}")
        }
    }

    /// The update of one field, prepared: `$1` its key, `$2` its value.
    pub fn update(&self, column: &str) -> String {
        if self.is_wide() {
            format!("UPDATE {} SET {column} = $2 WHERE plan = $1", self.name)
        } else {
            format!("UPDATE {} SET field_value = $2 WHERE name = $1", self.name)
        }
    }

    /// The update of one field as text.
    pub fn update_as_text(&self, field: &Override) -> String {
        let value = self.dialect.double(field.value);
        if self.is_wide() {
            let (plan, column) = field.wide();
            format!("UPDATE {} SET {column} = {value} WHERE plan = {plan}", self.name)
        } else {
            let name = field.name.replace('\'', "''");
            format!("UPDATE {} SET field_value = {value} WHERE name = '{name}'", self.name)
        }
    }

    /// Overrides as arrays, `$1` and on; goes with [`array_types`](Self::array_types) and
    /// [`Flight::execute_overrides`].
    pub fn arrays(&self) -> &'static str {
        if self.is_wide() {
            "unnest($1::int8[], $2::text[], $3::float8[]) AS o (plan, field, field_value)"
        } else {
            "unnest($1::text[], $2::float8[]) AS o (name, field_value)"
        }
    }

    /// The parameters of [`arrays`](Self::arrays).
    pub fn array_types(&self) -> &'static [ParamType] {
        if self.is_wide() {
            &[ParamType::Int8Array, ParamType::TextArray, ParamType::Float8Array]
        } else {
            &[ParamType::TextArray, ParamType::Float8Array]
        }
    }

    /// One update that writes a relation of overrides.
    pub fn update_from(&self, relation: &str) -> String {
        let table = &self.name;
        if self.is_wide() {
            let set: Vec<String> = COLUMNS
                .iter()
                .map(|column| format!("{column} = {}", overlaid(column)))
                .collect();
            format!(
                "UPDATE {table} AS m SET {} FROM {relation} WHERE m.plan = o.plan",
                set.join(", ")
            )
        } else {
            format!("UPDATE {table} AS m SET field_value = o.field_value FROM {relation} WHERE m.name = o.name")
        }
    }

    /// The read of the whole model with a relation of overrides laid over it. `value_type` is the column's own type:
    /// an update would cast to it, so the overlay must.
    pub fn select_over(&self, relation: &str, value_type: &str) -> String {
        let table = &self.name;
        if self.is_wide() {
            let list: Vec<String> = COLUMNS.iter().map(|column| overlaid(column)).collect();
            let list = list.join(", ");
            format!("SELECT m.plan, {list} FROM {table} AS m LEFT JOIN {relation} ON o.plan = m.plan")
        } else {
            format!(
                "SELECT m.name, \
                 CAST(CASE WHEN o.name IS NULL THEN m.field_value ELSE o.field_value::{value_type} END AS float8) \
                 FROM {table} AS m LEFT JOIN {relation} ON o.name = m.name"
            )
        }
    }

    /// The columns of a table of overrides.
    pub fn override_columns(&self) -> &'static str {
        if self.is_wide() {
            "plan bigint, field text, field_value double precision"
        } else {
            "name varchar(64), field_value double precision"
        }
    }

    /// The catalog's word for the type of the value column, in one row and column.
    pub fn value_type(&self) -> String {
        let column = if self.is_wide() { "growth" } else { "field_value" };
        format!(
            "SELECT pg_catalog.format_type(atttypid, atttypmod) FROM pg_catalog.pg_attribute \
             WHERE attrelid = '{}'::regclass AND attname = '{column}'",
            self.name.replace('\'', "''")
        )
    }

    /// In a database of its own: writes the overrides and reads the model in one message, which commits, and ends the
    /// session. Gives the rows touched and what was read. The message is an exchange, and the end is the discard's begin.
    ///
    /// # Errors
    /// What the server says, or that the rows are not the model.
    pub(in crate::backend) fn write_and_read(
        &self,
        mut session: WireSession,
        overrides: &Overrides,
        workload: &Workload,
        steps: &mut Steps,
    ) -> Result<(u64, Inputs), BackendError> {
        steps.enter(Step::Exchange);
        let mut sql: Vec<String> = overrides.iter().map(|field| self.update_as_text(field)).collect();
        sql.push(self.select());
        let mut reader = workload.reader();
        let mut foreign = Ok(());
        let landing = session.simple_rows(&sql.join("; "), |row| {
            if foreign.is_ok() {
                foreign = Self::accept_text(self.shape, &mut reader, row)?;
            }
            Ok(())
        })?;
        foreign?;
        let inputs = reader.finish()?;
        steps.enter(Step::Discard);
        // Else a drop finds the session still there, and looks again only after a tenth of a second.
        session.leave()?;
        Ok((landing.rows_affected, inputs))
    }

    /// Hands a row of [`select`](Self::select), in binary form, to the reader.
    pub(super) fn accept(shape: Shape, reader: &mut InputsReader<'_>, row: Row<'_>) -> Result<Accepted, PgError> {
        if shape == Shape::Wide {
            let plan = row.int8(0)?;
            each_column(&row, |column| {
                Ok(reader.accept_wide(plan, column, row.float8(column + 1)?))
            })
        } else {
            Ok(reader.accept(row.text(0)?, row.float8(1)?))
        }
    }

    /// The same for a row whose columns are text. A server of version 12 or newer writes the shortest decimal that is
    /// read back as the same double, unless `extra_float_digits` is below 1.
    pub(super) fn accept_text(shape: Shape, reader: &mut InputsReader<'_>, row: Row<'_>) -> Result<Accepted, PgError> {
        if shape == Shape::Wide {
            let plan = number(row.text(0)?)?;
            each_column(&row, |column| {
                Ok(reader.accept_wide(plan, column, number(row.text(column + 1)?)?))
            })
        } else {
            Ok(reader.accept(row.text(0)?, number(row.text(1)?)?))
        }
    }
}

impl Flight<'_> {
    /// Adds an execution whose parameters are the overrides as arrays; see [`ModelTable::arrays`].
    ///
    /// # Errors
    /// As [`Flight::execute`].
    pub fn execute_overrides(
        &mut self,
        statement: Statement,
        overrides: &Overrides,
        shape: Shape,
    ) -> Result<(), PgError> {
        let values: Vec<f64> = overrides.iter().map(|field| field.value).collect();
        if shape == Shape::Wide {
            let (plans, fields): (Vec<i64>, Vec<&str>) = overrides.iter().map(Override::wide).unzip();
            let parameters = [
                Param::Int8Array(&plans),
                Param::TextArray(&fields),
                Param::Float8Array(&values),
            ];
            self.execute(statement, &parameters)
        } else {
            let names: Vec<&str> = overrides.iter().map(|field| field.name.as_str()).collect();
            self.execute(statement, &[Param::TextArray(&names), Param::Float8Array(&values)])
        }
    }
}

/// Whether the model has such a row.
type Accepted = Result<(), ReadError>;

/// The columns of a wide row that are not null.
fn each_column(row: &Row<'_>, mut take: impl FnMut(usize) -> Result<Accepted, PgError>) -> Result<Accepted, PgError> {
    for column in 0..COLUMNS.len() {
        if row.bytes(column + 1)?.is_some()
            && let Err(foreign) = take(column)?
        {
            return Ok(Err(foreign));
        }
    }
    Ok(Ok(()))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, PgError> {
    text.parse()
        .map_err(|_| PgError::Protocol(format!("{text:?} came where a number was asked for")))
}

fn overlaid(column: &str) -> String {
    format!("CASE WHEN o.field = '{column}' THEN o.field_value ELSE m.{column} END")
}
