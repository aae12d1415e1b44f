//! A database that is cloned for previews: the template, and the names that its clones go by.
//!
//! All names are noted with the run before the server makes anything.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::control::Control;
use super::target::Target;
use super::wire::WireSession;
use super::{ModelTable, PgError, PostgresSession};
use crate::backend::creations::Creation;
use crate::backend::{BackendError, Creations};
use crate::digest;
use crate::step::{Step, Steps};
use crate::workload::{Inputs, Overrides, Workload};

/// What every database of this program is called by.
pub(super) const PREFIX: &str = "preview_cost_db_";
const NO_PRIVILEGE: &str = "42501";
const IN_USE: &str = "55006";
/// The first version whose CREATE DATABASE takes a strategy.
const STRATEGY_SINCE: u32 = 15;

/// How the server copies the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloneBy {
    /// As the server does unless it is told: through the log since version 15, by file before.
    Default,
    /// Page by page through the log.
    WalLog,
    /// File by file, between two checkpoints.
    FileCopy,
}

impl CloneBy {
    /// Checks that the server can.
    ///
    /// # Errors
    /// [`BackendError::Unable`], for a server of that major version.
    pub fn require(self, version: u32) -> Result<(), BackendError> {
        self.clause(version).map(|_| ())
    }

    /// The clause of CREATE DATABASE that asks for it.
    fn clause(self, version: u32) -> Result<&'static str, BackendError> {
        let is_told = version >= STRATEGY_SINCE;
        match self {
            Self::WalLog if is_told => Ok(" STRATEGY wal_log"),
            Self::FileCopy if is_told => Ok(" STRATEGY file_copy"),
            Self::FileCopy | Self::Default => Ok(""),
            Self::WalLog => Err(BackendError::Unable(format!(
                "PostgreSQL {version} copies databases by file only; take template-file-copy, or version \
                 {STRATEGY_SINCE} or newer"
            ))),
        }
    }
}

/// A template with the model in it.
#[derive(Debug)]
pub struct Template {
    target: Target,
    deadline: Duration,
    table: ModelTable,
    name: String,
    clones: Vec<String>,
    /// What stands after the names where a database is made and dropped.
    clauses: [&'static str; 2],
}

impl Template {
    /// Makes a template that holds the model, by way of `session`, in the same schema as there. `clones` may be there at
    /// the same time.
    ///
    /// # Errors
    /// [`PgError::Privilege`] for a role that may make no databases; [`BackendError::Unable`] where the server has no
    /// such strategy or the name can't be noted; or what the server says.
    pub fn make(
        session: &mut PostgresSession,
        workload: &Workload,
        by: CloneBy,
        clones: usize,
    ) -> Result<Self, BackendError> {
        let version = session.server_major();
        let template = Self {
            target: session.target().clone(),
            deadline: session.deadline(),
            table: session.table().clone(),
            name: fresh_name(),
            clones: (0..clones).map(|_| fresh_name()).collect(),
            // A killed session's clone must go at once; older servers wait for it.
            clauses: [by.clause(version)?, if version >= 13 { " WITH (FORCE)" } else { "" }],
        };
        for database in [&template.name].into_iter().chain(&template.clones) {
            note(session.creations(), database)?;
        }
        session
            .simple(&format!("CREATE DATABASE {} TEMPLATE template0", template.name))
            .map_err(|error| unprivileged(error, &template.target.user))?;
        let mut control = Control::connect(&template.within(&template.name))?;
        control.create_schema(session.schema())?;
        control.create_shaped(session.schema(), workload)?;
        control.close();
        Ok(template)
    }

    /// Clones the template, writes the overrides there (committed by the message's end), reads the model, and drops the
    /// clone. Gives the rows touched and what was read.
    ///
    /// # Errors
    /// What the server says; where somebody is connected to the template, who.
    pub fn preview(
        &self,
        session: &mut PostgresSession,
        overrides: &Overrides,
        workload: &Workload,
        steps: &mut Steps,
    ) -> Result<(u64, Inputs), BackendError> {
        steps.enter(Step::Write);
        let clone = self.clones.first().map_or("", String::as_str);
        self.clone_as(session.wire(), clone)?;
        let read = self.write_and_read(clone, overrides, workload, steps);
        steps.enter(Step::Discard);
        // The clone goes also where the preview failed.
        let dropped = self.drop_clone(session.wire(), clone);
        let read = read?;
        dropped?;
        Ok(read)
    }

    /// The names of its clones.
    pub(super) fn clones(&self) -> &[String] {
        &self.clones
    }

    /// A further session beside the template.
    pub(super) fn connect(&self) -> Result<WireSession, PgError> {
        WireSession::connect(&self.target, self.deadline)
    }

    /// Makes a clone.
    pub(super) fn clone_as(&self, session: &mut WireSession, clone: &str) -> Result<(), BackendError> {
        let create = format!("CREATE DATABASE {clone} TEMPLATE {}{}", self.name, self.clauses[0]);
        match session.simple(&create) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.held(session, error)),
        }
    }

    /// Writes the overrides in a clone and reads the model there, over a session of its own. Connecting belongs to the step
    /// before.
    pub(super) fn write_and_read(
        &self,
        clone: &str,
        overrides: &Overrides,
        workload: &Workload,
        steps: &mut Steps,
    ) -> Result<(u64, Inputs), BackendError> {
        let session = WireSession::connect(&self.within(clone), self.deadline)?;
        self.table.write_and_read(session, overrides, workload, steps)
    }

    /// Drops a clone, where it is there.
    pub(super) fn drop_clone(&self, session: &mut WireSession, clone: &str) -> Result<(), PgError> {
        let drop = format!("DROP DATABASE IF EXISTS {clone}{}", self.clauses[1]);
        session.simple(&drop).map(|_| ())
    }

    fn within(&self, database: &str) -> Target {
        Target {
            dbname: database.to_owned(),
            ..self.target.clone()
        }
    }

    /// Says who is connected to the template, where that is why it can't be cloned.
    fn held(&self, session: &mut WireSession, error: PgError) -> BackendError {
        if error.sqlstate() != Some(IN_USE) {
            return error.into();
        }
        let sql = format!(
            "SELECT pid::text || ' (' || coalesce(usename, '?') || ', ' || coalesce(application_name, '') || ')' \
             FROM pg_catalog.pg_stat_activity WHERE datname = '{}'",
            self.name
        );
        let mut holders = Vec::new();
        let asked = session.simple_rows(&sql, |row| {
            holders.push(row.text(0)?.to_owned());
            Ok(())
        });
        let who = match asked {
            Ok(_) if !holders.is_empty() => holders.join(", "),
            _ => "a session that is gone by now".to_owned(),
        };
        BackendError::Unable(format!("the template {} is in use by {who}: {error}", self.name))
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        // What can't be removed stays noted, and the run's end tries again and tells.
        if let Ok(mut control) = Control::connect(&self.target) {
            for database in self.clones.iter().chain([&self.name]) {
                let _ = control.drop_database(database);
            }
        }
    }
}

fn note(creations: Option<&Creations>, database: &str) -> Result<(), BackendError> {
    let Some(creations) = creations else {
        return Ok(());
    };
    creations
        .note(&Creation::Database(database.to_owned()))
        .map_err(|error| {
            let path = creations.path().display();
            BackendError::Unable(format!("no database is made that can't be noted in {path}: {error}"))
        })
}

/// A name that nobody else has: letters, digits and underscores.
fn fresh_name() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or_default();
    let place = MADE.fetch_add(1, Ordering::Relaxed);
    let digest = digest::of_bytes(format!("{} {now} {place}", std::process::id()));
    format!("{PREFIX}{}", &digest[..16])
}

fn unprivileged(error: PgError, user: &str) -> PgError {
    match error {
        PgError::Server(server) if server.code == NO_PRIVILEGE => PgError::Privilege {
            role: user.to_owned(),
            action: "create a database (ALTER ROLE … CREATEDB would allow it)",
            server,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_copies_by_file_only_is_not_asked_for_the_log() {
        for version in [15, 18] {
            assert_eq!(CloneBy::WalLog.clause(version).unwrap(), " STRATEGY wal_log");
            assert_eq!(CloneBy::FileCopy.clause(version).unwrap(), " STRATEGY file_copy");
        }
        for version in [12, 14] {
            let error = CloneBy::WalLog.clause(version).unwrap_err().to_string();
            assert!(error.contains("template-file-copy, or version 15"), "{error}");
            // It does so without being asked, and does not know the word.
            assert_eq!(CloneBy::FileCopy.clause(version).unwrap(), "");
        }
        assert_eq!(
            CloneBy::Default.clause(14).unwrap(),
            CloneBy::Default.clause(18).unwrap()
        );
    }
}
