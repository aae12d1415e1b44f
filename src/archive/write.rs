//! Writing a run: first what will be done, then a durable part a fork, then the seal. A run that broke off is taken up
//! in `take_up`.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::chain::{CHAIN, ChainEntry, ChainWriter, LostFork, SealState};
use super::codec::{self, FileIdentity, Frame, TableReader, TableWriter};
use super::durable;
use super::error::WriteError;
use super::ledger::{History, Ledger, LedgerState};
use super::lock::RunLock;
use super::registered::Standing;
use super::rows::{CellRow, FactRow, ForkPart, ForkRow, PairRow, Setting, StepRow, When, WireRow};
use super::rows_digest;
use super::schema::{
    CELLS, ENVIRONMENT, FORK_TABLES, FORKS, MANIFEST, PAIRS, SCHEMA_MINOR, STEPS, Table, WIRE, tables_of,
};
use super::sums::{self, ANNOUNCED, FileSums, SUMS};
use super::timestamp::EvidenceFile;

/// Name of the directory with a durable part a fork.
pub(super) const PARTS: &str = "parts";

/// Names under which a second run of the same second may still be stored.
const NAMES_TRIED: u32 = 100;

/// What a run is of.
#[derive(Debug, Clone)]
pub struct RunIdentity<'a> {
    /// The experiment's name.
    pub name: &'a str,
    /// The manifest, verbatim.
    pub manifest_text: &'a str,
    /// SHA-256 of the manifest.
    pub manifest_sha256: &'a str,
    /// When the run starts.
    pub started: DateTime<Utc>,
}

/// A run that is being written.
pub struct RunWriter {
    pub(super) directory: PathBuf,
    pub(super) identity: FileIdentity,
    /// Minor version of the schema that the run began under, which decides what tables it has.
    pub(super) minor: u32,
    pub(super) ledger: Ledger,
    pub(super) chain: ChainWriter,
    pub(super) registered: Option<String>,
    pub(super) evidence: FileSums,
    pub(super) facts: Vec<FactRow>,
    pub(super) parts: Vec<ForkRow>,
    /// Forks that the chain names and whose parts are lost.
    pub(super) lost: Vec<LostFork>,
    /// Which process of the run this is, from 0.
    pub(super) session: u32,
    pub(super) _lock: RunLock,
}

impl RunWriter {
    /// Makes the run's directory under `results` and puts the manifest there, durably.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(results: &Path, of: &RunIdentity<'_>) -> Result<Self, WriteError> {
        fs::create_dir_all(results).map_err(WriteError::io(results))?;
        let short = &of.manifest_sha256[..8];
        let stem = format!("{}-{}-{short}", of.started.format("%Y%m%dT%H%M%SZ"), of.name);
        let ledger = Ledger::of(results);
        // What can't be read will be told when a line is to be added.
        let history = ledger.read().unwrap_or_default();
        let (run, directory) = free_directory(results, &stem, &history)?;
        let parts = directory.join(PARTS);
        fs::create_dir(&parts).map_err(WriteError::io(&parts))?;
        let lock = RunLock::with_manifest(&directory, of.manifest_text)?;
        durable::sync_directory(results)?;
        Ok(Self {
            chain: ChainWriter::new(&directory),
            directory,
            identity: FileIdentity {
                run,
                manifest_sha256: of.manifest_sha256.to_owned(),
            },
            minor: SCHEMA_MINOR,
            ledger,
            registered: None,
            evidence: FileSums::new(),
            facts: Vec::new(),
            parts: Vec::new(),
            lost: Vec::new(),
            session: 0,
            _lock: lock,
        })
    }

    /// Takes a run back that was never announced, because its backend could not be made ready: nothing was measured.
    ///
    /// # Errors
    /// What the system says.
    pub fn withdraw(self) -> Result<(), WriteError> {
        fs::remove_dir_all(&self.directory).map_err(WriteError::io(&self.directory))
    }

    /// The run's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The run's id, which is the directory's name.
    pub fn run(&self) -> &str {
        &self.identity.run
    }

    /// Forks whose parts are durable.
    pub fn parts_written(&self) -> usize {
        self.parts.len()
    }

    /// Gives a start under a registration its number. The next line of the ledger must be that of this start.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(&mut self, standing: &Standing) -> Result<Standing, WriteError> {
        if let Standing::Confirmatory(registered) = standing {
            self.registered = Some(registered.line.clone());
        }
        standing.numbered(&self.ledger)
    }

    /// Keeps files that bear witness to when the manifest existed in the run's directory, durably.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&mut self, evidence: &[EvidenceFile]) -> Result<(), WriteError> {
        for file in evidence {
            durable::write(&self.directory.join(&file.name), &file.bytes)?;
            self.evidence.insert(file.name.clone(), file.sha256.clone());
        }
        Ok(())
    }

    /// Writes down what will be measured and on what, then enters the start into the ledger. No fork may start before.
    ///
    /// # Errors
    /// What the system says.
    pub fn announce(&mut self, settings: &[Setting], cells: &[CellRow], facts: Vec<FactRow>) -> Result<(), WriteError> {
        let (settings, cells) = (Setting::frame(settings), CellRow::frame(cells));
        let manifest = ChainEntry::Manifest {
            sha256: self.identity.manifest_sha256.clone(),
            settings: rows_digest::of_frame(&settings),
            cells: rows_digest::of_frame(&cells),
        };
        self.table(&MANIFEST, settings)?;
        self.table(&CELLS, cells)?;
        self.facts = self.of_session(facts);
        self.table(&ENVIRONMENT, FactRow::frame(&self.facts))?;
        let registration = ChainEntry::Registration {
            started: self.ledger(LedgerState::Started)?,
            registered: self.registered.clone(),
            evidence: self.evidence.clone(),
        };
        let [program, environment] = [true, false].map(|of_build| self.facts_digest(When::Start, of_build));
        self.chain.append(registration)?;
        self.chain.append(manifest)?;
        self.chain.append(ChainEntry::Program { facts: program })?;
        self.chain.append(ChainEntry::Environment {
            when: When::Start,
            facts: environment,
        })?;
        self.sums(ANNOUNCED, &with_manifest(&[&CELLS, &ENVIRONMENT, &MANIFEST]))
    }

    /// Stores a fork, durably. Its row says how many rows it has in each table.
    ///
    /// # Errors
    /// What the system says; the forks before are on disk.
    pub fn part(&mut self, part: ForkPart) -> Result<(), WriteError> {
        let mut fork = part.fork;
        fork.session = Some(self.session);
        let (cell, index) = (fork.cell, fork.fork);
        let mut frames = vec![(&PAIRS, PairRow::frame(cell, index, &part.pairs))];
        if fork.steps_recorded.is_some() {
            frames.push((&STEPS, StepRow::frame(cell, index, &part.steps)));
        }
        if fork.passages_recorded.is_some() {
            frames.push((&WIRE, WireRow::frame(cell, index, &part.passages)));
        }
        let digests: Vec<(&str, String)> = frames
            .iter()
            .map(|(table, frame)| (table.name, rows_digest::of_frame(frame)))
            .collect();
        let digest_in = |table: &Table| {
            let found = digests.iter().find(|(name, _)| *name == table.name);
            found.map(|(_, digest)| digest.clone()).unwrap_or_default()
        };
        let entry = ChainEntry::of_fork(&fork, digest_in);
        frames.push((&FORKS, ForkRow::frame(std::slice::from_ref(&fork))));
        self.store_part(fork.position, frames)?;
        self.chain.append(entry)?;
        self.parts.push(fork);
        Ok(())
    }

    /// Writes the files of a part, then the sums that make it count.
    fn store_part(&self, position: u32, frames: Vec<(&'static Table, Frame)>) -> Result<(), WriteError> {
        let parts = self.directory.join(PARTS);
        let mut names = Vec::new();
        for (table, frame) in frames {
            let name = part_name(position, table);
            durable::write(&parts.join(&name), &codec::encode(&self.identity, frame)?)?;
            names.push(name);
        }
        let sums = sums::of_files(&parts, &names).map_err(WriteError::io(&parts))?;
        durable::write(&parts.join(part_sums(position)), sums::lines(&sums).as_bytes())
    }

    /// Merges the parts, adds the facts at the end, and seals the run.
    ///
    /// # Errors
    /// What the system says; until the seal is written, the parts stay.
    pub fn seal(&mut self, facts: Vec<FactRow>) -> Result<(), WriteError> {
        let facts = self.of_session(facts);
        self.facts.extend(facts);
        self.write_facts()?;
        self.chain.append(ChainEntry::Environment {
            when: When::End,
            facts: self.facts_digest(When::End, false),
        })?;
        self.close(SealState::Complete)?;
        self.ledger(LedgerState::Finished).map(drop)
    }

    /// Merges the parts and seals what there is. What comes after the chain's last line can be done again from the
    /// chain alone.
    pub(super) fn close(&mut self, state: SealState) -> Result<(), WriteError> {
        self.merge()?;
        let files = sums::of_files(&self.directory, &self.names()).map_err(WriteError::io(&self.directory))?;
        self.chain.append(ChainEntry::Seal {
            state,
            forks: self.parts.len(),
            lost: self.lost.clone(),
            files,
        })?;
        write_sums(&self.directory, self.names())?;
        remove_leftovers(&self.directory)
    }

    /// The parts as tables.
    pub(super) fn merge(&mut self) -> Result<(), WriteError> {
        self.parts.sort_by_key(|fork| (fork.cell, fork.fork));
        self.table(&FORKS, ForkRow::frame(&self.parts))?;
        let tables = FORK_TABLES.into_iter().filter(|table| table.since <= self.minor);
        tables.into_iter().try_for_each(|table| self.merge_table(table))
    }

    /// Stores the facts anew. Were the program to end here, the sums must hold without them.
    pub(super) fn write_facts(&self) -> Result<(), WriteError> {
        self.sums(ANNOUNCED, &announced_names())?;
        self.table(&ENVIRONMENT, FactRow::frame(&self.facts))
    }

    /// These facts as ones that this process read.
    pub(super) fn of_session(&self, mut facts: Vec<FactRow>) -> Vec<FactRow> {
        for row in &mut facts {
            row.session = Some(self.session);
        }
        facts
    }

    /// Digest of the facts that this process read then: those about the build, or all others.
    pub(super) fn facts_digest(&self, when: When, of_build: bool) -> String {
        FactRow::digest(&self.facts, when, self.session, of_build)
    }

    /// Every file of the run but the chain and the sums.
    fn names(&self) -> Vec<String> {
        sealed_names(self.minor)
            .into_iter()
            .chain(self.evidence.keys().cloned())
            .collect()
    }

    /// SHA-256 of the chain's last line: the run's root, once it is sealed.
    pub fn root(&self) -> Option<&str> {
        self.chain.tip()
    }

    /// Enters into the ledger where the run stands; gives the line's SHA-256.
    ///
    /// # Errors
    /// What the system says.
    pub fn ledger(&self, state: LedgerState) -> Result<String, WriteError> {
        let root = self.root().filter(|_| state == LedgerState::Finished);
        self.ledger
            .append(&self.identity.run, &self.identity.manifest_sha256, state, root)
    }

    fn table(&self, table: &'static Table, frame: Frame) -> Result<(), WriteError> {
        durable::write(
            &self.directory.join(table.file_name()),
            &codec::encode(&self.identity, frame)?,
        )
    }

    fn sums(&self, name: &str, files: &[String]) -> Result<(), WriteError> {
        write_sums_of(&self.directory, name, files)
    }

    fn merge_table(&self, table: &'static Table) -> Result<(), WriteError> {
        let path = self.directory.join(table.file_name());
        let parts = self.directory.join(PARTS);
        durable::write_with(&path, |file| {
            let mut writer = TableWriter::new(table, &self.identity, file)?;
            for fork in self.parts.iter().filter(|fork| fork.rows_in(table).is_some()) {
                sums::check(&parts.join(part_sums(fork.position)))?;
                let part = parts.join(part_name(fork.position, table));
                writer.append(TableReader::open(table, &part)?.all()?)?;
            }
            writer.finish()
        })
        .map_err(|error| error.at(&path))
    }
}

fn write_sums_of(directory: &Path, name: &str, files: &[String]) -> Result<(), WriteError> {
    let files = sums::of_files(directory, files).map_err(WriteError::io(directory))?;
    durable::write(&directory.join(name), sums::lines(&files).as_bytes())
}

/// Writes the sums that make a run a sealed one, of the files that the last line of its chain names.
pub(super) fn write_sums(directory: &Path, mut names: Vec<String>) -> Result<(), WriteError> {
    names.push(CHAIN.to_owned());
    write_sums_of(directory, SUMS, &names)
}

/// Removes what a run has only while it is running.
pub(super) fn remove_leftovers(directory: &Path) -> Result<(), WriteError> {
    durable::remove_directory(&directory.join(PARTS))?;
    durable::remove_file(&directory.join(ANNOUNCED))
}

/// The files that the sums of a sealed run of this minor version name.
pub(super) fn sealed_names(minor: u32) -> Vec<String> {
    with_manifest(&tables_of(minor).collect::<Vec<_>>())
}

/// The files of an unfinished run that its sums name, whenever it ended.
pub(super) fn announced_names() -> Vec<String> {
    with_manifest(&[&CELLS, &MANIFEST])
}

/// File names of these tables and of the manifest, sorted.
fn with_manifest(tables: &[&Table]) -> Vec<String> {
    let mut names: Vec<String> = tables.iter().map(|table| table.file_name()).collect();
    names.push("manifest.toml".to_owned());
    names.sort();
    names
}

/// The file of a part with rows of this table.
pub(super) fn part_name(position: u32, table: &Table) -> String {
    format!("{position:05}.{}", kind_in_part(table))
}

/// What a table's file in a part is called after the part's number: a part has one fork.
pub(super) fn kind_in_part(table: &Table) -> String {
    if table.name == FORKS.name {
        "fork.parquet".to_owned()
    } else {
        table.file_name()
    }
}

/// The sums that make a part count.
fn part_sums(position: u32) -> String {
    format!("{position:05}.sums")
}

/// A directory that did not exist: the stem, or the stem with a number where two runs start in one second. A name that the
/// ledger knows is not given again, though its directory may be gone.
fn free_directory(results: &Path, stem: &str, history: &History) -> Result<(String, PathBuf), WriteError> {
    for attempt in 1..=NAMES_TRIED {
        let run = if attempt == 1 {
            stem.to_owned()
        } else {
            format!("{stem}-{attempt}")
        };
        if history.state_of(&run).is_some() && attempt < NAMES_TRIED {
            continue;
        }
        let directory = results.join(&run);
        match fs::create_dir(&directory) {
            Ok(()) => return Ok((run, directory)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < NAMES_TRIED => {}
            Err(error) => return Err(WriteError::io(&directory)(error)),
        }
    }
    unreachable!("the last attempt returns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once_though_its_directory_may_be_gone() {
        let results = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(results.path());
        let free = || {
            free_directory(results.path(), "run", &ledger.read().unwrap())
                .unwrap()
                .0
        };
        assert_eq!(free(), "run");
        assert_eq!(free(), "run-2");
        ledger.append("run", "m", LedgerState::Started, None).unwrap();
        fs::remove_dir(results.path().join("run")).unwrap();
        assert_eq!(free(), "run-3");
    }
}
