//! Tables to Parquet bytes and back.
//!
//! Everything that makes equal data give equal bytes is fixed here: encodings per column, compression level, the size
//! of a row group, the writer's name, no timestamps. What a column means stands in plain key-value metadata, which
//! every Parquet reader shows.
//!
//! The `parquet` crate is used without Arrow: rows are columns of plain vectors already, and Arrow's crates would take
//! a good part of the build.

mod columns;
mod decode;
mod encode;
mod frame;

pub(super) use columns::Sparse;
pub(super) use decode::TableReader;
pub(super) use encode::{TableWriter, encode};
pub(super) use frame::{Cell, Frame, Value};

/// Which run a file belongs to; stands in the metadata of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileIdentity {
    pub run: String,
    pub manifest_sha256: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::schema::{Coding, Column, Kind, Table};

    const fn column(name: &'static str, kind: Kind, coding: Coding, nullable: bool) -> Column {
        Column {
            name,
            kind,
            nullable,
            unit: "",
            description: "made up",
            coding,
            since: 0,
        }
    }

    static TABLE: Table = Table {
        name: "made-up",
        since: 0,
        columns: &[
            column("place", Kind::Integer, Coding::Delta, false),
            column("time", Kind::Integer, Coding::Split, true),
            column("delta", Kind::Float, Coding::Plain, false),
            column("flag", Kind::Boolean, Coding::Plain, true),
            column("word", Kind::Text, Coding::Dictionary, true),
        ],
    };
    /// Allows no null where the table has some.
    static STRICT: Table = Table {
        name: "made-up",
        since: 0,
        columns: &[column("word", Kind::Text, Coding::Dictionary, false)],
    };
    /// Another type.
    static WRONG: Table = Table {
        name: "made-up",
        since: 0,
        columns: &[column("word", Kind::Integer, Coding::Delta, true)],
    };
    /// A column that is not there.
    static MORE: Table = Table {
        name: "made-up",
        since: 0,
        columns: &[column("absent", Kind::Integer, Coding::Delta, true)],
    };
    /// A column that files of today do not have yet.
    static LATER: Table = Table {
        name: "made-up",
        since: 0,
        columns: &[
            column("word", Kind::Text, Coding::Dictionary, true),
            Column {
                since: u32::MAX,
                ..column("later", Kind::Integer, Coding::Delta, true)
            },
        ],
    };
    /// More than a row group.
    const ROWS: i64 = 140_000;

    fn frame(rows: impl Iterator<Item = i64>) -> Frame {
        let mut frame = Frame::empty(&TABLE);
        for row in rows {
            frame.push([
                Value::Integer(Some(row)),
                Value::Integer((row % 7 != 0).then_some(row * row % 100_003 - 50_000)),
                Value::Float(row as f64 / 1000.0),
                Value::Boolean((row % 5 != 0).then_some(row % 2 == 0)),
                Value::Text((row % 3 != 0).then(|| format!("word {}", row % 11))),
            ]);
        }
        frame
    }

    fn identity() -> FileIdentity {
        FileIdentity {
            run: "run".to_owned(),
            manifest_sha256: "digest".to_owned(),
        }
    }

    #[test]
    fn rows_come_back_and_their_bytes_do_not_depend_on_how_they_arrived() {
        let whole = encode(&identity(), frame(0..ROWS)).unwrap();
        let mut bytes = Vec::new();
        let mut writer = TableWriter::new(&TABLE, &identity(), &mut bytes).unwrap();
        for start in (0..ROWS).step_by(7_001) {
            writer.append(frame(start..ROWS.min(start + 7_001))).unwrap();
        }
        writer.finish().unwrap();
        assert!(bytes == whole, "equal rows give equal bytes");

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), whole).unwrap();
        let mut reader = TableReader::open(&TABLE, file.path()).unwrap();
        assert_eq!(reader.identity, identity());
        assert!(reader.next_frame().unwrap().unwrap().rows() < ROWS as usize);
        let read = TableReader::open(&TABLE, file.path()).unwrap().all().unwrap();
        let written = frame(0..ROWS);
        for name in ["place", "time"] {
            assert!(read.integers(name) == written.integers(name), "{name}");
        }
        assert!(read.floats("delta") == written.floats("delta"));
        assert!(read.booleans("flag") == written.booleans("flag"));
        assert!(read.texts("word") == written.texts("word"));
    }

    #[test]
    fn a_null_where_none_may_be_is_refused_by_writer_and_reader() {
        let mut rows = frame(0..1);
        rows.push([
            Value::Integer(None),
            Value::Integer(None),
            Value::Float(0.0),
            Value::Boolean(None),
            Value::Text(None),
        ]);
        let refused = encode(&identity(), rows).unwrap_err().to_string();
        assert!(refused.contains("column place may not be null"), "{refused}");

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), encode(&identity(), frame(0..10)).unwrap()).unwrap();
        for table in [&STRICT, &WRONG] {
            let refused = TableReader::open(table, file.path()).unwrap().all().unwrap_err();
            assert!(refused.to_string().contains("column word is null or not"), "{refused}");
        }
        let refused = TableReader::open(&MORE, file.path()).err().unwrap().to_string();
        assert!(refused.contains("column absent is missing"), "{refused}");
    }

    #[test]
    fn a_column_that_a_file_is_too_old_for_reads_as_null() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), encode(&identity(), frame(0..10)).unwrap()).unwrap();
        let read = TableReader::open(&LATER, file.path()).unwrap().all().unwrap();
        assert_eq!(read.integers("later"), [None; 10]);
        assert_eq!(read.texts("word"), frame(0..10).texts("word"));
    }

    #[test]
    fn an_empty_table_is_a_table() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), encode(&identity(), Frame::empty(&TABLE)).unwrap()).unwrap();
        assert_eq!(TableReader::open(&TABLE, file.path()).unwrap().all().unwrap().rows(), 0);
    }
}
