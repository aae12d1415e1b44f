//! `verify`: runs held against themselves, the ledger, their claims and what is written about them.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{CommandError, analyze, load, print};
use crate::cli::{VerifyArgs, VerifyFormat};
use crate::exit::Exit;
use crate::report::{self, Findings};
use crate::verification::{Finding, Outcome, Verified, of_claims, verify, worst};

/// Prints what holds and what does not; the exit code tells the worst of it.
///
/// # Errors
/// What can't be looked at, or printed.
pub fn execute(args: &VerifyArgs) -> Result<Exit, CommandError> {
    let mut runs = Vec::new();
    for directory in &args.runs {
        runs.extend(verified(directory)?);
    }
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

/// A run's directory, or one with the files of several runs side by side.
fn verified(directory: &Path) -> Result<Vec<Findings>, CommandError> {
    let failed = |source| CommandError::File {
        action: "read",
        path: directory.to_owned(),
        source,
    };
    let packed = packed_runs(directory).map_err(failed)?;
    if packed.is_empty() {
        return Ok(vec![of_run(directory, &directory.display().to_string())]);
    }
    packed
        .iter()
        .map(|run| {
            let laid_out = laid_out(directory, run).map_err(failed)?;
            Ok(of_run(laid_out.path(), run))
        })
        .collect()
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

/// The runs whose files lie in a directory as `pack` lays out several: `<run>.<file>`.
fn packed_runs(directory: &Path) -> io::Result<BTreeSet<String>> {
    let mut runs = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if let Some(run) = name.to_str().and_then(|name| name.strip_suffix(".SHA256SUMS")) {
            runs.insert(run.to_owned());
        }
    }
    Ok(runs)
}

/// The files of one packed run under their own names, as links in a temporary directory, with the ledger.
fn laid_out(directory: &Path, run: &str) -> io::Result<tempfile::TempDir> {
    let laid_out = tempfile::tempdir()?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let own = name.strip_prefix(run).and_then(|rest| rest.strip_prefix('.'));
        if let Some(own) = own.or((name == "LEDGER.jsonl").then_some(name)) {
            let target: PathBuf = std::path::absolute(entry.path())?;
            symlink(target, laid_out.path().join(own))?;
        }
    }
    Ok(laid_out)
}
