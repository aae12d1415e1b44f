//! Throwaway servers with the model in them: one for each preview, copied from a prepared data directory.

use std::path::PathBuf;
use std::time::Duration;

use super::BackendError;
use super::creations::Creation;
use super::postgres::wire::WireSession;
use super::postgres::{Control, ModelTable, PostgresSession, Secret, Target};
use super::provision::{CopyBy, Order, Prepared, ProvisionError, Provisioned};
use crate::step::{Step, Steps};
use crate::workload::{Inputs, Overrides, Workload};

/// The prepared directory, and what starts servers from it.
pub struct Instance {
    exe: PathBuf,
    prepared: Prepared,
    by: CopyBy,
    table: ModelTable,
    deadline: Duration,
}

impl Instance {
    /// Prepares a data directory that holds the model as `session` sees it when it is fresh; `by` is how each server gets
    /// its copy.
    ///
    /// # Errors
    /// [`BackendError::Unable`]: there are no server binaries on this machine, or the directory can't be noted or made.
    pub fn prepare(session: &PostgresSession, workload: &Workload, by: CopyBy) -> Result<Self, BackendError> {
        let exe = std::env::current_exe()
            .map_err(|error| BackendError::Unable(format!("cannot find this program's own executable: {error}")))?;
        let sql = Control::model_as_text(session.schema(), workload)?;
        let mut note = |directory: &std::path::Path| match session.creations() {
            None => Ok(()),
            Some(creations) => creations
                .note(&Creation::ServerDirectory(directory.to_owned()))
                .map_err(|error| ProvisionError::io(format!("write {}", creations.path().display()), &error)),
        };
        let prepared = Prepared::make(&sql, &mut note).map_err(unable)?;
        Ok(Self {
            exe,
            prepared,
            by,
            table: session.table().clone(),
            deadline: session.deadline(),
        })
    }

    /// Starts a server on a copy, writes the overrides there (committed by the message's end), reads the model, and
    /// stops and removes the server. Gives the rows touched and what was read.
    ///
    /// # Errors
    /// Why there is no server, or what it says.
    pub fn preview(
        &self,
        overrides: &Overrides,
        workload: &Workload,
        steps: &mut Steps,
    ) -> Result<(u64, Inputs), BackendError> {
        steps.enter(Step::Write);
        let order = Order::Instance {
            prepared: self.prepared.data(),
            by: self.by,
        };
        let server = Provisioned::start(&self.exe, &order, &mut |_| {}).map_err(unable)?;
        let password = server.password().map(Secret::new);
        let target = Target::loopback(server.port(), server.user(), password, server.dbname());
        let read = WireSession::connect(&target, self.deadline)
            .map_err(BackendError::from)
            .and_then(|session| self.table.write_and_read(session, overrides, workload, steps));
        steps.enter(Step::Discard);
        let stopped = server.stop().map_err(unable);
        let read = read?;
        stopped?;
        Ok(read)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unable(error: ProvisionError) -> BackendError {
    BackendError::Unable(error.to_string())
}
