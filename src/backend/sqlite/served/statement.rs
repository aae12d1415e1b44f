//! One statement: prepared, its parameters bound by their numbers, stepped, its rows and its tag sent.

use std::sync::{Arc, OnceLock};

use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::data::{DataRow, RowDescription};
use pgwire::messages::response::{CommandComplete, EmptyQueryResponse};
use rusqlite::{Connection, Statement};

use super::database::Session;
use super::values;

/// The protocol counts parameters in 16 bits.
const MOST_PARAMETERS: usize = 65_535;

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
        if matches!(
            error,
            rusqlite::Error::SqlInputError { .. } | rusqlite::Error::MultipleStatement
        ) {
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
    sql: String,
    /// Whether there is nothing to run: no text, or comments.
    is_empty: bool,
    /// Types of the parameters, as the client gave them; 0 where it did not.
    pub types: Vec<u32>,
    /// The number of the parameter in each of SQLite's places: SQLite numbers `$1`, `$2`, … by when each first comes.
    numbers: Vec<usize>,
    /// Types of the result's columns, once the client was told them.
    announced: OnceLock<Vec<u32>>,
}

impl Prepared {
    /// Prepares it; from now on it is in the connection's cache.
    pub fn of(database: &Connection, sql: String, mut types: Vec<u32>) -> Result<Self, Refusal> {
        let (is_empty, numbers) = match database.prepare_cached(&sql) {
            Ok(statement) => (false, numbers(&statement)?),
            Err(rusqlite::Error::Empty) => (true, Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let highest = numbers.iter().copied().max().unwrap_or_default();
        types.resize(types.len().max(highest), 0);
        Ok(Self {
            sql,
            is_empty,
            types,
            numbers,
            announced: OnceLock::new(),
        })
    }

    /// What its result looks like; `None` where it has none. From now on values come in the types that were told.
    pub fn described(&self, session: &Session, formats: &[i16]) -> Result<Option<RowDescription>, Refusal> {
        if self.is_empty {
            return Ok(None);
        }
        let row = described(&*session.turn()?.prepare_cached(&self.sql)?, formats);
        let fields = row.iter().flat_map(|row| &row.fields);
        // Told again, it is told the same.
        let _ = self.announced.set(fields.map(|field| field.type_id).collect());
        Ok(row)
    }
}

/// The numbers of a statement's parameters, in SQLite's order: of `$2` and `?2` two, of `?` its place.
fn numbers(statement: &Statement<'_>) -> Result<Vec<usize>, Refusal> {
    let number = |place| {
        let Some(name) = statement.parameter_name(place) else {
            return Ok(place);
        };
        let number = name.strip_prefix(['$', '?']).and_then(|number| number.parse().ok());
        number
            .filter(|number| (1..=MOST_PARAMETERS).contains(number))
            .ok_or_else(|| Refusal::new("42P02", format!("{name} is no parameter of this protocol")))
    };
    (1..=statement.parameter_count()).map(number).collect()
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
    pub fn execute(&self, session: &Session, answers: &mut dyn Answers) -> Result<(), Refusal> {
        let prepared = &*self.prepared;
        if prepared.is_empty {
            answers.add(Answer::EmptyQueryResponse(EmptyQueryResponse::new()));
            return Ok(());
        }
        let database = session.turn()?;
        let mut statement = database.prepare_cached(&prepared.sql)?;
        for (place, number) in prepared.numbers.iter().enumerate() {
            statement.raw_bind_parameter(place + 1, &self.parameters[number - 1])?;
        }
        let form = Form {
            formats: &self.formats,
            announced: prepared.announced.get().map(Vec::as_slice),
        };
        run(&mut statement, &prepared.sql, form, &database, answers)
    }
}

/// How a result's values are sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Form<'a> {
    pub formats: &'a [i16],
    /// The types that the client was told.
    pub announced: Option<&'a [u32]>,
}

/// Steps a statement whose parameters are bound, to its end.
pub(super) fn run(
    statement: &mut Statement<'_>,
    sql: &str,
    form: Form<'_>,
    database: &Connection,
    answers: &mut dyn Answers,
) -> Result<(), Refusal> {
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut count = 0u64;
    while let Some(row) = rows.next()? {
        let mut data = DataRow::new(BytesMut::with_capacity(32 * columns), 0);
        for place in 0..columns {
            let announced = form.announced.and_then(|types| types.get(place).copied());
            values::put(
                &mut data,
                row.get_ref(place)?,
                values::is_binary(form.formats, place),
                announced,
            )?;
        }
        answers.add(Answer::DataRow(data));
        count += 1;
    }
    drop(rows);
    answers.add(Answer::CommandComplete(CommandComplete::new(tag(
        sql,
        columns > 0,
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
fn tag(sql: &str, has_columns: bool, rows: u64) -> String {
    match first_word(sql).to_ascii_uppercase().as_str() {
        "INSERT" | "REPLACE" => format!("INSERT 0 {rows}"),
        word @ ("UPDATE" | "DELETE") => format!("{word} {rows}"),
        _ if has_columns => format!("SELECT {rows}"),
        "WITH" => format!("UPDATE {rows}"),
        word => word.to_owned(),
    }
}

/// The first word behind blanks, semicolons and comments.
fn first_word(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic());
            return &rest[..end.unwrap_or(rest.len())];
        };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::database::Database;
    use super::*;

    #[derive(Default)]
    struct Heard(Vec<Answer>);

    impl Answers for Heard {
        fn add(&mut self, answer: Answer) {
            self.0.push(answer);
        }
    }

    /// An item of a SELECT, and what it gives where parameter `n` is `<n>`: read by nothing but this list.
    fn item() -> impl Strategy<Value = (String, String)> {
        prop_oneof![
            (1..14usize).prop_map(|n| (format!("${n}"), format!("<{n}>"))),
            (1..14usize, 1..14usize).prop_map(|(a, b)| (format!("${a}||${b}"), format!("<{a}><{b}>"))),
            (1..14usize).prop_map(|n| (format!("/* $7 ' */ ${n} -- \" $8\n"), format!("<{n}>"))),
            (1..14usize).prop_map(|n| (format!("'${n} '' ?{n} -- '"), format!("${n} ' ?{n} -- "))),
            (1..14usize).prop_map(|n| (format!("${n} AS \"${}\"", n + 1), format!("<{n}>"))),
            (1..14usize).prop_map(|n| (format!("(SELECT a FROM (SELECT ${n} AS a) AS [$9])"), format!("<{n}>"))),
        ]
    }

    proptest! {
        #[test]
        fn parameters_are_what_their_numbers_say(items in prop::collection::vec(item(), 1..9)) {
            let connection = Connection::open_in_memory().unwrap();
            let session = Session::with(Arc::new(Database::new(connection, Duration::ZERO)));
            let list: Vec<&str> = items.iter().map(|(sql, _)| sql.as_str()).collect();
            let sql = format!("SELECT {}", list.join(", "));
            let prepared = Prepared::of(&session.turn().unwrap(), sql, Vec::new()).unwrap();
            let given = (1..=prepared.types.len()).map(|n| format!("<{n}>").into());
            let portal = Portal {
                parameters: given.collect(),
                prepared: Arc::new(prepared),
                formats: Vec::new(),
            };
            let mut heard = Heard::default();
            portal.execute(&session, &mut heard).unwrap();
            let expected: Vec<u8> = items
                .iter()
                .flat_map(|(_, value)| [(value.len() as u32).to_be_bytes().as_slice(), value.as_bytes()].concat())
                .collect();
            let Some(Answer::DataRow(row)) = heard.0.first() else { panic!("{:?}", heard.0) };
            prop_assert_eq!(&row.data[..], expected.as_slice());
        }

        /// What a strategy writes as text is read by SQLite as the same double.
        #[test]
        fn doubles_as_text_are_read_back(bits in any::<u64>(), small in -1e7..1e7f64) {
            let connection = Connection::open_in_memory().unwrap();
            for value in [f64::from_bits(bits), small, small.round()].into_iter().filter(|value| value.is_finite()) {
                let sql = format!("SELECT CAST({value:?} AS double precision)");
                let read: f64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
                prop_assert_eq!(read.to_bits(), value.to_bits(), "{} became {}", value, read);
            }
        }
    }

    #[test]
    fn tags_are_those_of_postgres() {
        assert_eq!(tag("update t set a = 1", false, 4), "UPDATE 4");
        assert_eq!(tag("\n INSERT INTO t VALUES (1)", false, 1), "INSERT 0 1");
        assert_eq!(tag("-- a\n/* b */ ;DELETE FROM t", false, 2), "DELETE 2");
        assert_eq!(tag("PRAGMA page_count", true, 1), "SELECT 1");
        assert_eq!(tag("UPDATE t SET a = 1 RETURNING a", true, 3), "UPDATE 3");
        assert_eq!(tag("BEGIN IMMEDIATE", false, 9), "BEGIN");
        assert_eq!(tag("rollback;", false, 9), "ROLLBACK");
        assert_eq!(tag("/* open", false, 9), "");
    }
}
