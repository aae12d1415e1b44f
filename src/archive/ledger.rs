//! The ledger: one line for each start and each end of a run, so that a run that was aborted, or that came out badly,
//! can't vanish unseen.
//!
//! Each line names the SHA-256 of the line before it. That shows later alteration or removal of a line; it does not
//! show a ledger that was made up as a whole.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use super::error::WriteError;
use crate::digest;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LedgerState {
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

/// One line.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    seq: u64,
    previous: Option<String>,
    at: String,
    run: String,
    manifest_sha256: String,
    state: LedgerState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forks: Option<ForksKept>,
}

/// `LEDGER.jsonl` of a results directory.
pub struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// The ledger of a results directory; it is made with the first line.
    pub fn of(results: &Path) -> Self {
        Self {
            path: results.join("LEDGER.jsonl"),
        }
    }

    /// Adds a line, durably, and gives its SHA-256. Two runs at once take turns.
    ///
    /// # Errors
    /// What the system says.
    pub fn append(&self, run: &str, manifest_sha256: &str, state: LedgerState) -> Result<String, WriteError> {
        self.add(run, manifest_sha256, state, None)
            .map_err(WriteError::io(&self.path))
    }

    /// Adds the line of a recovered run, as [`Self::append`] does.
    ///
    /// # Errors
    /// What the system says.
    pub fn recovered(&self, run: &str, manifest_sha256: &str, forks: ForksKept) -> Result<String, WriteError> {
        self.add(run, manifest_sha256, LedgerState::Recovered, Some(forks))
            .map_err(WriteError::io(&self.path))
    }

    /// What the last whole line about a run says; `None` where the ledger does not know it.
    pub(super) fn last_of(&self, run: &str) -> Option<LedgerState> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
        entries.filter(|entry| entry.run == run).last().map(|entry| entry.state)
    }

    fn add(
        &self,
        run: &str,
        manifest_sha256: &str,
        state: LedgerState,
        forks: Option<ForksKept>,
    ) -> std::io::Result<String> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&self.path)?;
        file.lock()?;
        let mut text = String::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_string(&mut text)?;
        let last = text.lines().last();
        let entry = Entry {
            seq: text.lines().count() as u64,
            previous: last.map(digest::of_bytes),
            at: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
            run: run.to_owned(),
            manifest_sha256: manifest_sha256.to_owned(),
            state,
            forks,
        };
        // A crash may have left half a line; it stays, chained like any other.
        let gap = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let line = serde_json::to_string(&entry)?;
        file.write_all(format!("{gap}{line}\n").as_bytes())?;
        File::sync_all(&file)?;
        Ok(digest::of_bytes(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_chained_and_a_torn_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(directory.path());
        ledger.append("a", "m", LedgerState::Started).unwrap();
        let path = directory.path().join("LEDGER.jsonl");
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"seq\":1,")
            .unwrap();
        ledger.append("b", "m", LedgerState::Started).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let first: Entry = serde_json::from_str(lines[0]).unwrap();
        let last: Entry = serde_json::from_str(lines[2]).unwrap();
        assert_eq!((first.seq, first.previous), (0, None));
        assert_eq!((last.seq, last.previous), (2, Some(digest::of_bytes(lines[1]))));
    }
}
