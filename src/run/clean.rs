//! What runs that were killed have left behind, and its removal. Only what a run has noted is ever touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::signal::kill;
use nix::unistd::Pid;
use thiserror::Error;

use super::stand::{StandError, at_url};
use crate::backend::creations::{Creation, Creations};
use crate::backend::postgres::{Control, PgError};
use crate::backend::provision::{self, ProvisionError};
use crate::manifest::{Backend, Manifest, ManifestError, Server, UrlTemplate};

/// Why what was left could not be listed or removed.
#[derive(Debug, Error)]
pub enum CleanError {
    /// The directory of runs can't be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The server is not known: the run was given it by `--url`.
    #[error("{run} was made on a server that its manifest does not name; name it with --url")]
    NoServer {
        /// The run's directory.
        run: PathBuf,
    },
    /// The manifest that names the server.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The server can't be reached.
    #[error(transparent)]
    Stand(#[from] StandError),
    /// The server says no.
    #[error(transparent)]
    Server(#[from] PgError),
    /// A server's directory can't be removed.
    #[error(transparent)]
    Directory(#[from] ProvisionError),
    /// A directory or the list itself can't be removed.
    #[error("cannot remove {path}: {source}")]
    Kept {
        /// What is still there.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What one run has left.
#[derive(Debug)]
pub struct Leftover {
    /// The run's directory.
    pub run: PathBuf,
    /// The process that still runs it: then nothing is left over yet.
    pub alive: Option<u32>,
    creations: Creations,
    noted: Vec<Creation>,
}

/// Every run under `results` with something noted, in the order of their names.
///
/// # Errors
/// [`CleanError::Unreadable`].
pub fn leftovers(results: &Path) -> Result<Vec<Leftover>, CleanError> {
    let unreadable = |path: &Path, source| CleanError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let entries = match fs::read_dir(results) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| unreadable(results, error))?,
    };
    let mut left = Vec::new();
    for entry in entries {
        let run = entry.map_err(|error| unreadable(results, error))?.path();
        let creations = Creations::of_run(&run);
        if !creations.path().is_file() {
            continue;
        }
        let noted = creations.read().map_err(|error| unreadable(creations.path(), error))?;
        let alive = noted.iter().find_map(|creation| match creation {
            Creation::Process(process) if is_alive(*process) => Some(*process),
            _ => None,
        });
        left.push(Leftover {
            run,
            alive,
            creations,
            noted,
        });
    }
    left.sort_by(|one, other| one.run.cmp(&other.run));
    Ok(left)
}

impl Leftover {
    /// What may still be there, in words.
    pub fn told(&self) -> Vec<String> {
        let on_server = |creation: &Creation| match creation {
            Creation::Database(name) => Some(format!("database {name}")),
            Creation::Schema(name) => Some(format!("schema {name}")),
            _ => None,
        };
        let here = |creation: &Creation| match creation {
            Creation::Directory(name) => Some(format!("directory {}", self.run.join(name).display())),
            Creation::ServerDirectory(path) => Some(format!("directory {}", path.display())),
            _ => None,
        };
        let server = self.noted.iter().filter(|_| self.is_guest()).filter_map(on_server);
        server.chain(self.noted.iter().filter_map(here)).collect()
    }

    /// Removes what is still there, then the list.
    ///
    /// # Errors
    /// [`CleanError`]; what could not be removed stays on the list.
    pub fn remove(&self, url: Option<&str>) -> Result<(), CleanError> {
        let kept = |path: &Path| {
            let path = path.to_owned();
            move |source| CleanError::Kept { path, source }
        };
        if self.is_guest() {
            self.remove_from_server(url)?;
        }
        for creation in &self.noted {
            if let Creation::ServerDirectory(path) = creation {
                provision::remove_directory(path)?;
            }
            if let Creation::Directory(name) = creation {
                // A name, so that nothing outside the run's directory can be meant.
                let name = Path::new(name).file_name().unwrap_or_default();
                let path = self.run.join(name);
                if !name.is_empty() && path.is_dir() {
                    fs::remove_dir_all(&path).map_err(kept(&path))?;
                }
            }
        }
        self.creations.forget().map_err(kept(self.creations.path()))
    }

    fn remove_from_server(&self, url: Option<&str>) -> Result<(), CleanError> {
        let target = at_url(&self.server(url)?)?;
        let mut control = Control::connect(&target)?;
        for creation in &self.noted {
            match creation {
                Creation::Database(name) => control.drop_database(name)?,
                Creation::Schema(name) => control.drop_schema(name)?,
                Creation::Process(_) | Creation::Guest | Creation::ServerDirectory(_) | Creation::Directory(_) => {}
            }
        }
        Ok(())
    }

    fn server(&self, url: Option<&str>) -> Result<UrlTemplate, CleanError> {
        if let Some(url) = url {
            return Ok(UrlTemplate::new(url));
        }
        let backends = Manifest::read(&self.run.join("manifest.toml"))?.backends;
        let url = backends.into_iter().find_map(|named| match named.backend {
            Backend::Postgres {
                server: Server::Url(url),
                ..
            } => Some(url),
            _ => None,
        });
        url.ok_or_else(|| CleanError::NoServer { run: self.run.clone() })
    }

    fn is_guest(&self) -> bool {
        self.noted.contains(&Creation::Guest)
    }
}

/// A process of another user counts: it can't be asked, but it is there.
fn is_alive(process: u32) -> bool {
    let answer = kill(Pid::from_raw(process.cast_signed()), None);
    process != 0 && answer != Err(nix::errno::Errno::ESRCH)
}
