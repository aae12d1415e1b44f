//! A run that broke off, taken up: what is whole of it is kept, what a crash tore is removed, and a writer stands where
//! the dead one stood.
//!
//! * A last line of the chain that was torn is cut off.
//! * A part counts when its sums hold. If the chain does not name it yet, which can only be the last one, the line is
//!   added. Files of a part that does not count are removed; a fork that the chain names and that has no part is *lost*,
//!   and the next line that tells of it (`resumed` or `seal`) says so.
//! * Facts that the chain does not name are dropped: the process that read them ended before it said so.
//! * `*.tmp` and `scratch/` are removed.
//!
//! Each step can be done again, so that a crash in here costs nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::chain::{Chain, ChainEntry, ChainWriter, LostFork};
use super::codec::{FileIdentity, TableReader};
use super::durable;
use super::error::{ReadError, TakeUpError, WriteError};
use super::ledger::{Ledger, LedgerState};
use super::lock::RunLock;
use super::read::{Archive, check_part};
use super::rows::{FactRow, ForkRow, When};
use super::schema::MANIFEST;
use super::sums::{ANNOUNCED, FileSums, SUMS};
use super::write::{PARTS, RunWriter};
use crate::units::{CellIndex, ForkIndex};

/// Attempts to remove what a worker may still be writing: it ends by itself soon after its supervisor.
const REMOVALS: u32 = 50;
/// Pause between two of them.
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);

/// A run that broke off and can be gone on with.
pub struct TakenUp {
    /// Its writer; the run counts as running for as long as it lives.
    pub writer: RunWriter,
    /// The run as it was found, without what was torn.
    pub archive: Archive,
}

impl RunWriter {
    /// Takes up a run that broke off, to measure what is missing.
    ///
    /// # Errors
    /// When its process lives, when it is sealed, or when it is damaged beyond what a crash does.
    pub fn take_up(directory: &Path) -> Result<TakenUp, TakeUpError> {
        require_run(directory)?;
        let lock = RunLock::take(directory)?;
        let run = || directory.to_owned();
        if directory.join(SUMS).exists() {
            return Err(TakeUpError::Sealed { run: run() });
        }
        let is_sealed = || Chain::read_open(directory).is_ok_and(|chain| chain.seal().is_some());
        if !directory.join(ANNOUNCED).exists() && !is_sealed() {
            return Err(TakeUpError::NothingAnnounced { run: run() });
        }
        if is_sealed() {
            return Err(TakeUpError::Sealing { run: run() });
        }
        let taken = take_up(directory, lock)?;
        if taken.archive.lacks_only_its_seal() {
            return Err(TakeUpError::Sealing { run: run() });
        }
        Ok(taken)
    }

    /// Whether a fork of the run is on disk.
    pub fn has(&self, cell: CellIndex, fork: ForkIndex) -> bool {
        self.parts.iter().any(|row| (row.cell, row.fork) == (cell, fork))
    }

    /// Forks that the run's chain names and whose rows are gone.
    pub fn lost(&self) -> &[LostFork] {
        &self.lost
    }

    /// Whether the ledger has the line by which the run started.
    ///
    /// # Errors
    /// What can't be read.
    pub fn is_in_ledger(&self, archive: &Archive) -> Result<bool, ReadError> {
        let Some(ChainEntry::Registration { started, .. }) = archive.chain().and_then(|chain| chain.entries.first())
        else {
            return Ok(false);
        };
        let history = self.ledger.read()?;
        Ok(history.entries.iter().any(|entry| entry.sha256 == *started))
    }

    /// Goes on with a run that was taken up: its facts now, a line in the chain and one in the ledger.
    ///
    /// # Errors
    /// What the system says.
    pub fn resume(&mut self, facts: Vec<FactRow>) -> Result<(), WriteError> {
        self.session += 1;
        let facts = self.of_session(facts);
        self.facts.extend(facts);
        self.write_facts()?;
        self.chain.append(ChainEntry::Resumed {
            session: self.session,
            lost: std::mem::take(&mut self.lost),
            program: self.facts_digest(When::Resume, true),
            environment: self.facts_digest(When::Resume, false),
        })?;
        self.ledger(LedgerState::Resumed).map(drop)
    }
}

/// Takes up an announced run whose chain is open, or whose seal is to be done again.
pub(super) fn take_up(directory: &Path, lock: RunLock) -> Result<TakenUp, TakeUpError> {
    remove_torn(directory)?;
    remove_parts_that_do_not_count(directory)?;
    let archive = Archive::open(directory)?;
    let Some(chain) = archive.chain() else {
        return Err(TakeUpError::Unchained {
            run: directory.to_owned(),
        });
    };
    let mut writer = RunWriter {
        chain: ChainWriter::take_up(directory, chain)?,
        directory: directory.to_owned(),
        identity: FileIdentity {
            run: archive.run().to_owned(),
            manifest_sha256: archive.manifest_sha256().to_owned(),
        },
        minor: archive.minor,
        ledger: ledger_of(directory),
        registered: None,
        evidence: evidence_of(chain),
        facts: archive.facts.clone(),
        parts: archive.forks.clone(),
        lost: Vec::new(),
        session: chain.session(),
        _lock: lock,
    };
    writer.hold_against(chain, &archive)?;
    Ok(TakenUp { writer, archive })
}

impl RunWriter {
    fn hold_against(&mut self, chain: &Chain, archive: &Archive) -> Result<(), TakeUpError> {
        let named = chain.named();
        let stored: BTreeSet<LostFork> = (self.parts.iter())
            .map(|row| LostFork {
                cell: row.cell,
                fork: row.fork,
            })
            .collect();
        self.lost = named.keys().filter(|fork| !stored.contains(fork)).copied().collect();
        let is_named = |&ForkRow { cell, fork, .. }: &ForkRow| named.contains_key(&LostFork { cell, fork });
        for fork in archive.forks.iter().filter(|fork| !is_named(fork)) {
            // The archive holds that there is one at most.
            self.chain.append(archive.entry_of(fork)?)?;
        }
        let before = self.facts.len();
        self.facts.retain(|row| names_facts(chain, row));
        if self.facts.len() < before {
            self.write_facts()?;
        }
        Ok(())
    }
}

/// The files that bear witness to when the manifest existed: they are sealed with the run.
fn evidence_of(chain: &Chain) -> FileSums {
    let of_entry = |entry: &ChainEntry| match entry {
        ChainEntry::Registration { evidence, .. } => Some(evidence.clone()),
        _ => None,
    };
    chain.entries.iter().find_map(of_entry).unwrap_or_default()
}

/// Whether a line of the chain speaks of the facts that were read when this one was.
fn names_facts(chain: &Chain, row: &FactRow) -> bool {
    let mut session = 0;
    chain.entries.iter().any(|entry| {
        let when = match entry {
            ChainEntry::Environment { when, .. } => *when,
            ChainEntry::Resumed { session: resumed, .. } => {
                session = *resumed;
                When::Resume
            }
            _ => return false,
        };
        (row.when, row.session) == (when, Some(session))
    })
}

/// Holds that a directory is a run's, as far as that can be told from outside.
pub(super) fn require_run(directory: &Path) -> Result<(), ReadError> {
    let is_run = directory.join(super::lock::MANIFEST_TEXT).is_file();
    is_run.then_some(()).ok_or_else(|| ReadError::NotARun {
        path: directory.to_owned(),
        missing: super::lock::MANIFEST_TEXT.to_owned(),
    })
}

/// The ledger of the directory that a run lies in.
pub(super) fn ledger_of(run: &Path) -> Ledger {
    let run = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    Ledger::of(run.parent().unwrap_or(Path::new(".")))
}

/// Which run a directory's tables say that it is.
pub(super) fn identity_of(directory: &Path) -> Result<FileIdentity, ReadError> {
    TableReader::open(&MANIFEST, &directory.join(MANIFEST.file_name())).map(|reader| reader.identity)
}

/// Removes temporary files and the scratch directory of a dead run.
pub(super) fn remove_torn(directory: &Path) -> Result<(), WriteError> {
    for place in [directory.to_owned(), directory.join(PARTS)] {
        for path in entries(&place)? {
            if path.extension() == Some(OsStr::new("tmp")) {
                durable::remove_file(&path)?;
            }
        }
    }
    let scratch = directory.join("scratch");
    let mut removed = durable::remove_directory(&scratch);
    for _ in 0..REMOVALS {
        if removed.is_ok() {
            break;
        }
        thread::sleep(REMOVAL_PAUSE);
        removed = durable::remove_directory(&scratch);
    }
    removed
}

/// Removes the files of each part that does not count.
fn remove_parts_that_do_not_count(directory: &Path) -> Result<(), TakeUpError> {
    let paths = entries(&directory.join(PARTS))?;
    let stem = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split('.').next().unwrap_or_default().to_owned()
    };
    let mut whole = BTreeSet::new();
    for sums in paths.iter().filter(|path| path.extension() == Some(OsStr::new("sums"))) {
        match check_part(sums) {
            Ok(_) => {
                whole.insert(stem(sums));
            }
            // It can't be told whether the part is whole.
            Err(error @ ReadError::Io { .. }) => return Err(error.into()),
            Err(_) => {}
        }
    }
    // The sums go first: without them the others are nothing.
    let mut others: Vec<&PathBuf> = paths.iter().filter(|path| !whole.contains(&stem(path))).collect();
    others.sort_by_key(|path| path.extension() != Some(OsStr::new("sums")));
    for path in others {
        durable::remove_file(path)?;
    }
    Ok(())
}

/// What is in a directory; nothing where there is none.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>, WriteError> {
    let io = WriteError::io(directory);
    match fs::read_dir(directory) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(io),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io(error)),
    }
}
