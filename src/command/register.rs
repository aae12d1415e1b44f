//! `register`: fixes an experiment and its claims in the ledger, before anything is measured.

use std::fmt::Write;
use std::fs;

use super::{CommandError, print};
use crate::archive::{EvidenceFile, Ledger, LedgerEntry, evidence_beside};
use crate::cli::RegisterArgs;
use crate::environment::Committed;
use crate::exit::Exit;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::report;
use crate::run::require_whole;

/// Registers a manifest and prints what is fixed by it.
///
/// # Errors
/// What is wrong with the manifest, its evidence or the ledger.
pub fn execute(args: &RegisterArgs) -> Result<Exit, CommandError> {
    let RegisterArgs {
        manifest: path,
        results,
    } = args;
    let manifest = Manifest::read(path)?;
    Plan::of(&manifest)?;
    if manifest.registration.is_none() || manifest.claims.is_empty() {
        return Err(CommandError::NothingToRegister { manifest: path.clone() });
    }
    let evidence = evidence_beside(path, &manifest.source.sha256)?;
    let ledger = Ledger::of(results);
    require_whole(&ledger.read()?, results)?;
    fs::create_dir_all(results).map_err(|source| CommandError::File {
        action: "write",
        path: results.clone(),
        source,
    })?;
    let at = Committed::of(path, manifest.source.text.as_bytes());
    let (entry, is_new) = ledger.register(&manifest.name, &manifest.source.sha256, &at)?;
    print(&told(args, &manifest, &entry, is_new, &evidence))?;
    Ok(Exit::Ok)
}

fn told(
    args: &RegisterArgs,
    manifest: &Manifest,
    entry: &LedgerEntry,
    is_new: bool,
    evidence: &[EvidenceFile],
) -> String {
    let mut text = if is_new {
        format!("Registered {} on {}.\n\n", manifest.name, entry.at)
    } else {
        format!(
            "{} was registered already, on {}. Nothing was added.\n\n",
            manifest.name, entry.at
        )
    };
    let mut line = |name: &str, told: &str| {
        let _ = writeln!(text, "{name:<12}{told}");
    };
    line("manifest", &format!("SHA-256 {}", manifest.source.sha256));
    let ledger = args.results.join("LEDGER.jsonl");
    line(
        "ledger",
        &format!("line {} of {}, SHA-256 {}", entry.seq, ledger.display(), entry.sha256),
    );
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "unknown".to_owned());
    let holds = word(&entry.manifest_committed);
    line(
        "commit",
        &format!("{}; holds this very manifest: {holds}", word(&entry.commit)),
    );
    for EvidenceFile {
        name, sha256, stamp, ..
    } in evidence
    {
        let time = stamp.time.as_deref().map(|time| format!(", names the time {time}"));
        let about = "is about this manifest; its signature or attestation is NOT checked";
        line(
            "evidence",
            &format!("{name}{}, {about} (SHA-256 {sha256})", time.unwrap_or_default()),
        );
    }
    for claim in &manifest.claims {
        line("claim", &format!("{}: {}", claim.id, report::claim(claim)));
    }
    let _ = write!(
        text,
        "\nCommit {} and the manifest, so that others can see when. Then: preview-cost run {}{}\n",
        ledger.display(),
        args.manifest.display(),
        match args.results.to_str() {
            Some("results") => String::new(),
            _ => format!(" --results {}", args.results.display()),
        }
    );
    text
}
