//! Digests of rows, whatever file they lie in.
//!
//! A Parquet file's bytes change with the writer, its version and its settings. What it says does not. So the chain
//! names rows by the SHA-256 of a canonical text: a line a row; in it `name=value` for each column that is not null, in
//! the order of the names' bytes, with tabs between. Integers are decimal, booleans `true` or `false`, texts JSON
//! strings, floats the sixteen hexadecimal digits of their bits. A null leaves no trace, so that a column which a later
//! schema brings does not change the digest of older rows.

use std::fmt::Write;
use std::ops::Range;

use super::codec::{Cell, Frame};
use crate::digest::Running;

/// The digest of some rows of one table, which may come in several frames.
#[derive(Default)]
pub(super) struct RowsDigest {
    running: Running,
    line: String,
}

impl RowsDigest {
    /// Takes more rows.
    pub fn add(&mut self, frame: &Frame, rows: Range<usize>) {
        let columns = frame.by_name();
        for row in rows {
            self.line.clear();
            for (name, column) in &columns {
                let Some(value) = column.cell(row) else { continue };
                if !self.line.is_empty() {
                    self.line.push('\t');
                }
                // Writing into a String does not fail.
                let _ = match value {
                    Cell::Integer(value) => write!(self.line, "{name}={value}"),
                    Cell::Float(value) => write!(self.line, "{name}={:016x}", value.to_bits()),
                    Cell::Boolean(value) => write!(self.line, "{name}={value}"),
                    Cell::Text(value) => write!(self.line, "{name}={}", serde_json::Value::from(value)),
                };
            }
            self.line.push('\n');
            self.running.add(&self.line);
        }
    }

    /// SHA-256 of the rows so far, lower-case hexadecimal.
    pub fn finish(self) -> String {
        self.running.finish()
    }
}

/// Digest of all rows of a frame.
pub(super) fn of_frame(frame: &Frame) -> String {
    let mut digest = RowsDigest::default();
    digest.add(frame, 0..frame.rows());
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::rows::Setting;
    use crate::digest;

    #[test]
    fn the_text_of_a_row_is_the_documented_one() {
        let setting = |key: &str, value: &str| Setting {
            section: "a".to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
            unit: String::new(),
        };
        let frame = Setting::frame(&[setting("k", "tab\there"), setting("l", "ü")]);
        let text = "key=\"k\"\tsection=\"a\"\tunit=\"\"\tvalue=\"tab\\there\"\n\
                    key=\"l\"\tsection=\"a\"\tunit=\"\"\tvalue=\"ü\"\n";
        assert_eq!(of_frame(&frame), digest::of_bytes(text));
        let mut in_two = RowsDigest::default();
        in_two.add(&frame, 0..1);
        in_two.add(&frame, 1..2);
        assert_eq!(in_two.finish(), digest::of_bytes(text));
    }
}
