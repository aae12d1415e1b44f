//! The times of a run's pairs as columns, read by several threads: what analysis needs of millions of pairs.

use std::ops::Range;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use super::by_fork::Batch;
use super::codec::{Sparse, TableReader};
use super::convert::{OK_WITHOUT_TIME, negative};
use super::error::ReadError;
use super::rows::{PairStatus, Phase};
use crate::units::{CellIndex, ForkIndex};

/// Times of one side of a fork's pairs, ns; none is negative.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// Those that there are, in the order in which the pairs ran.
    pub present: Vec<i64>,
    /// Places of the pairs that have none, ascending, from 0.
    pub absent: Vec<usize>,
}

/// The times of one fork, as columns; warm-up first, in the order in which the pairs ran. All columns but the times have
/// a value a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkTimes {
    /// The fork's cell.
    pub cell: CellIndex,
    /// The fork.
    pub fork: ForkIndex,
    /// Warm-up or measured.
    pub phase: Vec<Phase>,
    /// How each pair ended; the pairs with [`PairStatus::Ok`] have both times.
    pub status: Vec<PairStatus>,
    /// Whether the subject came first.
    pub subject_first: Vec<bool>,
    /// The subject's times.
    pub subject: Times,
    /// The baseline's times.
    pub baseline: Times,
}

impl Default for ForkTimes {
    /// No pairs of the first fork.
    fn default() -> Self {
        Self {
            cell: CellIndex(0),
            fork: ForkIndex(0),
            phase: Vec::new(),
            status: Vec::new(),
            subject_first: Vec::new(),
            subject: Times::default(),
            baseline: Times::default(),
        }
    }
}

/// A row group of pairs.parquet.
pub(super) struct Group {
    cell: Vec<i64>,
    fork: Vec<i64>,
    phase: Vec<Phase>,
    status: Vec<PairStatus>,
    subject_first: Vec<bool>,
    subject: Sparse,
    baseline: Sparse,
    /// Rows that were moved out.
    front: usize,
}

impl Batch for Group {
    type Fork = ForkTimes;

    fn fork(&self) -> Option<(i64, i64)> {
        Some((*self.cell.get(self.front)?, self.fork[self.front]))
    }

    fn move_to(&mut self, fork: (i64, i64), most: usize, into: &mut ForkTimes) -> usize {
        let forks = self.cell[self.front..].iter().zip(&self.fork[self.front..]).take(most);
        let rows = forks.take_while(|(c, f)| (**c, **f) == fork).count();
        let range = self.front..self.front + rows;
        let before = into.phase.len();
        into.phase.extend_from_slice(&self.phase[range.clone()]);
        into.status.extend_from_slice(&self.status[range.clone()]);
        into.subject_first.extend_from_slice(&self.subject_first[range.clone()]);
        append(&mut into.subject, before, &self.subject, range.clone());
        append(&mut into.baseline, before, &self.baseline, range);
        self.front += rows;
        rows
    }
}

/// Adds some rows to the `before` that are there.
fn append(times: &mut Times, before: usize, column: &Sparse, rows: Range<usize>) {
    let absent = |row: usize| column.absent.partition_point(|&absent| absent < row);
    let (from, to) = (absent(rows.start), absent(rows.end));
    let present = &column.present[rows.start - from..rows.end - to];
    times.present.extend_from_slice(present);
    let places = column.absent[from..to].iter().map(|row| row - rows.start + before);
    times.absent.extend(places);
}

impl Group {
    fn read(reader: &TableReader, group: usize) -> Result<Self, ReadError> {
        let at = |(row, problem): (usize, String)| ReadError::Value {
            path: reader.path().to_owned(),
            row: reader.first_row(group) + row,
            problem,
        };
        let read = Self {
            cell: reader.integers(group, "cell")?.present,
            fork: reader.integers(group, "fork")?.present,
            phase: reader.words(group, "phase", Phase::from_word)?.map_err(at)?,
            status: reader.words(group, "status", PairStatus::from_word)?.map_err(at)?,
            subject_first: reader.booleans(group, "subject_first")?,
            subject: reader.integers(group, "subject_ns")?,
            baseline: reader.integers(group, "baseline_ns")?,
            front: 0,
        };
        read.check().map_err(at)?;
        Ok(read)
    }

    fn check(&self) -> Result<(), (usize, String)> {
        for (name, column) in [("subject_ns", &self.subject), ("baseline_ns", &self.baseline)] {
            for &row in &column.absent {
                if self.status[row] == PairStatus::Ok {
                    return Err((row, OK_WITHOUT_TIME.to_owned()));
                }
            }
            // One pass without a branch a value; the place is sought only when there is one.
            if column.present.iter().fold(0, |any, time| any | time) < 0 {
                let place = column.present.iter().position(|&time| time < 0).unwrap_or_default();
                let before = (0..).zip(&column.absent);
                let row = place
                    + before
                        .take_while(|(skipped, absent)| **absent <= place + skipped)
                        .count();
                return Err((row, negative(name, column.present[place])));
            }
        }
        Ok(())
    }
}

/// Reads the row groups of a file with this many threads, and hands them over in their order.
pub(super) fn in_order<E: From<ReadError>>(
    open: impl Fn() -> Result<TableReader, ReadError>,
    threads: usize,
    mut take: impl FnMut(Group) -> Result<(), E>,
) -> Result<(), E> {
    let first = open()?;
    let groups = first.groups();
    let threads = threads.clamp(1, groups.max(1));
    if threads == 1 {
        return (0..groups).try_for_each(|group| take(Group::read(&first, group)?));
    }
    // Each thread has a file of its own: two that share one would move each other's place in it.
    let mut readers = vec![first];
    for _ in 1..threads {
        readers.push(open()?);
    }
    let path = readers[0].path().to_owned();
    thread::scope(|scope| {
        let receivers: Vec<Receiver<Result<Group, ReadError>>> = (readers.into_iter().enumerate())
            .map(|(place, reader)| {
                let (send, receive) = sync_channel(1);
                scope.spawn(move || {
                    for group in (place..groups).step_by(threads) {
                        // Nobody listens any more once a group was refused.
                        if send.send(Group::read(&reader, group)).is_err() {
                            break;
                        }
                    }
                });
                receive
            })
            .collect();
        (0..groups).try_for_each(|group| {
            let read = receivers[group % threads].recv().unwrap_or_else(|_| {
                Err(ReadError::Decode {
                    path: path.clone(),
                    message: "the thread that read it ended".to_owned(),
                })
            });
            take(read?)
        })
    })
}
