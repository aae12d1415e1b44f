//! `plan`: what would be measured, touching nothing.

use super::{CommandError, print};
use crate::cli::PlanArgs;
use crate::exit::Exit;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::report;

/// Prints the plan of a manifest.
///
/// # Errors
/// What is wrong with the manifest.
pub fn execute(args: &PlanArgs) -> Result<Exit, CommandError> {
    let PlanArgs { manifest } = args;
    let manifest = Manifest::read(manifest)?;
    let plan = Plan::of(&manifest)?;
    print(&report::plan(&manifest, &plan))?;
    Ok(Exit::Ok)
}
