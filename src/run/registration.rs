//! How a run stands to what was registered: decided from the ledger, before anything is created.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::archive::{History, LedgerEntry, Registered, Standing};
use crate::manifest::Manifest;

/// What the user asked for that bears on it.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The manifest's file, for what is said.
    pub manifest: &'a Path,
    /// The results directory, for what is said.
    pub results: &'a Path,
    /// `--exploratory`.
    pub exploratory: bool,
    /// Whether `--url` puts another server in the place of the manifest's.
    pub other_server: bool,
}

/// Why a run can't be under a registration, and is not said to be exploratory.
#[derive(Debug, Error)]
pub enum RegistrationError {
    /// The experiment was registered with other words.
    #[error(transparent)]
    OtherText(Box<OtherText>),
    /// The ledger is not what it was.
    #[error(
        "line {line} of {ledger} does not follow from the line before it: one of them was altered, or a line was removed. \
         Restore the ledger, or name another results directory; runs with --exploratory need none that is whole"
    )]
    BrokenLedger {
        /// The ledger.
        ledger: PathBuf,
        /// From 1.
        line: usize,
    },
}

/// The experiment was registered with other words.
#[derive(Debug, Error)]
#[error(
    "{manifest} is not what was registered as {name} on {at} (line {seq} of the ledger, {line}): its SHA-256 is {found}, \
     and {expected} was registered. Restore the file as it was; or register it as it is now, with: preview-cost register \
     {manifest} --results {results}; or run it with --exploratory"
)]
pub struct OtherText {
    /// The manifest's file.
    manifest: PathBuf,
    /// The results directory.
    results: PathBuf,
    /// The experiment.
    name: String,
    /// When it was registered.
    at: String,
    /// The line's place in the ledger, from 0.
    seq: u64,
    /// SHA-256 of the line.
    line: String,
    /// SHA-256 of the manifest.
    found: String,
    /// SHA-256 of what was registered.
    expected: String,
}

/// How a run of this manifest stands to the registrations of a ledger. The number of the start is not known yet.
///
/// # Errors
/// [`RegistrationError`].
pub fn standing(manifest: &Manifest, history: &History, wish: Wish<'_>) -> Result<Standing, RegistrationError> {
    let exploratory = |reason: &str| {
        Ok(Standing::Exploratory {
            reason: reason.to_owned(),
        })
    };
    if wish.exploratory {
        return exploratory("--exploratory was given");
    }
    let Some(registration) = history.registration_of(&manifest.source.sha256) else {
        return match history.registrations_of(&manifest.name).last() {
            Some(registration) => Err(other_text(manifest, registration, wish)),
            None => Ok(Standing::unregistered()),
        };
    };
    if wish.other_server {
        return exploratory("--url put another server in the place of the registered one");
    }
    require_whole(history, wish.results)?;
    Ok(Standing::Confirmatory(registered(registration)))
}

/// Nothing is registered, and nothing confirmed, in a ledger that is not what it was.
///
/// # Errors
/// [`RegistrationError::BrokenLedger`].
pub fn require_whole(history: &History, results: &Path) -> Result<(), RegistrationError> {
    match history.broken {
        Some(line) => Err(RegistrationError::BrokenLedger {
            ledger: results.join("LEDGER.jsonl"),
            line,
        }),
        None => Ok(()),
    }
}

fn other_text(manifest: &Manifest, registration: &LedgerEntry, wish: Wish<'_>) -> RegistrationError {
    RegistrationError::OtherText(Box::new(OtherText {
        manifest: wish.manifest.to_owned(),
        results: wish.results.to_owned(),
        name: manifest.name.clone(),
        at: registration.at.clone(),
        seq: registration.seq,
        line: registration.sha256.clone(),
        found: manifest.source.sha256.clone(),
        expected: registration.manifest_sha256.clone(),
    }))
}

fn registered(entry: &LedgerEntry) -> Registered {
    let or_unknown = |word: &Option<String>| word.clone().unwrap_or_else(|| "unknown".to_owned());
    Registered {
        line: entry.sha256.clone(),
        seq: entry.seq,
        at: entry.at.clone(),
        commit: or_unknown(&entry.commit),
        manifest_committed: or_unknown(&entry.manifest_committed),
        start: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Ledger;
    use crate::environment::Committed;

    const TEXT: &str = r#"
        name = "x"
        title = "t"
        question = "q"
        [backend]
        engine = "sqlite"
        [grid]
        plans = 1
        subjects = "rollback"
        baseline = "copy"
        [measure]
        seed = 1
        [figures]
        margin_ms = 1
    "#;

    fn reason(standing: Standing) -> Option<String> {
        match standing {
            Standing::Exploratory { reason } => Some(reason),
            Standing::Confirmatory(_) => None,
        }
    }

    #[test]
    fn only_the_registered_text_on_the_registered_server_is_confirmatory() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(directory.path());
        let manifest = Manifest::parse(TEXT, "x.toml").unwrap();
        let other = Manifest::parse(&TEXT.replace("seed = 1", "seed = 2"), "x.toml").unwrap();
        let wish = |exploratory, other_server| Wish {
            manifest: Path::new("x.toml"),
            results: directory.path(),
            exploratory,
            other_server,
        };
        let stands = |manifest: &Manifest, wish| standing(manifest, &ledger.read().unwrap(), wish);
        let unregistered = reason(stands(&manifest, wish(false, true)).unwrap()).unwrap();
        assert!(unregistered.contains("not registered"), "{unregistered}");
        ledger
            .register("x", &manifest.source.sha256, &Committed::default())
            .unwrap();
        assert_eq!(reason(stands(&manifest, wish(false, false)).unwrap()), None);
        let elsewhere = reason(stands(&manifest, wish(false, true)).unwrap()).unwrap();
        assert!(elsewhere.contains("--url"), "{elsewhere}");
        let forced = reason(stands(&manifest, wish(true, false)).unwrap()).unwrap();
        assert!(forced.contains("--exploratory"), "{forced}");
        for other_server in [false, true] {
            let refused = stands(&other, wish(false, other_server));
            assert!(matches!(refused, Err(RegistrationError::OtherText(_))), "{refused:?}");
        }
        assert!(reason(stands(&other, wish(true, false)).unwrap()).is_some());
    }
}
