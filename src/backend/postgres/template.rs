//! A database that is cloned for each preview: the template, and its one clone at a time.
//!
//! Both names are noted with the run before the server makes them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::control::Control;
use super::target::Target;
use super::wire::WireSession;
use super::{ModelTable, PgError, PostgresSession};
use crate::backend::creations::Creation;
use crate::backend::{BackendError, Creations};
use crate::digest;
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
    /// Page by page through the log.
    WalLog,
    /// File by file, between two checkpoints.
    FileCopy,
}

/// A template with the model in it.
#[derive(Debug)]
pub struct Template {
    target: Target,
    deadline: Duration,
    table: ModelTable,
    name: String,
    clone: String,
    create: String,
    drop: String,
}

impl Template {
    /// Makes a template that holds the model, by way of `session`, in the same schema as there.
    ///
    /// # Errors
    /// [`PgError::Privilege`] for a role that may make no databases; [`BackendError::Unable`] where the server has no
    /// such strategy or the name can't be noted; or what the server says.
    pub fn make(session: &mut PostgresSession, workload: &Workload, by: CloneBy) -> Result<Self, BackendError> {
        let version = session.server_major();
        let strategy = match by {
            _ if version >= STRATEGY_SINCE && by == CloneBy::WalLog => " STRATEGY wal_log",
            _ if version >= STRATEGY_SINCE => " STRATEGY file_copy",
            CloneBy::FileCopy => "",
            CloneBy::WalLog => {
                return Err(BackendError::Unable(format!(
                    "PostgreSQL {version} copies databases by file only; take template-file-copy, or version \
                     {STRATEGY_SINCE} or newer"
                )));
            }
        };
        // A killed session's clone must go at once; older servers wait for it.
        let force = if version >= 13 { " WITH (FORCE)" } else { "" };
        let [name, clone] = [fresh_name(), fresh_name()];
        let template = Self {
            target: session.target().clone(),
            deadline: session.deadline(),
            table: session.table().clone(),
            create: format!("CREATE DATABASE {clone} TEMPLATE {name}{strategy}"),
            drop: format!("DROP DATABASE {clone}{force}"),
            name,
            clone,
        };
        for database in [&template.name, &template.clone] {
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
    ) -> Result<(u64, Inputs), BackendError> {
        if let Err(error) = session.simple(&self.create) {
            return Err(self.held(session, error));
        }
        let read = WireSession::connect(&self.within(&self.clone), self.deadline)
            .map_err(BackendError::from)
            .and_then(|clone| self.table.write_and_read(clone, overrides, workload));
        // The clone goes also where the preview failed.
        let dropped = session.simple(&self.drop);
        let read = read?;
        dropped?;
        Ok(read)
    }

    fn within(&self, database: &str) -> Target {
        Target {
            dbname: database.to_owned(),
            ..self.target.clone()
        }
    }

    /// Says who is connected to the template, where that is why it can't be cloned.
    fn held(&self, session: &mut PostgresSession, error: PgError) -> BackendError {
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
            for database in [&self.clone, &self.name] {
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
