//! `compare`: runs against each other, what differs around them first.

use super::load::{Loaded, load};
use super::{CommandError, print};
use crate::analysis::{self, Compared};
use crate::cli::{CompareArgs, CompareFormat};
use crate::exit::Exit;
use crate::report::{self, Dialect};

/// Prints a comparison of two or more runs.
///
/// # Errors
/// What is wrong with an archive.
pub fn execute(args: &CompareArgs) -> Result<Exit, CommandError> {
    let CompareArgs { runs, format } = args;
    let loaded: Vec<Loaded> = runs.iter().map(|run| load(run, false)).collect::<Result<_, _>>()?;
    let compared: Vec<Compared<'_>> = loaded
        .iter()
        .map(|run| Compared {
            analysis: &run.analysis,
            facts: &run.archive.facts,
        })
        .collect();
    let dialect = match format {
        CompareFormat::Table => Dialect::Terminal,
        CompareFormat::Markdown => Dialect::Markdown,
    };
    print(&report::comparison(&analysis::compare(&compared), dialect))?;
    Ok(Exit::Ok)
}
