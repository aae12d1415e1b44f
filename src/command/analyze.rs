//! `analyze`: archive, evidence, figures, text. Reads run directories and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CommandError, print};
use crate::analysis::{self, Analysis, Archived, Evidence, ForkSample, State};
use crate::archive::{Archive, Completeness};
use crate::cli::{AnalyzeArgs, Format};
use crate::exit::Exit;
use crate::report::recompute::Sources;
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
    if let Some(id) = &args.explain {
        return explain(&args.runs, id, args.resample);
    }
    let analyses = all(&args.runs, args.resample)?;
    print(&tell(&analyses, args.format))?;
    let warnings: usize = analyses.iter().map(|analysis| analysis.warnings.len()).sum();
    if !args.strict || warnings == 0 {
        return Ok(Exit::Ok);
    }
    eprintln!("preview-cost: {warnings} warnings stand beside these figures, and --strict asked for none");
    Ok(Exit::Warned)
}

fn explain(runs: &[PathBuf], id: &str, resample: bool) -> Result<Exit, CommandError> {
    let [run] = runs else {
        return Err(CommandError::ExplainSeveral { runs: runs.len() });
    };
    let (analysis, sources) = read(run, resample)?;
    let text = report::explain(&analysis, &sources, id).map_err(|nearest| CommandError::UnknownFigure {
        id: id.to_owned(),
        run: analysis.facts.run.clone(),
        nearest: nearest.join(", "),
    })?;
    print(&text)?;
    Ok(Exit::Ok)
}

/// The figures of a run's directory.
///
/// # Errors
/// What is wrong with the archive.
pub fn figures_of(directory: &Path, resample: bool) -> Result<Analysis, CommandError> {
    read(directory, resample).map(|(analysis, _)| analysis)
}

/// The figures of a run's directory, and which files they come from.
pub(super) fn read(directory: &Path, resample: bool) -> Result<(Analysis, Sources), CommandError> {
    let archive = Archive::open(directory)?;
    let mut samples = Vec::new();
    archive.for_each_fork(|fork| samples.push(ForkSample::from(fork)))?;
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
    let evidence = Evidence::gather(archived, samples).map_err(|source| CommandError::Evidence {
        run: directory.to_owned(),
        source,
    })?;
    let analysis = analysis::analyze(&evidence, resample);
    let (pairs, forks) = archive.files();
    let sources = Sources {
        directory: directory.display().to_string(),
        pairs,
        forks,
        forks_max: analysis.cells.iter().map(|cell| cell.forks).max().unwrap_or(0),
    };
    Ok((analysis, sources))
}

fn all(runs: &[PathBuf], resample: bool) -> Result<Vec<Analysis>, CommandError> {
    runs.iter().map(|run| figures_of(run, resample)).collect()
}

fn tell(analyses: &[Analysis], format: Format) -> String {
    let people = |dialect| match analyses {
        [one] => report::tables(one, dialect),
        several => report::side_by_side(several, dialect),
    };
    match format {
        Format::Table => people(Dialect::Terminal),
        Format::Markdown => people(Dialect::Markdown),
        Format::Json => report::json(analyses),
        Format::Csv => report::csv(analyses),
    }
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
        tables.push(tell(&all(&runs, false)?, Format::Markdown));
    }
    let spliced = report::splice(&text, &tables).map_err(fault)?;
    Ok((text, spliced))
}
