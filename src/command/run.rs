//! `run`: manifest, plan, measurement, archive, figures.

use std::env;
use std::path::Path;

use super::progress::Progress;
use super::{CommandError, load, print, tell};
use crate::archive::{Ledger, Standing, evidence_beside};
use crate::cli::RunArgs;
use crate::exit::Exit;
use crate::manifest::{Backend, Manifest, NamedBackend, Server, UrlTemplate};
use crate::plan::Plan;
use crate::report::{self, Dialect};
use crate::run::{self, Interrupt, Summary, Supervisor, Wish};

/// Measures an experiment and prints its figures.
///
/// # Errors
/// What is wrong with the manifest, the backend or the run.
pub fn execute(args: &RunArgs) -> Result<Exit, CommandError> {
    let path = match (&args.resume, &args.manifest) {
        (Some(run), _) => run.join("manifest.toml"),
        (None, manifest) => manifest.clone().unwrap_or_default(),
    };
    let read = Manifest::read(&path)?;
    let manifest = at_url(read.clone(), &path, args)?;
    let plan = Plan::of(&manifest)?;
    let exe = env::current_exe().map_err(CommandError::Executable)?;
    let mut supervisor = Supervisor::new(&manifest, &plan, &exe);
    if args.resume.is_none() {
        let evidence = evidence_beside(&path, &manifest.source.sha256)?;
        let standing = standing_of(&manifest, &path, other_server(&read, args), args)?;
        supervisor = supervisor.under(standing, evidence);
    }
    on_signals(supervisor.interrupt())?;
    let pairs = u64::from(manifest.measure.warmup) + u64::from(manifest.measure.previews);
    let mut progress = Progress::new(pairs * plan.schedule().len() as u64);
    let summary = match &args.resume {
        // How it stands to what was registered was settled when it started.
        Some(run) => supervisor.resume(run, &mut progress)?,
        None => supervisor.run(&args.results, &mut progress)?,
    };
    progress.done(&summary.directory);
    let analysis = load::figures_of(&summary.directory, false)?;
    print(&report::tables(&analysis, Dialect::Terminal))?;
    Ok(exit_of(&summary))
}

/// How the run stands to what was registered; what is exploratory is said before anything is measured.
fn standing_of(manifest: &Manifest, path: &Path, other_server: bool, args: &RunArgs) -> Result<Standing, CommandError> {
    let history = Ledger::of(&args.results).read()?;
    let wish = Wish {
        manifest: path,
        results: &args.results,
        exploratory: args.exploratory,
        other_server,
    };
    let standing = run::standing(manifest, &history, wish)?;
    if let Standing::Exploratory { reason } = &standing {
        tell(format_args!(
            "exploratory: {reason}, so this run confirms no claim; claims are fixed before a run with: preview-cost register {}",
            path.display()
        ));
    }
    Ok(standing)
}

/// Whether `--url` puts a server in the place of one that the manifest provides in another way.
fn other_server(read: &Manifest, args: &RunArgs) -> bool {
    let is_at_url = |named: &NamedBackend| {
        matches!(
            named.backend,
            Backend::Postgres {
                server: Server::Url(_),
                ..
            }
        )
    };
    args.url.is_some() && !read.backends.iter().any(is_at_url)
}

/// The manifest with its server replaced by the one of `--url`.
fn at_url(mut manifest: Manifest, path: &Path, args: &RunArgs) -> Result<Manifest, CommandError> {
    let Some(url) = &args.url else { return Ok(manifest) };
    let one = match manifest.backends.as_mut_slice() {
        [one] => Some(&mut one.backend),
        _ => None,
    };
    let Some(Backend::Postgres { server, .. }) = one else {
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
