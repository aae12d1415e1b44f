//! What passes between supervisor and warden: one JSON line a message, in both directions.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::ProvisionError;
use crate::environment::Fact;

/// What to provision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A private PostgreSQL server from the binaries of this machine: own data directory, own port on 127.0.0.1.
    Ephemeral {
        /// Server settings (name, value) in addition to PostgreSQL's defaults; later ones win.
        settings: Vec<(String, String)>,
    },
    /// The same on a copy of a prepared data directory, with PostgreSQL's defaults.
    Instance {
        /// The data directory; no server runs in it.
        prepared: PathBuf,
        /// How it is copied.
        by: CopyBy,
    },
    /// H2 by its own server for PostgreSQL's protocol, in memory.
    H2,
    /// A container of an image with the official `postgres` image's interface.
    Container {
        /// The image's reference, e.g. `postgres:16`.
        image: String,
    },
}

/// How a data directory is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyBy {
    /// As `cp` does it.
    File,
    /// Copy-on-write: the copy shares its blocks until they are written. It fails where the file system can't.
    Reflink,
}

impl CopyBy {
    /// The options that ask `cp` for it.
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            Self::File => &["-R"],
            Self::Reflink => &["-R", "--reflink=always"],
        }
    }
}

/// What the warden says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Message {
    /// It has begun something that takes a while.
    Stage(String),
    /// The server takes connections.
    Ready(Ready),
    /// Provisioning or clean-up failed.
    Failed(ProvisionError),
    /// The server is gone, and so is everything that it left.
    Stopped,
}

/// How to reach the server, and what is known about it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Ready {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub dbname: String,
    /// The directory of its Unix socket on this machine, where it has one.
    pub socket_directory: Option<String>,
    pub facts: Vec<Fact>,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("dbname", &self.dbname)
            .field("socket_directory", &self.socket_directory)
            .field("facts", &self.facts)
            .finish()
    }
}
