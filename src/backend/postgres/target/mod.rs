//! Which PostgreSQL server to talk to, and how: parsed once, shared by the measured and the control connection.
//!
//! A target is complete: whatever the environment contributes (the operating system's user, `PGPASSWORD`, the password
//! file, a root certificate in the home directory) is looked up while parsing, from [`Surroundings`] that the caller
//! hands in. Two things differ from libpq on purpose. The host must be named, because the distance to the server is
//! part of the result; and parameters that this program does not honour are errors, never ignored.

mod conninfo;
mod draft;
mod pgpass;
mod secret;
mod surroundings;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use secret::Secret;
pub use surroundings::Surroundings;

use conninfo::Parameter;
use draft::Draft;

const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const SUPPORTED: &str =
    "host, port, user, password, dbname, sslmode, sslrootcert, connect_timeout, options, passfile, channel_binding";

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    /// A host name or an IP address (an IPv6 address without brackets).
    Name(String),
    /// The directory of a Unix socket, an absolute path.
    Socket(PathBuf),
}

/// How much TLS protects a connection over TCP, in libpq's words. Unix sockets never use TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it; the certificate is not checked.
    Prefer,
    /// TLS or nothing; the certificate is checked only if a root certificate is named, as for [`Self::VerifyCa`].
    Require,
    /// TLS, and the certificate must chain to a trusted root.
    VerifyCa,
    /// TLS, the certificate must chain to a trusted root and carry the host's name.
    VerifyFull,
}

impl SslMode {
    /// The mode as it is written in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [
            Self::Disable,
            Self::Prefer,
            Self::Require,
            Self::VerifyCa,
            Self::VerifyFull,
        ]
        .into_iter()
        .find(|mode| mode.as_str() == text)
    }
}

/// Which root certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RootCert {
    /// Those of the operating system.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// A PostgreSQL server, a database on it, and how to get in.
///
/// Serializing it writes the password as it is, so that a supervisor can hand the target to a worker through a private
/// pipe. Never serialize it to a file, an argument or a message: `Debug` and `Display` are there for these, and redact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Where the server listens.
    pub host: Host,
    /// Its port; for a Unix socket, the number in the socket's name.
    pub port: u16,
    /// The role.
    pub user: String,
    /// The role's password, if one is known.
    pub password: Option<Secret>,
    /// The database.
    pub dbname: String,
    /// How much TLS protects the connection.
    pub sslmode: SslMode,
    /// Which root certificates are trusted; `None` where no certificate is checked, or where the system's are meant.
    pub sslrootcert: Option<RootCert>,
    /// How long to wait for a connection and for each answer while the session starts.
    pub connect_timeout: Duration,
    /// Settings for the server, in `postgres -c` form.
    pub options: Option<String>,
    /// A password file that was ignored, because others than its owner may read it.
    pub ignored_passfile: Option<PathBuf>,
}

/// Why a connection string names no target. No message repeats a value: any value might hold a part of a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The string follows neither syntax.
    #[error("connection string is malformed: {0}")]
    Syntax(&'static str),
    /// A parameter that is not supported.
    #[error("connection parameter {name} is not supported; supported are {SUPPORTED}")]
    Unknown {
        /// The parameter's name.
        name: String,
    },
    /// A parameter whose value is not allowed.
    #[error("connection parameter {name} must be {expected}")]
    BadValue {
        /// The parameter's name.
        name: &'static str,
        /// What would be right.
        expected: &'static str,
    },
    /// Something that the target needs and neither string nor environment names.
    #[error("connection string names no {what}; {advice}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// What to do.
        advice: &'static str,
    },
}

impl Target {
    /// Parses a `postgres://` or `postgresql://` URL, or a `key=value` string, and completes it from `surroundings`.
    ///
    /// # Errors
    ///
    /// [`TargetError`] names the parameter at fault.
    pub fn parse(text: &str, surroundings: &Surroundings) -> Result<Self, TargetError> {
        let mut draft = Draft::default();
        for Parameter { name, value } in conninfo::parameters(text)? {
            draft.set(&name, value)?;
        }
        draft.complete(surroundings)
    }

    /// The passwords that a connection string spells out, decoded, for those who must refuse it.
    ///
    /// # Errors
    ///
    /// [`TargetError::Syntax`].
    pub fn passwords_in(text: &str) -> Result<Vec<String>, TargetError> {
        let parameters = conninfo::parameters(text)?.into_iter();
        Ok(parameters
            .filter(|Parameter { name, .. }| name == "password")
            .map(|Parameter { value, .. }| value)
            .collect())
    }

    /// A server on this machine's loopback address, without TLS, as one that was started for the run.
    pub fn loopback(port: u16, user: &str, password: Option<Secret>, dbname: &str) -> Self {
        Self {
            host: Host::Name("127.0.0.1".to_owned()),
            port,
            user: user.to_owned(),
            password,
            dbname: dbname.to_owned(),
            sslmode: SslMode::Disable,
            sslrootcert: None,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            options: None,
            ignored_passfile: None,
        }
    }

    /// The same server by way of its Unix socket in `directory`.
    #[must_use]
    pub fn by_socket(self, directory: &Path) -> Self {
        Self {
            host: Host::Socket(directory.to_owned()),
            ..self
        }
    }

    /// `host:port`, or the socket's path. Holds neither user nor password.
    pub fn address(&self) -> String {
        match &self.host {
            Host::Name(name) => format!("{}:{}", bracketed(name), self.port),
            Host::Socket(_) => self
                .socket_path()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
        }
    }

    /// The path of the Unix socket, if the target is one.
    pub fn socket_path(&self) -> Option<PathBuf> {
        match &self.host {
            Host::Name(_) => None,
            Host::Socket(directory) => Some(directory.join(format!(".s.PGSQL.{}", self.port))),
        }
    }
}

impl fmt::Display for Target {
    /// A URL that leads to the same place, without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, dbname) = (conninfo::encode(&self.user), conninfo::encode(&self.dbname));
        match &self.host {
            Host::Name(name) => write!(f, "postgres://{user}@{}:{}/{dbname}?", bracketed(name), self.port)?,
            Host::Socket(directory) => write!(
                f,
                "postgres://{user}@/{dbname}?host={}&port={}&",
                conninfo::encode(&directory.to_string_lossy()),
                self.port
            )?,
        }
        write!(f, "sslmode={}", self.sslmode.as_str())?;
        match &self.sslrootcert {
            None => Ok(()),
            Some(RootCert::System) => f.write_str("&sslrootcert=system"),
            Some(RootCert::File(path)) => write!(f, "&sslrootcert={}", conninfo::encode(&path.to_string_lossy())),
        }
    }
}

fn bracketed(name: &str) -> String {
    if name.contains(':') {
        format!("[{name}]")
    } else {
        name.to_owned()
    }
}
