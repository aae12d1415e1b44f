//! Whether a run is what it says: every byte, every link, every row, every answer, and what was claimed.
//!
//! Nothing is believed that can be computed again. Files are held against their sums, the sums and the rows against the
//! chain, the chain against the ledger; cells, forks and the order of every pair against the manifest's plan; every
//! answer against the projection; medians and figures against the pairs; and claims get their verdicts. What comes out
//! is a list of [`Finding`]s, one a check, and the worst of them.
//!
//! This finds alteration after the fact. It can't find an author who made everything up, chain included: against that
//! help a root that was published early, registration, and others who measure again.

mod answers;
mod claims;
mod files;
mod finding;
mod ledger;
mod order;
mod steps;

use std::path::Path;

pub use claims::of_claims;
pub use files::of_pack;
pub use finding::{Finding, Outcome, worst};

use crate::archive::{Archive, Completeness, ReadError};

/// A run that was held against itself.
pub struct Verified {
    /// What was found, in the order in which it was looked at.
    pub findings: Vec<Finding>,
    /// The archive, where it can be read.
    pub archive: Option<Archive>,
}

/// Holds a run's directory against itself and against the ledger beside it. Writes nothing, and needs no network.
pub fn verify(directory: &Path) -> Verified {
    let inventory = files::inventory(directory);
    let are_missing = inventory
        .as_ref()
        .is_some_and(|finding| finding.outcome == Outcome::Unverifiable);
    let mut findings = Vec::from_iter(inventory);
    if are_missing {
        return Verified {
            findings,
            archive: None,
        };
    }
    let archive = match Archive::open(directory) {
        Ok(archive) => archive,
        Err(error) => {
            findings.push(Finding::new("archive", outcome_of(&error), error.to_string()));
            return Verified {
                findings,
                archive: None,
            };
        }
    };
    findings.push(completeness(&archive));
    findings.extend(name(directory, &archive));
    findings.extend(files::chain(&archive));
    findings.extend(ledger::check(directory, &archive));
    findings.extend(order::check(directory, &archive));
    findings.push(answers::check(&archive));
    findings.extend(steps::check(&archive));
    Verified {
        findings,
        archive: Some(archive),
    }
}

/// A run's directory may be called anything; that it is called like another run is worth a word.
fn name(directory: &Path, archive: &Archive) -> Option<Finding> {
    let absolute = directory.canonicalize().ok()?;
    let called = absolute.file_name()?.to_str()?;
    (called.len() > 8 && called.starts_with(|letter: char| letter.is_ascii_digit()) && called != archive.run()).then(
        || {
            let detail = format!("the directory is called {called}, and holds run {}", archive.run());
            Finding::new("name", Outcome::Noted, detail)
        },
    )
}

fn completeness(archive: &Archive) -> Finding {
    let forks = archive.forks.len();
    match archive.completeness {
        Completeness::Sealed => Finding::new("complete", Outcome::Ok, format!("sealed, with {forks} forks")),
        Completeness::Incomplete => Finding::new(
            "complete",
            Outcome::Incomplete,
            format!("the run broke off and was sealed as it was, with {forks} forks"),
        ),
        Completeness::Unfinished => Finding::new(
            "complete",
            Outcome::Incomplete,
            format!("the run was not sealed; {forks} forks are whole. `preview-cost recover` seals what is there"),
        ),
    }
}

/// What an archive that can't be read says about it.
fn outcome_of(error: &ReadError) -> Outcome {
    match error {
        ReadError::NotARun { .. } | ReadError::Io { .. } | ReadError::Version { .. } => Outcome::Unverifiable,
        _ => Outcome::Tampered,
    }
}
