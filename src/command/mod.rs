//! The subcommands, one file each, reading as their pipeline.

pub mod analyze;
pub mod cite;
pub mod clean;
pub mod compare;
pub mod doctor;
mod error;
pub mod generate;
pub mod load;
pub mod pack;
mod packed;
pub mod plan;
mod progress;
pub mod proxy;
pub mod recompute;
pub mod recover;
pub mod register;
pub mod report;
pub mod run;
pub mod strategies;
pub mod verify;

use std::fmt::Display;
use std::io::{self, Write};

pub use error::CommandError;

/// Writes to standard output. A reader that has gone away has seen enough.
fn print(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CommandError::Output(error)),
        _ => Ok(()),
    }
}

/// Writes a message to standard error. Where nobody reads it, the work and the exit code still count.
pub fn tell(message: impl Display) {
    let _ = writeln!(io::stderr(), "preview-cost: {message}");
}
