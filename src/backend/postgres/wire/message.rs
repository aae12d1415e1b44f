//! The messages of a server, read where they lie in the receive buffer.
//!
//! `postgres_protocol` parses them too, but hands out reference-counted pieces of its buffer, one or more a row. The
//! few shapes that a session meets are read here by hand instead.

use crate::backend::postgres::ServerError;

pub(super) const AUTHENTICATION: u8 = b'R';
pub(super) const BACKEND_KEY_DATA: u8 = b'K';
pub(super) const BIND_COMPLETE: u8 = b'2';
pub(super) const COMMAND_COMPLETE: u8 = b'C';
pub(super) const DATA_ROW: u8 = b'D';
pub(super) const EMPTY_QUERY: u8 = b'I';
pub(super) const ERROR_RESPONSE: u8 = b'E';
pub(super) const NO_DATA: u8 = b'n';
pub(super) const NOTICE_RESPONSE: u8 = b'N';
pub(super) const NOTIFICATION: u8 = b'A';
pub(super) const PARAMETER_STATUS: u8 = b'S';
pub(super) const PARSE_COMPLETE: u8 = b'1';
pub(super) const READY_FOR_QUERY: u8 = b'Z';
pub(super) const ROW_DESCRIPTION: u8 = b'T';

/// A message: its type and what follows the length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
}

/// The text up to the first zero byte, and what follows the zero byte.
pub(super) fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((text, &bytes[end + 1..]))
}

/// The big-endian number at the front, and what follows it.
pub(super) fn int(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((i32::from_be_bytes(*number), rest))
}

/// The name and value of a `ParameterStatus`.
pub(super) fn parameter(body: &[u8]) -> Option<(&str, &str)> {
    let (name, rest) = text(body)?;
    let (value, _) = text(rest)?;
    Some((name, value))
}

/// The fields of an `ErrorResponse`. Text that is not UTF-8 (a server may not yet know the client's encoding) is read
/// with replacement characters.
pub(super) fn server_error(body: &[u8]) -> ServerError {
    let mut error = ServerError::default();
    for field in body.split(|&byte| byte == 0) {
        let Some((&kind, text)) = field.split_first() else {
            continue;
        };
        let text = || String::from_utf8_lossy(text).into_owned();
        match kind {
            b'S' if error.severity.is_empty() => error.severity = text(),
            b'V' => error.severity = text(),
            b'C' => error.code = text(),
            b'M' => error.message = text(),
            b'D' => error.detail = Some(text()),
            b'H' => error.hint = Some(text()),
            _ => {}
        }
    }
    error
}

/// The number of rows that a command changed, by its `CommandComplete` tag: `UPDATE 4`, `INSERT 0 1`. Zero for commands
/// that change none, `SELECT 162` among them.
pub(super) fn rows_affected(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(b"\0").unwrap_or(tag);
    let mut words = tag.split(|&byte| byte == b' ');
    match words.next() {
        Some(b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" | b"COPY") => words.next_back().map_or(0, number),
        _ => 0,
    }
}

fn number(digits: &[u8]) -> u64 {
    std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_tags_give_the_rows_changed() {
        for (tag, rows) in [
            ("UPDATE 4\0", 4),
            ("INSERT 0 162\0", 162),
            ("DELETE 0\0", 0),
            ("MERGE 7\0", 7),
            ("SELECT 162\0", 0),
            ("BEGIN\0", 0),
            ("ROLLBACK\0", 0),
            ("UPDATE\0", 0),
            ("", 0),
        ] {
            assert_eq!(rows_affected(tag.as_bytes()), rows, "{tag:?}");
        }
    }

    #[test]
    fn an_error_response_is_taken_apart() {
        let error = server_error(b"SFEHLER\0VERROR\0C23505\0Mduplicate key\0DKey (name)=(a)\0Hcheck it\0\0");
        assert_eq!(error.severity, "ERROR");
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("23505", "duplicate key")
        );
        assert_eq!(
            (error.detail.as_deref(), error.hint.as_deref()),
            (Some("Key (name)=(a)"), Some("check it"))
        );
    }

    #[test]
    fn a_parameter_without_its_end_is_none() {
        assert_eq!(parameter(b"TimeZone\0UTC\0"), Some(("TimeZone", "UTC")));
        assert_eq!(parameter(b"TimeZone\0UTC"), None);
        assert_eq!(parameter(b""), None);
    }
}
