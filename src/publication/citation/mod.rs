//! CITATION.cff: read, and held against the format and against what data repositories make of it.

mod check;
mod fault;
mod read;

pub use check::check;
pub use fault::{Fault, Severity};

use super::orcid::Orcid;

/// A citation that has passed its check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// What is cited.
    pub title: String,
    /// Who made it; at least one.
    pub authors: Vec<Author>,
    /// Version of the software.
    pub version: Option<String>,
    /// Its licence, as the SPDX list names it.
    pub licence: Option<String>,
    /// Where its sources lie.
    pub repository: Option<String>,
    /// Its DOI, without an address.
    pub doi: Option<String>,
    /// Words to find it by.
    pub keywords: Vec<String>,
}

/// Who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// One person.
    Person {
        /// Family names, with their particle.
        family: String,
        /// Given names; may be empty.
        given: String,
        /// Identifier.
        orcid: Option<Orcid>,
        /// Where the person works.
        affiliation: Option<String>,
    },
    /// An institution or a group.
    Entity {
        /// Its name.
        name: String,
    },
}

impl Author {
    /// Family names first, as catalogues want it.
    pub fn catalogued(&self) -> String {
        match self {
            Self::Person { family, given, .. } if given.is_empty() => family.clone(),
            Self::Person { family, given, .. } => format!("{family}, {given}"),
            Self::Entity { name } => name.clone(),
        }
    }

    /// As one says it.
    pub fn said(&self) -> String {
        match self {
            Self::Person { family, given, .. } => format!("{given} {family}").trim().to_owned(),
            Self::Entity { name } => name.clone(),
        }
    }

    /// Identifier of a person who has one.
    pub fn orcid(&self) -> Option<&Orcid> {
        match self {
            Self::Person { orcid, .. } => orcid.as_ref(),
            Self::Entity { .. } => None,
        }
    }

    /// Where a person works.
    pub fn affiliation(&self) -> Option<&str> {
        match self {
            Self::Person { affiliation, .. } => affiliation.as_deref(),
            Self::Entity { .. } => None,
        }
    }
}

impl Citation {
    /// Reads a citation.
    ///
    /// # Errors
    /// Every fault that [`check()`] finds, unless they are warnings only.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let faults: Vec<Fault> = check(text)
            .into_iter()
            .filter(|fault| fault.severity == Severity::Error)
            .collect();
        if faults.is_empty() {
            read::read(text).map_err(|fault| vec![fault])
        } else {
            Err(faults)
        }
    }
}
