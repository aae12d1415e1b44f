//! Values between PostgreSQL's forms and SQLite's.

use bytes::{BufMut, BytesMut};
use pgwire::messages::data::{DataRow, FieldDescription};
use rusqlite::types::{Value, ValueRef};

use super::statement::Refusal;

/// PostgreSQL's numbers for the types that are spoken here.
const INT8: u32 = 20;
const TEXT: u32 = 25;
const FLOAT8: u32 = 701;
const BYTEA: u32 = 17;

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
    if is_binary {
        return match (kind, bytes.len()) {
            (INT8, 8) => Ok(Value::Integer(i64::from_be_bytes(
                bytes.try_into().map_err(|_| wrong())?,
            ))),
            (FLOAT8, 8) => Ok(Value::Real(f64::from_be_bytes(bytes.try_into().map_err(|_| wrong())?))),
            (INT8 | FLOAT8, _) => Err(wrong()),
            (BYTEA, _) => Ok(Value::Blob(bytes.to_vec())),
            _ => text(bytes).map(Value::Text),
        };
    }
    let text = text(bytes)?;
    match kind {
        INT8 => text.parse().map(Value::Integer).map_err(|_| wrong()),
        FLOAT8 => text.parse().map(Value::Real).map_err(|_| wrong()),
        _ => Ok(Value::Text(text)),
    }
}

fn text(bytes: &[u8]) -> Result<String, Refusal> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Refusal::new("22021", "a text is not UTF-8"))
}

/// Adds a value to a row. Rust writes the shortest decimal that is read back as the same double.
pub(super) fn put(row: &mut DataRow, value: ValueRef<'_>, is_binary: bool) {
    row.field_count += 1;
    let data = &mut row.data;
    match (value, is_binary) {
        (ValueRef::Null, _) => data.put_i32(-1),
        (ValueRef::Integer(number), true) => sized(data, &number.to_be_bytes()),
        (ValueRef::Real(number), true) => sized(data, &number.to_be_bytes()),
        (ValueRef::Integer(number), false) => sized(data, number.to_string().as_bytes()),
        (ValueRef::Real(number), false) => sized(data, number.to_string().as_bytes()),
        (ValueRef::Text(bytes) | ValueRef::Blob(bytes), _) => sized(data, bytes),
    }
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
        assert_eq!(parameter(None, TEXT, true).ok(), Some(Value::Null));
    }

    #[test]
    fn formats_are_none_one_or_each() {
        assert!(!is_binary(&[], 3) && is_binary(&[1], 3) && is_binary(&[0, 1], 1) && !is_binary(&[0, 1], 2));
    }
}
