//! `run`: manifest, plan, measurement, archive, figures.

use std::env;
use std::path::Path;

use super::progress::Progress;
use super::{CommandError, load, print, tell};
use crate::cli::RunArgs;
use crate::exit::Exit;
use crate::manifest::{Backend, Manifest, Server, UrlTemplate};
use crate::plan::Plan;
use crate::report::{self, Dialect};
use crate::run::{Interrupt, Summary, Supervisor};

/// Measures an experiment and prints its figures.
///
/// # Errors
/// What is wrong with the manifest, the backend or the run.
pub fn execute(args: &RunArgs) -> Result<Exit, CommandError> {
    let path = match (&args.resume, &args.manifest) {
        (Some(run), _) => run.join("manifest.toml"),
        (None, manifest) => manifest.clone().unwrap_or_default(),
    };
    let manifest = at_url(Manifest::read(&path)?, &path, args)?;
    let plan = Plan::of(&manifest)?;
    let exe = env::current_exe().map_err(CommandError::Executable)?;
    let supervisor = Supervisor::new(&manifest, &plan, &exe);
    on_signals(supervisor.interrupt())?;
    let pairs = u64::from(manifest.measure.warmup) + u64::from(manifest.measure.previews);
    let mut progress = Progress::new(pairs * plan.schedule().len() as u64);
    let summary = match &args.resume {
        Some(run) => supervisor.resume(run, &mut progress)?,
        None => supervisor.run(&args.results, &mut progress)?,
    };
    progress.done(&summary.directory);
    let analysis = load::figures_of(&summary.directory, false)?;
    print(&report::tables(&analysis, Dialect::Terminal))?;
    Ok(exit_of(&summary))
}

/// The manifest with its server replaced by the one of `--url`.
fn at_url(mut manifest: Manifest, path: &Path, args: &RunArgs) -> Result<Manifest, CommandError> {
    let Some(url) = &args.url else { return Ok(manifest) };
    let Backend::Postgres { server, .. } = &mut manifest.backend else {
        return Err(CommandError::UrlForSqlite {
            manifest: path.to_owned(),
        });
    };
    *server = Server::Url(UrlTemplate::new(url));
    Ok(manifest)
}

/// The first signal asks the run to end in good order; the second ends the program at once.
fn on_signals(interrupt: Interrupt) -> Result<(), CommandError> {
    ctrlc::set_handler(move || {
        if interrupt.raise() {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    })?;
    Ok(())
}

fn exit_of(summary: &Summary) -> Exit {
    if summary.is_clean() {
        return Exit::Ok;
    }
    let Summary {
        mismatches,
        failures,
        damaged_forks,
        ..
    } = summary;
    tell(format_args!(
        "{failures} pairs failed or timed out, in {mismatches} the answers differed, and after \
         {damaged_forks} forks a preview had persisted; pairs.parquet and forks.parquet say where"
    ));
    Exit::Unclean
}
