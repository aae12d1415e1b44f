//! The ledger: one line for each registration and for each start and each end of a run, so that a run that was aborted,
//! or that came out badly, can't vanish unseen.
//!
//! Each line names the SHA-256 of the line before it. That shows later alteration or removal of a line; it does not
//! show a ledger that was made up as a whole.

mod history;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use super::error::{ReadError, WriteError};
use crate::digest;
use crate::environment::Committed;

pub use history::{History, LedgerEntry};

/// What a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LedgerState {
    /// An experiment and its claims are fixed; nothing was measured under them yet.
    Registered,
    /// The manifest is on disk; the first fork may start.
    Started,
    /// It had broken off, and another process measures what is missing.
    Resumed,
    /// Sealed.
    Finished,
    /// It had broken off, and what was whole was sealed.
    Recovered,
    /// It had broken off before anything was announced or measured, and was removed.
    Withdrawn,
    /// Broke off; what was measured is on disk.
    Failed,
    /// Broken off by the user; what was measured is on disk.
    Interrupted,
}

/// Of a run that was recovered: how many of its forks are sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForksKept {
    /// In the tables.
    pub kept: usize,
    /// Of the plan.
    pub planned: usize,
}

impl LedgerState {
    /// The word in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Started => "started",
            Self::Resumed => "resumed",
            Self::Finished => "finished",
            Self::Recovered => "recovered",
            Self::Withdrawn => "withdrawn",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One line as it is written. What an older line lacks is optional, and left out where there is nothing to say.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Line {
    seq: u64,
    previous: Option<String>,
    at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    manifest_sha256: String,
    state: LedgerState,
    /// Of a start: SHA-256 of the line of its registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    registration: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    exploratory: bool,
    /// Of an end: the run's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    /// Of a run that was recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forks: Option<ForksKept>,
    /// Of a registration: the commit that the manifest's repository stood at, or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// Of a registration: whether that commit holds the very manifest: `yes`, `no` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manifest_committed: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Line {
    fn of(manifest_sha256: &str, state: LedgerState) -> Self {
        Self {
            seq: 0,
            previous: None,
            at: String::new(),
            run: None,
            name: None,
            manifest_sha256: manifest_sha256.to_owned(),
            state,
            registration: None,
            exploratory: false,
            root: None,
            forks: None,
            commit: None,
            manifest_committed: None,
        }
    }
}

/// `LEDGER.jsonl` of a results directory.
pub struct Ledger {
    path: PathBuf,
    beginning: Cell<Option<Beginning>>,
}

/// A start that is about to be entered: the ledger stays locked, so that the start keeps its number.
struct Beginning {
    file: File,
    registration: Option<String>,
}

impl Ledger {
    /// The ledger of a results directory; it is made with the first line.
    pub fn of(results: &Path) -> Self {
        Self {
            path: results.join("LEDGER.jsonl"),
            beginning: Cell::new(None),
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every line so far; none where there is no ledger.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn read(&self) -> Result<History, ReadError> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => Ok(History::of(&text)),
            Err(error) if is_absent(&error) => Ok(History::default()),
            Err(source) => Err(ReadError::Io {
                path: self.path.clone(),
                source,
            }),
        }
    }

    /// Adds a line about a run, durably, and gives its SHA-256; `root` is that of a sealed run. Two runs at once take
    /// turns. A start of which [`Self::begin`] was not told is an exploratory one.
    ///
    /// # Errors
    /// What the system says.
    pub fn append(
        &self,
        run: &str,
        manifest_sha256: &str,
        state: LedgerState,
        root: Option<&str>,
    ) -> Result<String, WriteError> {
        let mut line = Line {
            run: Some(run.to_owned()),
            root: root.map(str::to_owned),
            ..Line::of(manifest_sha256, state)
        };
        let begun = self.beginning.take();
        let file = match begun {
            Some(Beginning { file, registration }) => {
                line.registration = registration;
                Ok(file)
            }
            None => self.locked(),
        };
        line.exploratory = state == LedgerState::Started && line.registration.is_none();
        file.and_then(|mut file| add(&mut file, line))
            .map(|entry| entry.sha256)
            .map_err(WriteError::io(&self.path))
    }

    /// Adds the line of a recovered run, durably.
    ///
    /// # Errors
    /// What the system says.
    pub fn recovered(
        &self,
        run: &str,
        manifest_sha256: &str,
        forks: ForksKept,
        root: Option<&str>,
    ) -> Result<(), WriteError> {
        let line = Line {
            run: Some(run.to_owned()),
            root: root.map(str::to_owned),
            forks: Some(forks),
            ..Line::of(manifest_sha256, LedgerState::Recovered)
        };
        self.locked()
            .and_then(|mut file| add(&mut file, line))
            .map(drop)
            .map_err(WriteError::io(&self.path))
    }

    /// Locks the ledger until the next line is added, which must be that of a start under this registration (`None`: an
    /// exploratory one). Tells how many-th start it is, from 1; those that were aborted count.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(&self, registration: Option<&str>) -> Result<u64, WriteError> {
        let begin = || {
            let mut file = self.locked()?;
            let history = History::of(&text_of(&mut file)?);
            let before = match registration {
                Some(registration) => history.starts_of(registration).count(),
                None => history.exploratory_starts().count(),
            };
            self.beginning.set(Some(Beginning {
                file,
                registration: registration.map(str::to_owned),
            }));
            Ok(before as u64 + 1)
        };
        begin().map_err(WriteError::io(&self.path))
    }

    /// Registers an experiment, durably, unless this very text is registered already. Gives the line, and whether it is
    /// new.
    ///
    /// # Errors
    /// What the system says.
    pub fn register(
        &self,
        name: &str,
        manifest_sha256: &str,
        at: &Committed,
    ) -> Result<(LedgerEntry, bool), WriteError> {
        let register = || {
            let mut file = self.locked()?;
            let history = History::of(&text_of(&mut file)?);
            if let Some(entry) = history.registration_of(manifest_sha256) {
                return Ok((entry.clone(), false));
            }
            let line = Line {
                name: Some(name.to_owned()),
                commit: Some(at.commit_or_unknown().to_owned()),
                manifest_committed: Some(at.holds_or_unknown().to_owned()),
                ..Line::of(manifest_sha256, LedgerState::Registered)
            };
            Ok((add(&mut file, line)?, true))
        };
        register().map_err(WriteError::io(&self.path))
    }

    /// The file, locked until it is closed.
    fn locked(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(&self.path)?;
        file.lock()?;
        Ok(file)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn text_of(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn add(file: &mut File, line: Line) -> io::Result<LedgerEntry> {
    let text = text_of(file)?;
    let line = Line {
        seq: text.lines().count() as u64,
        previous: text.lines().last().map(digest::of_bytes),
        at: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
        ..line
    };
    // A crash may have left half a line; it stays, chained like any other.
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let written = serde_json::to_string(&line)?;
    file.write_all(format!("{gap}{written}\n").as_bytes())?;
    File::sync_all(file)?;
    Ok(LedgerEntry::of(digest::of_bytes(&written), line))
}
