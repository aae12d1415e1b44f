//! Cuts a stream of rows into forks, and holds each fork against what its row in forks.parquet says there are.

use std::path::{Path, PathBuf};

use super::error::ReadError;
use super::rows::ForkRow;
use super::schema::Table;
use crate::units::{CellIndex, ForkIndex};

/// Rows of one table that were read at once, taken from the front.
pub(super) trait Batch {
    /// What the rows of a fork become.
    type Fork: Default;

    /// The fork of the first row that is left, as it stands in the file: cell and fork. `None` at the end.
    fn fork(&self) -> Option<(i64, i64)>;

    /// Moves the rows at the front that are of this fork, `most` at most; says how many there were.
    fn move_to(&mut self, fork: (i64, i64), most: usize, into: &mut Self::Fork) -> usize;
}

/// One row of the file with the fork that it belongs to.
type Row<T> = (CellIndex, ForkIndex, T);

fn fork_of<T>(row: &Row<T>) -> (i64, i64) {
    (i64::from(row.0.0), i64::from(row.1.0))
}

impl<T> Batch for std::vec::IntoIter<Row<T>> {
    type Fork = Vec<T>;

    fn fork(&self) -> Option<(i64, i64)> {
        self.as_slice().first().map(fork_of)
    }

    fn move_to(&mut self, fork: (i64, i64), most: usize, into: &mut Vec<T>) -> usize {
        let rows = self.as_slice().iter().take(most);
        let rows = rows.take_while(|row| fork_of(row) == fork).count();
        into.extend(self.take(rows).map(|(_, _, row)| row));
        rows
    }
}

/// The fork that is being put together, and those that are to come.
pub(super) struct ByFork<'a, F> {
    path: PathBuf,
    /// The forks that are not yet handed over.
    forks: &'a [ForkRow],
    table: &'static Table,
    /// What there is of the first of them.
    fork: F,
    /// How many rows that is.
    collected: usize,
    /// Rows of the file so far.
    row: usize,
}

impl<'a, F: Default> ByFork<'a, F> {
    /// For a file of `table` that holds the rows of these forks, in this order.
    pub fn new(path: &Path, table: &'static Table, forks: &'a [ForkRow]) -> Self {
        Self {
            path: path.to_owned(),
            forks,
            table,
            fork: F::default(),
            collected: 0,
            row: 0,
        }
    }

    /// Adds rows, and hands over every fork that has all of its own before a row of another comes.
    pub fn add<E: From<ReadError>>(
        &mut self,
        mut batch: impl Batch<Fork = F>,
        take: &mut impl FnMut(&ForkRow, F) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some((cell, fork)) = batch.fork() {
            while let Some(current) = self.forks.first()
                && self.collected == self.rows_of(current)
            {
                self.hand_over(current, take)?;
            }
            let moved = self.forks.first().map_or(0, |current| {
                let expected = (i64::from(current.cell.0), i64::from(current.fork.0));
                let most = self.rows_of(current) - self.collected;
                batch.move_to(expected, most, &mut self.fork)
            });
            if moved == 0 {
                let problem = format!("a row of fork {fork} of cell {cell}, which forks.parquet does not expect here");
                return Err(self.fault(problem).into());
            }
            self.collected += moved;
            self.row += moved;
        }
        Ok(())
    }

    /// Hands over what is left; every fork must have all of its rows now.
    pub fn finish<E: From<ReadError>>(mut self, take: &mut impl FnMut(&ForkRow, F) -> Result<(), E>) -> Result<(), E> {
        while let Some(current) = self.forks.first() {
            let expected = self.rows_of(current);
            if self.collected != expected {
                let problem = format!(
                    "fork {} of cell {} has {} rows where forks.parquet says {expected}",
                    current.fork, current.cell, self.collected
                );
                return Err(self.fault(problem).into());
            }
            self.hand_over(current, take)?;
        }
        Ok(())
    }

    fn rows_of(&self, fork: &ForkRow) -> usize {
        fork.rows_in(self.table).unwrap_or_default() as usize
    }

    fn hand_over<E>(
        &mut self,
        current: &'a ForkRow,
        take: &mut impl FnMut(&ForkRow, F) -> Result<(), E>,
    ) -> Result<(), E> {
        self.forks = &self.forks[1..];
        self.collected = 0;
        take(current, std::mem::take(&mut self.fork))
    }

    fn fault(&self, problem: String) -> ReadError {
        ReadError::Value {
            path: self.path.clone(),
            row: self.row,
            problem,
        }
    }
}
