//! `analyze`: archive, evidence, figures, text. Reads run directories and nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use terminal_size::terminal_size_of;

use super::load::{evidence_of, figures_of, with_sources};
use super::packed::places;
use super::{CommandError, print};
use crate::analysis::{self, Analysis};
use crate::cli::{AnalyzeArgs, Format};
use crate::exit::Exit;
use crate::report::{self, Dialect, Directive, InlineFigure, Part, SpliceError};
use crate::strategy::StrategyName;

/// Most pairs of which histograms are drawn: they are drawn from all pairs in memory, which figures are not.
const SHAPED_PAIRS_MAX: usize = 2_000_000;

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
    let part = args.only.map_or(Part::Whole, Part::from);
    print(&tell(&analyses, part, args.format))?;
    if let ([run], Format::Table) = (args.runs.as_slice(), args.format)
        && part == Part::Whole
        && is_wide_terminal()
        && pairs_of(&analyses[0]) <= SHAPED_PAIRS_MAX
    {
        print(&shapes(run, &analyses[0])?)?;
    }
    let warnings: usize = analyses.iter().map(|analysis| analysis.warnings.len()).sum();
    if !args.strict || warnings == 0 {
        return Ok(Exit::Ok);
    }
    super::tell(format_args!(
        "{warnings} warnings stand beside these figures, and --strict asked for none"
    ));
    Ok(Exit::Warned)
}

fn explain(runs: &[PathBuf], id: &str, resample: bool) -> Result<Exit, CommandError> {
    let [run] = runs else {
        return Err(CommandError::ExplainSeveral { runs: runs.len() });
    };
    let (analysis, sources) = with_sources(run, resample)?;
    let text = report::explain(&analysis, &sources, id).map_err(|nearest| CommandError::UnknownFigure {
        id: id.to_owned(),
        run: analysis.facts.run.clone(),
        nearest: nearest.join(", "),
    })?;
    print(&text)?;
    Ok(Exit::Ok)
}

/// Whether standard output is a terminal that has room for a histogram. Piped text is the same for everyone.
fn is_wide_terminal() -> bool {
    let size = terminal_size_of(io::stdout());
    size.is_some_and(|(width, _)| usize::from(width.0) >= report::COLUMNS_MIN)
}

fn pairs_of(analysis: &Analysis) -> usize {
    analysis.cells.iter().map(|cell| cell.pairs).sum()
}

/// A small histogram a cell.
fn shapes(run: &Path, analysis: &Analysis) -> Result<String, CommandError> {
    let (_, evidence) = evidence_of(run)?;
    Ok(report::histograms(analysis, &analysis::portraits(&evidence, analysis)))
}

fn all(runs: &[PathBuf], resample: bool) -> Result<Vec<Analysis>, CommandError> {
    let mut analyses = Vec::new();
    for run in runs {
        let places = places(run).map_err(|source| CommandError::File {
            action: "read",
            path: run.clone(),
            source,
        })?;
        for place in places {
            analyses.push(figures_of(place.path(), resample)?);
        }
    }
    Ok(analyses)
}

fn tell(analyses: &[Analysis], part: Part, format: Format) -> String {
    match format {
        Format::Table => told_in_part(analyses, part, Dialect::Terminal),
        Format::Markdown => told_in_part(analyses, part, Dialect::Markdown),
        Format::Json => report::json(analyses),
        Format::Csv => report::csv(analyses),
    }
}

/// For people: one run, several side by side, or the same part of each in turn.
fn told_in_part(analyses: &[Analysis], part: Part, dialect: Dialect) -> String {
    match (analyses, part) {
        ([one], Part::Whole) => report::tables(one, dialect),
        (several, Part::Whole) => report::side_by_side(several, dialect),
        (each, part) => {
            let parts = each
                .iter()
                .map(|analysis| report::part(analysis, part, dialect, &gives_up));
            parts.collect::<Vec<_>>().join("\n")
        }
    }
}

fn gives_up(strategy: &str) -> String {
    let known = StrategyName::ALL.iter().find(|name| name.as_str() == strategy);
    known.map_or_else(String::new, |name| name.facts().gives_up())
}

fn splice(file: &Path) -> Result<Exit, CommandError> {
    let Respliced { text, spliced, .. } = respliced(file)?;
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

/// Holds a file against the archives that it names.
pub(super) fn check(file: &Path) -> Result<Exit, CommandError> {
    let Respliced { text, spliced, inline } = respliced(file)?;
    for (figure, expected) in inline {
        figure.check(&text, &expected).map_err(|source| CommandError::Inline {
            file: file.to_owned(),
            source,
        })?;
    }
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

/// The single numbers of a file, each with what its archive says that it should be.
fn inline(file: &Path, text: &str) -> Result<Vec<(InlineFigure, String)>, CommandError> {
    let fault = |source| CommandError::Inline {
        file: file.to_owned(),
        source,
    };
    let mut runs: BTreeMap<String, Analysis> = BTreeMap::new();
    let mut told = Vec::new();
    for figure in report::inline_figures(text).map_err(fault)? {
        if !runs.contains_key(&figure.run) {
            runs.insert(figure.run.clone(), figures_of(&beside(file, &figure.run), false)?);
        }
        let expected = figure.expected(&runs[&figure.run]).map_err(fault)?;
        told.push((figure, expected));
    }
    Ok(told)
}

/// A path in a file is relative to the file.
fn beside(file: &Path, path: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new(".")).join(path)
}

/// A file's text as it is, and as its archives say that it should be.
struct Respliced {
    text: String,
    spliced: String,
    inline: Vec<(InlineFigure, String)>,
}

fn respliced(file: &Path) -> Result<Respliced, CommandError> {
    let text = fs::read_to_string(file).map_err(|source| CommandError::File {
        action: "read",
        path: file.to_owned(),
        source,
    })?;
    let inline = inline(file, &text)?;
    let told = report::splice_inline(&text, &inline);
    let spliced = match report::directives(&told) {
        // A file may hold single numbers only.
        Err(SpliceError::NoMarkers) if !inline.is_empty() => told,
        directives => tables(file, &told, directives)?,
    };
    Ok(Respliced { text, spliced, inline })
}

/// A file's text with the tables that its markers ask for.
fn tables(file: &Path, text: &str, directives: Result<Vec<Directive>, SpliceError>) -> Result<String, CommandError> {
    let fault = |source| CommandError::Splice {
        file: file.to_owned(),
        source,
    };
    let mut tables = Vec::new();
    for Directive { runs, part } in directives.map_err(fault)? {
        let runs: Vec<PathBuf> = runs.iter().map(|run| beside(file, run)).collect();
        tables.push(told_in_part(&all(&runs, false)?, part, Dialect::Markdown));
    }
    report::splice(text, &tables).map_err(fault)
}
