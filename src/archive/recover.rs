//! Recovering a run that broke off: what is whole is sealed as it is, and the seal says that the run is incomplete.
//!
//! Where the run stood decides what is left to do:
//!
//! | what is there | what is done |
//! |---|---|
//! | no `announced.sums`, no part | nothing was measured: the directory is removed |
//! | `announced.sums`, an open chain | the parts are merged and sealed as incomplete; as complete if only that was missing |
//! | a sealed chain, no `SHA256SUMS` | the files are held against the chain's seal, and the sums are written |
//! | `SHA256SUMS` | it is sealed already: leftovers go, and a ledger that does not know it yet is told |

use std::path::Path;

use super::chain::{Chain, ChainEntry, LostFork, SealState};
use super::codec::FileIdentity;
use super::error::{ReadError, TakeUpError, WriteError};
use super::ledger::{ForksKept, LedgerState};
use super::lock::{MANIFEST_TEXT, RunLock};
use super::read::{Archive, Completeness};
use super::rows::When;
use super::schema::TABLES;
use super::sums::{self, ANNOUNCED, FileSums, SUMS};
use super::take_up::{self, TakenUp};
use super::write::{self, PARTS};
use super::{chain, durable};

/// What became of a run that was to be recovered.
#[derive(Debug)]
pub enum Recovery {
    /// It was sealed before.
    SealedBefore(Completeness),
    /// It is sealed now.
    Sealed(Recovered),
    /// It had broken off before anything was announced: its directory is gone.
    Withdrawn,
}

/// A run that was recovered.
#[derive(Debug)]
pub struct Recovered {
    /// How it was sealed.
    pub state: SealState,
    /// Its forks.
    pub forks: ForksKept,
    /// Forks that its chain names and whose rows are gone.
    pub lost: Vec<LostFork>,
    /// The schema that the run may have left on a server that it did not start.
    pub schema: Option<String>,
}

/// Seals what is whole of a run that broke off.
///
/// # Errors
/// When its process lives, or when it is damaged beyond what a crash does.
pub fn recover(directory: &Path) -> Result<Recovery, TakeUpError> {
    take_up::require_run(directory)?;
    let lock = RunLock::take(directory)?;
    if directory.join(SUMS).exists() && !are_torn(directory) {
        return sealed_before(directory);
    }
    let seal = match Chain::read_open(directory) {
        Ok(chain) => chain.seal().map(|(_, files)| files.clone()),
        Err(ReadError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
        Err(_) if !directory.join(ANNOUNCED).exists() => None,
        Err(error) => return Err(error.into()),
    };
    match seal {
        Some(files) => finish(directory, lock, &files),
        None if directory.join(ANNOUNCED).exists() => seal_what_is_whole(directory, lock),
        None => withdraw(directory),
    }
}

fn seal_what_is_whole(directory: &Path, lock: RunLock) -> Result<Recovery, TakeUpError> {
    let TakenUp { mut writer, archive } = take_up::take_up(directory, lock)?;
    let forks = ForksKept {
        kept: archive.forks.len(),
        planned: planned(&archive),
    };
    let state = if archive.lacks_only_its_seal() {
        SealState::Complete
    } else {
        SealState::Incomplete
    };
    writer.close(state)?;
    (writer.ledger).recovered(archive.run(), archive.manifest_sha256(), forks, writer.root())?;
    Ok(Recovery::Sealed(Recovered {
        state,
        forks,
        lost: writer.lost,
        schema: schema(&archive),
    }))
}

/// The crash came between the chain's last line and the sums: what the seal names must be there.
fn finish(directory: &Path, lock: RunLock, files: &FileSums) -> Result<Recovery, TakeUpError> {
    if directory.join(ANNOUNCED).exists() && directory.join(PARTS).exists() && !holds(directory, files) {
        // The tables can be made again from the parts.
        take_up::take_up(directory, lock)?.writer.merge()?;
    }
    if !holds(directory, files) {
        return Err(ReadError::Chain {
            path: directory.join(chain::CHAIN),
            line: Chain::read_open(directory)?.entries.len(),
            problem: "its seal names files that are not there as they were".to_owned(),
        }
        .into());
    }
    cut_torn_line(directory)?;
    write::write_sums(directory, files.keys().cloned().collect())?;
    let archive = Archive::open(directory)?;
    remove_all_leftovers(directory)?;
    enter(directory, &archive)?;
    Ok(Recovery::Sealed(recovered(&archive)))
}

fn sealed_before(directory: &Path) -> Result<Recovery, TakeUpError> {
    let archive = Archive::open(directory)?;
    remove_all_leftovers(directory)?;
    let ledger = take_up::ledger_of(directory);
    // A ledger that never heard of it is not told: the run was copied to where it is.
    if let Some(LedgerState::Started | LedgerState::Resumed | LedgerState::Failed | LedgerState::Interrupted) =
        ledger.read()?.state_of(archive.run())
    {
        enter(directory, &archive)?;
    }
    Ok(Recovery::SealedBefore(archive.completeness))
}

/// What a run notes of what it makes elsewhere; it is gone once that is removed.
const CREATIONS: &str = "creations.jsonl";

/// Removes a run's directory when it holds nothing but what is written before the first fork.
fn withdraw(directory: &Path) -> Result<Recovery, TakeUpError> {
    take_up::remove_torn(directory)?;
    let known = |name: &str| {
        let is_table = TABLES.iter().any(|table| table.file_name() == name);
        let is_evidence = name.starts_with("manifest.toml.");
        is_table || is_evidence || [MANIFEST_TEXT, chain::CHAIN, PARTS].contains(&name)
    };
    if directory.join(CREATIONS).exists() {
        return Err(TakeUpError::NotCleaned {
            run: directory.to_owned(),
        });
    }
    let mut found = take_up::entries(directory)?;
    found.retain(|path| !path.file_name().and_then(|name| name.to_str()).is_some_and(known));
    found.extend(take_up::entries(&directory.join(PARTS))?);
    if !found.is_empty() {
        return Err(ReadError::NotARun {
            path: directory.to_owned(),
            missing: format!("{SUMS} and no {ANNOUNCED}"),
        }
        .into());
    }
    let identity = take_up::identity_of(directory).ok();
    let ledger = take_up::ledger_of(directory);
    let history = ledger.read()?;
    let started = identity.filter(|identity| history.state_of(&identity.run) == Some(LedgerState::Started));
    if let Some(FileIdentity { run, manifest_sha256 }) = started {
        ledger.append(&run, &manifest_sha256, LedgerState::Withdrawn, None)?;
    }
    durable::remove_directory(directory)?;
    Ok(Recovery::Withdrawn)
}

/// Whether the sums are only a part of what a sealed run has there. Those that name other files, or name them with other
/// sums, are no such part.
fn are_torn(directory: &Path) -> bool {
    let Ok(chain) = Chain::read_open(directory) else {
        return false;
    };
    let Some((_, files)) = chain.seal() else { return false };
    match sums::read(&directory.join(SUMS)) {
        Ok(named) => named.len() <= files.len() && named.iter().all(|(name, sum)| files.get(name) == Some(sum)),
        Err(error) => matches!(error, ReadError::Sums { .. }),
    }
}

/// Whether all these files are there as the seal names them.
fn holds(directory: &Path, files: &FileSums) -> bool {
    let names: Vec<String> = files.keys().cloned().collect();
    sums::of_files(directory, &names).is_ok_and(|found| found == *files)
}

fn cut_torn_line(directory: &Path) -> Result<(), TakeUpError> {
    let chain = Chain::read_open(directory)?;
    chain::ChainWriter::take_up(directory, &chain)?;
    Ok(())
}

fn remove_all_leftovers(directory: &Path) -> Result<(), WriteError> {
    take_up::remove_torn(directory)?;
    write::remove_leftovers(directory)
}

fn enter(directory: &Path, archive: &Archive) -> Result<(), WriteError> {
    let forks = recovered(archive).forks;
    let ledger = take_up::ledger_of(directory);
    ledger.recovered(archive.run(), archive.manifest_sha256(), forks, archive.root())?;
    Ok(())
}

/// What is told of a run that is sealed now.
fn recovered(archive: &Archive) -> Recovered {
    let seal = archive.chain().and_then(|chain| chain.entries.last());
    let (state, lost) = match seal {
        Some(ChainEntry::Seal { state, lost, .. }) => (*state, lost.clone()),
        _ => (SealState::Complete, Vec::new()),
    };
    Recovered {
        state,
        forks: ForksKept {
            kept: archive.forks.len(),
            planned: planned(archive),
        },
        lost,
        schema: schema(archive),
    }
}

fn planned(archive: &Archive) -> usize {
    let planned = archive.setting("run", "forks_planned");
    planned.and_then(|planned| planned.parse().ok()).unwrap_or_default()
}

/// A server of the run's own is gone with it; on another one, its schema may be left.
fn schema(archive: &Archive) -> Option<String> {
    (archive.setting("backend", "provision") == Some("url"))
        .then(|| archive.setting("run", "schema").map(str::to_owned))?
}

impl Archive {
    fn setting(&self, section: &str, key: &str) -> Option<&str> {
        let is_asked = |setting: &&super::rows::Setting| setting.section == section && setting.key == key;
        self.settings
            .iter()
            .find(is_asked)
            .map(|setting| setting.value.as_str())
    }

    /// Whether every fork was measured and the facts at the end were read, so that nothing but the seal is missing.
    pub(super) fn lacks_only_its_seal(&self) -> bool {
        let entries = self.chain().map(|chain| chain.entries.as_slice()).unwrap_or_default();
        let has_end = matches!(entries.last(), Some(ChainEntry::Environment { when: When::End, .. }));
        has_end && self.forks.len() == planned(self)
    }
}
