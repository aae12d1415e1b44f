//! The backends of a run, made ready together and put away together.
//!
//! Backends that differ in nothing but the socket share one server, so that a cell's difference to another is the
//! socket's. What the run makes elsewhere is noted in one list, which goes when everything in it is gone.

use std::path::PathBuf;

use super::protocol::Place;
use super::stand::{Files, Occasion, Stand, StandError, note};
use crate::backend::creations::{Creation, Creations};
use crate::environment::Fact;
use crate::manifest::{Backend, NamedBackend, Socket, Storage};

/// The directory of SQLite's files within a run's.
const SCRATCH: &str = "scratch";

/// Every backend of a run.
pub(super) struct Stands {
    creations: Creations,
    scratch: PathBuf,
    /// Each once, with the names of the backends that it is for.
    ready: Vec<(Stand, Vec<String>)>,
    /// The manifest's backends, each with the place of its stand.
    backends: Vec<(Backend, usize)>,
}

impl Stands {
    /// Makes each backend ready. Where one can't be, those before it are put away.
    pub fn make_ready(backends: &[NamedBackend], occasion: &mut Occasion<'_>) -> Result<Self, StandError> {
        let mut stands = Self {
            creations: Creations::of_run(occasion.directory),
            scratch: occasion.directory.join(SCRATCH),
            ready: Vec::new(),
            backends: Vec::new(),
        };
        match stands.fill(backends, occasion) {
            Ok(()) => Ok(stands),
            Err(error) => {
                // That it could not be made ready is what the user must hear.
                let _ = stands.put_away();
                Err(error)
            }
        }
    }

    fn fill(&mut self, backends: &[NamedBackend], occasion: &mut Occasion<'_>) -> Result<(), StandError> {
        let each = || backends.iter().map(|named| &named.backend);
        if each().any(makes_something) {
            note(&self.creations, &[Creation::Process(std::process::id())])?;
        }
        if each().any(needs_scratch) {
            note(&self.creations, &[Creation::Directory(SCRATCH.to_owned())])?;
            std::fs::create_dir(&self.scratch).map_err(|source| StandError::Scratch {
                path: self.scratch.clone(),
                source,
            })?;
        }
        for NamedBackend { name, backend } in backends {
            let known = self.backends.iter().find(|(other, _)| is_same_server(other, backend));
            let place = if let Some((_, place)) = known {
                *place
            } else {
                let stand = Stand::make_ready(backend, &self.creations, occasion)?;
                self.ready.push((stand, Vec::new()));
                self.ready.len() - 1
            };
            self.ready[place].1.extend(name.clone());
            self.backends.push((backend.clone(), place));
        }
        Ok(())
    }

    /// The schema that the run made: on somebody else's server if there is one.
    pub fn schema(&self) -> Option<&str> {
        let mut stands: Vec<&Stand> = self.ready.iter().map(|(stand, _)| stand).collect();
        stands.sort_by_key(|stand| !stand.is_guest());
        stands.into_iter().find_map(Stand::schema)
    }

    /// Where the worker at a place of the run finds the manifest's backend of this place.
    pub fn place(&self, backend: usize, position: u32) -> Place {
        let (backend, stand) = &self.backends[backend];
        let files = Files {
            scratch: &self.scratch,
            creations: self.creations.path(),
        };
        self.ready[*stand].0.place(backend, &files, position)
    }

    /// Names of somebody else's server and of its role, which stay out of the archive.
    pub fn private_names(&self) -> Vec<&str> {
        self.ready.iter().flat_map(|(stand, _)| stand.private_names()).collect()
    }

    /// Facts about the backends as they are now. Where two speak of the same thing, the later one's scope has its name.
    pub fn facts(&self) -> Result<Vec<Fact>, StandError> {
        let mut facts: Vec<Fact> = Vec::new();
        for (stand, names) in &self.ready {
            // Every SQLite of a run is the same library.
            let is_known_sqlite = matches!(stand, Stand::Sqlite) && facts.iter().any(|fact| fact.scope == "sqlite");
            if is_known_sqlite {
                continue;
            }
            let mut more = stand.facts()?;
            for fact in &mut more {
                let is_taken = facts.iter().any(|known| known.scope == fact.scope);
                if let Some(name) = names.first().filter(|_| is_taken) {
                    fact.scope = format!("{}.{name}", fact.scope);
                }
            }
            facts.extend(more);
        }
        Ok(facts)
    }

    /// Removes what was created; the first trouble is told, and the others are put away nonetheless.
    pub fn put_away(self) -> Result<(), StandError> {
        let mut outcome = Ok(());
        for (stand, _) in self.ready {
            outcome = outcome.and(stand.put_away(&self.creations));
        }
        if self.scratch.exists() {
            let removed = std::fs::remove_dir_all(&self.scratch);
            outcome = outcome.and(removed.map_err(|source| StandError::Scratch {
                path: self.scratch,
                source,
            }));
        }
        outcome?;
        self.creations.forget().map_err(|source| StandError::Noted {
            path: self.creations.path().to_owned(),
            source,
        })
    }
}

/// Whether two backends can be one server: they differ in the socket at most.
fn is_same_server(one: &Backend, other: &Backend) -> bool {
    let by_tcp = |backend: &Backend| match backend.clone() {
        Backend::Postgres { server, schema, .. } => Backend::Postgres {
            server,
            schema,
            socket: Socket::Tcp,
        },
        other => other,
    };
    by_tcp(one) == by_tcp(other)
}

fn makes_something(backend: &Backend) -> bool {
    matches!(backend, Backend::Postgres { .. } | Backend::H2) || needs_scratch(backend)
}

fn needs_scratch(backend: &Backend) -> bool {
    match backend {
        Backend::Sqlite { storage, .. } => *storage != Storage::Memory,
        Backend::Postgres { .. } | Backend::H2 => false,
    }
}
