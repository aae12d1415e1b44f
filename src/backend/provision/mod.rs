//! Servers that a run starts for itself and removes afterwards, whatever becomes of the run.
//!
//! A measured server must not outlive its run: a forgotten PostgreSQL holds memory, a port and a few dozen
//! megabytes, and disturbs the next measurement. Destructors cannot promise that, because nothing runs them after
//! `kill -9`. So the server belongs to a **warden**: this same program, started again as the hidden subcommand
//! `warden` in a process group of its own, with pipes as standard input and output.
//!
//! ```text
//! supervisor ── one Order as a JSON line ──► warden ── starts ──► postgres, H2, or a container
//!            ◄── stages, then Ready ───────
//!     (runs)      the pipe stays open           (waits)
//!     gone   ── end of file ──────────────►     stops the server, removes its traces, exits
//! ```
//!
//! The kernel closes the pipe however the supervisor ends: a return, a panic, Ctrl-C, `kill -9`. The group of its
//! own keeps a terminal's Ctrl-C from the warden and the server, so that the supervisor can still tidy up in the
//! database. SIGINT, SIGTERM and SIGHUP sent to the warden itself clean up too.
//!
//! **What it cannot survive** is `kill -9` of the warden itself: then the server is an orphan. An ephemeral server
//! is found by its directory (`preview-cost-pg-*` in the directory for temporary files), H2 likewise
//! (`preview-cost-h2-*`), a container by its label (`docker ps --filter label=preview-cost`).
//!
//! No secret stands in an argument list or in a file that others may read: orders and answers pass through the pipes, a
//! container learns its password from the environment of the engine's command line client, and H2 has its key from a
//! file of this user's alone.

mod account;
mod binaries;
mod container;
mod engine;
mod ephemeral;
mod error;
mod h2;
mod handle;
mod java;
mod leash;
mod prepared;
mod probe;
mod process;
mod removal;
pub mod warden;
mod wire;

pub use binaries::{Search, ServerBinaries};
pub(in crate::backend) use container::random_hex;
pub use error::ProvisionError;
pub use handle::Provisioned;
pub use java::h2_jar;
pub use prepared::Prepared;
pub use wire::{CopyBy, Order};

/// The scope of every fact that this room reports.
const SCOPE: &str = "provision";

/// The superuser of every server that is started here, and also the database that it has.
const SUPERUSER: &str = "postgres";

/// Removes a directory that was made for a server of this program. One that is gone already is as good.
///
/// # Errors
/// [`ProvisionError::CleanUp`], also for a directory that is not called as these are.
pub fn remove_directory(path: &std::path::Path) -> Result<(), ProvisionError> {
    let name = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    if !name.starts_with(account::PREFIX) {
        return Err(ProvisionError::CleanUp {
            detail: format!("{} was not made by preview-cost, and is left alone", path.display()),
            advice: "look at it by hand".to_owned(),
        });
    }
    removal::remove(path)
}

/// Checks that the directory in which servers are made is on a file system that copies files by sharing their blocks.
///
/// # Errors
/// [`ProvisionError::NoReflink`], or why no server can be made there at all.
pub fn require_reflink() -> Result<(), ProvisionError> {
    ephemeral::Ephemeral::require_reflink()
}

/// Which container client is on PATH: `docker`, else `podman`. Whether its engine answers is seen when it is needed.
///
/// # Errors
/// [`ProvisionError::NoEngine`].
pub fn container_client() -> Result<&'static str, ProvisionError> {
    engine::Engine::find().map(|engine| engine.name)
}
