//! A run's rows held against its chain, which names each by the digest of what it says.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::{Chain, ChainEntry, LostFork};
use super::codec::{Frame, TableReader};
use super::error::ReadError;
use super::read::Archive;
use super::rows::{CellRow, FactRow, ForkRow, Setting, When};
use super::rows_digest::{self, RowsDigest};
use super::schema::{FORK_TABLES, Table};

/// A line of the chain that the rows do not bear out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// Digests of the rows that forks bring, by table, cell and fork, as the columns have them.
type ForkDigests = BTreeMap<(&'static str, i64, i64), String>;

impl Archive {
    /// Holds every row against the chain. In a run that broke off, the last part may not be in the chain yet, and a part
    /// that the chain names may be lost. In a sealed run a fork may be lost only when the seal says so.
    ///
    /// # Errors
    /// What can't be read.
    pub fn chain_faults(&self) -> Result<Vec<ChainFault>, ReadError> {
        let Some(chain) = self.chain() else {
            return Ok(Vec::new());
        };
        let mut faults = Vec::new();
        let mut session = 0;
        for (place, entry) in chain.entries.iter().enumerate() {
            if let ChainEntry::Resumed { session: resumed, .. } = entry {
                session = *resumed;
            }
            let line = place + 1;
            faults.extend(
                self.fault_of(entry, session)
                    .map(|problem| ChainFault { line, problem }),
            );
        }
        let digests = self.fork_digests()?;
        let named = chain.named();
        faults.extend(self.fork_faults(chain, &named, &digests));
        faults.extend(named_badly(chain));
        faults.extend(self.unnamed_forks(chain, &named));
        faults.sort_by_key(|fault| fault.line);
        Ok(faults)
    }

    /// What an entry says that the rows do not; forks are held against the chain as a whole.
    fn fault_of(&self, entry: &ChainEntry, session: u32) -> Option<String> {
        let differ = |what: &str| Some(format!("{what} are not those that the run wrote"));
        let facts_are = |when, of_build, digest: &str| FactRow::digest(&self.facts, when, session, of_build) == digest;
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
            ChainEntry::Program { facts } => (!facts_are(When::Start, true, facts))
                .then(|| differ("the facts about the build in environment.parquet"))?,
            ChainEntry::Environment { when, facts } => (!facts_are(*when, false, facts))
                .then(|| differ(&format!("the facts of the {} in environment.parquet", when.as_str())))?,
            ChainEntry::Resumed {
                program, environment, ..
            } => (!facts_are(When::Resume, true, program) || !facts_are(When::Resume, false, environment))
                .then(|| differ(&format!("the facts of session {session} in environment.parquet")))?,
            ChainEntry::Seal { forks, .. } => (*forks != self.forks.len()).then(|| {
                let found = self.forks.len();
                format!("the run was sealed with {forks} forks, and forks.parquet has {found}")
            }),
            ChainEntry::Registration { .. } | ChainEntry::Fork { .. } => None,
        }
    }

    /// Forks that the chain names and whose rows are other ones, or gone.
    fn fork_faults(&self, chain: &Chain, named: &BTreeMap<LostFork, usize>, digests: &ForkDigests) -> Vec<ChainFault> {
        let fault = |(of, &place): (&LostFork, &usize)| {
            let LostFork { cell, fork } = *of;
            let line = place + 1;
            let Some(stored) = self.forks.iter().find(|row| (row.cell, row.fork) == (cell, fork)) else {
                let problem = format!("fork {fork} of cell {cell} was measured, and is not in forks.parquet");
                return self.completeness.is_sealed().then_some(ChainFault { line, problem });
            };
            let of_rows = ChainEntry::of_fork(stored, |table| digest_of(digests, table, stored));
            let problem = format!("the rows of fork {fork} of cell {cell} are not those that it wrote");
            (of_rows != chain.entries[place]).then_some(ChainFault { line, problem })
        };
        named.iter().filter_map(fault).collect()
    }

    /// Forks that stand in the tables and not in the chain.
    fn unnamed_forks(&self, chain: &Chain, named: &BTreeMap<LostFork, usize>) -> Vec<ChainFault> {
        let mut unnamed: Vec<LostFork> = (self.forks.iter())
            .map(|&ForkRow { cell, fork, .. }| LostFork { cell, fork })
            .filter(|fork| !named.contains_key(fork))
            .collect();
        // A part is stored just before its line: a crash in between leaves one that is not named.
        if chain.seal().is_none() && unnamed.len() == 1 {
            unnamed.clear();
        }
        let fault = |LostFork { cell, fork }| ChainFault {
            line: chain.entries.len(),
            problem: format!("fork {fork} of cell {cell} stands in the tables, and the chain does not name it"),
        };
        unnamed.into_iter().map(fault).collect()
    }

    fn fork_digests(&self) -> Result<ForkDigests, ReadError> {
        let mut digests = ForkDigests::new();
        for table in FORK_TABLES {
            self.for_each_part(table, |path, _| {
                let mut reader = TableReader::open(table, path)?;
                let mut current: Option<((i64, i64), RowsDigest)> = None;
                let mut done = |(cell, fork), digest: RowsDigest| {
                    digests.insert((table.name, cell, fork), digest.finish());
                };
                while let Some(frame) = reader.next_frame()? {
                    take(&frame, &mut current, &mut done);
                }
                if let Some((fork, digest)) = current {
                    done(fork, digest);
                }
                Ok::<(), ReadError>(())
            })?;
        }
        Ok(digests)
    }
}

/// Forks that are named twice, or are said to be lost and were never named.
fn named_badly(chain: &Chain) -> Vec<ChainFault> {
    let mut named = BTreeSet::new();
    let mut faults = Vec::new();
    for (place, entry) in chain.entries.iter().enumerate() {
        let mut fault = |LostFork { cell, fork }: LostFork, problem: &str| {
            faults.push(ChainFault {
                line: place + 1,
                problem: format!("fork {fork} of cell {cell} {problem}"),
            });
        };
        match entry {
            ChainEntry::Fork { cell, fork, .. } => {
                let (cell, fork) = (*cell, *fork);
                if !named.insert(LostFork { cell, fork }) {
                    fault(LostFork { cell, fork }, "is named twice, and was not lost in between");
                }
            }
            ChainEntry::Resumed { lost, .. } | ChainEntry::Seal { lost, .. } => {
                for fork in lost.iter().filter(|fork| !named.remove(fork)) {
                    fault(*fork, "is said to be lost, and no line before names it");
                }
            }
            _ => {}
        }
    }
    faults
}

/// Adds a frame's rows, fork by fork, to the digest of the fork that they belong to.
fn take(frame: &Frame, current: &mut Option<((i64, i64), RowsDigest)>, done: &mut impl FnMut((i64, i64), RowsDigest)) {
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
            done(before, digest);
        }
        let (_, digest) = current.get_or_insert_with(|| (fork, RowsDigest::default()));
        digest.add(frame, start..end);
        start = end;
    }
}

fn digest_of(digests: &ForkDigests, table: &Table, fork: &ForkRow) -> String {
    let found = digests.get(&(table.name, i64::from(fork.cell.0), i64::from(fork.fork.0)));
    found.cloned().unwrap_or_else(|| RowsDigest::default().finish())
}
