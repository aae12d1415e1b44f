//! `recompute`: scripts that give a run's figures without this program.

use std::fs;
use std::path::Path;

use super::load::with_sources;
use super::report::is_within;
use super::{CommandError, print};
use crate::cli::RecomputeArgs;
use crate::exit::Exit;
use crate::report::recompute;

/// Writes `recompute.sql` and `recompute.py` for a run, and says where.
///
/// # Errors
/// What is wrong with the archive, or a file that can't be written.
pub fn execute(args: &RecomputeArgs) -> Result<Exit, CommandError> {
    let (analysis, sources) = with_sources(&args.run, false)?;
    if sources.is_empty() {
        return Err(CommandError::NothingToRecompute { run: args.run.clone() });
    }
    let is_within = is_within(&args.out.join("recompute.sql"), &args.run).map_err(|source| CommandError::File {
        action: "read",
        path: args.run.clone(),
        source,
    })?;
    if is_within {
        return Err(CommandError::WithinRun { path: args.out.clone() });
    }
    let fault = |path: &Path| {
        let path = path.to_owned();
        |source| CommandError::File {
            action: "write",
            path,
            source,
        }
    };
    fs::create_dir_all(&args.out).map_err(fault(&args.out))?;
    for (name, text) in [
        ("recompute.sql", recompute::sql(&analysis.facts, &sources)),
        ("recompute.py", recompute::python(&analysis.facts, &sources)),
    ] {
        let path = args.out.join(name);
        fs::write(&path, text).map_err(fault(&path))?;
        print(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Ok)
}
