//! The integrity chain: `chain.jsonl`, a line for each thing that a run did, in order. Each line names the SHA-256 of the
//! line before it; that of the last line is the run's **root**, which stands in the ledger and in reports and is what a
//! release or a paper quotes.
//!
//! ```text
//! registration ─► manifest ─► program ─► environment ─► fork … fork ─► environment ─► seal
//! ```
//!
//! A run that broke off and was taken up again has a `resumed` between two of its forks.
//!
//! The lines name rows by the digest of what they say and, in the seal, files by the digest of their bytes. Whoever knows
//! the root can tell whether anything below it was altered since. That the run took place at all, nobody can tell from
//! it: an author who invents everything can chain that too.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{ReadError, WriteError};
use super::rows::{ForkRow, When};
use super::rows_digest;
use super::schema::{PAIRS, STEPS, Table, WIRE};
use super::sums::FileSums;
use crate::digest;
use crate::units::{CellIndex, ForkIndex};

/// Name of the file.
pub(super) const CHAIN: &str = "chain.jsonl";

/// What a line of the chain is about. Digests are SHA-256, lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub enum ChainEntry {
    /// What was fixed before the run.
    Registration {
        /// The ledger's line of this start.
        started: String,
        /// The ledger's line of the registration; none where the run is exploratory.
        registered: Option<String>,
        /// Files that bear witness to when the manifest existed.
        evidence: FileSums,
    },
    /// What was asked.
    Manifest {
        /// The text's bytes.
        sha256: String,
        /// Rows of the resolved manifest.
        settings: String,
        /// Rows of the cells.
        cells: String,
    },
    /// Source and executable: rows of the facts about the build.
    Program {
        /// The rows.
        facts: String,
    },
    /// Rows of the other facts.
    Environment {
        /// When they were read.
        when: When,
        /// The rows.
        facts: String,
    },
    /// A fork whose part is durable.
    Fork {
        /// Its cell.
        cell: CellIndex,
        /// Its place within the cell.
        fork: ForkIndex,
        /// Its place within the run.
        position: u32,
        /// Its row of `forks`.
        row: String,
        /// Its rows of `pairs`.
        pairs: String,
        /// Its rows of `steps`; none before schema 1.2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        steps: Option<String>,
        /// Its rows of `wire`; none where no proxy stood in the path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wire: Option<String>,
    },
    /// The run had broken off, and another process goes on with it.
    Resumed {
        /// Which process of the run it is, from 1.
        session: u32,
        /// Forks that the lines before name and whose parts are lost; they are to be measured anew.
        lost: Vec<LostFork>,
        /// Rows of the facts about the build.
        program: String,
        /// Rows of the other facts.
        environment: String,
    },
    /// The end; nothing comes after it.
    Seal {
        /// Whether the run came to its end.
        state: SealState,
        /// Forks in the tables.
        forks: usize,
        /// Forks that the lines before name and whose parts are lost.
        lost: Vec<LostFork>,
        /// Every file of the run but the chain and the sums.
        files: FileSums,
    },
}

/// Whether a sealed run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SealState {
    /// Every planned fork was measured.
    Complete,
    /// It had broken off, and what was there was sealed.
    Incomplete,
}

/// A fork that was measured and whose rows are gone, by a power cut or a damaged disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LostFork {
    /// Its cell.
    pub cell: CellIndex,
    /// Its place within the cell.
    pub fork: ForkIndex,
}

impl ChainEntry {
    /// The entry of a fork, from its row and the digests of its rows in the tables that forks bring.
    pub(super) fn of_fork(fork: &ForkRow, digest_in: impl Fn(&Table) -> String) -> Self {
        let in_table = |table| fork.rows_in(table).map(|_| digest_in(table));
        Self::Fork {
            cell: fork.cell,
            fork: fork.fork,
            position: fork.position,
            row: rows_digest::of_frame(&ForkRow::frame(std::slice::from_ref(fork))),
            pairs: digest_in(&PAIRS),
            steps: in_table(&STEPS),
            wire: in_table(&WIRE),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Link {
    seq: usize,
    previous: Option<String>,
    #[serde(flatten)]
    entry: ChainEntry,
}

/// A chain that grows.
pub(super) struct ChainWriter {
    path: PathBuf,
    length: usize,
    tip: Option<String>,
}

impl ChainWriter {
    /// The chain of a new run.
    pub fn new(directory: &Path) -> Self {
        Self {
            path: directory.join(CHAIN),
            length: 0,
            tip: None,
        }
    }

    /// The chain of a run that broke off. A last line that was torn goes, durably: it was never one.
    pub fn take_up(directory: &Path, chain: &Chain) -> Result<Self, WriteError> {
        let path = directory.join(CHAIN);
        let cut = || {
            let whole = std::fs::read(&path)?.iter().rposition(|&byte| byte == b'\n');
            let file = OpenOptions::new().write(true).open(&path)?;
            file.set_len(whole.map_or(0, |end| end as u64 + 1))?;
            file.sync_all()
        };
        cut().map_err(WriteError::io(&path))?;
        Ok(Self {
            path,
            length: chain.entries.len(),
            tip: Some(chain.tip.clone()),
        })
    }

    /// Adds a line, durably.
    pub fn append(&mut self, entry: ChainEntry) -> Result<(), WriteError> {
        let link = Link {
            seq: self.length,
            previous: self.tip.clone(),
            entry,
        };
        let add = || {
            let line = serde_json::to_string(&link)?;
            let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_all()?;
            Ok(digest::of_bytes(line))
        };
        self.tip = Some(add().map_err(WriteError::io(&self.path))?);
        self.length += 1;
        Ok(())
    }

    /// SHA-256 of the last line.
    pub fn tip(&self) -> Option<&str> {
        self.tip.as_deref()
    }
}

/// A chain whose links hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The lines, in order.
    pub entries: Vec<ChainEntry>,
    /// SHA-256 of the last line; the run's root when that is the seal.
    pub tip: String,
}

impl Chain {
    /// Reads the chain of a sealed run and checks that each line names the one before.
    pub(super) fn read(directory: &Path) -> Result<Self, ReadError> {
        Self::parse(directory, false)
    }

    /// Reads the chain of a run that broke off, which may have torn its last line: that line does not count.
    pub(super) fn read_open(directory: &Path) -> Result<Self, ReadError> {
        Self::parse(directory, true)
    }

    fn parse(directory: &Path, may_be_torn: bool) -> Result<Self, ReadError> {
        let path = directory.join(CHAIN);
        let mut bytes = std::fs::read(&path).map_err(|source| ReadError::Io {
            path: path.clone(),
            source,
        })?;
        if may_be_torn {
            // What was torn need not even be text.
            bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1));
        }
        let text = String::from_utf8_lossy(&bytes);
        let fault = |line: usize, problem: &'static str| ReadError::Chain {
            path: path.clone(),
            line: line + 1,
            problem: problem.to_owned(),
        };
        let whole = match text.rfind('\n') {
            Some(end) if end + 1 == text.len() => &text[..end],
            _ => {
                return Err(fault(
                    text.lines().count().saturating_sub(1),
                    "it ends in the middle of a line",
                ));
            }
        };
        let mut chain = Self {
            entries: Vec::new(),
            tip: String::new(),
        };
        for (place, line) in whole.split('\n').enumerate() {
            let link: Link = serde_json::from_str(line).map_err(|_| fault(place, "it is not an entry of a chain"))?;
            if link.seq != place || link.previous.as_deref().unwrap_or_default() != chain.tip {
                return Err(fault(place, "it does not follow the line before it"));
            }
            if chain.seal().is_some() {
                return Err(fault(place, "it comes after the seal"));
            }
            chain.entries.push(link.entry);
            chain.tip = digest::of_bytes(line);
        }
        Ok(chain)
    }

    /// The files that the seal names; `None` where the chain is open.
    pub fn sealed_files(&self) -> Option<&FileSums> {
        self.seal().map(|(_, files)| files)
    }

    /// What the seal says of the run, and the files that it names; `None` where the chain is open.
    pub(super) fn seal(&self) -> Option<(SealState, &FileSums)> {
        match self.entries.last() {
            Some(ChainEntry::Seal { state, files, .. }) => Some((*state, files)),
            _ => None,
        }
    }

    /// Forks that the chain names and that were not said to be lost since, each with the place of its line.
    pub(super) fn named(&self) -> BTreeMap<LostFork, usize> {
        let mut named = BTreeMap::new();
        for (place, entry) in self.entries.iter().enumerate() {
            match entry {
                ChainEntry::Fork { cell, fork, .. } => {
                    let (cell, fork) = (*cell, *fork);
                    named.insert(LostFork { cell, fork }, place);
                }
                ChainEntry::Resumed { lost, .. } | ChainEntry::Seal { lost, .. } => {
                    named.retain(|fork, _| !lost.contains(fork));
                }
                _ => {}
            }
        }
        named
    }

    /// Which process of the run wrote last, from 0.
    pub(super) fn session(&self) -> u32 {
        let resumed = |entry: &&ChainEntry| matches!(entry, ChainEntry::Resumed { .. });
        self.entries.iter().filter(resumed).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(facts: &str) -> ChainEntry {
        ChainEntry::Program {
            facts: facts.to_owned(),
        }
    }

    fn seal() -> ChainEntry {
        ChainEntry::Seal {
            state: SealState::Complete,
            forks: 0,
            lost: Vec::new(),
            files: BTreeMap::from([("a.parquet".to_owned(), "0".to_owned())]),
        }
    }

    fn chain(entries: &[ChainEntry]) -> (tempfile::TempDir, String) {
        let directory = tempfile::tempdir().unwrap();
        let mut chain = ChainWriter::new(directory.path());
        for entry in entries {
            chain.append(entry.clone()).unwrap();
        }
        let text = std::fs::read_to_string(directory.path().join(CHAIN)).unwrap();
        assert_eq!(Chain::read(directory.path()).unwrap().tip, chain.tip().unwrap());
        (directory, text)
    }

    #[test]
    fn what_was_written_is_read() {
        let entries = [program("a"), program("b"), seal()];
        let (directory, text) = chain(&entries);
        let read = Chain::read(directory.path()).unwrap();
        assert_eq!(read.entries, entries);
        assert_eq!(read.sealed_files().unwrap().len(), 1);
        assert_eq!(read.tip, digest::of_bytes(text.lines().last().unwrap()));
    }

    #[test]
    fn no_line_can_be_altered_dropped_doubled_moved_or_torn() {
        let (directory, text) = chain(&[program("a"), program("b"), program("c"), seal()]);
        let lines: Vec<&str> = text.lines().collect();
        let join = |places: &[usize]| {
            places
                .iter()
                .flat_map(|&place| [lines[place], "\n"])
                .collect::<String>()
        };
        let bent = [
            text.replacen("\"b\"", "\"x\"", 1),
            join(&[0, 2, 3]),
            join(&[1, 2, 3]),
            join(&[0, 1, 1, 2, 3]),
            join(&[0, 2, 1, 3]),
            text[..text.len() - 1].to_owned(),
            text[..text.len() - 10].to_owned(),
            String::new(),
        ];
        for text in bent {
            std::fs::write(directory.path().join(CHAIN), &text).unwrap();
            assert!(Chain::read(directory.path()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_the_chain_goes_on() {
        let (directory, text) = chain(&[program("a"), program("b")]);
        let path = directory.path().join(CHAIN);
        for torn in [&b""[..], b"{\"seq\":2,\"prev", b"\0\0\xff\0"] {
            std::fs::write(&path, [text.as_bytes(), torn].concat()).unwrap();
            let open = Chain::read_open(directory.path()).unwrap();
            let mut again = ChainWriter::take_up(directory.path(), &open).unwrap();
            again.append(program("c")).unwrap();
            let entries = Chain::read(directory.path()).unwrap().entries;
            assert_eq!(entries, [program("a"), program("b"), program("c")]);
        }
    }

    #[test]
    fn nothing_follows_the_seal() {
        let directory = tempfile::tempdir().unwrap();
        let mut chain = ChainWriter::new(directory.path());
        chain.append(seal()).unwrap();
        chain.append(program("late")).unwrap();
        let refused = Chain::read(directory.path()).unwrap_err().to_string();
        assert!(refused.contains("after the seal"), "{refused}");
    }
}
