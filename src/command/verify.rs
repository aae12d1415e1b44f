//! `verify`: runs held against themselves, the ledger, their claims and what is written about them.

use std::path::Path;

use super::packed::places;
use super::{CommandError, analyze, load, print};
use crate::cli::{VerifyArgs, VerifyFormat};
use crate::exit::Exit;
use crate::report::{self, Findings};
use crate::verification::{Finding, Outcome, Verified, of_claims, of_pack, verify, worst};

/// Prints what holds and what does not; the exit code tells the worst of it.
///
/// # Errors
/// What can't be looked at, or printed.
pub fn execute(args: &VerifyArgs) -> Result<Exit, CommandError> {
    let mut runs: Vec<Findings> = args.runs.iter().flat_map(|directory| verified(directory)).collect();
    if let Some(file) = &args.against {
        runs.push(against(file));
    }
    print(&match args.format {
        VerifyFormat::Table => report::findings(&runs),
        VerifyFormat::Json => report::findings_json(&runs),
    })?;
    let worst = runs.iter().map(|run| worst(&run.findings)).max();
    Ok(match worst {
        Some(Outcome::Ok | Outcome::Noted) => Exit::Ok,
        Some(Outcome::ClaimFailed) => Exit::ClaimFailed,
        Some(Outcome::Tampered) => Exit::Tampered,
        Some(Outcome::Incomplete) => Exit::Incomplete,
        Some(Outcome::Unverifiable) | None => Exit::Unverifiable,
    })
}

/// A run's directory, or one into which runs were packed, with what its own sums say first.
fn verified(directory: &Path) -> Vec<Findings> {
    let shown = directory.display().to_string();
    let places = match places(directory) {
        Ok(places) => places,
        Err(error) => {
            let finding = Finding::new(
                "archive",
                Outcome::Unverifiable,
                format!("cannot read {shown}: {error}"),
            );
            return vec![Findings {
                run: shown,
                root: None,
                findings: vec![finding],
            }];
        }
    };
    let are_packed = places.iter().any(|place| place.packed.is_some());
    let pack = are_packed.then(|| Findings {
        run: shown.clone(),
        root: None,
        findings: vec![of_pack(directory)],
    });
    let runs = places
        .iter()
        .map(|place| of_run(place.path(), place.packed.as_deref().unwrap_or(&shown)));
    pack.into_iter().chain(runs).collect()
}

fn of_run(directory: &Path, named: &str) -> Findings {
    let Verified { mut findings, archive } = verify(directory);
    let name = archive.as_ref().map_or(named, |archive| archive.run()).to_owned();
    if let Some(archive) = &archive {
        match load::analyzed(directory, archive, false) {
            Ok(analysis) => {
                let detail = format!("those of {} forks follow from their pairs", archive.forks.len());
                findings.push(Finding::new("medians", Outcome::Ok, detail));
                findings.extend(of_claims(&analysis));
            }
            Err(error) => findings.push(Finding::new("medians", Outcome::Tampered, error.to_string())),
        }
    }
    Findings {
        run: name,
        root: archive.as_ref().and_then(|archive| archive.root()).map(str::to_owned),
        findings,
    }
}

/// A file's tables and numbers against the archives that it names.
fn against(file: &Path) -> Findings {
    let (outcome, detail) = match analyze::check(file) {
        Ok(_) => (
            Outcome::Ok,
            "every table and number is what its archive gives".to_owned(),
        ),
        Err(error @ (CommandError::Stale { .. } | CommandError::Inline { .. })) => {
            (Outcome::Tampered, error.to_string())
        }
        Err(error) => (Outcome::Unverifiable, error.to_string()),
    };
    Findings {
        run: file.display().to_string(),
        root: None,
        findings: vec![Finding::new("figures", outcome, detail)],
    }
}
