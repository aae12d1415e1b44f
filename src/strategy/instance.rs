//! A server of its own for each preview, started on a copy of a prepared data directory, written, read and removed.
//!
//! The directory is prepared when the strategy opens and does not follow the model after that. Copying it, starting
//! the server and stopping it are part of the price; its settings are PostgreSQL's defaults. `instance` leaves it to `cp`
//! how to copy; `branch` asks for copy-on-write, and is refused where the file system has none.

use super::facts::{Facts, Ground, Honour, Need};
use super::{PreviewError, Strategy, all_written};
use crate::backend::postgres::PostgresSession;
use crate::backend::provision::CopyBy;
use crate::backend::{BackendError, Instance};
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

const HONOURS: &[Honour] = &[Honour::ColumnType, Honour::Triggers, Honour::Checks, Honour::Deferred];
const WHY_NOT: &str = "it starts servers from binaries beside the run's own: provision = \"ephemeral\"";

pub(super) const INSTANCE: Facts = Facts {
    sentence: "Start a server on a copy of a prepared data directory, write and commit, read, stop and remove it.",
    stands_for: "pg_tmp, Testcontainers",
    on: &[Ground::PostgresOwn],
    why_not: WHY_NOT,
    round_trips: None,
    writes: "a whole cluster, about 40 MB of files",
    honours: HONOURS,
    caveat: "cold caches and plans; a process, a port and a directory for each preview",
    needs: &[],
    nominal_ms: 700.0,
};

pub(super) const BRANCH: Facts = Facts {
    sentence: "Start a server on a copy-on-write clone of a prepared data directory, write and commit, read, stop and \
               remove it.",
    stands_for: "Neon's branches",
    on: &[Ground::PostgresOwn],
    why_not: WHY_NOT,
    round_trips: None,
    writes: "what the server writes; the rest is shared",
    honours: HONOURS,
    caveat: "needs a file system with reflinks (Btrfs, XFS), where cp may do the same for instance; cold caches and plans; \
             a process, a port and a directory for each preview",
    needs: &[Need::Reflink],
    nominal_ms: 500.0,
};

pub(super) struct OnPostgres {
    workload: Workload,
    instance: Instance,
}

impl OnPostgres {
    pub(super) fn open(session: &PostgresSession, workload: &Workload, by: CopyBy) -> Result<Self, BackendError> {
        Ok(Self {
            workload: workload.clone(),
            instance: Instance::prepare(session, workload, by)?,
        })
    }
}

impl Strategy<PostgresSession> for OnPostgres {
    fn preview(
        &mut self,
        _session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        let (touched, inputs) = self.instance.preview(overrides, &self.workload, steps)?;
        steps.enter(Step::Compute);
        all_written(touched, overrides)?;
        Ok(self.workload.project(&inputs))
    }
}
