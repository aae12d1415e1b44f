//! Reading a run, sealed or not, and refusing what is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use super::codec::{FileIdentity, Frame, TableReader};
use super::convert::RowFault;
use super::error::ReadError;
use super::rows::{CellRow, FactRow, ForkPairs, ForkRow, PairRow, Setting};
use super::schema::{CELLS, ENVIRONMENT, FORKS, MANIFEST, PAIRS, Table};
use super::sums::{self, ANNOUNCED, SUMS};
use super::write::{announced_names, part_names, sealed_names};

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Every planned fork was measured, and the run was sealed.
    Sealed,
    /// It was cut short, or is still running.
    Unfinished,
}

/// A run on disk, checked; its pairs are read fork by fork.
#[derive(Debug)]
pub struct Archive {
    directory: PathBuf,
    identity: FileIdentity,
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
        let completeness = check_sums(directory)?;
        let reader = TableReader::open(&MANIFEST, &manifest)?;
        let identity = reader.identity.clone();
        let mut archive = Self {
            directory: directory.to_owned(),
            identity,
            completeness,
            settings: at(&manifest, Setting::rows(&reader.all()?))?,
            cells: Vec::new(),
            facts: Vec::new(),
            forks: Vec::new(),
        };
        archive.check_manifest()?;
        archive.cells = archive.table(&CELLS, CellRow::rows)?;
        archive.facts = archive.table(&ENVIRONMENT, FactRow::rows)?;
        archive.forks = match completeness {
            Completeness::Sealed => archive.table(&FORKS, ForkRow::rows)?,
            Completeness::Unfinished => archive.parts()?,
        };
        archive.check_forks()?;
        Ok(archive)
    }

    /// The run's id.
    pub fn run(&self) -> &str {
        &self.identity.run
    }

    /// SHA-256 of the manifest, lower-case hexadecimal.
    pub fn manifest_sha256(&self) -> &str {
        &self.identity.manifest_sha256
    }

    /// Files within the directory that hold the rows of `pairs`, and those that hold the rows of `forks`.
    pub fn files(&self) -> (Vec<String>, Vec<String>) {
        match self.completeness {
            Completeness::Sealed => (vec![PAIRS.file_name()], vec![FORKS.file_name()]),
            Completeness::Unfinished => {
                let part = |fork: &ForkRow| {
                    let [pairs, row, _] = part_names(fork.position);
                    (format!("parts/{pairs}"), format!("parts/{row}"))
                };
                self.forks.iter().map(part).unzip()
            }
        }
    }

    /// Hands over the pairs of every fork, in the order of [`Self::forks`].
    ///
    /// # Errors
    /// What is damaged, and when the rows are not the ones that the forks' rows speak of.
    pub fn for_each_fork(&self, mut take: impl FnMut(ForkPairs)) -> Result<(), ReadError> {
        match self.completeness {
            Completeness::Sealed => {
                let mut grouped = ByFork::new(self, self.directory.join(PAIRS.file_name()));
                let mut reader = self.reader(&PAIRS, &grouped.path)?;
                while let Some(frame) = reader.next_frame()? {
                    grouped.add(&frame, &mut take)?;
                }
                grouped.finish(&mut take)
            }
            Completeness::Unfinished => self.forks.iter().enumerate().try_for_each(|(place, fork)| {
                let path = self.directory.join("parts").join(&part_names(fork.position)[0]);
                let mut grouped = ByFork::new(self, path);
                grouped.next = place;
                grouped.end = place + 1;
                let frame = self.reader(&PAIRS, &grouped.path)?.all()?;
                grouped.add(&frame, &mut take)?;
                grouped.finish(&mut take)
            }),
        }
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
                let row = path.with_extension("fork.parquet");
                let both = [path.with_extension("pairs.parquet"), row.clone()];
                let both = both.map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
                sums::name_all(&sums::check(&path)?, &both, &path)?;
                let frame = self.reader(&FORKS, &row)?.all()?;
                forks.extend(at(&row, ForkRow::rows(&frame))?);
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

/// Of a sealed run, every byte; of another, what was there before its first fork. The parts have sums of their own.
fn check_sums(directory: &Path) -> Result<Completeness, ReadError> {
    let (sealed, announced) = (directory.join(SUMS), directory.join(ANNOUNCED));
    let (sums, names, completeness) = if sealed.is_file() {
        (sealed, sealed_names(), Completeness::Sealed)
    } else if announced.is_file() {
        (announced, announced_names(), Completeness::Unfinished)
    } else {
        return Err(ReadError::NotARun {
            path: directory.to_owned(),
            missing: format!("{SUMS} and no {ANNOUNCED}"),
        });
    };
    sums::name_all(&sums::check(&sums)?, &names, &sums)?;
    Ok(completeness)
}

fn at<T>(path: &Path, rows: Result<T, RowFault>) -> Result<T, ReadError> {
    rows.map_err(|(row, problem)| ReadError::Value {
        path: path.to_owned(),
        row,
        problem,
    })
}

/// Cuts a stream of rows into forks and holds each against its fork's row.
struct ByFork<'a> {
    archive: &'a Archive,
    path: PathBuf,
    pairs: Vec<PairRow>,
    next: usize,
    end: usize,
    row: usize,
}

impl<'a> ByFork<'a> {
    fn new(archive: &'a Archive, path: PathBuf) -> Self {
        Self {
            archive,
            path,
            pairs: Vec::new(),
            next: 0,
            end: archive.forks.len(),
            row: 0,
        }
    }

    fn add(&mut self, frame: &Frame, take: &mut impl FnMut(ForkPairs)) -> Result<(), ReadError> {
        for pair in PairRow::rows(frame) {
            let (cell, fork, pair) = at(&self.path, pair)?;
            while self
                .current()
                .is_some_and(|current| self.pairs.len() == current.pairs_recorded as usize)
            {
                self.hand_over(take);
            }
            if self
                .current()
                .is_none_or(|current| (current.cell, current.fork) != (cell, fork))
            {
                let problem = format!("a row of fork {fork} of cell {cell}, which forks.parquet does not expect here");
                return Err(self.fault(problem));
            }
            self.pairs.push(pair);
            self.row += 1;
        }
        Ok(())
    }

    fn finish(mut self, take: &mut impl FnMut(ForkPairs)) -> Result<(), ReadError> {
        while let Some(current) = self.current() {
            if self.pairs.len() != current.pairs_recorded as usize {
                let problem = format!(
                    "fork {} of cell {} has {} rows where forks.parquet says {}",
                    current.fork,
                    current.cell,
                    self.pairs.len(),
                    current.pairs_recorded
                );
                return Err(self.fault(problem));
            }
            self.hand_over(take);
        }
        Ok(())
    }

    fn current(&self) -> Option<&'a ForkRow> {
        self.archive.forks[..self.end].get(self.next)
    }

    fn hand_over(&mut self, take: &mut impl FnMut(ForkPairs)) {
        if let Some(fork) = self.current() {
            take(ForkPairs {
                cell: fork.cell,
                fork: fork.fork,
                pairs: std::mem::take(&mut self.pairs),
            });
        }
        self.next += 1;
    }

    fn fault(&self, problem: String) -> ReadError {
        ReadError::Value {
            path: self.path.clone(),
            row: self.row,
            problem,
        }
    }
}
