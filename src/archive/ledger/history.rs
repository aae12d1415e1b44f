//! What a ledger tells: its lines, whether their chain holds, and what was registered and started.

use super::{LedgerState, Line};
use crate::digest;

/// One line that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// SHA-256 of the line, lower-case hexadecimal; it names a registration.
    pub sha256: String,
    /// Lines before it.
    pub seq: u64,
    /// When it was written, RFC 3339, UTC.
    pub at: String,
    /// What it tells.
    pub state: LedgerState,
    /// The run; a registration has none.
    pub run: Option<String>,
    /// Of a registration: the experiment's name.
    pub name: Option<String>,
    /// SHA-256 of the manifest.
    pub manifest_sha256: String,
    /// Of a start: SHA-256 of the line of the registration that it is under.
    pub registration: Option<String>,
    /// Of a start: whether it was said to be exploratory. Older starts say neither.
    pub exploratory: bool,
    /// Of an end: the root of the sealed run. Older ends have none.
    pub root: Option<String>,
    /// Of a registration: the commit that the manifest's repository stood at, or `unknown`.
    pub commit: Option<String>,
    /// Of a registration: whether that commit holds the very manifest: `yes`, `no` or `unknown`.
    pub manifest_committed: Option<String>,
}

impl LedgerEntry {
    pub(super) fn of(sha256: String, line: Line) -> Self {
        Self {
            sha256,
            seq: line.seq,
            at: line.at,
            state: line.state,
            run: line.run,
            name: line.name,
            manifest_sha256: line.manifest_sha256,
            registration: line.registration,
            exploratory: line.exploratory,
            root: line.root,
            commit: line.commit,
            manifest_committed: line.manifest_committed,
        }
    }

    fn is(&self, state: LedgerState) -> bool {
        self.state == state
    }
}

/// The lines of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// Lines that could be read, in their order.
    pub entries: Vec<LedgerEntry>,
    /// Lines that could not be read, from 1: a crash may leave half of one.
    pub torn: Vec<usize>,
    /// The first line, from 1, that is not in its place or does not name the SHA-256 of the line before it: one of the two
    /// was altered, or a line was removed.
    pub broken: Option<usize>,
}

impl History {
    pub(super) fn of(text: &str) -> Self {
        let mut history = Self::default();
        let mut before: Option<String> = None;
        for (place, written) in text.lines().enumerate() {
            let sha256 = digest::of_bytes(written);
            match serde_json::from_str::<Line>(written) {
                Ok(line) => {
                    if line.previous != before || line.seq != place as u64 {
                        history.broken = history.broken.or(Some(place + 1));
                    }
                    history.entries.push(LedgerEntry::of(sha256.clone(), line));
                }
                Err(_) => history.torn.push(place + 1),
            }
            before = Some(sha256);
        }
        history
    }

    /// The registrations under an experiment's name, the oldest first.
    pub fn registrations_of(&self, name: &str) -> impl Iterator<Item = &LedgerEntry> {
        let of_name = move |entry: &&LedgerEntry| entry.name.as_deref() == Some(name);
        self.registrations().filter(of_name)
    }

    /// The registration of a manifest's very text.
    pub fn registration_of(&self, manifest_sha256: &str) -> Option<&LedgerEntry> {
        self.registrations()
            .find(|entry| entry.manifest_sha256 == manifest_sha256)
    }

    /// The starts under a registration, which its line's SHA-256 names; the oldest first.
    pub fn starts_of(&self, registration: &str) -> impl Iterator<Item = &LedgerEntry> {
        let under = move |entry: &&LedgerEntry| entry.registration.as_deref() == Some(registration);
        self.starts().filter(under)
    }

    /// Where a run stands: what the last line about it tells.
    pub fn state_of(&self, run: &str) -> Option<LedgerState> {
        let of_run = |entry: &&LedgerEntry| entry.run.as_deref() == Some(run);
        self.entries.iter().rev().find(of_run).map(|entry| entry.state)
    }

    pub(super) fn exploratory_starts(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.starts().filter(|entry| entry.registration.is_none())
    }

    pub(super) fn starts(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.iter().filter(|entry| entry.is(LedgerState::Started))
    }

    fn registrations(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.iter().filter(|entry| entry.is(LedgerState::Registered))
    }
}
