//! What an experiment is: a TOML file, checked whole before anything happens.
//!
//! Reading a manifest touches nothing but the file itself. Every fault is reported at once, each with line and key, so
//! that an author mends a manifest in one go. What leaves this room is checked: later rooms cannot meet zero forks, an
//! unknown strategy or a password.

mod check;
mod fault;
mod registration;
mod wire;

use std::fmt;
use std::path::Path;

use thiserror::Error;

pub use check::{delay_in_ids, limits};
pub use fault::{Fault, Faults};
pub use registration::{Claim, Comparison, Novelty, Registration, Threshold};

use crate::digest;
use crate::strategy::{Ground, StrategyName};
use crate::units::{Nanos, Seed};
use crate::workload::Shape;

/// A checked experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Short name: lower-case letters, digits and hyphens; part of a run's directory name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What the experiment answers.
    pub question: String,
    /// Prose beside the numbers; may be empty.
    pub analysis: String,
    /// Where the model lives: one place, or several that are points of the grid; never none.
    pub backends: Vec<NamedBackend>,
    /// Sizes and sides.
    pub grid: Grid,
    /// How it is measured.
    pub measure: Measure,
    /// How it is told.
    pub figures: FigureSettings,
    /// What is written down beside the claims; `None` where the manifest registers nothing.
    pub registration: Option<Registration>,
    /// What it claims; empty without a registration.
    pub claims: Vec<Claim>,
    /// The file as it was written.
    pub source: ManifestSource,
}

/// The manifest's bytes and their digest.
#[derive(Clone, PartialEq, Eq)]
pub struct ManifestSource {
    /// The file, verbatim.
    pub text: String,
    /// SHA-256 of the text, lower-case hexadecimal.
    pub sha256: String,
}

impl fmt::Debug for ManifestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManifestSource")
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The grid: every number of plans with every backend, schema, delay and subject is a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Sizes of the model, ascending, each once.
    pub plans: Vec<u32>,
    /// Names of the backends, in the manifest's order; empty where there is one without a name.
    pub backends: Vec<String>,
    /// Shapes of the model's table, in the manifest's order, each once.
    pub schemas: Vec<Shape>,
    /// What a proxy adds to each round trip, ascending, each once; empty where no proxy stands in the path.
    pub delays: Vec<Nanos>,
    /// The strategies that are priced.
    pub subjects: Vec<StrategyName>,
    /// The strategy that they are priced against.
    pub baseline: StrategyName,
    /// Whether each subject is also measured against itself, which gives the noise floor.
    pub control: bool,
}

/// A point of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Size of the model.
    pub plans: u32,
    /// Place in the manifest's list of backends.
    pub backend: usize,
    /// Shape of the model's table.
    pub shape: Shape,
    /// What the proxy adds to each round trip; `None` without a proxy.
    pub delay: Option<Nanos>,
    /// The strategy that is priced.
    pub subject: StrategyName,
}

/// How each fork measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// Horizon of the projection.
    pub months: u32,
    /// Measured pairs a fork.
    pub previews: u32,
    /// Pairs before the measured ones; archived, not counted in figures.
    pub warmup: u32,
    /// Fresh processes a cell.
    pub forks: u32,
    /// Every random order derives from it.
    pub seed: Seed,
    /// How the order within a pair is decided.
    pub order: PairOrder,
    /// Longest that one answer of the backend may take.
    pub timeout: Nanos,
}

/// How the order within a pair is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairOrder {
    /// Exactly half the pairs each way, randomly permuted.
    Balanced,
    /// A fair coin a pair, as in the study.
    Coin,
}

impl PairOrder {
    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::Coin => "coin",
        }
    }
}

/// How the figures are told.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureSettings {
    /// What the interaction already waits; a difference is also told as a share of it.
    pub debounce: Nanos,
    /// Resamples of the pooled bootstrap when the study's own procedure is asked for.
    pub resamples: u32,
    /// Differences within ± this margin count as equivalent.
    pub margin: Nanos,
    /// Penalties for which the distance is asked that would make them.
    pub distance_for: Vec<Nanos>,
    /// Id of the figure that the experiment is about.
    pub primary: String,
}

/// Why there is no manifest.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// The file could not be read.
    #[error("cannot read the manifest {path}: {source}; `preview-cost plan --help` shows an example")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file was read and has faults.
    #[error("{0}")]
    Faulty(Faults),
}

impl Manifest {
    /// Reads and checks the manifest at `path`.
    ///
    /// # Errors
    /// [`ManifestError::Unreadable`], or [`ManifestError::Faulty`] with every fault of the file.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let shown = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| ManifestError::Unreadable {
            path: shown.clone(),
            source,
        })?;
        let text = String::from_utf8(bytes).map_err(|_| ManifestError::Unreadable {
            path: shown.clone(),
            source: std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8 text"),
        })?;
        Self::parse(&text, &shown).map_err(ManifestError::Faulty)
    }

    /// Checks a manifest's text; `shown` is the name that stands before each fault.
    ///
    /// # Errors
    /// Every fault of the text.
    pub fn parse(text: &str, shown: &str) -> Result<Self, Faults> {
        wire::read(text)
            .and_then(|(wire, reader)| check::check(wire, reader))
            .map_err(|faults| Faults::new(shown, faults))
    }
}

impl ManifestSource {
    /// Keeps a text with its digest.
    pub fn new(text: &str) -> Self {
        let sha256 = digest::of_bytes(text);
        Self {
            text: text.to_owned(),
            sha256,
        }
    }

    /// The first eight digits of the digest, which stand in a run's directory name.
    pub fn short(&self) -> &str {
        &self.sha256[..8]
    }
}
