//! The timed parts of a preview.
//!
//! They follow each other without a gap: the first begins with the preview, each ends where the next begins, and the
//! last ends with the preview. So the parts of a preview add up to it, and nothing is left over.

use serde::{Deserialize, Serialize};

/// A timed part of a preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// The overrides go to the database, or over a copy; what must be there for that (a transaction, a clone) is made.
    Write,
    /// The model comes back.
    Read,
    /// The projection.
    Compute,
    /// What was written goes away.
    Discard,
    /// Write, read and discard in one flight: from the client's side, nobody can tell them apart.
    Exchange,
}

impl Step {
    /// Every step, in the order in which tables list them.
    pub const ALL: [Self; 5] = [Self::Write, Self::Read, Self::Compute, Self::Discard, Self::Exchange];

    /// The word that stands in archives and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Compute => "compute",
            Self::Discard => "discard",
            Self::Exchange => "exchange",
        }
    }

    /// The step that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == word)
    }
}
