//! Where a model lives, as a manifest says it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::strategy::Ground;

/// A backend, and its name where the manifest has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedBackend {
    /// A word of lower-case letters, digits and hyphens, which stands in the ids of cells; `None` for the only one.
    pub name: Option<String>,
    /// Where the model lives.
    pub backend: Backend,
}

/// Where the model lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// SQLite.
    Sqlite {
        /// What it keeps the model in.
        storage: Storage,
        /// How a client reaches it; `None` in the worker's own process.
        socket: Option<Socket>,
    },
    /// A PostgreSQL server.
    Postgres {
        /// Where the server comes from.
        server: Server,
        /// The schema that the run creates and owns; `None` derives a fresh name from the run.
        schema: Option<String>,
        /// How a client reaches a server of the run's own; at a URL, the URL says it.
        socket: Socket,
    },
    /// H2 behind its own server for PostgreSQL's protocol, in memory, over TCP.
    H2,
}

/// What SQLite keeps a model in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Memory.
    Memory,
    /// A file of the run.
    File {
        /// `PRAGMA journal_mode`.
        journal_mode: JournalMode,
        /// `PRAGMA synchronous`.
        synchronous: Synchronous,
    },
}

/// The kind of socket between a client and a server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Socket {
    /// TCP on the loopback address.
    Tcp,
    /// A Unix socket.
    Unix,
}

impl Socket {
    /// Both, as a manifest names them.
    pub const ALL: [Self; 2] = [Self::Tcp, Self::Unix];

    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Unix => "unix",
        }
    }
}

impl Backend {
    /// What a strategy must know of it.
    pub fn ground(&self) -> Ground {
        match self {
            Self::Sqlite { socket: Some(_), .. } => Ground::SqliteServed,
            Self::Sqlite {
                storage: Storage::Memory,
                ..
            } => Ground::SqliteMemory,
            Self::Sqlite { .. } => Ground::SqliteFile,
            Self::Postgres {
                server: Server::Ephemeral { .. },
                ..
            } => Ground::PostgresOwn,
            Self::Postgres { .. } => Ground::PostgresOther,
            Self::H2 => Ground::H2,
        }
    }

    /// Whether a client reaches it over a socket, so that there is a distance, and a place for a proxy.
    pub fn is_behind_a_socket(&self) -> bool {
        !matches!(self, Self::Sqlite { socket: None, .. })
    }

    /// Whether the process that answers is one of the run's own on this machine, or the worker itself.
    pub fn process_is_ours(&self) -> bool {
        matches!(
            self,
            Self::Sqlite { .. }
                | Self::Postgres {
                    server: Server::Ephemeral { .. },
                    ..
                }
        )
    }

    /// The words that stand for this backend in cells, tables and the derivation of random orders.
    pub fn label(&self) -> String {
        match self {
            Self::Sqlite { storage, socket } => {
                let storage = storage.label();
                socket.map_or(format!("sqlite {storage}"), |socket| {
                    format!("sqlite {storage}, behind {}", socket.in_words())
                })
            }
            Self::Postgres { server, socket, .. } => match server {
                Server::Ephemeral { .. } if *socket == Socket::Unix => {
                    format!("postgres local, over {}", socket.in_words())
                }
                Server::Ephemeral { .. } => "postgres local".to_owned(),
                Server::Container { image } => format!("postgres container {image}"),
                Server::Url(_) => "postgres at url".to_owned(),
            },
            Self::H2 => "h2 memory, over its PostgreSQL protocol".to_owned(),
        }
    }
}

impl Storage {
    fn label(self) -> String {
        match self {
            Self::Memory => "memory".to_owned(),
            Self::File {
                journal_mode,
                synchronous,
            } => format!(
                "file, journal {}, synchronous {}",
                journal_mode.as_str(),
                synchronous.as_str()
            ),
        }
    }
}

impl Socket {
    fn in_words(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Unix => "a Unix socket",
        }
    }
}

/// Where a PostgreSQL server comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// A private server from binaries on this machine, started for the run and removed after it.
    Ephemeral {
        /// Server settings (`-c name=value`) beyond PostgreSQL's defaults.
        settings: Vec<(String, String)>,
    },
    /// A container started for the run and removed after it.
    Container {
        /// The image, e.g. `postgres:16`.
        image: String,
    },
    /// A server that exists already.
    Url(UrlTemplate),
}

/// A connection URL that may name environment variables as `${NAME}`, so that a manifest never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlTemplate(String);

/// An environment variable that a URL names is not set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the URL names the environment variable {0}, which is not set; set it, or name another server with --url")]
pub struct UnsetVariable(pub String);

impl UrlTemplate {
    /// Takes a URL, or text with `${NAME}` in it.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The URL with every `${NAME}` replaced.
    ///
    /// # Errors
    /// [`UnsetVariable`] for the first variable that `lookup` does not know.
    pub fn resolve(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<String, UnsetVariable> {
        let mut url = String::new();
        let mut rest = self.0.as_str();
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, tail)) = after.split_once('}') else {
                break;
            };
            url.push_str(before);
            url.push_str(&lookup(name).ok_or_else(|| UnsetVariable(name.to_owned()))?);
            rest = tail;
        }
        url.push_str(rest);
        Ok(url)
    }
}

/// SQLite's rollback and write-ahead journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are SQLite's own")]
pub enum JournalMode {
    Delete,
    Truncate,
    Persist,
    Memory,
    Wal,
    Off,
}

impl JournalMode {
    /// Every mode, as a manifest names it.
    pub const ALL: [Self; 6] = [
        Self::Delete,
        Self::Truncate,
        Self::Persist,
        Self::Memory,
        Self::Wal,
        Self::Off,
    ];

    /// SQLite's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Truncate => "truncate",
            Self::Persist => "persist",
            Self::Memory => "memory",
            Self::Wal => "wal",
            Self::Off => "off",
        }
    }
}

/// SQLite's promise about flushing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are SQLite's own")]
pub enum Synchronous {
    Off,
    Normal,
    Full,
    Extra,
}

impl Synchronous {
    /// Every level, as a manifest names it.
    pub const ALL: [Self; 4] = [Self::Off, Self::Normal, Self::Full, Self::Extra];

    /// SQLite's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Normal => "normal",
            Self::Full => "full",
            Self::Extra => "extra",
        }
    }
}
