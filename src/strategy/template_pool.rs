//! A database of its own for each preview, taken from a pool that is filled in the background.
//!
//! The template is made when the strategy opens and does not follow the model after that. A preview takes a clone,
//! connects, writes and commits, reads, and leaves the clone to be dropped and made anew beside later previews, also
//! beside those of the other side. What that work takes is archived with the fork; waiting for it is part of the price.

use super::facts::{Facts, Honour, Need, POSTGRES};
use super::{PreviewError, Strategy, all_written};
use crate::backend::postgres::{Pool, PostgresSession};
use crate::backend::{BackendError, BackgroundWork};
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "Take one of four clones of a template database, connect, write and commit, read; dropped and made anew \
               in the background.",
    stands_for: "IntegreSQL",
    on: POSTGRES,
    why_not: "sqlite has no databases to copy; backup, deserialize and file-clone are its clones",
    round_trips: None,
    writes: "a whole database, in the background",
    honours: &[Honour::ColumnType, Honour::Triggers, Honour::Checks, Honour::Deferred],
    caveat: "needs CREATEDB; cold caches and plans; nobody may be connected to the template; background work: as much as \
             template's, elsewhere in time, and beside both sides of later pairs",
    needs: &[Need::Databases],
    nominal_ms: 100.0,
};

pub(super) struct OnPostgres {
    workload: Workload,
    pool: Pool,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        Ok(Self {
            workload: workload.clone(),
            pool: Pool::fill(session, workload)?,
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
        let (touched, inputs) = self.pool.preview(overrides, &self.workload, steps)?;
        steps.enter(Step::Compute);
        all_written(touched, overrides)?;
        Ok(self.workload.project(&inputs))
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(self.pool.background())
    }
}
