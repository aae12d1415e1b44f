//! Cuts a stream of rows into forks, and holds each fork against its row in forks.parquet.

use std::path::{Path, PathBuf};

use super::error::ReadError;
use super::rows::{ForkRow, PairRow};
use crate::units::{CellIndex, ForkIndex};

/// Rows of pairs.parquet that were read at once, taken from the front.
pub(super) trait Batch {
    /// What the rows of a fork become.
    type Fork: Default;

    /// The fork of the first row that is left, as it stands in the file: cell and fork. `None` at the end.
    fn fork(&self) -> Option<(i64, i64)>;

    /// Moves the rows at the front that are of this fork, `most` at most; says how many there were.
    fn move_to(&mut self, fork: (i64, i64), most: usize, into: &mut Self::Fork) -> usize;
}

/// One row of the file with the fork that it belongs to.
type Row = (CellIndex, ForkIndex, PairRow);

fn fork_of(row: &Row) -> (i64, i64) {
    (i64::from(row.0.0), i64::from(row.1.0))
}

impl Batch for std::vec::IntoIter<Row> {
    type Fork = Vec<PairRow>;

    fn fork(&self) -> Option<(i64, i64)> {
        self.as_slice().first().map(fork_of)
    }

    fn move_to(&mut self, fork: (i64, i64), most: usize, into: &mut Vec<PairRow>) -> usize {
        let rows = self.as_slice().iter().take(most);
        let rows = rows.take_while(|row| fork_of(row) == fork).count();
        into.extend(self.take(rows).map(|(_, _, pair)| pair));
        rows
    }
}

/// The fork that is being put together, and those that are to come.
pub(super) struct ByFork<'a, F> {
    path: PathBuf,
    /// The forks that are not yet handed over.
    forks: &'a [ForkRow],
    /// What there is of the first of them.
    fork: F,
    /// How many rows that is.
    collected: usize,
    /// Rows of the file so far.
    row: usize,
}

impl<'a, F: Default> ByFork<'a, F> {
    /// For a file that holds the rows of these forks, in this order.
    pub fn new(path: &Path, forks: &'a [ForkRow]) -> Self {
        Self {
            path: path.to_owned(),
            forks,
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
                && self.collected == current.pairs_recorded as usize
            {
                self.hand_over(current, take)?;
            }
            let moved = self.forks.first().map_or(0, |current| {
                let expected = (i64::from(current.cell.0), i64::from(current.fork.0));
                batch.move_to(
                    expected,
                    current.pairs_recorded as usize - self.collected,
                    &mut self.fork,
                )
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
            if self.collected != current.pairs_recorded as usize {
                let problem = format!(
                    "fork {} of cell {} has {} rows where forks.parquet says {}",
                    current.fork, current.cell, self.collected, current.pairs_recorded
                );
                return Err(self.fault(problem).into());
            }
            self.hand_over(current, take)?;
        }
        Ok(())
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
