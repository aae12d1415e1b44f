//! Tables to Parquet bytes and back.
//!
//! Everything that makes equal data give equal bytes is fixed here: encodings per column, compression level, the
//! writer's name, no timestamps. The Arrow schema blob is left out; what it says stands in plain key-value metadata,
//! which every Parquet reader shows.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::error::{ReadError, WriteError};
use super::guard::guarded;
use super::schema::{Coding, Column, Kind, SCHEMA_MAJOR, SCHEMA_VERSION, Table};

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 65_536;
/// Zstandard's level; times are packed before, so more would buy nothing.
const ZSTD_LEVEL: i32 = 9;

/// Which run a file belongs to; stands in the metadata of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileIdentity {
    pub run: String,
    pub manifest_sha256: String,
}

/// One value of a row.
pub(super) enum Value {
    Integer(Option<i64>),
    Float(f64),
    Boolean(Option<bool>),
    Text(Option<String>),
}

/// Some rows of a table, as columns.
#[derive(Debug)]
pub(super) struct Frame {
    table: &'static Table,
    columns: Vec<Values>,
}

#[derive(Debug)]
enum Values {
    Integer(Vec<Option<i64>>),
    Float(Vec<f64>),
    Boolean(Vec<Option<bool>>),
    Text(Vec<Option<String>>),
}

impl Frame {
    pub fn empty(table: &'static Table) -> Self {
        let columns = table.columns.iter().map(|column| match column.kind {
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        });
        Self {
            table,
            columns: columns.collect(),
        }
    }

    /// Adds a row; the values stand in the schema's order.
    pub fn push<const N: usize>(&mut self, row: [Value; N]) {
        assert_eq!(
            N,
            self.columns.len(),
            "table {} has another number of columns",
            self.table.name
        );
        for (values, value) in self.columns.iter_mut().zip(row) {
            match (values, value) {
                (Values::Integer(values), Value::Integer(value)) => values.push(value),
                (Values::Float(values), Value::Float(value)) => values.push(value),
                (Values::Boolean(values), Value::Boolean(value)) => values.push(value),
                (Values::Text(values), Value::Text(value)) => values.push(value),
                _ => unreachable!("a row of table {} has a value of another type", self.table.name),
            }
        }
    }

    pub fn rows(&self) -> usize {
        match &self.columns[0] {
            Values::Integer(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Boolean(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    fn place(&self, name: &str) -> usize {
        let place = self.table.columns.iter().position(|column| column.name == name);
        place.unwrap_or_else(|| unreachable!("table {} has no column {name}", self.table.name))
    }

    /// Values of an integer column of the schema.
    pub fn integers(&self, name: &str) -> &[Option<i64>] {
        match &self.columns[self.place(name)] {
            Values::Integer(values) => values,
            _ => unreachable!("column {name} does not hold integers"),
        }
    }

    /// Values of a float column of the schema.
    pub fn floats(&self, name: &str) -> &[f64] {
        match &self.columns[self.place(name)] {
            Values::Float(values) => values,
            _ => unreachable!("column {name} does not hold floats"),
        }
    }

    /// Values of a boolean column of the schema.
    pub fn booleans(&self, name: &str) -> &[Option<bool>] {
        match &self.columns[self.place(name)] {
            Values::Boolean(values) => values,
            _ => unreachable!("column {name} does not hold booleans"),
        }
    }

    /// Values of a text column of the schema.
    pub fn texts(&self, name: &str) -> &[Option<String>] {
        match &self.columns[self.place(name)] {
            Values::Text(values) => values,
            _ => unreachable!("column {name} does not hold text"),
        }
    }

    fn into_batch(self, schema: SchemaRef) -> Result<RecordBatch, WriteError> {
        let arrays = self.columns.into_iter().map(|values| -> ArrayRef {
            match values {
                Values::Integer(values) => Arc::new(Int64Array::from(values)),
                Values::Float(values) => Arc::new(Float64Array::from(values)),
                Values::Boolean(values) => Arc::new(BooleanArray::from(values)),
                Values::Text(values) => Arc::new(StringArray::from(values)),
            }
        });
        RecordBatch::try_new(schema, arrays.collect()).map_err(|error| WriteError::Encode {
            table: self.table.name,
            message: error.to_string(),
        })
    }

    fn from_batch(table: &'static Table, batch: &RecordBatch, path: &Path) -> Result<Self, ReadError> {
        let columns = table.columns.iter().map(|column| {
            let array = batch
                .column_by_name(column.name)
                .ok_or_else(|| missing_column(path, column))?;
            values_of(column, array).ok_or_else(|| ReadError::Schema {
                path: path.to_owned(),
                problem: format!("column {} is null or not of the schema's type", column.name),
            })
        });
        Ok(Self {
            table,
            columns: columns.collect::<Result<_, _>>()?,
        })
    }
}

fn missing_column(path: &Path, column: &Column) -> ReadError {
    ReadError::Schema {
        path: path.to_owned(),
        problem: format!("column {} is missing", column.name),
    }
}

/// The values of a column, unless they have another type or a null where the schema allows none.
fn values_of(column: &Column, array: &ArrayRef) -> Option<Values> {
    if !column.nullable && array.null_count() > 0 {
        return None;
    }
    let any = array.as_any();
    Some(match column.kind {
        Kind::Integer => Values::Integer(any.downcast_ref::<Int64Array>()?.iter().collect()),
        Kind::Float => Values::Float(any.downcast_ref::<Float64Array>()?.values().to_vec()),
        Kind::Boolean => Values::Boolean(any.downcast_ref::<BooleanArray>()?.iter().collect()),
        Kind::Text => {
            let texts = any.downcast_ref::<StringArray>()?;
            Values::Text(texts.iter().map(|text| text.map(str::to_owned)).collect())
        }
    })
}

/// Writes one table into a sink, frame by frame.
pub(super) struct TableWriter<W: Write + Send> {
    table: &'static Table,
    schema: SchemaRef,
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    pub fn new(table: &'static Table, identity: &FileIdentity, sink: W) -> Result<Self, WriteError> {
        let fields = table.columns.iter().map(|column| {
            let kind = match column.kind {
                Kind::Integer => DataType::Int64,
                Kind::Float => DataType::Float64,
                Kind::Boolean => DataType::Boolean,
                Kind::Text => DataType::Utf8,
            };
            Field::new(column.name, kind, column.nullable)
        });
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = ArrowWriterOptions::new()
            .with_properties(properties(table, identity))
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(sink, Arc::clone(&schema), options)
            .map_err(|error| encode_error(table, &error))?;
        Ok(Self { table, schema, writer })
    }

    pub fn append(&mut self, frame: Frame) -> Result<(), WriteError> {
        let batch = frame.into_batch(Arc::clone(&self.schema))?;
        self.writer
            .write(&batch)
            .map_err(|error| encode_error(self.table, &error))
    }

    /// Writes what is left. Not through `into_inner`, which makes a text of what the system says.
    pub fn finish(mut self) -> Result<(), WriteError> {
        let finished = self.writer.finish();
        finished.map(drop).map_err(|error| encode_error(self.table, &error))
    }
}

fn encode_error(table: &Table, error: &parquet::errors::ParquetError) -> WriteError {
    if let parquet::errors::ParquetError::External(inner) = error
        && let Some(io) = inner.downcast_ref::<std::io::Error>()
    {
        // A full disk must be told as such; the library wraps what the system said.
        let source = io
            .raw_os_error()
            .map_or_else(|| io.kind().into(), std::io::Error::from_raw_os_error);
        return WriteError::Io {
            path: PathBuf::from(table.file_name()),
            source,
        };
    }
    WriteError::Encode {
        table: table.name,
        message: error.to_string(),
    }
}

fn properties(table: &Table, identity: &FileIdentity) -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("the level is one of Zstandard's");
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by("preview-cost".to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(metadata(table, identity)));
    for column in table.columns {
        let path = ColumnPath::from(column.name);
        builder = builder.set_column_dictionary_enabled(path.clone(), column.coding == Coding::Dictionary);
        if column.coding == Coding::Delta {
            builder = builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    builder.build()
}

fn metadata(table: &Table, identity: &FileIdentity) -> Vec<KeyValue> {
    let pair = |key: String, value: &str| KeyValue::new(key, value.to_owned());
    let mut entries = vec![
        pair("schema_version".to_owned(), SCHEMA_VERSION),
        pair("table".to_owned(), table.name),
        pair("run".to_owned(), &identity.run),
        pair("manifest_sha256".to_owned(), &identity.manifest_sha256),
    ];
    for column in table.columns {
        if !column.unit.is_empty() {
            entries.push(pair(format!("unit.{}", column.name), column.unit));
        }
        entries.push(pair(format!("description.{}", column.name), column.description));
    }
    entries
}

/// Encodes a whole table in memory; for all but `pairs`.
pub(super) fn encode(identity: &FileIdentity, frame: Frame) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::new(frame.table, identity, &mut bytes)?;
    writer.append(frame)?;
    writer.finish()?;
    Ok(bytes)
}

/// Reads one table, frame by frame.
pub(super) struct TableReader {
    table: &'static Table,
    path: PathBuf,
    /// Which run the file says that it belongs to.
    pub identity: FileIdentity,
    batches: ParquetRecordBatchReader,
}

impl TableReader {
    /// Opens a file and checks its schema version; columns are checked with the first frame.
    pub fn open(table: &'static Table, path: &Path) -> Result<Self, ReadError> {
        guarded(path, || Self::open_unguarded(table, path))
    }

    fn open_unguarded(table: &'static Table, path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|source| ReadError::Io {
            path: path.to_owned(),
            source,
        })?;
        let decode = |message: String| ReadError::Decode {
            path: path.to_owned(),
            message,
        };
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| decode(error.to_string()))?;
        let identity = identity(builder.metadata().file_metadata().key_value_metadata(), table, path)?;
        if let Some(column) = table
            .columns
            .iter()
            .find(|column| builder.schema().field_with_name(column.name).is_err())
        {
            return Err(missing_column(path, column));
        }
        let batches = builder
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|error| decode(error.to_string()))?;
        Ok(Self {
            table,
            path: path.to_owned(),
            identity,
            batches,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole table in one frame.
    pub fn all(mut self) -> Result<Frame, ReadError> {
        let mut whole = Frame::empty(self.table);
        while let Some(frame) = self.next_frame()? {
            for (values, more) in whole.columns.iter_mut().zip(frame.columns) {
                match (values, more) {
                    (Values::Integer(values), Values::Integer(more)) => values.extend(more),
                    (Values::Float(values), Values::Float(more)) => values.extend(more),
                    (Values::Boolean(values), Values::Boolean(more)) => values.extend(more),
                    (Values::Text(values), Values::Text(more)) => values.extend(more),
                    _ => unreachable!("frames of one table have the same types"),
                }
            }
        }
        Ok(whole)
    }

    /// The next rows; `None` at the end.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, ReadError> {
        guarded(&self.path, || match self.batches.next() {
            None => Ok(None),
            Some(Ok(batch)) => Frame::from_batch(self.table, &batch, &self.path).map(Some),
            Some(Err(error)) => Err(ReadError::Decode {
                path: self.path.clone(),
                message: error.to_string(),
            }),
        })
    }
}

fn identity(metadata: Option<&Vec<KeyValue>>, table: &Table, path: &Path) -> Result<FileIdentity, ReadError> {
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
    if version.split('.').next().and_then(|major| major.parse().ok()) != Some(SCHEMA_MAJOR) {
        return Err(ReadError::Version {
            path: path.to_owned(),
            found: version,
            reads: SCHEMA_MAJOR,
        });
    }
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
    Ok(FileIdentity {
        run: required("run")?,
        manifest_sha256: required("manifest_sha256")?,
    })
}
