//! The subcommands, one file each, reading as their pipeline.

pub mod analyze;
pub mod doctor;
mod error;
pub mod plan;
mod progress;
pub mod recompute;
pub mod run;

use std::io::{self, Write};

pub use error::CommandError;

/// Writes to standard output; a reader that has gone away is the caller's matter.
fn print(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(CommandError::Output)
}
