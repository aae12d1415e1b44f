//! `generate`: what a packager installs beside the program, and the schema of what it prints.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use super::report::failed;
use super::{CommandError, print};
use crate::cli::{Cli, GenerateArgs, Generated};
use crate::exit::Exit;
use crate::report;

/// Prints or writes what was asked for.
///
/// # Errors
/// What can't be written.
pub fn execute(args: &GenerateArgs) -> Result<Exit, CommandError> {
    match &args.what {
        Generated::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), env!("CARGO_PKG_NAME"), &mut script);
            print(&String::from_utf8_lossy(&script))?;
        }
        Generated::Man { out } => manual(out)?,
        Generated::Schema => print(&report::json_schema())?,
    }
    Ok(Exit::Ok)
}

fn manual(out: &Path) -> Result<(), CommandError> {
    fs::create_dir_all(out)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), out))
        .map_err(|source| failed("write", out, source))
}
