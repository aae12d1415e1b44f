//! A database of its own for each preview, cloned from a template, written, read and dropped.
//!
//! The template is made when the strategy opens and does not follow the model after that. Connecting to the clone, and
//! the drop, are part of the price; the session to the clone is awaited to its end.

use super::facts::{Facts, Honour, Need, POSTGRES};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::postgres::{CloneBy, PostgresSession, Template};
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

const HONOURS: &[Honour] = &[Honour::ColumnType, Honour::Triggers, Honour::Checks, Honour::Deferred];
const WHY_NOT: &str = "sqlite has no databases to copy; backup, deserialize and file-clone are its clones";

pub(super) const WAL_LOG: Facts = Facts {
    sentence: "Clone a template database through the log, connect, write and commit, read, drop it.",
    stands_for: "pgtestdb, Testcontainers' restore",
    on: POSTGRES,
    why_not: WHY_NOT,
    round_trips: None,
    writes: "a whole database, about 5 MB of log",
    honours: HONOURS,
    caveat: "needs CREATEDB; cold caches and plans; nobody may be connected to the template",
    needs: &[Need::Databases, Need::ClonesThroughLog],
    nominal_ms: 150.0,
};

pub(super) const FILE_COPY: Facts = Facts {
    sentence: "Clone a template database file by file between two checkpoints, connect, write and commit, read, drop it.",
    stands_for: "pgtestdb, Testcontainers' restore on servers before 15",
    on: POSTGRES,
    why_not: WHY_NOT,
    round_trips: None,
    writes: "a whole database, and two checkpoints",
    honours: HONOURS,
    caveat: "needs CREATEDB; cold caches and plans; nobody may be connected to the template; checkpoints hit everybody",
    needs: &[Need::Databases],
    nominal_ms: 1_000.0,
};

pub(super) struct OnPostgres {
    workload: Workload,
    template: Template,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload, by: CloneBy) -> Result<Self, BackendError> {
        Ok(Self {
            workload: workload.clone(),
            template: Template::make(session, workload, by, 1)?,
        })
    }
}

impl Strategy<PostgresSession> for OnPostgres {
    fn preview(
        &mut self,
        session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        let (touched, inputs) = self.template.preview(session, overrides, &self.workload, steps)?;
        steps.enter(Step::Compute);
        all_written(touched, overrides)?;
        Ok(self.workload.project(&inputs))
    }
}
