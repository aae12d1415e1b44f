//! What the environment contributes to a target, gathered in one place so that tests can make it up.

use std::path::PathBuf;

use nix::unistd::{User, geteuid};

use super::Secret;

/// The parts of a process's environment that complete a connection string.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The operating system's name for the user.
    pub user: Option<String>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The value of `PGPASSWORD`.
    pub password: Option<Secret>,
    /// The value of `PGPASSFILE`.
    pub passfile: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        let account = User::from_uid(geteuid()).ok().flatten();
        let home = std::env::var_os("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from);
        Self {
            home: home.or_else(|| account.as_ref().map(|account| account.dir.clone())),
            user: account.map(|account| account.name),
            password: std::env::var("PGPASSWORD")
                .ok()
                .filter(|password| !password.is_empty())
                .map(Secret::new),
            passfile: std::env::var_os("PGPASSFILE")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
        }
    }

    /// Where the password file is, if anywhere.
    pub(super) fn passfile(&self) -> Option<PathBuf> {
        self.passfile
            .clone()
            .or_else(|| self.home.as_ref().map(|home| home.join(".pgpass")))
    }

    /// The root certificate that libpq takes when none is named, if it exists.
    pub(super) fn root_certificate(&self) -> Option<PathBuf> {
        let path = self.home.as_ref()?.join(".postgresql/root.crt");
        path.is_file().then_some(path)
    }
}
