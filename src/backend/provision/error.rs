//! What can go wrong between asking for a server and being rid of it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a server could not be provisioned or removed. It crosses the pipe from the warden as it is, so that the
/// supervisor can choose an exit code by its kind.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ProvisionError {
    /// No directory with both `initdb` and `postgres` that work.
    #[error("no PostgreSQL server binaries: no initdb and postgres in {searched}; {advice}")]
    BinariesMissing {
        /// Where was searched, in words.
        searched: String,
        /// The one command to type on this system.
        advice: String,
    },
    /// H2, or the Java that it needs, is not on this machine.
    #[error("H2 cannot be started: {what}; {advice}")]
    H2Missing {
        /// What is missing.
        what: String,
        /// The one command to type on this system.
        advice: String,
    },
    /// Neither `docker` nor `podman` is on PATH.
    #[error(
        "no container engine: neither docker nor podman is on PATH; install one of them, or measure a server of \
         your own with --url, or run the experiment pg-local, which needs no engine"
    )]
    NoEngine,
    /// The command line client is there, but no engine answers it.
    #[error(
        "{engine} is installed, but its engine does not answer ({detail}); start the engine or get access to it, or \
         measure a server of your own with --url, or run the experiment pg-local, which needs no engine"
    )]
    EngineUnreachable {
        /// The client that was asked: `docker` or `podman`.
        engine: String,
        /// What the client said.
        detail: String,
    },
    /// The image is neither here nor to be had.
    #[error(
        "image {image} is not here and could not be pulled ({detail}); check its name and the network, or load it \
         by hand"
    )]
    ImageUnavailable {
        /// The image as it was asked for.
        image: String,
        /// What the engine said.
        detail: String,
    },
    /// The order asks for something that this room keeps for itself.
    #[error("server setting {name:?} cannot be given: {reason}")]
    SettingRefused {
        /// The setting's name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The directory in which servers are made can't share blocks between files.
    #[error(
        "{directory} is on {file_system}, which does not copy files by sharing their blocks ({detail}); set TMPDIR to a \
         directory on Btrfs, or on XFS with reflink=1"
    )]
    NoReflink {
        /// The directory.
        directory: String,
        /// The file system's type.
        file_system: String,
        /// What `cp` said.
        detail: String,
    },
    /// The server was started and did not become ready.
    #[error("{what} failed to start: {detail}{}", log_lines(log))]
    StartFailed {
        /// What was started: `initdb`, `postgres`, `container postgres:16`, …
        what: String,
        /// What was seen from outside.
        detail: String,
        /// The last lines of the server's own log; may be empty.
        log: String,
    },
    /// The server ended by itself while the run still needed it, or could not shut down in order.
    #[error("{what} did not last to the end of the run: {detail}{}", log_lines(log))]
    ServerDied {
        /// What had been started.
        what: String,
        /// How it ended.
        detail: String,
        /// The last lines of the server's own log; may be empty.
        log: String,
    },
    /// The server, its directory or its container could not be removed.
    #[error("clean-up was not complete: {detail}; {advice}")]
    CleanUp {
        /// What is left.
        detail: String,
        /// How to remove it by hand.
        advice: String,
    },
    /// The warden did not do its part: it could not be started, did not answer in time, or answered nonsense.
    #[error("the warden process failed: {detail}")]
    Warden {
        /// What was seen.
        detail: String,
    },
    /// The run was told to end before the server was ready.
    #[error("interrupted before the server was ready")]
    Interrupted,
    /// The operating system refused something.
    #[error("cannot {action}: {detail}")]
    Io {
        /// What was tried, including the path.
        action: String,
        /// What the system said.
        detail: String,
    },
}

impl ProvisionError {
    /// An error of the operating system; `action` continues "cannot …".
    pub(in crate::backend) fn io(action: impl Into<String>, error: &std::io::Error) -> Self {
        Self::Io {
            action: action.into(),
            detail: error.to_string(),
        }
    }
}

/// A log's lines as they stand at the end of a message.
fn log_lines(log: &str) -> String {
    if log.trim().is_empty() {
        String::new()
    } else {
        format!("\nlast lines of its log:\n{}", log.trim_end())
    }
}
