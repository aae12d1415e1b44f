//! Single columns of a row group, for readers that want a few of them and millions of rows: no value is a `String`.

use parquet::column::reader::ColumnReader;
use parquet::data_type::{BoolType, ByteArrayType, Int64Type};

use super::decode::TableReader;
use crate::archive::error::ReadError;

/// Integers of which some may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::archive) struct Sparse {
    /// Those that are there, in order.
    pub present: Vec<i64>,
    /// Rows that have none, ascending.
    pub absent: Vec<usize>,
}

impl TableReader {
    /// Values of an integer column; rows with null are left out and named.
    pub fn integers(&self, group: usize, name: &str) -> Result<Sparse, ReadError> {
        let stored = self.stored::<Int64Type>(group, name, |reader| match reader {
            ColumnReader::Int64ColumnReader(reader) => Some(reader),
            _ => None,
        })?;
        let absent = if stored.levels.len() == stored.present.len() {
            Vec::new()
        } else {
            let rows = stored.levels.iter().enumerate();
            rows.filter(|(_, level)| **level == 0).map(|(row, _)| row).collect()
        };
        Ok(Sparse {
            present: stored.present,
            absent,
        })
    }

    /// Values of a boolean column without nulls.
    pub fn booleans(&self, group: usize, name: &str) -> Result<Vec<bool>, ReadError> {
        let stored = self.stored::<BoolType>(group, name, |reader| match reader {
            ColumnReader::BoolColumnReader(reader) => Some(reader),
            _ => None,
        })?;
        Ok(stored.present)
    }

    /// Values of a text column without nulls, each as what its word stands for; of a word without meaning, its row within
    /// the group and what is wrong.
    pub fn words<W: Copy>(
        &self,
        group: usize,
        name: &str,
        parse: impl Fn(&str) -> Option<W>,
    ) -> Result<Result<Vec<W>, (usize, String)>, ReadError> {
        let stored = self.stored::<ByteArrayType>(group, name, |reader| match reader {
            ColumnReader::ByteArrayColumnReader(reader) => Some(reader),
            _ => None,
        })?;
        // Words come in long runs, so that hardly any is parsed.
        let mut known: Option<(&[u8], W)> = None;
        let mut words = Vec::with_capacity(stored.present.len());
        for (row, value) in stored.present.iter().enumerate() {
            let bytes = value.data();
            let word = match known {
                Some((same, word)) if same == bytes => Some(word),
                _ => std::str::from_utf8(bytes).ok().and_then(&parse),
            };
            let Some(word) = word else {
                let word = String::from_utf8_lossy(bytes);
                return Ok(Err((
                    row,
                    format!("{name} is {word:?}, which the schema does not know"),
                )));
            };
            known = Some((bytes, word));
            words.push(word);
        }
        Ok(Ok(words))
    }
}
