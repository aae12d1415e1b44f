//! `doctor`: what this machine offers.

use std::fmt::Write;

use super::{CommandError, print};
use crate::backend::provision::{ProvisionError, ServerBinaries, container_client, h2_jar};
use crate::cli::{DoctorArgs, Requirement};
use crate::exit::Exit;

/// Prints what is there and what is missing.
///
/// # Errors
/// What is required and missing, with the command that installs it.
pub fn execute(args: &DoctorArgs) -> Result<Exit, CommandError> {
    let binaries = ServerBinaries::find();
    let mut text = format!("preview-cost {}\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(
        text,
        "PostgreSQL server binaries: {}",
        said(binaries.as_ref().map(found))
    );
    let _ = writeln!(
        text,
        "container client: {}",
        said(container_client().as_ref().map(|name| (*name).to_owned()))
    );
    let h2 = h2_jar();
    let _ = writeln!(
        text,
        "Java and H2: {}",
        said(h2.as_ref().map(|jar| jar.display().to_string()))
    );
    print(&text)?;
    match args.require {
        Some(Requirement::Postgres) => binaries.map(|_| Exit::Ok).map_err(CommandError::Missing),
        Some(Requirement::H2) => h2.map(|_| Exit::Ok).map_err(CommandError::Missing),
        None => Ok(Exit::Ok),
    }
}

fn found(binaries: &ServerBinaries) -> String {
    format!(
        "{} in {} ({})",
        binaries.version,
        binaries.bindir.display(),
        binaries.found_by
    )
}

fn said(found: Result<String, &ProvisionError>) -> String {
    found.unwrap_or_else(|missing| format!("none; {missing}"))
}
