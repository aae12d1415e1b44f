//! A run's rows held against its chain, which names each by the digest of what it says.

use std::collections::BTreeMap;

use super::chain::{Chain, ChainEntry};
use super::codec::{Frame, TableReader};
use super::error::ReadError;
use super::read::{Archive, Completeness};
use super::rows::{CellRow, FactRow, ForkRow, Setting, When};
use super::rows_digest::{self, RowsDigest};
use super::schema::PAIRS;
use crate::units::{CellIndex, ForkIndex};

/// A line of the chain that the rows do not bear out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// Digests of the rows of `pairs` by cell and fork, as the columns have them.
type PairsDigests = BTreeMap<(i64, i64), String>;

impl Archive {
    /// Holds every row against the chain. In a run that broke off, the last part may not be in the chain yet, and a part
    /// that the chain names may be lost.
    ///
    /// # Errors
    /// What can't be read.
    pub fn chain_faults(&self) -> Result<Vec<ChainFault>, ReadError> {
        let Some(chain) = self.chain() else {
            return Ok(Vec::new());
        };
        let pairs = self.pairs_digests()?;
        let mut faults = Vec::new();
        for (place, entry) in chain.entries.iter().enumerate() {
            if let Some(problem) = self.fault_of(entry, &pairs) {
                faults.push(ChainFault {
                    line: place + 1,
                    problem,
                });
            }
        }
        faults.extend(self.unnamed_forks(chain));
        Ok(faults)
    }

    /// What an entry says that the rows do not.
    fn fault_of(&self, entry: &ChainEntry, pairs: &PairsDigests) -> Option<String> {
        let differ = |what: &str| Some(format!("{what} are not those that the run wrote"));
        match entry {
            ChainEntry::Manifest {
                sha256,
                settings,
                cells,
            } => {
                if sha256 != self.manifest_sha256() {
                    return differ("the manifest's bytes");
                }
                if *settings != rows_digest::of_frame(&Setting::frame(&self.settings)) {
                    return differ("the rows of manifest.parquet");
                }
                (*cells != rows_digest::of_frame(&CellRow::frame(&self.cells)))
                    .then(|| differ("the rows of cells.parquet"))?
            }
            ChainEntry::Program { facts } => (*facts != FactRow::digest(&self.facts, When::Start, true))
                .then(|| differ("the facts about the build in environment.parquet"))?,
            ChainEntry::Environment { when, facts } => {
                // The last facts are in the table only once the run is sealed.
                let written = *when == When::Start || self.completeness == Completeness::Sealed;
                (written && *facts != FactRow::digest(&self.facts, *when, false))
                    .then(|| differ(&format!("the facts of the {} in environment.parquet", when.as_str())))?
            }
            ChainEntry::Fork { cell, fork, .. } => self.fork_fault(entry, (*cell, *fork), pairs),
            ChainEntry::Seal { forks, .. } => (*forks != self.forks.len()).then(|| {
                let found = self.forks.len();
                format!("the run was sealed with {forks} forks, and forks.parquet has {found}")
            }),
            ChainEntry::Registration { .. } => None,
        }
    }

    fn fork_fault(&self, entry: &ChainEntry, of: (CellIndex, ForkIndex), pairs: &PairsDigests) -> Option<String> {
        let (cell, fork) = of;
        let Some(stored) = self.forks.iter().find(|row| (row.cell, row.fork) == of) else {
            let is_lost = self.completeness == Completeness::Sealed;
            return is_lost.then(|| format!("fork {fork} of cell {cell} was measured, and is not in forks.parquet"));
        };
        let of_rows = ChainEntry::of_fork(stored, pairs_of(pairs, stored));
        (of_rows != *entry).then(|| format!("the rows of fork {fork} of cell {cell} are not those that it wrote"))
    }

    /// Forks that stand in the tables and not in the chain.
    fn unnamed_forks(&self, chain: &Chain) -> Vec<ChainFault> {
        let named = |fork: &&ForkRow| {
            chain.entries.iter().any(|entry| {
                matches!(entry, ChainEntry::Fork { cell, fork: of, .. } if (*cell, *of) == (fork.cell, fork.fork))
            })
        };
        let mut unnamed: Vec<&ForkRow> = self.forks.iter().filter(|fork| !named(fork)).collect();
        unnamed.sort_by_key(|fork| fork.position);
        if self.completeness == Completeness::Unfinished {
            unnamed.pop();
        }
        let fault = |fork: &ForkRow| ChainFault {
            line: chain.entries.len(),
            problem: format!(
                "fork {} of cell {} stands in the tables, and the chain does not name it",
                fork.fork, fork.cell
            ),
        };
        unnamed.into_iter().map(fault).collect()
    }

    fn pairs_digests(&self) -> Result<PairsDigests, ReadError> {
        let mut digests = PairsDigests::new();
        self.for_each_part(|path, _| {
            let mut reader = TableReader::open(&PAIRS, path)?;
            let mut current: Option<((i64, i64), RowsDigest)> = None;
            while let Some(frame) = reader.next_frame()? {
                take(&frame, &mut current, &mut digests);
            }
            if let Some((fork, digest)) = current {
                digests.insert(fork, digest.finish());
            }
            Ok::<(), ReadError>(())
        })?;
        Ok(digests)
    }
}

/// Adds a frame's rows, fork by fork, to the digest of the fork that they belong to.
fn take(frame: &Frame, current: &mut Option<((i64, i64), RowsDigest)>, done: &mut PairsDigests) {
    let (cells, forks) = (frame.integers("cell"), frame.integers("fork"));
    let of = |row: usize| (cells[row].unwrap_or(-1), forks[row].unwrap_or(-1));
    let mut start = 0;
    while start < frame.rows() {
        let fork = of(start);
        let end = (start..frame.rows())
            .find(|&row| of(row) != fork)
            .unwrap_or(frame.rows());
        if current.as_ref().is_some_and(|(before, _)| *before != fork)
            && let Some((before, digest)) = current.take()
        {
            done.insert(before, digest.finish());
        }
        let (_, digest) = current.get_or_insert_with(|| (fork, RowsDigest::default()));
        digest.add(frame, start..end);
        start = end;
    }
}

fn pairs_of(digests: &PairsDigests, fork: &ForkRow) -> String {
    let found = digests.get(&(i64::from(fork.cell.0), i64::from(fork.fork.0)));
    found.cloned().unwrap_or_else(|| RowsDigest::default().finish())
}
