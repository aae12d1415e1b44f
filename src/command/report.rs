//! `report`: archive, figures, plots, one page. Reads a run's directory and writes beside it, never into it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::load::evidence_of;
use super::{CommandError, tell};
use crate::analysis::{self, Analysis, Evidence};
use crate::archive::{Archive, Ledger, Standing};
use crate::cli::ReportArgs;
use crate::exit::Exit;
use crate::report::{self, Gallery, Starts, Told};

/// Writes a run's page, and its plots as files where they are asked for.
///
/// # Errors
/// What is wrong with the archive, and what can't be written.
pub fn execute(args: &ReportArgs) -> Result<Exit, CommandError> {
    let ReportArgs { run, out, svg, force } = args;
    let (archive, evidence) = evidence_of(run)?;
    let analysis = analysis::analyze(&evidence, false);
    let galleries = report::galleries(&analysis, &analysis::portraits(&evidence, &analysis))?;
    let page = page(run, &archive, &evidence, &analysis, &galleries)?;
    let out = out.clone().unwrap_or_else(|| format!("{}.html", archive.run()).into());
    let mut files = vec![(out.clone(), page)];
    if let Some(directory) = svg {
        let plots = galleries.iter().flat_map(|gallery| &gallery.plots);
        files.extend(plots.map(|plot| (directory.join(format!("{}.svg", plot.name)), plot.file())));
    }
    write(run, &files, *force)?;
    tell(format_args!("wrote {}", out.display()));
    Ok(Exit::Ok)
}

fn page(
    run: &Path,
    archive: &Archive,
    evidence: &Evidence,
    analysis: &Analysis,
    galleries: &[Gallery],
) -> Result<String, CommandError> {
    let read = |name: &str| {
        let path = run.join(name);
        fs::read_to_string(&path).map_err(|source| failed("read", &path, source))
    };
    let starts = starts(run, analysis)?;
    let told = Told {
        starts: starts.as_ref(),
        analysis,
        galleries,
        settings: &archive.settings,
        facts: &archive.facts,
        changed: &evidence.changed,
        manifest: &read("manifest.toml")?,
    };
    Ok(report::html(&told)?)
}

/// The starts under the run's registration, where the ledger lies beside the run.
fn starts(run: &Path, analysis: &Analysis) -> Result<Option<Starts>, CommandError> {
    let Standing::Confirmatory(registered) = &analysis.facts.standing else {
        return Ok(None);
    };
    let directory = fs::canonicalize(run).map_err(|source| failed("read", run, source))?;
    let Some(results) = directory.parent() else {
        return Ok(None);
    };
    let ledger = Ledger::of(results);
    if !ledger.path().is_file() {
        return Ok(None);
    }
    let history = ledger.read()?;
    if history.broken.is_some() {
        return Ok(Some(Starts::Broken));
    }
    let runs: Vec<&str> = (history.starts_of(&registered.line))
        .filter_map(|entry| entry.run.as_deref())
        .collect();
    let Some(place) = runs.iter().position(|run| *run == analysis.facts.run) else {
        return Ok(Some(Starts::Unlisted));
    };
    let others = runs.iter().filter(|run| **run != analysis.facts.run);
    Ok(Some(Starts::Listed {
        number: place + 1,
        others: others.map(|run| ((*run).to_owned(), history.state_of(run))).collect(),
    }))
}

/// Writes all files or, where one is in the way, none.
fn write(run: &Path, files: &[(PathBuf, String)], force: bool) -> Result<(), CommandError> {
    for (path, _) in files {
        if is_within(path, run).map_err(|source| failed("read", run, source))? {
            return Err(CommandError::WithinRun { path: path.clone() });
        }
        if !force && path.symlink_metadata().is_ok() {
            return Err(CommandError::Exists { path: path.clone() });
        }
    }
    files
        .iter()
        .try_for_each(|(path, text)| write_one(path, text, force).map_err(|source| failed("write", path, source)))
}

/// Whether a file that may not exist yet would lie in a directory: its nearest ancestor that exists decides.
fn is_within(file: &Path, directory: &Path) -> io::Result<bool> {
    let directory = fs::canonicalize(directory)?;
    let ancestors = std::path::absolute(file)?;
    let nearest = ancestors
        .ancestors()
        .skip(1)
        .find_map(|ancestor| fs::canonicalize(ancestor).ok());
    Ok(nearest.is_some_and(|nearest| nearest.starts_with(directory)))
}

/// A file that is replaced stays whole until the new one is.
fn write_one(path: &Path, text: &str, force: bool) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if !force {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        return file.write_all(text.as_bytes());
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    fs::write(&temporary, text)?;
    fs::rename(&temporary, path)
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> CommandError {
    CommandError::File {
        action,
        path: path.to_owned(),
        source,
    }
}
