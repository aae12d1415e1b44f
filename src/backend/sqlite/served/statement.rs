//! One statement: prepared, its parameters bound by their numbers, stepped, its rows and its tag sent.

use std::sync::Arc;

use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::data::{DataRow, RowDescription};
use pgwire::messages::response::CommandComplete;
use rusqlite::{Connection, Statement};

use super::values;

/// Why a statement was not run: SQLSTATE and words.
#[derive(Debug)]
pub(super) struct Refusal {
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        if matches!(error, rusqlite::Error::SqlInputError { .. }) {
            return Self::new("42601", error.to_string());
        }
        let code = match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => "23000",
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "55P03",
            Some(ErrorCode::DiskFull) => "53100",
            Some(ErrorCode::ReadOnly) => "25006",
            Some(_) => "42601",
            None => "XX000",
        };
        Self::new(code, error.to_string())
    }
}

/// A statement that a client prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    pub sql: String,
    /// Types of the parameters, as the client gave them.
    pub types: Vec<u32>,
    /// Where SQLite has `$1`, `$2`, …: it numbers them by when each first comes.
    places: Vec<Option<usize>>,
}

impl Prepared {
    /// Prepares it; from now on it is in the connection's cache.
    pub fn of(database: &Connection, sql: String, types: Vec<u32>) -> Result<Self, Refusal> {
        let statement = database.prepare_cached(&sql)?;
        let places = (1..=statement.parameter_count()).map(|number| statement.parameter_index(&format!("${number}")));
        let places = places.collect::<Result<_, _>>()?;
        drop(statement);
        Ok(Self { sql, types, places })
    }
}

/// A prepared statement with its parameters.
#[derive(Debug, Clone)]
pub(super) struct Portal {
    pub prepared: Arc<Prepared>,
    pub parameters: Vec<rusqlite::types::Value>,
    pub formats: Vec<i16>,
}

/// Where answers gather until they leave together.
pub(super) trait Answers {
    fn add(&mut self, answer: Answer);
}

impl Portal {
    /// Runs it; rows in the forms that were asked for.
    pub fn execute(&self, database: &Connection, answers: &mut dyn Answers) -> Result<(), Refusal> {
        let mut statement = database.prepare_cached(&self.prepared.sql)?;
        for (place, value) in self.prepared.places.iter().zip(&self.parameters) {
            if let Some(place) = place {
                statement.raw_bind_parameter(*place, value)?;
            }
        }
        run(&mut statement, &self.prepared.sql, &self.formats, database, answers)
    }
}

/// Steps a statement whose parameters are bound, to its end.
pub(super) fn run(
    statement: &mut Statement<'_>,
    sql: &str,
    formats: &[i16],
    database: &Connection,
    answers: &mut dyn Answers,
) -> Result<(), Refusal> {
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut count = 0u64;
    while let Some(row) = rows.next()? {
        let mut data = DataRow::new(BytesMut::with_capacity(32 * columns), 0);
        for place in 0..columns {
            values::put(&mut data, row.get_ref(place)?, values::is_binary(formats, place));
        }
        answers.add(Answer::DataRow(data));
        count += 1;
    }
    drop(rows);
    answers.add(Answer::CommandComplete(CommandComplete::new(tag(
        sql,
        if columns > 0 { count } else { database.changes() },
    ))));
    Ok(())
}

/// What a statement's result looks like; `None` where it has none.
pub(super) fn described(statement: &Statement<'_>, formats: &[i16]) -> Option<RowDescription> {
    let columns = statement.columns();
    let fields: Vec<_> = columns
        .enumerate()
        .map(|(place, column)| values::field(column.name(), column.decl_type(), values::is_binary(formats, place)))
        .collect();
    (!fields.is_empty()).then(|| RowDescription::new(fields))
}

/// PostgreSQL's tag of a command: its word, and the rows where it counts them.
fn tag(sql: &str, rows: u64) -> String {
    let word = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    match word.trim_end_matches(';') {
        "INSERT" => format!("INSERT 0 {rows}"),
        word @ ("UPDATE" | "DELETE" | "SELECT") => format!("{word} {rows}"),
        word => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_postgres() {
        assert_eq!(tag("update t set a = 1", 4), "UPDATE 4");
        assert_eq!(tag("\n INSERT INTO t VALUES (1)", 1), "INSERT 0 1");
        assert_eq!(
            (tag("BEGIN IMMEDIATE", 9), tag("rollback;", 9)),
            ("BEGIN".to_owned(), "ROLLBACK".to_owned())
        );
    }
}
