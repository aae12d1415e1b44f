//! Why there is no path.

use std::io;

use thiserror::Error;

/// Why there is no path.
#[derive(Debug, Error)]
pub enum PathError {
    /// An address that can't be understood.
    #[error(
        "{text:?} is no address: write HOST:PORT, e.g. 127.0.0.1:6432, or the path of a Unix socket, e.g. /tmp/.s.PGSQL.6432"
    )]
    Address {
        /// What was given.
        text: String,
    },
    /// A duration that can't be understood.
    #[error("{text:?} is no delay: write a number and a unit, e.g. 250us, 1ms or 0")]
    Delay {
        /// What was given.
        text: String,
    },
    /// It can't listen there.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody answers at the other end.
    #[error("cannot reach {address}: {source}")]
    Reach {
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The proxy's process failed.
    #[error("the proxy in the path failed: {0}")]
    Child(String),
}
