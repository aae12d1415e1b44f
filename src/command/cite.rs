//! `cite`: how a run and its software are cited, and whether a citation file says what its author thinks.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::load::{Loaded, load};
use super::report::failed;
use super::{CommandError, print, tell};
use crate::analysis::Analysis;
use crate::archive::{Archive, Completeness};
use crate::cli::{CiteArgs, CiteFormat};
use crate::digest;
use crate::exit::Exit;
use crate::publication::{self, Citation, DataSet, PublicationError, PublishedRun, Severity};

/// Prints citations, or checks a citation file.
///
/// # Errors
/// What is wrong with the archive or with the citation.
pub fn execute(args: &CiteArgs) -> Result<Exit, CommandError> {
    if let Some(file) = &args.check {
        return check(file);
    }
    let Some(run) = &args.run else { return Ok(Exit::Usage) };
    let citation = citation_of(&args.citation)?;
    let Loaded { archive, analysis } = load(run, false)?;
    let runs = [published(run, &archive, &analysis)?];
    let data = DataSet {
        runs: &runs,
        citation: &citation,
        licence: args.license,
    };
    print(&match args.format {
        Some(CiteFormat::Bibtex) => publication::bibtex(&data),
        Some(CiteFormat::Cff) => publication::cff(&data),
        Some(CiteFormat::Text) => publication::text(&data),
        None => format!(
            "{}\n{}\n{}",
            publication::text(&data),
            publication::bibtex(&data),
            publication::cff(&data)
        ),
    })?;
    Ok(Exit::Ok)
}

fn check(file: &Path) -> Result<Exit, CommandError> {
    let (wrong, misleading): (Vec<_>, Vec<_>) =
        (publication::check(&text_of(file)?).into_iter()).partition(|fault| fault.severity == Severity::Error);
    for fault in &misleading {
        tell(format_args!("{}: {fault}", file.display()));
    }
    if wrong.is_empty() {
        print(&format!("{}: no faults\n", file.display()))?;
        return Ok(Exit::Ok);
    }
    Err(faulty(file, wrong))
}

/// Reads a citation; its faults are told all at once.
pub(super) fn citation_of(file: &Path) -> Result<Citation, CommandError> {
    Citation::parse(&text_of(file)?).map_err(|faults| faulty(file, faults))
}

fn faulty(file: &Path, faults: Vec<publication::Fault>) -> CommandError {
    let path = file.to_owned();
    PublicationError::Citation { path, faults }.into()
}

fn text_of(file: &Path) -> Result<String, CommandError> {
    fs::read_to_string(file).map_err(|source| match source.kind() {
        ErrorKind::NotFound => PublicationError::NoCitation { path: file.to_owned() }.into(),
        _ => failed("read", file, source),
    })
}

/// What is published of a run.
pub(super) fn published(run: &Path, archive: &Archive, analysis: &Analysis) -> Result<PublishedRun, CommandError> {
    let sums = run.join("SHA256SUMS");
    let seal = match archive.completeness {
        Completeness::Sealed | Completeness::Incomplete => {
            digest::of_bytes(fs::read(&sums).map_err(|source| failed("read", &sums, source))?)
        }
        Completeness::Unfinished => String::new(),
    };
    Ok(PublishedRun::of(run, archive, &analysis.facts, seal)?)
}
