//! `analyze`: archive, evidence, figures, text. Reads run directories and nothing else.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use super::{CommandError, print};
use crate::analysis::{Analysis, Analyst, Archived, State};
use crate::archive::{Archive, Completeness};
use crate::cli::{AnalyzeArgs, Format};
use crate::exit::Exit;
use crate::report::{self, Dialect, Directive};

/// Prints the figures of one run, or of several side by side; or keeps a file's tables true.
///
/// # Errors
/// What is wrong with an archive or a file.
pub fn execute(args: &AnalyzeArgs) -> Result<Exit, CommandError> {
    if let Some(file) = &args.splice {
        return splice(file);
    }
    if let Some(file) = &args.check {
        return check(file);
    }
    print(&tell(&args.runs, args.format, args.resample)?)?;
    Ok(Exit::Ok)
}

/// The figures of a run's directory.
///
/// # Errors
/// What is wrong with the archive.
pub fn figures_of(directory: &Path, resample: bool) -> Result<Analysis, CommandError> {
    load(directory, resample).map(|loaded| loaded.analysis)
}

/// A run's archive and what follows from it.
pub struct Loaded {
    /// The archive.
    pub archive: Archive,
    /// Its figures.
    pub analysis: Analysis,
}

/// Opens a run's directory and computes its figures.
///
/// # Errors
/// What is wrong with the archive.
pub fn load(directory: &Path, resample: bool) -> Result<Loaded, CommandError> {
    let archive = Archive::open(directory)?;
    let state = match archive.completeness {
        Completeness::Sealed => State::Finished,
        Completeness::Unfinished => State::Unfinished,
    };
    let archived = Archived {
        settings: &archive.settings,
        cells: &archive.cells,
        forks: &archive.forks,
        facts: &archive.facts,
        state,
    };
    let fault = |source| CommandError::Evidence {
        run: directory.to_owned(),
        source,
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut analyst = Analyst::new(archived, resample, threads).map_err(fault)?;
    archive.for_each_fork_times(threads, |times| analyst.add(times).map_err(fault))?;
    let analysis = analyst.finish();
    Ok(Loaded { archive, analysis })
}

fn tell(runs: &[PathBuf], format: Format, resample: bool) -> Result<String, CommandError> {
    let analyses: Vec<Analysis> = runs
        .iter()
        .map(|run| figures_of(run, resample))
        .collect::<Result<_, _>>()?;
    let people = |dialect| match analyses.as_slice() {
        [one] => report::tables(one, dialect),
        several => report::side_by_side(several, dialect),
    };
    Ok(match format {
        Format::Table => people(Dialect::Terminal),
        Format::Markdown => people(Dialect::Markdown),
        Format::Json => report::json(&analyses),
        Format::Csv => report::csv(&analyses),
    })
}

fn splice(file: &Path) -> Result<Exit, CommandError> {
    let (text, spliced) = respliced(file)?;
    if text != spliced {
        // The old text stays whole until the new one is.
        let temporary = file.with_extension("spliced.tmp");
        let write = |path: &Path| {
            let path = path.to_owned();
            |source| CommandError::File {
                action: "write",
                path,
                source,
            }
        };
        fs::write(&temporary, spliced).map_err(write(&temporary))?;
        fs::rename(&temporary, file).map_err(write(file))?;
    }
    Ok(Exit::Ok)
}

fn check(file: &Path) -> Result<Exit, CommandError> {
    let (text, spliced) = respliced(file)?;
    match text.lines().zip(spliced.lines()).position(|(is, should)| is != should) {
        None if text.len() == spliced.len() => Ok(Exit::Ok),
        differing => {
            let line = differing.unwrap_or_else(|| text.lines().count()) + 1;
            Err(CommandError::Stale {
                file: file.to_owned(),
                line,
            })
        }
    }
}

/// A file's text as it is, and as its archives say that it should be.
fn respliced(file: &Path) -> Result<(String, String), CommandError> {
    let text = fs::read_to_string(file).map_err(|source| CommandError::File {
        action: "read",
        path: file.to_owned(),
        source,
    })?;
    let base = file.parent().unwrap_or(Path::new("."));
    let mut tables = Vec::new();
    let fault = |source| CommandError::Splice {
        file: file.to_owned(),
        source,
    };
    for Directive { runs } in report::directives(&text).map_err(fault)? {
        let runs: Vec<PathBuf> = runs.iter().map(|run| base.join(run)).collect();
        tables.push(tell(&runs, Format::Markdown, false)?);
    }
    let spliced = report::splice(&text, &tables).map_err(fault)?;
    Ok((text, spliced))
}
