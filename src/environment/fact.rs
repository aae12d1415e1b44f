//! One fact about the machine, the server or the build, with where it was read and whether it could be.
//!
//! An unknown fact is a row that says why it is unknown, never a blank: a reader must be able to tell "this
//! machine has no frequency governor" from "nobody looked".

use serde::{Deserialize, Serialize};

/// Whether a fact could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactStatus {
    /// It was read; `value` holds it.
    Ok,
    /// This machine or server does not have it.
    Absent,
    /// It exists, but this user may not read it.
    Denied,
    /// It exists and is hidden on purpose, for instance by a hypervisor or because it is a secret.
    Masked,
}

impl FactStatus {
    /// The word that stands in the archive.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Absent => "absent",
            Self::Denied => "denied",
            Self::Masked => "masked",
        }
    }
}

/// One row of the `environment` table, without the moment at which it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What the fact is about: `host`, `build`, `server`, `provision`, …
    pub scope: String,
    /// Its name within the scope, e.g. `cpu.model`.
    pub key: String,
    /// Its value as text; `None` unless the status is [`FactStatus::Ok`].
    pub value: Option<String>,
    /// The unit of a numeric value, e.g. `bytes`; `None` where there is none.
    pub unit: Option<String>,
    /// Whether it could be read.
    pub status: FactStatus,
    /// Where it was read: a file, a command, a query.
    pub source: String,
}

impl Fact {
    /// A fact that was read.
    pub fn known(scope: &str, key: &str, value: impl Into<String>, source: &str) -> Self {
        Self {
            scope: scope.to_owned(),
            key: key.to_owned(),
            value: Some(value.into()),
            unit: None,
            status: FactStatus::Ok,
            source: source.to_owned(),
        }
    }

    /// A fact that could not be read, and why.
    pub fn unknown(scope: &str, key: &str, status: FactStatus, source: &str) -> Self {
        Self {
            scope: scope.to_owned(),
            key: key.to_owned(),
            value: None,
            unit: None,
            status,
            source: source.to_owned(),
        }
    }

    /// The same fact with its unit named.
    #[must_use]
    pub fn in_unit(mut self, unit: &str) -> Self {
        self.unit = Some(unit.to_owned());
        self
    }
}
