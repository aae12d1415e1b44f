//! `clean`: what killed runs have left, and its removal when asked for.

use std::fmt::Write;

use super::{CommandError, print};
use crate::cli::CleanArgs;
use crate::exit::Exit;
use crate::run::leftovers;

/// Lists what is left; with `--yes`, removes it.
///
/// # Errors
/// What can't be read or removed.
pub fn execute(args: &CleanArgs) -> Result<Exit, CommandError> {
    let left = leftovers(&args.results)?;
    if left.is_empty() {
        print(&format!("No run under {} has left anything.\n", args.results.display()))?;
    }
    for leftover in left {
        let run = leftover.run.display();
        if let Some(process) = leftover.alive {
            print(&format!(
                "{run} is still run by process {process}, and is left alone.\n"
            ))?;
            continue;
        }
        let mut text = format!("{run} was ended before it could clean up:\n");
        for what in leftover.told() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  {what}");
        }
        if args.yes {
            leftover.remove(args.url.as_deref())?;
            text.push_str("Removed, where it was still there.\n");
        } else {
            text.push_str("Nothing was removed; --yes removes it.\n");
        }
        print(&text)?;
    }
    Ok(Exit::Ok)
}
