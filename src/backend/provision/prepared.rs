//! A data directory that holds a model and no server: what throwaway servers are copied from.

use std::path::{Path, PathBuf};

use super::ephemeral::Ephemeral;
use super::error::ProvisionError;

/// The directory; dropping it removes it. After a `kill -9` it is left, so its path is told before anything is in it.
#[derive(Debug)]
pub struct Prepared(Ephemeral);

impl Prepared {
    /// Creates a cluster with the binaries of this machine and runs SQL in it, in single-user mode: statements end in a
    /// semicolon and an empty line. `note` hears of the directory while it is still empty.
    ///
    /// # Errors
    /// Why there is no such directory; then it is gone.
    pub fn make(sql: &str, note: &mut dyn FnMut(&Path) -> Result<(), ProvisionError>) -> Result<Self, ProvisionError> {
        Ephemeral::prepare(sql, note).map(Self)
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.0.data()
    }
}
