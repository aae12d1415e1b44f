//! Parquet bytes back to tables, with what a file says of itself checked first.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::FileIdentity;
use super::encode::GROUP_ROWS;
use super::frame::{Frame, Values};
use crate::archive::error::ReadError;
use crate::archive::guard::guarded;
use crate::archive::schema::{Column, Kind, MANIFEST, SCHEMA_MAJOR, Table};

/// Rows of a row group above which a file is not believed: it would be given memory for what it claims.
const GROUP_ROWS_MAX: usize = 8 * GROUP_ROWS;

/// Reads one table, a row group at a time.
pub(in crate::archive) struct TableReader {
    table: &'static Table,
    path: PathBuf,
    /// Which run the file says that it belongs to.
    pub identity: FileIdentity,
    /// The file's schema version within the major one.
    pub minor: u32,
    reader: SerializedFileReader<File>,
    /// Where in the file each column of the schema is; `None` for one that the file is too old for.
    places: Vec<Option<usize>>,
    next: usize,
}

/// A column of a row group as it lies in the file: the values that are there, and which they are.
pub(super) struct Stored<T> {
    pub present: Vec<T>,
    /// Row by row, whether a value is there; empty where nulls are not allowed.
    pub levels: Vec<i16>,
}

impl TableReader {
    /// Opens a file and checks its schema version and its columns.
    pub fn open(table: &'static Table, path: &Path) -> Result<Self, ReadError> {
        guarded(path, || Self::open_unguarded(table, path))
    }

    fn open_unguarded(table: &'static Table, path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|source| ReadError::Io {
            path: path.to_owned(),
            source,
        })?;
        let reader = SerializedFileReader::new(file).map_err(|error| decode_error(path, &error))?;
        let metadata = reader.metadata().file_metadata();
        let identity = identity(metadata.key_value_metadata(), table, path);
        let minor = identity.as_ref().map_or(0, |(_, minor)| *minor);
        let stored = metadata.schema_descr().columns();
        let places = table.columns.iter().map(|column| {
            let place = stored.iter().position(|stored| stored.path().string() == column.name);
            if place.is_none() && column.since <= minor {
                return Err(schema_error(path, format!("column {} is missing", column.name)));
            }
            Ok(place)
        });
        let places = places.collect::<Result<_, _>>();
        let with = |identity, places| Self {
            table,
            path: path.to_owned(),
            identity,
            minor,
            reader,
            places,
            next: 0,
        };
        match (identity, places) {
            (Err(ReadError::Version { path, found, reads, .. }), Ok(places)) => Err(ReadError::Version {
                path,
                found,
                reads,
                writer: with(FileIdentity::default(), places).writer(),
            }),
            (identity, places) => Ok(with(identity?.0, places?)),
        }
    }

    /// Version of the program that wrote a run, as far as its manifest's table can be read. It reads what it wrote.
    fn writer(self) -> Option<String> {
        if self.table.name != MANIFEST.name {
            return None;
        }
        let frame = self.all().ok()?;
        let [sections, keys, values] = ["section", "key", "value"].map(|name| frame.texts(name));
        let rows = sections.iter().zip(keys).zip(values);
        let is_version = |section: &Option<String>, key: &Option<String>| {
            section.as_deref() == Some("program") && key.as_deref() == Some("version")
        };
        rows.into_iter()
            .find(|((section, key), _)| is_version(section, key))
            .and_then(|(_, value)| value.clone())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole table in one frame.
    pub fn all(mut self) -> Result<Frame, ReadError> {
        let mut whole = Frame::empty(self.table);
        while let Some(frame) = self.next_frame()? {
            whole.extend(frame);
        }
        Ok(whole)
    }

    /// The next rows; `None` at the end.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, ReadError> {
        if self.next == self.reader.num_row_groups() {
            return Ok(None);
        }
        let columns = self.table.columns.iter().zip(&self.places);
        let columns = columns
            .map(|(column, &place)| match place {
                Some(place) => guarded(&self.path, || self.column(column, place)),
                None => self.unknown(column),
            })
            .collect::<Result<_, _>>()?;
        self.next += 1;
        Ok(Some(Frame {
            table: self.table,
            columns,
        }))
    }

    /// A column of the row group that is next, in a file that is too old to have it.
    fn unknown(&self, column: &Column) -> Result<Values, ReadError> {
        let rows = self.first_row(self.next + 1) - self.first_row(self.next);
        if rows > GROUP_ROWS_MAX {
            return Err(self.oversized(rows));
        }
        Values::nulls(column.kind, rows).ok_or_else(|| self.foreign(column))
    }

    /// Row groups of the file.
    pub fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// Rows of the file before a row group.
    pub fn first_row(&self, group: usize) -> usize {
        let groups = self.reader.metadata().row_groups().iter().take(group);
        groups
            .map(|group| usize::try_from(group.num_rows()).unwrap_or(0))
            .fold(0, usize::saturating_add)
    }

    /// One column of the row group that is next.
    fn column(&self, column: &Column, place: usize) -> Result<Values, ReadError> {
        let decode = |error: ParquetError| decode_error(&self.path, &error);
        let foreign = || self.foreign(column);
        let (reader, rows, is_optional) = self.column_reader(self.next, column, place)?;
        let values = match (column.kind, reader) {
            (Kind::Integer, ColumnReader::Int64ColumnReader(reader)) => {
                Values::Integer(read(reader, rows, is_optional).map_err(decode)?)
            }
            (Kind::Float, ColumnReader::DoubleColumnReader(reader)) => {
                let values = read(reader, rows, is_optional).map_err(decode)?;
                Values::Float(values.into_iter().collect::<Option<_>>().ok_or_else(foreign)?)
            }
            (Kind::Boolean, ColumnReader::BoolColumnReader(reader)) => {
                Values::Boolean(read(reader, rows, is_optional).map_err(decode)?)
            }
            (Kind::Text, ColumnReader::ByteArrayColumnReader(reader)) => {
                let values = read(reader, rows, is_optional).map_err(decode)?;
                let texts = values.iter().map(|value| value.as_ref().map(text).transpose());
                Values::Text(texts.collect::<Result<_, _>>().map_err(decode)?)
            }
            _ => return Err(foreign()),
        };
        if column.nullable || !values.has_null() {
            Ok(values)
        } else {
            Err(foreign())
        }
    }

    /// A column of a row group as it is stored. `take` picks the reader of the type that the caller wants.
    pub(super) fn stored<T: DataType>(
        &self,
        group: usize,
        name: &str,
        take: impl Fn(ColumnReader) -> Option<ColumnReaderImpl<T>>,
    ) -> Result<Stored<T::T>, ReadError> {
        let columns = self.table.columns.iter().zip(&self.places);
        let Some((column, &place)) = columns.into_iter().find(|(column, _)| column.name == name) else {
            unreachable!("table {} has no column {name}", self.table.name)
        };
        let foreign = || self.foreign(column);
        let place = place.ok_or_else(foreign)?;
        guarded(&self.path, || {
            let (reader, rows, is_optional) = self.column_reader(group, column, place)?;
            let reader = take(reader).ok_or_else(foreign)?;
            let stored = read_stored(reader, rows, is_optional)
                .map_err(|error: ParquetError| decode_error(&self.path, &error))?;
            if column.nullable || stored.present.len() == rows {
                Ok(stored)
            } else {
                Err(foreign())
            }
        })
    }

    /// The reader of a column in a row group, its rows, and whether they may be null.
    fn column_reader(
        &self,
        group: usize,
        column: &Column,
        place: usize,
    ) -> Result<(ColumnReader, usize, bool), ReadError> {
        let decode = |error: ParquetError| decode_error(&self.path, &error);
        let group = self.reader.get_row_group(group).map_err(decode)?;
        let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| self.foreign(column))?;
        if rows > GROUP_ROWS_MAX {
            return Err(self.oversized(rows));
        }
        let is_optional = group.metadata().column(place).column_descr().max_def_level() > 0;
        let reader = group.get_column_reader(place).map_err(decode)?;
        Ok((reader, rows, is_optional))
    }

    fn oversized(&self, rows: usize) -> ReadError {
        let problem = format!("a row group of {rows} rows, where preview-cost writes at most {GROUP_ROWS}");
        schema_error(&self.path, problem)
    }

    fn foreign(&self, column: &Column) -> ReadError {
        let problem = format!("column {} is null or not of the schema's type", column.name);
        schema_error(&self.path, problem)
    }
}

fn ends_early() -> ParquetError {
    ParquetError::EOF("a column ends before its row group".to_owned())
}

fn read_stored<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    is_optional: bool,
) -> Result<Stored<T::T>, ParquetError> {
    let (mut present, mut levels) = (Vec::with_capacity(rows), Vec::new());
    let mut done = 0;
    while done < rows {
        let (records, _, _) = reader.read_records(rows - done, Some(&mut levels), None, &mut present)?;
        if records == 0 {
            return Err(ends_early());
        }
        done += records;
    }
    let there = if is_optional {
        levels.iter().filter(|&&level| level > 0).count()
    } else {
        rows
    };
    if there != present.len() || (is_optional && levels.len() != rows) {
        return Err(ends_early());
    }
    Ok(Stored { present, levels })
}

fn read<T: DataType>(
    reader: ColumnReaderImpl<T>,
    rows: usize,
    is_optional: bool,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let Stored { present, levels } = read_stored(reader, rows, is_optional)?;
    if !is_optional {
        return Ok(present.into_iter().map(Some).collect());
    }
    let mut present = present.into_iter();
    let value = |level: i16| match level {
        0 => Ok(None),
        _ => present.next().map(Some).ok_or_else(ends_early),
    };
    levels.into_iter().map(value).collect()
}

fn text(bytes: &ByteArray) -> Result<String, ParquetError> {
    bytes.as_utf8().map(str::to_owned)
}

fn decode_error(path: &Path, error: &ParquetError) -> ReadError {
    ReadError::Decode {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

fn schema_error(path: &Path, problem: String) -> ReadError {
    ReadError::Schema {
        path: path.to_owned(),
        problem,
    }
}

/// Which run a file says that it belongs to, and its schema version within the major one.
fn identity(metadata: Option<&Vec<KeyValue>>, table: &Table, path: &Path) -> Result<(FileIdentity, u32), ReadError> {
    let lookup = |key: &str| {
        let value = metadata?.iter().find(|entry| entry.key == key)?.value.clone();
        value.filter(|value| !value.is_empty())
    };
    let required = |key: &str| {
        lookup(key).ok_or_else(|| ReadError::Schema {
            path: path.to_owned(),
            problem: format!("the metadata has no {key}; it was not written by preview-cost"),
        })
    };
    let version = required("schema_version")?;
    let (major, minor) = version.split_once('.').unwrap_or((&version, "0"));
    let (Ok(SCHEMA_MAJOR), Ok(minor)) = (major.parse(), minor.parse()) else {
        return Err(ReadError::Version {
            path: path.to_owned(),
            found: version,
            reads: SCHEMA_MAJOR,
            writer: None,
        });
    };
    let named = required("table")?;
    if named != table.name {
        let problem = format!(
            "it holds table {named} where {} is expected; fetch the run again",
            table.name
        );
        return Err(ReadError::Schema {
            path: path.to_owned(),
            problem,
        });
    }
    let identity = FileIdentity {
        run: required("run")?,
        manifest_sha256: required("manifest_sha256")?,
    };
    Ok((identity, minor))
}
