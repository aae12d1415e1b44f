//! Values between PostgreSQL's forms and SQLite's.

use bytes::{BufMut, BytesMut};
use pgwire::messages::data::{DataRow, FieldDescription};
use rusqlite::types::{Value, ValueRef};

use super::statement::Refusal;

/// PostgreSQL's numbers for the types that are spoken here.
const UNKNOWN: u32 = 0;
const INT8: u32 = 20;
const INT4: u32 = 23;
const TEXT: u32 = 25;
const FLOAT8: u32 = 701;
const BYTEA: u32 = 17;
const VARCHAR: u32 = 1043;

/// Whether a column or a parameter is in binary form.
pub(super) fn is_binary(formats: &[i16], place: usize) -> bool {
    match formats {
        [] => false,
        [all] => *all == 1,
        each => each.get(place) == Some(&1),
    }
}

/// A parameter as it came.
pub(super) fn parameter(bytes: Option<&[u8]>, kind: u32, is_binary: bool) -> Result<Value, Refusal> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    let wrong = || Refusal::new("22P03", "a parameter is not of its type");
    let foreign = || {
        Refusal::new(
            "0A000",
            format!("parameters of type {kind} are not spoken here in binary form"),
        )
    };
    if is_binary {
        return match (kind, bytes) {
            (INT8, bytes) => {
                let bytes = bytes.try_into().map_err(|_| wrong())?;
                Ok(Value::Integer(i64::from_be_bytes(bytes)))
            }
            (INT4, bytes) => {
                let bytes = bytes.try_into().map_err(|_| wrong())?;
                Ok(Value::Integer(i32::from_be_bytes(bytes).into()))
            }
            (FLOAT8, bytes) => {
                let bytes = bytes.try_into().map_err(|_| wrong())?;
                Ok(Value::Real(f64::from_be_bytes(bytes)))
            }
            (BYTEA, bytes) => Ok(Value::Blob(bytes.to_vec())),
            (UNKNOWN | TEXT | VARCHAR, bytes) => text(bytes).map(Value::Text),
            _ => Err(foreign()),
        };
    }
    let text = text(bytes)?;
    match kind {
        INT8 | INT4 => text.parse().map(Value::Integer).map_err(|_| wrong()),
        FLOAT8 => text.parse().map(Value::Real).map_err(|_| wrong()),
        _ => Ok(Value::Text(text)),
    }
}

fn text(bytes: &[u8]) -> Result<String, Refusal> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Refusal::new("22021", "a text is not UTF-8"))
}

/// Adds a value to a row. In binary form it is of the type that was announced; where none was, the client did not ask and
/// knows what it reads, and gets it as SQLite has it.
pub(super) fn put(
    row: &mut DataRow,
    value: ValueRef<'_>,
    is_binary: bool,
    announced: Option<u32>,
) -> Result<(), Refusal> {
    row.field_count += 1;
    let data = &mut row.data;
    match (value, is_binary, announced) {
        (ValueRef::Null, ..) => data.put_i32(-1),
        (ValueRef::Integer(number), true, None | Some(INT8)) => sized(data, &number.to_be_bytes()),
        (ValueRef::Real(number), true, None | Some(FLOAT8)) => sized(data, &number.to_be_bytes()),
        (ValueRef::Integer(number), true, Some(FLOAT8)) => sized(data, &(number as f64).to_be_bytes()),
        (_, true, Some(INT8 | FLOAT8)) => {
            return Err(Refusal::new("22P03", "a stored value is not of its column's type"));
        }
        (ValueRef::Integer(number), ..) => sized(data, number.to_string().as_bytes()),
        (ValueRef::Real(number), ..) => sized(data, decimal(number).as_bytes()),
        (ValueRef::Text(bytes) | ValueRef::Blob(bytes), ..) => sized(data, bytes),
    }
    Ok(())
}

/// The shortest decimal that is read back as the same double, and PostgreSQL's words for what has none.
fn decimal(number: f64) -> String {
    if number.is_infinite() {
        let word = if number > 0.0 { "Infinity" } else { "-Infinity" };
        return word.to_owned();
    }
    number.to_string()
}

fn sized(data: &mut BytesMut, bytes: &[u8]) {
    data.put_i32(bytes.len() as i32);
    data.put_slice(bytes);
}

/// A column of a statement's result; `declared` is the type that its table gives it.
pub(super) fn field(name: &str, declared: Option<&str>, is_binary: bool) -> FieldDescription {
    let (kind, size) = match declared.map(str::to_ascii_uppercase).as_deref() {
        Some(declared) if declared.contains("INT") => (INT8, 8),
        Some(declared) if ["REAL", "DOUB", "FLOA"].iter().any(|word| declared.contains(word)) => (FLOAT8, 8),
        _ => (TEXT, -1),
    };
    FieldDescription::new(name.to_owned(), 0, 0, kind, size, -1, i16::from(is_binary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_in_both_forms() {
        let value = |bytes: &[u8], kind, is_binary| parameter(Some(bytes), kind, is_binary).ok();
        assert_eq!(value(&1.5f64.to_be_bytes(), FLOAT8, true), Some(Value::Real(1.5)));
        assert_eq!(value(b"1.5", FLOAT8, false), Some(Value::Real(1.5)));
        assert_eq!(value(&7i64.to_be_bytes(), INT8, true), Some(Value::Integer(7)));
        assert_eq!(value(b"x", TEXT, true), Some(Value::Text("x".to_owned())));
        assert_eq!((value(b"1.5", FLOAT8, true), value(b"\xff", TEXT, true)), (None, None));
        assert_eq!(value(&7i32.to_be_bytes(), INT4, true), Some(Value::Integer(7)));
        // 16 is boolean: its one byte would pass for a text.
        assert_eq!(value(&[1], 16, true), None);
        assert_eq!(parameter(None, TEXT, true).ok(), Some(Value::Null));
    }

    #[test]
    fn formats_are_none_one_or_each() {
        assert!(!is_binary(&[], 3) && is_binary(&[1], 3) && is_binary(&[0, 1], 1) && !is_binary(&[0, 1], 2));
    }

    #[test]
    fn values_are_sent_as_they_were_announced() {
        let sent = |value, is_binary, announced| {
            let mut row = DataRow::new(BytesMut::new(), 0);
            put(&mut row, value, is_binary, announced)
                .ok()
                .map(|()| row.data[4..].to_vec())
        };
        let (half, two) = (ValueRef::Real(0.5), ValueRef::Integer(2));
        assert_eq!(sent(half, true, None), Some(0.5f64.to_be_bytes().to_vec()));
        assert_eq!(sent(half, true, Some(TEXT)), Some(b"0.5".to_vec()));
        assert_eq!(sent(two, true, Some(FLOAT8)), Some(2f64.to_be_bytes().to_vec()));
        assert_eq!(sent(half, true, Some(INT8)), None);
        assert_eq!(
            sent(ValueRef::Real(f64::INFINITY), false, None),
            Some(b"Infinity".to_vec())
        );
    }
}
