//! One backend made ready for a run, and put away after it.
//!
//! Whatever the run creates outside its own directory is created here: a server of its own, or a schema on somebody
//! else's. Nothing else is touched.

use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::needs;
use super::protocol::Place;
use crate::backend::creations::{Creation, Creations};
use crate::backend::postgres::target::Host;
use crate::backend::postgres::wire::WireSession;
use crate::backend::postgres::{Control, PgError, Secret, Surroundings, Target, TargetError};
use crate::backend::provision::{self, Order, ProvisionError, Provisioned};
use crate::backend::sqlite;
use crate::backend::sqlite::served::ServedFile;
use crate::digest;
use crate::environment::Fact;
use crate::manifest::{Backend, Server, Socket, Storage, UnsetVariable, UrlTemplate};
use crate::strategy::StrategyName;

/// Why the backend could not be made ready.
#[derive(Debug, Error)]
pub enum StandError {
    /// A server of the run's own could not be started.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The URL names a variable that is not set.
    #[error(transparent)]
    Variable(#[from] UnsetVariable),
    /// The URL can't be understood.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The server can't be used.
    #[error(transparent)]
    Server(#[from] PgError),
    /// A strategy can't be done there.
    #[error("{strategy} cannot be measured here: {reason}")]
    Unfit {
        /// The strategy.
        strategy: StrategyName,
        /// Why not.
        reason: String,
    },
    /// The run's schema could not be removed from somebody else's server.
    #[error("schema {schema} may be left on the server, where it can be removed by hand: {source}")]
    Left {
        /// The schema.
        schema: String,
        /// Why it could not be removed.
        source: PgError,
    },
    /// What is made can't be noted, or the note can't be removed.
    #[error("cannot write {path}, in which whatever the run makes is noted: {source}")]
    Noted {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The scratch directory of an SQLite file could not be made.
    #[error("cannot make {path}: {source}")]
    Scratch {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Longest wait for an answer of H2 that is not measured.
const H2_PATIENCE: Duration = Duration::from_secs(10);

/// A backend that is ready.
pub(super) enum Stand {
    /// SQLite, which every fork begins anew.
    Sqlite,
    /// H2, in a process of the run's own.
    H2 {
        target: Box<Target>,
        provisioned: Provisioned,
    },
    /// A PostgreSQL server with the run's schema.
    Postgres {
        /// By TCP, or as the URL says.
        target: Box<Target>,
        schema: String,
        provisioned: Option<Provisioned>,
    },
}

/// What a backend is made ready for.
pub(super) struct Occasion<'a> {
    /// This program, for a warden.
    pub exe: &'a Path,
    /// The run's directory.
    pub directory: &'a Path,
    /// The run's id.
    pub run: &'a str,
    /// The strategies that will be measured.
    pub strategies: &'a [StrategyName],
    /// Hears what is being done.
    pub stage: &'a mut dyn FnMut(&str),
    /// Whether the user has broken off.
    pub interrupted: &'a dyn Fn() -> bool,
}

impl Stand {
    /// Starts what must be started and creates the run's schema, once that is noted.
    pub fn make_ready(
        backend: &Backend,
        creations: &Creations,
        occasion: &mut Occasion<'_>,
    ) -> Result<Self, StandError> {
        let (server, schema) = match backend {
            Backend::Sqlite { .. } => return Ok(Self::Sqlite),
            Backend::H2 => {
                let (target, provisioned) = start(&Order::H2, occasion)?;
                return Ok(Self::H2 {
                    target: Box::new(target),
                    provisioned,
                });
            }
            Backend::Postgres { server, schema, .. } => (server, schema),
        };
        let schema = schema.clone().unwrap_or_else(|| fresh_schema(occasion.run));
        needs::of_machine(occasion.strategies)?;
        let (target, provisioned) = reach(server, occasion)?;
        let mut control = Control::connect(&target)?;
        control.require_supported()?;
        needs::of_server(occasion.strategies, &mut control)?;
        // What is made on a server of the run's own goes with the server.
        if provisioned.is_none() {
            note(creations, &[Creation::Guest, Creation::Schema(schema.clone())])?;
        }
        control.create_schema(&schema)?;
        Ok(Self::Postgres {
            target: Box::new(target),
            schema,
            provisioned,
        })
    }

    /// The schema that the run made, where it made one: after a `kill -9` this is what is left to remove.
    pub fn schema(&self) -> Option<&str> {
        match self {
            Self::Sqlite | Self::H2 { .. } => None,
            Self::Postgres { schema, .. } => Some(schema),
        }
    }

    /// Whether the server is somebody else's.
    pub fn is_guest(&self) -> bool {
        matches!(self, Self::Postgres { provisioned: None, .. })
    }

    /// Where the worker at a place of the run finds this backend.
    pub fn place(&self, backend: &Backend, files: &Files<'_>, position: u32) -> Place {
        match (self, backend) {
            (
                Self::Postgres {
                    target,
                    schema,
                    provisioned,
                },
                Backend::Postgres { socket, .. },
            ) => {
                let directory = provisioned.as_ref().and_then(Provisioned::socket_directory);
                let target = Target::clone(target);
                Place::Postgres {
                    target: match directory.filter(|_| *socket == Socket::Unix) {
                        Some(directory) => target.by_socket(directory),
                        None => target,
                    },
                    schema: schema.clone(),
                    creations: files.creations.to_owned(),
                }
            }
            (Self::H2 { target, .. }, _) => Place::H2 {
                target: Target::clone(target),
            },
            (_, Backend::Sqlite { storage, socket }) => sqlite_place(*storage, *socket, files, position),
            _ => Place::SqliteMemory,
        }
    }

    /// Names of somebody else's server and of its role, which stay out of the archive.
    pub fn private_names(&self) -> Vec<&str> {
        match self {
            Self::Postgres {
                target,
                provisioned: None,
                ..
            } => {
                let host = match &target.host {
                    Host::Name(name) => Some(name.as_str()),
                    Host::Socket(_) => None,
                };
                host.into_iter().chain([target.user.as_str()]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Facts about the backend as it is now.
    pub fn facts(&self) -> Result<Vec<Fact>, StandError> {
        match self {
            Self::Sqlite => Ok(vec![Fact::known(
                "sqlite",
                "version",
                sqlite::library_version(),
                "sqlite3_libversion",
            )]),
            Self::H2 { target, provisioned } => h2_facts(target, provisioned),
            Self::Postgres {
                target, provisioned, ..
            } => {
                let mut facts = provisioned
                    .as_ref()
                    .map(|server| server.facts().to_vec())
                    .unwrap_or_default();
                facts.extend(Control::connect(target)?.server_facts()?);
                Ok(facts)
            }
        }
    }

    /// Removes what was created. A server of the run's own goes as a whole.
    pub fn put_away(self, creations: &Creations) -> Result<(), StandError> {
        match self {
            Self::Sqlite => Ok(()),
            Self::H2 { provisioned, .. } => Ok(provisioned.stop()?),
            Self::Postgres {
                provisioned: Some(server),
                ..
            } => {
                remove_directories(creations)?;
                Ok(server.stop()?)
            }
            Self::Postgres {
                target,
                schema,
                provisioned: None,
            } => {
                remove_from(&target, creations)?;
                let removed = Control::connect(&target).and_then(|mut control| control.drop_schema(&schema));
                removed.map_err(|source| match source {
                    // These two name the schema and the reason themselves.
                    PgError::SchemaNotEmpty { .. } | PgError::SchemaForeign { .. } => StandError::Server(source),
                    source => StandError::Left { schema, source },
                })
            }
        }
    }
}

/// Where a run keeps what its forks need.
pub(super) struct Files<'a> {
    /// The directory for SQLite's files.
    pub scratch: &'a Path,
    /// The list of what was made elsewhere.
    pub creations: &'a Path,
}

fn sqlite_place(storage: Storage, socket: Option<Socket>, files: &Files<'_>, position: u32) -> Place {
    let file = match storage {
        Storage::Memory => None,
        Storage::File {
            journal_mode,
            synchronous,
        } => Some(ServedFile {
            path: files.scratch.join(format!("{position:05}.sqlite")),
            journal_mode: journal_mode.as_str().to_owned(),
            synchronous: synchronous.as_str().to_owned(),
        }),
    };
    match (socket, file) {
        (Some(socket), file) => Place::Served { socket, file },
        (None, None) => Place::SqliteMemory,
        (None, Some(file)) => Place::SqliteFile {
            path: file.path,
            journal_mode: file.journal_mode,
            synchronous: file.synchronous,
        },
    }
}

/// Adds to the list of what is made, before it is.
pub(super) fn note(creations: &Creations, made: &[Creation]) -> Result<(), StandError> {
    let mut noted = made.iter().map(|creation| creations.note(creation));
    noted.try_for_each(|noted| noted).map_err(|source| StandError::Noted {
        path: creations.path().to_owned(),
        source,
    })
}

/// Removes the prepared directories of servers that a worker which was ended has left.
fn remove_directories(creations: &Creations) -> Result<(), StandError> {
    let noted = creations.read().map_err(|source| StandError::Noted {
        path: creations.path().to_owned(),
        source,
    })?;
    for creation in noted {
        if let Creation::ServerDirectory(path) = creation {
            provision::remove_directory(&path)?;
        }
    }
    Ok(())
}

/// Removes the databases that strategies made, where they are still there: a worker that was ended removes nothing.
fn remove_from(target: &Target, creations: &Creations) -> Result<(), StandError> {
    let noted = creations.read().map_err(|source| StandError::Noted {
        path: creations.path().to_owned(),
        source,
    })?;
    for creation in noted {
        if let Creation::Database(name) = creation {
            Control::connect(target)?.drop_database(&name)?;
        }
    }
    Ok(())
}

fn reach(server: &Server, occasion: &mut Occasion<'_>) -> Result<(Target, Option<Provisioned>), StandError> {
    let order = match server {
        Server::Url(template) => return Ok((at_url(template)?, None)),
        Server::Ephemeral { settings } => Order::Ephemeral {
            settings: settings.clone(),
        },
        Server::Container { image } => Order::Container { image: image.clone() },
    };
    let (target, provisioned) = start(&order, occasion)?;
    Ok((target, Some(provisioned)))
}

/// Starts a server of the run's own.
fn start(order: &Order, occasion: &mut Occasion<'_>) -> Result<(Target, Provisioned), StandError> {
    let provisioned = Provisioned::start_unless(occasion.exe, order, occasion.stage, occasion.interrupted)?;
    let password = provisioned.password().map(Secret::new);
    let target = Target::loopback(provisioned.port(), provisioned.user(), password, provisioned.dbname());
    Ok((target, provisioned))
}

/// What H2 says of itself, and what its protocol carries of a preview.
fn h2_facts(target: &Target, server: &Provisioned) -> Result<Vec<Fact>, StandError> {
    let mut facts = server.facts().to_vec();
    let mut session = WireSession::connect(target, H2_PATIENCE)?;
    let mut version = String::new();
    session.simple_rows("SELECT H2VERSION()", |row| {
        row.text(0)?.clone_into(&mut version);
        Ok(())
    })?;
    facts.push(Fact::known("h2", "version", version, "H2VERSION()"));
    facts.push(Fact::known(
        "h2",
        "protocol.carried",
        "extended protocol with prepared statements, parameters and doubles in binary form; names as bytes \
         (STRINGTOUTF8), since text has no binary form; acknowledged at once by the client (TCP_QUICKACK after every \
         read), since the server does not set TCP_NODELAY",
        "this program",
    ));
    Ok(facts)
}

pub(super) fn at_url(template: &UrlTemplate) -> Result<Target, StandError> {
    let url = template.resolve(|name| std::env::var(name).ok())?;
    Ok(Target::parse(&url, &Surroundings::of_this_process())?)
}

/// A schema name that no other run has.
fn fresh_schema(run: &str) -> String {
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or_default();
    let digest = digest::of_bytes(format!("{run} {} {now}", std::process::id()));
    format!("preview_cost_{}", &digest[..12])
}
