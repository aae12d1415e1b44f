//! What can go wrong between this program and a PostgreSQL server.
//!
//! Each message says what is wrong, where, and what to do. None holds a password: addresses are built by
//! [`Target::address`](super::target::Target::address), and a server never repeats a password.

use std::fmt;
use std::io;
use std::time::Duration;

use thiserror::Error;

use super::target::Target;

/// An error message of the server, as it sent it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerError {
    /// The severity, in English: `ERROR`, `FATAL`, `PANIC`.
    pub severity: String,
    /// The SQLSTATE, five characters, e.g. `23505`.
    pub code: String,
    /// The primary message.
    pub message: String,
    /// The server's detail, if it gave one. It may quote the row at fault.
    pub detail: Option<String>,
    /// The server's hint, if it gave one.
    pub hint: Option<String>,
    /// How many commands of the same flight had completed before this one failed.
    pub completed: u32,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code)?;
        if let Some(detail) = &self.detail {
            write!(f, "; detail: {detail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; hint: {hint}")?;
        }
        if self.completed > 0 {
            write!(f, "; after {} completed commands of the flight", self.completed)?;
        }
        Ok(())
    }
}

/// A failure of a session, measured or control.
#[derive(Debug, Error)]
pub enum PgError {
    /// No connection could be made.
    #[error("cannot reach PostgreSQL at {address}: {cause}; check that the server runs and listens there")]
    Connect {
        /// Host and port, or the socket's path.
        address: String,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The server was reached and turned the session away: wrong password, unknown database, too many clients, ….
    #[error("PostgreSQL at {address} refused the session: {server}; {advice}")]
    Refused {
        /// Host and port, or the socket's path.
        address: String,
        /// What the server said.
        server: Box<ServerError>,
        /// What to do about it.
        advice: &'static str,
    },
    /// The server asked for something to authenticate with that this program does not have or does not speak.
    #[error("cannot authenticate to PostgreSQL at {address}: {reason}")]
    Authentication {
        /// Host and port, or the socket's path.
        address: String,
        /// What was asked for and what to do.
        reason: String,
    },
    /// TLS could not be set up as the target demands.
    #[error("no TLS with PostgreSQL at {address}: {reason}")]
    Tls {
        /// Host and port, or the socket's path.
        address: String,
        /// What was wrong and what to do.
        reason: String,
    },
    /// The server was silent, or took no bytes, for the session's whole deadline.
    #[error("timeout: the server did not answer within {} s", .after.as_secs_f64())]
    Timeout {
        /// The deadline.
        after: Duration,
    },
    /// The connection is gone.
    #[error("connection lost: {cause}{}", said(.server.as_deref()))]
    Lost {
        /// What the operating system said.
        cause: io::Error,
        /// The last error that the server sent before, e.g. 57P01 when an administrator ended the session.
        server: Option<Box<ServerError>>,
    },
    /// The server refused a command; the session lives on.
    #[error("server error: {0}")]
    Server(Box<ServerError>),
    /// What came is not what the protocol, or the caller, says should come.
    #[error("protocol violation: {0}")]
    Protocol(String),
    /// The server is older than this program supports.
    #[error("PostgreSQL {found} is too old: version 12 or newer is needed")]
    TooOld {
        /// `server_version_num`, e.g. 110022.
        found: i32,
    },
    /// The server takes no writes.
    #[error("the server takes no writes: {reason}; name the primary server, or a role and database that may write")]
    ReadOnly {
        /// Why it takes none.
        reason: &'static str,
    },
    /// A schema of that name exists already; nothing was touched.
    #[error(
        "schema {schema} exists already in this database; nothing was touched: choose another name, or remove it by hand"
    )]
    SchemaTaken {
        /// The schema's name.
        schema: String,
    },
    /// The schema does not carry this program's mark; nothing was touched.
    #[error("schema {schema} was not made by preview-cost, so it is left alone: choose another name")]
    SchemaForeign {
        /// The schema's name.
        schema: String,
    },
    /// The schema holds things that this program did not make; they were left.
    #[error("schema {schema} is left in place, because something else lives in it: {detail}")]
    SchemaNotEmpty {
        /// The schema's name.
        schema: String,
        /// What the server found in it.
        detail: String,
    },
    /// The role lacks a privilege.
    #[error("role {role} may not {action}: {server}")]
    Privilege {
        /// The role of the session.
        role: String,
        /// What was tried, and the grant that would allow it.
        action: &'static str,
        /// What the server said.
        server: Box<ServerError>,
    },
    /// A name that PostgreSQL would cut or refuse.
    #[error("{name:?} cannot name a schema: a name has 1 to 63 bytes and no zero byte")]
    Name {
        /// The name as given.
        name: String,
    },
}

impl PgError {
    /// Whether the session is gone, so that only a new one can help.
    pub fn is_connection_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// The server's message, if one is part of this error.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Refused { server, .. } | Self::Privilege { server, .. } | Self::Server(server) => Some(server),
            Self::Lost { server, .. } => server.as_deref(),
            _ => None,
        }
    }

    /// The SQLSTATE, if the server sent one.
    pub fn sqlstate(&self) -> Option<&str> {
        self.server().map(|server| server.code.as_str())
    }

    /// An error of the server during the session's start, with advice.
    pub(super) fn refused(address: String, server: Box<ServerError>) -> Self {
        let advice = match server.code.as_str() {
            "28P01" => "check the user and the password (in the URL, PGPASSWORD or the password file)",
            "28000" => "check the role, and that pg_hba.conf lets it in from here with this sslmode",
            "3D000" => "name an existing database",
            "53300" => "close other clients or raise max_connections",
            "57P03" => "wait until the server has started",
            _ => "see the server's log for more",
        };
        Self::Refused {
            address,
            server,
            advice,
        }
    }

    /// The server wants a password and the target has none.
    pub(super) fn no_password(target: &Target) -> Self {
        let ignored = target.ignored_passfile.as_ref().map_or_else(String::new, |path| {
            format!(
                " ({} was ignored, because others may read it: chmod 600 it)",
                path.display()
            )
        });
        let reason = format!(
            "the server asks for the password of {}, and none is known; set PGPASSWORD or use a password file{ignored}",
            target.user
        );
        Self::Authentication {
            address: target.address(),
            reason,
        }
    }
}

fn said(server: Option<&ServerError>) -> String {
    server.map_or_else(String::new, |server| format!("; the server's last words: {server}"))
}
