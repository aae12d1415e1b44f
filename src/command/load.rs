//! A run's directory to what follows from it: shared by the subcommands that read archives.

use std::num::NonZero;
use std::path::Path;

use super::CommandError;
use crate::analysis::{Analysis, Analyst, Archived, Evidence, ForkSample, State};
use crate::archive::{Archive, Completeness};
use crate::report::recompute::Sources;

/// A run's archive and what follows from it.
pub(super) struct Loaded {
    /// The archive.
    pub archive: Archive,
    /// Its figures.
    pub analysis: Analysis,
}

/// Opens a run's directory and computes its figures.
pub(super) fn load(directory: &Path, resample: bool) -> Result<Loaded, CommandError> {
    let archive = Archive::open(directory)?;
    let analysis = analyzed(directory, &archive, resample)?;
    Ok(Loaded { archive, analysis })
}

/// The figures of a run's directory.
///
/// # Errors
/// What is wrong with the archive.
pub fn figures_of(directory: &Path, resample: bool) -> Result<Analysis, CommandError> {
    load(directory, resample).map(|loaded| loaded.analysis)
}

/// The figures of a run's directory, and which files they come from.
pub(super) fn with_sources(directory: &Path, resample: bool) -> Result<(Analysis, Sources), CommandError> {
    let Loaded { archive, analysis } = load(directory, resample)?;
    let sources = sources_of(directory, &archive, &analysis);
    Ok((analysis, sources))
}

/// Which files a run's figures come from.
pub(super) fn sources_of(directory: &Path, archive: &Archive, analysis: &Analysis) -> Sources {
    Sources {
        directory: directory.display().to_string(),
        prefix: String::new(),
        files: archive.files(),
        forks_max: analysis.cells.iter().map(|cell| cell.forks).max().unwrap_or(0),
    }
}

/// The figures of an open archive.
pub(super) fn analyzed(directory: &Path, archive: &Archive, resample: bool) -> Result<Analysis, CommandError> {
    let fault = |source| CommandError::Evidence {
        run: directory.to_owned(),
        source,
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut analyst = Analyst::new(archived(archive), resample, threads).map_err(fault)?;
    archive.for_each_fork_times(threads, |times| analyst.add(times).map_err(fault))?;
    archive.for_each_fork_steps(|fork| analyst.add_steps(&fork))?;
    archive.for_each_fork_wire(|fork| analyst.add_wire(&fork))?;
    Ok(analyst.finish())
}

/// Opens a run's directory and reads all that its figures and plots are drawn from.
pub(super) fn evidence_of(directory: &Path) -> Result<(Archive, Evidence), CommandError> {
    let archive = Archive::open(directory)?;
    let evidence = gathered(directory, &archive)?;
    Ok((archive, evidence))
}

fn gathered(directory: &Path, archive: &Archive) -> Result<Evidence, CommandError> {
    let mut samples = Vec::new();
    archive.for_each_fork(|fork| samples.push(ForkSample::from(fork)))?;
    let gathered = Evidence::gather(archived(archive), samples);
    let mut evidence = gathered.map_err(|source| CommandError::Evidence {
        run: directory.to_owned(),
        source,
    })?;
    archive.for_each_fork_steps(|fork| evidence.add_steps(&fork))?;
    archive.for_each_fork_wire(|fork| evidence.add_wire(&fork))?;
    Ok(evidence)
}

fn archived(archive: &Archive) -> Archived<'_> {
    Archived {
        settings: &archive.settings,
        cells: &archive.cells,
        forks: &archive.forks,
        facts: &archive.facts,
        root: archive.root(),
        state: match archive.completeness {
            Completeness::Sealed => State::Finished,
            Completeness::Incomplete => State::Incomplete,
            Completeness::Unfinished => State::Unfinished,
        },
    }
}
