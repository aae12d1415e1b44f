//! Reading a run, sealed or not, and refusing what is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use super::audit::ChainFault;
use super::by_fork::ByFork;
use super::chain::{CHAIN, Chain, ChainEntry, SealState};
use super::codec::{FileIdentity, Frame, TableReader};
use super::convert::{OfFork, RowFault};
use super::error::ReadError;
use super::rows::{CellRow, FactRow, ForkPairs, ForkRow, ForkSteps, ForkWire, PairRow, Setting, StepRow, WireRow};
use super::rows_digest;
use super::schema::{CELLS, ENVIRONMENT, FORK_TABLES, FORKS, MANIFEST, PAIRS, STEPS, Table, WIRE};
use super::sums::{self, ANNOUNCED, FileSums, SUMS};
use super::times::{self, ForkTimes};
use super::write::{announced_names, kind_in_part, part_name, sealed_names};

/// The minor schema version from which on a run has a chain.
const CHAINED_SINCE: u32 = 1;

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Every planned fork was measured, and the run was sealed.
    Sealed,
    /// It had broken off, and what was whole was sealed.
    Incomplete,
    /// It was cut short, or is still running.
    Unfinished,
}

impl Completeness {
    /// Whether the run is sealed: nothing is ever added to it.
    pub fn is_sealed(self) -> bool {
        self != Self::Unfinished
    }
}

/// A run on disk, checked; its pairs are read fork by fork.
#[derive(Debug)]
pub struct Archive {
    directory: PathBuf,
    identity: FileIdentity,
    /// Minor version of the schema that the run began under.
    pub(super) minor: u32,
    chain: Option<Chain>,
    /// Whether it came to its end.
    pub completeness: Completeness,
    /// The resolved manifest, and what ran it.
    pub settings: Vec<Setting>,
    /// The cells of the plan.
    pub cells: Vec<CellRow>,
    /// Facts about machine, build and server.
    pub facts: Vec<FactRow>,
    /// The forks that are there, by cell and fork.
    pub forks: Vec<ForkRow>,
}

/// The files of a run that hold what forks brought: one a table, or one a fork in a run that is not sealed; none of a
/// table that the run is too old to have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFiles {
    /// Rows of `forks`.
    pub forks: Vec<String>,
    /// Rows of `pairs`.
    pub pairs: Vec<String>,
    /// Rows of `steps`.
    pub steps: Vec<String>,
    /// Rows of `wire`.
    pub wire: Vec<String>,
}

impl Archive {
    /// Opens a run's directory and checks all that can be checked without its pairs; of a sealed run, every byte.
    ///
    /// # Errors
    /// What is missing, damaged, of another version or of another run.
    pub fn open(directory: &Path) -> Result<Self, ReadError> {
        let manifest = directory.join(MANIFEST.file_name());
        if !manifest.is_file() {
            return Err(ReadError::NotARun {
                path: directory.to_owned(),
                missing: MANIFEST.file_name(),
            });
        }
        let reader = TableReader::open(&MANIFEST, &manifest)?;
        let (is_sealed, sums) = check_sums(directory, reader.minor)?;
        let chain = chain(directory, reader.minor, is_sealed, &sums)?;
        let seal = chain.as_ref().and_then(Chain::seal);
        let completeness = match seal {
            _ if !is_sealed => Completeness::Unfinished,
            Some((SealState::Incomplete, _)) => Completeness::Incomplete,
            _ => Completeness::Sealed,
        };
        let mut archive = Self {
            directory: directory.to_owned(),
            identity: reader.identity.clone(),
            minor: reader.minor,
            chain,
            completeness,
            settings: at(&manifest, Setting::rows(&reader.all()?))?,
            cells: Vec::new(),
            facts: Vec::new(),
            forks: Vec::new(),
        };
        archive.check_manifest()?;
        archive.cells = archive.table(&CELLS, CellRow::rows)?;
        archive.facts = archive.table(&ENVIRONMENT, FactRow::rows)?;
        archive.forks = if is_sealed {
            archive.table(&FORKS, ForkRow::rows)?
        } else {
            archive.parts()?
        };
        archive.check_forks()?;
        if !is_sealed {
            archive.check_chain()?;
        }
        Ok(archive)
    }

    /// The run's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The run's id.
    pub fn run(&self) -> &str {
        &self.identity.run
    }

    /// SHA-256 of the manifest, lower-case hexadecimal.
    pub fn manifest_sha256(&self) -> &str {
        &self.identity.manifest_sha256
    }

    /// SHA-256 over the run's chain, which stands for all that is in it. `None` for a run that is not sealed, or that is
    /// older than chains are (schema 1.0).
    pub fn root(&self) -> Option<&str> {
        let chain = self.chain.as_ref().filter(|_| self.completeness.is_sealed())?;
        chain.sealed_files().map(|_| chain.tip.as_str())
    }

    /// The chain; `None` for a run that is older than chains are.
    pub fn chain(&self) -> Option<&Chain> {
        self.chain.as_ref()
    }

    /// Files within the directory that hold the rows of the tables that forks bring.
    pub fn files(&self) -> RunFiles {
        let of = |table: &Table| match self.completeness {
            _ if table.since > self.minor => Vec::new(),
            Completeness::Sealed | Completeness::Incomplete => vec![table.file_name()],
            Completeness::Unfinished => {
                let has_part = |fork: &&ForkRow| table.name == FORKS.name || fork.rows_in(table).is_some();
                let with_part = self.forks.iter().filter(has_part);
                with_part
                    .map(|fork| format!("parts/{}", part_name(fork.position, table)))
                    .collect()
            }
        };
        RunFiles {
            forks: of(&FORKS),
            pairs: of(&PAIRS),
            steps: of(&STEPS),
            wire: of(&WIRE),
        }
    }

    /// Hands over the pairs of every fork, in the order of [`Self::forks`]. For the times alone, and for many of them,
    /// see [`Self::for_each_fork_times`].
    ///
    /// # Errors
    /// What is damaged, and when the rows are not the ones that the forks' rows speak of.
    pub fn for_each_fork(&self, mut take: impl FnMut(ForkPairs)) -> Result<(), ReadError> {
        self.for_each_fork_rows(&PAIRS, PairRow::rows, |fork, pairs| {
            take(ForkPairs {
                cell: fork.cell,
                fork: fork.fork,
                pairs,
            });
        })
    }

    /// Hands over the steps of every fork, in the order of [`Self::forks`]; none of a run that is older than they are
    /// (schema 1.1).
    ///
    /// # Errors
    /// As [`Self::for_each_fork`].
    pub fn for_each_fork_steps(&self, mut take: impl FnMut(ForkSteps)) -> Result<(), ReadError> {
        self.for_each_fork_rows(&STEPS, StepRow::rows, |fork, steps| {
            take(ForkSteps {
                cell: fork.cell,
                fork: fork.fork,
                steps,
            });
        })
    }

    /// Hands over what passed the proxy, fork by fork, in the order of [`Self::forks`]; nothing of a run that is older
    /// than that (schema 1.1).
    ///
    /// # Errors
    /// As [`Self::for_each_fork`].
    pub fn for_each_fork_wire(&self, mut take: impl FnMut(ForkWire)) -> Result<(), ReadError> {
        self.for_each_fork_rows(&WIRE, WireRow::rows, |fork, passages| {
            take(ForkWire {
                cell: fork.cell,
                fork: fork.fork,
                passages,
            });
        })
    }

    fn for_each_fork_rows<T>(
        &self,
        table: &'static Table,
        rows: fn(&Frame) -> Result<Vec<OfFork<T>>, RowFault>,
        mut take: impl FnMut(&ForkRow, Vec<T>),
    ) -> Result<(), ReadError> {
        self.for_each_part(table, |path, forks| {
            let mut grouped = ByFork::new(path, table, forks);
            let mut take = |fork: &ForkRow, rows| {
                take(fork, rows);
                Ok(())
            };
            let mut reader = self.reader(table, path)?;
            let mut row = 0;
            while let Some(frame) = reader.next_frame()? {
                let rows = at(path, rows(&frame).map_err(|(place, problem)| (row + place, problem)))?;
                row += rows.len();
                grouped.add(rows.into_iter(), &mut take)?;
            }
            grouped.finish(&mut take)
        })
    }

    /// Hands over the times of every fork, in the order of [`Self::forks`]. Reads only the columns that they need, with
    /// this many threads; the order and what is checked do not depend on how many.
    ///
    /// # Errors
    /// What is damaged, when the rows are not the ones that the forks' rows speak of, and what `take` refuses.
    pub fn for_each_fork_times<E: From<ReadError>>(
        &self,
        threads: usize,
        mut take: impl FnMut(ForkTimes) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_part(&PAIRS, |path, forks| {
            let mut grouped = ByFork::new(path, &PAIRS, forks);
            let mut take = |fork: &ForkRow, times: ForkTimes| {
                take(ForkTimes {
                    cell: fork.cell,
                    fork: fork.fork,
                    ..times
                })
            };
            let open = || self.reader(&PAIRS, path);
            times::in_order(open, threads, |group| grouped.add(group, &mut take))?;
            grouped.finish(&mut take)
        })
    }

    /// Hands over each file with rows of one of the tables that forks bring, and the forks whose rows it holds.
    pub(super) fn for_each_part<E>(
        &self,
        table: &Table,
        mut read: impl FnMut(&Path, &[ForkRow]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.completeness {
            _ if table.since > self.minor => Ok(()),
            Completeness::Sealed | Completeness::Incomplete => {
                read(&self.directory.join(table.file_name()), &self.forks)
            }
            Completeness::Unfinished => {
                let with_part = self.forks.iter().filter(|fork| fork.rows_in(table).is_some());
                let mut read = |fork| read(&self.part_path(fork, table), std::slice::from_ref(fork));
                with_part.into_iter().try_for_each(&mut read)
            }
        }
    }

    fn part_path(&self, fork: &ForkRow, table: &Table) -> PathBuf {
        self.directory.join("parts").join(part_name(fork.position, table))
    }

    /// The chain's entry of a fork of an unfinished run.
    pub(super) fn entry_of(&self, fork: &ForkRow) -> Result<ChainEntry, ReadError> {
        let mut digests = Vec::new();
        for table in FORK_TABLES.into_iter().filter(|table| fork.rows_in(table).is_some()) {
            let rows = self.reader(table, &self.part_path(fork, table))?.all()?;
            digests.push((table.name, rows_digest::of_frame(&rows)));
        }
        let digest_in = |table: &Table| {
            let found = digests.iter().find(|(name, _)| *name == table.name);
            found.map(|(_, digest)| digest.clone()).unwrap_or_default()
        };
        Ok(ChainEntry::of_fork(fork, digest_in))
    }

    fn reader(&self, table: &'static Table, path: &Path) -> Result<TableReader, ReadError> {
        let reader = TableReader::open(table, path)?;
        if reader.identity != self.identity {
            return Err(ReadError::OtherRun {
                path: reader.path().to_owned(),
                found: reader.identity.run.clone(),
                expected: self.identity.run.clone(),
            });
        }
        Ok(reader)
    }

    fn table<T>(
        &self,
        table: &'static Table,
        rows: impl Fn(&Frame) -> Result<Vec<T>, RowFault>,
    ) -> Result<Vec<T>, ReadError> {
        let path = self.directory.join(table.file_name());
        let frame = self.reader(table, &path)?.all()?;
        at(&path, rows(&frame))
    }

    /// Fork rows of the parts that count: those whose sums were written and hold.
    fn parts(&self) -> Result<Vec<ForkRow>, ReadError> {
        let parts = self.directory.join("parts");
        let io = |source| ReadError::Io {
            path: parts.clone(),
            source,
        };
        let mut forks = Vec::new();
        for entry in fs::read_dir(&parts).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if path.extension().is_some_and(|extension| extension == "sums") {
                let named = check_part(&path)?;
                let row = path.with_extension(kind_in_part(&FORKS));
                let frame = self.reader(&FORKS, &row)?.all()?;
                let rows = at(&row, ForkRow::rows(&frame))?;
                let parts = FORK_TABLES
                    .into_iter()
                    .filter(|table| rows.iter().any(|fork| fork.rows_in(table).is_some()));
                sums::name_all(
                    &named,
                    &parts.map(|table| name_in_part(&path, table)).collect::<Vec<_>>(),
                    &path,
                )?;
                forks.extend(rows);
            }
        }
        forks.sort_by_key(|fork| (fork.cell, fork.fork));
        Ok(forks)
    }

    /// The manifest that lies beside the tables must be the one that they were measured under.
    fn check_manifest(&self) -> Result<(), ReadError> {
        let path = self.directory.join("manifest.toml");
        match sums::sha256_of(&path) {
            Ok(found) if found == self.identity.manifest_sha256 => Ok(()),
            Ok(_) => Err(ReadError::Schema {
                path,
                problem: "it is not the manifest that this run was measured under; fetch the run again".to_owned(),
            }),
            Err(source) => Err(ReadError::Io { path, source }),
        }
    }

    /// The parts have sums of their own; that they are the ones that the run wrote, its chain says.
    fn check_chain(&self) -> Result<(), ReadError> {
        match self.chain_faults()?.into_iter().next() {
            None => Ok(()),
            Some(ChainFault { line, problem }) => Err(ReadError::Chain {
                path: self.directory.join(CHAIN),
                line,
                problem,
            }),
        }
    }

    fn check_forks(&self) -> Result<(), ReadError> {
        let path = self.directory.join(FORKS.file_name());
        for (row, fork) in self.forks.iter().enumerate() {
            let twice = row > 0 && (self.forks[row - 1].cell, self.forks[row - 1].fork) >= (fork.cell, fork.fork);
            let unknown = self.cells.iter().all(|cell| cell.cell != fork.cell);
            let problem = match (twice, unknown) {
                (true, _) => format!("fork {} of cell {} stands twice or out of order", fork.fork, fork.cell),
                (_, true) => format!(
                    "fork {} belongs to cell {}, which cells.parquet does not have",
                    fork.fork, fork.cell
                ),
                _ => continue,
            };
            return Err(ReadError::Value { path, row, problem });
        }
        Ok(())
    }
}

/// Holds that the files of a part are what they were, and that its sums name the fork's row and its pairs.
pub(super) fn check_part(sums: &Path) -> Result<FileSums, ReadError> {
    let checked = sums::check(sums)?;
    sums::name_all(&checked, &[&PAIRS, &FORKS].map(|table| name_in_part(sums, table)), sums)?;
    Ok(checked)
}

/// The name of a table's file beside the sums of its part.
fn name_in_part(sums: &Path, table: &Table) -> String {
    let path = sums.with_extension(kind_in_part(table));
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Of a sealed run, every byte; of another, what was there before its first fork. The parts have sums of their own. Tells
/// whether it is sealed.
fn check_sums(directory: &Path, minor: u32) -> Result<(bool, FileSums), ReadError> {
    let (sealed, announced) = (directory.join(SUMS), directory.join(ANNOUNCED));
    let (sums, names, is_sealed) = if sealed.is_file() {
        (sealed, sealed_names(minor), true)
    } else if announced.is_file() {
        (announced, announced_names(), false)
    } else {
        return Err(ReadError::NotARun {
            path: directory.to_owned(),
            missing: format!("{SUMS} and no {ANNOUNCED}"),
        });
    };
    let checked = sums::check(&sums)?;
    sums::name_all(&checked, &names, &sums)?;
    Ok((is_sealed, checked))
}

/// The run's chain, whose seal must name the files that the sums name.
fn chain(directory: &Path, minor: u32, is_sealed: bool, sums: &FileSums) -> Result<Option<Chain>, ReadError> {
    if minor < CHAINED_SINCE {
        return Ok(None);
    }
    if !is_sealed {
        return Chain::read_open(directory).map(Some);
    }
    sums::name_all(sums, &[CHAIN.to_owned()], &directory.join(SUMS))?;
    let chain = Chain::read(directory)?;
    let mut others = sums.clone();
    others.remove(CHAIN);
    if chain.sealed_files() == Some(&others) {
        return Ok(Some(chain));
    }
    Err(ReadError::Chain {
        path: directory.join(CHAIN),
        line: chain.entries.len(),
        problem: "its seal does not name the files that SHA256SUMS names".to_owned(),
    })
}

fn at<T>(path: &Path, rows: Result<T, RowFault>) -> Result<T, ReadError> {
    rows.map_err(|(row, problem)| ReadError::Value {
        path: path.to_owned(),
        row,
        problem,
    })
}
