//! `plan`: what would be measured, touching nothing.

use std::path::Path;

use super::load::analyzed;
use super::{CommandError, print};
use crate::analysis;
use crate::archive::Archive;
use crate::cli::PlanArgs;
use crate::exit::Exit;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::report;
use crate::run::manifest_settings;

/// Prints the plan of a manifest and, with a run, what that run says about it.
///
/// # Errors
/// What is wrong with the manifest or the archive.
pub fn execute(args: &PlanArgs) -> Result<Exit, CommandError> {
    let own = args.from.as_ref().map(|run| run.join("manifest.toml"));
    let path = args.manifest.as_ref().or(own.as_ref());
    // The command line asks for one of them.
    let manifest = Manifest::read(path.map_or(Path::new(""), |path| path))?;
    let plan = Plan::of(&manifest)?;
    let outlook = args
        .from
        .as_ref()
        .map(|run| outlook(run, &manifest, &plan))
        .transpose()?;
    print(&report::plan(&manifest, &plan))?;
    print(&outlook.unwrap_or_default())?;
    Ok(Exit::Ok)
}

fn outlook(run: &Path, manifest: &Manifest, plan: &Plan) -> Result<String, CommandError> {
    let archive = Archive::open(run)?;
    let analysis = analyzed(run, &archive, false)?;
    let margin = manifest.figures.margin;
    let outlook = analysis::outlook(plan, manifest.measure.forks, margin, &analysis, &archive.forks);
    let changes = analysis::setting_changes(&archive.settings, &manifest_settings(manifest));
    let same = archive.manifest_sha256() == manifest.source.sha256;
    Ok(report::outlook(&outlook, archive.run(), margin, same, &changes))
}
