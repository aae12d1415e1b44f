//! Rows, read where they lie in the receive buffer.

use std::ops::Range;

use crate::backend::postgres::PgError;

/// Where the columns of the current row lie in its message; kept between rows, so that no row allocates.
#[derive(Debug, Default)]
pub(super) struct Columns(Vec<Option<Range<usize>>>);

impl Columns {
    /// Takes a `DataRow` apart.
    pub(super) fn row<'a>(&'a mut self, body: &'a [u8], command: u32) -> Result<Row<'a>, PgError> {
        self.split(body)
            .ok_or_else(|| PgError::Protocol("a row is shorter than it says".to_owned()))?;
        Ok(Row {
            body,
            columns: &self.0,
            command,
        })
    }

    fn split(&mut self, body: &[u8]) -> Option<()> {
        self.0.clear();
        let count = u16::from_be_bytes(*body.first_chunk::<2>()?);
        let mut at = 2;
        for _ in 0..count {
            let length = i32::from_be_bytes(*body.get(at..)?.first_chunk::<4>()?);
            at += 4;
            if let Ok(length) = usize::try_from(length) {
                let end = at.checked_add(length).filter(|&end| end <= body.len())?;
                self.0.push(Some(at..end));
                at = end;
            } else {
                self.0.push(None);
            }
        }
        Some(())
    }
}

/// One row of an answer, in binary form. It lives as long as the callback that is given it.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    body: &'a [u8],
    columns: &'a [Option<Range<usize>>],
    command: u32,
}

impl<'a> Row<'a> {
    /// Which command of the flight gave this row, from 0.
    pub fn command(&self) -> u32 {
        self.command
    }

    /// How many columns the row has.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The bytes of column `index` (from 0), or `None` where it is null.
    ///
    /// # Errors
    ///
    /// [`PgError::Protocol`] if there is no such column.
    pub fn bytes(&self, index: usize) -> Result<Option<&'a [u8]>, PgError> {
        match self.columns.get(index) {
            Some(Some(range)) => Ok(Some(&self.body[range.clone()])),
            Some(None) => Ok(None),
            None => Err(PgError::Protocol(format!(
                "a row has {} columns, and none at {index}",
                self.columns.len()
            ))),
        }
    }

    /// Column `index` as text; for `text`, `varchar`, `name` and the like.
    ///
    /// # Errors
    ///
    /// [`PgError::Protocol`] if there is no such column, or it is null or no UTF-8.
    pub fn text(&self, index: usize) -> Result<&'a str, PgError> {
        std::str::from_utf8(self.present(index)?).map_err(|_| unfit(index, "text"))
    }

    /// Column `index` of type `float8`, bit for bit.
    ///
    /// # Errors
    ///
    /// [`PgError::Protocol`] if there is no such column, or it is null or not of 8 bytes.
    pub fn float8(&self, index: usize) -> Result<f64, PgError> {
        self.array(index, "float8").map(f64::from_be_bytes)
    }

    /// Column `index` of type `int8`.
    ///
    /// # Errors
    ///
    /// [`PgError::Protocol`] if there is no such column, or it is null or not of 8 bytes.
    pub fn int8(&self, index: usize) -> Result<i64, PgError> {
        self.array(index, "int8").map(i64::from_be_bytes)
    }

    fn present(&self, index: usize) -> Result<&'a [u8], PgError> {
        self.bytes(index)?
            .ok_or_else(|| PgError::Protocol(format!("column {index} of a row is null")))
    }

    fn array<const N: usize>(&self, index: usize, kind: &str) -> Result<[u8; N], PgError> {
        self.present(index)?.try_into().map_err(|_| unfit(index, kind))
    }
}

fn unfit(index: usize, kind: &str) -> PgError {
    PgError::Protocol(format!("column {index} of a row is no {kind} in binary form"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(columns: &[Option<&[u8]>]) -> Vec<u8> {
        let mut body = u16::try_from(columns.len()).unwrap().to_be_bytes().to_vec();
        for column in columns {
            body.extend(
                column
                    .map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap())
                    .to_be_bytes(),
            );
            body.extend(column.unwrap_or_default());
        }
        body
    }

    #[test]
    fn columns_are_read_by_type() {
        let body = body(&[Some(b"price_0"), Some(&29.0_f64.to_be_bytes()), None]);
        let mut columns = Columns::default();
        let row = columns.row(&body, 3).unwrap();
        assert_eq!((row.command(), row.columns()), (3, 3));
        assert_eq!(row.text(0).unwrap(), "price_0");
        assert_eq!(row.float8(1).unwrap().to_bits(), 29.0_f64.to_bits());
        assert_eq!(row.bytes(2).unwrap(), None);
    }

    #[test]
    fn a_wrong_expectation_is_an_error_and_no_panic() {
        let body = body(&[Some(b"\xff"), None]);
        let mut columns = Columns::default();
        let row = columns.row(&body, 0).unwrap();
        for error in [
            row.text(0).map(|_| ()),
            row.float8(0).map(|_| ()),
            row.int8(1).map(|_| ()),
            row.text(2).map(|_| ()),
        ] {
            assert!(matches!(error, Err(PgError::Protocol(_))));
        }
    }

    #[test]
    fn a_truncated_row_is_an_error_at_every_length() {
        let body = body(&[Some(b"price_0"), Some(&29.0_f64.to_be_bytes())]);
        for length in 0..body.len() {
            assert!(Columns::default().row(&body[..length], 0).is_err(), "{length}");
        }
    }
}
