//! The study's strategy A: write the overrides in a transaction, read the model back, compute, roll back.
//!
//! On PostgreSQL it leaves in three flights with one Sync each, as the study's driver sends it: BEGIN with the updates,
//! the select, the rollback. Every step is awaited, the rollback too: a rollback in the background would hide a round
//! trip and the tail of the locks.

use super::facts::{EVERYWHERE, Facts, WRITTEN};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::postgres::{PostgresSession, Statement, Updates};
use crate::backend::sqlite::SqliteSession;
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "Write the overrides in a transaction, read the model back, compute, roll back.",
    stands_for: "the study",
    on: EVERYWHERE,
    why_not: "",
    round_trips: Some(3),
    writes: "4 dead rows, about 1 kB of log",
    honours: WRITTEN,
    caveat: "holds row locks over its trips",
    needs: &[],
    nominal_ms: 0.15,
};

pub(super) struct OnSqlite {
    workload: Workload,
}

impl OnSqlite {
    pub(super) fn open(workload: &Workload) -> Self {
        Self {
            workload: workload.clone(),
        }
    }
}

impl Strategy<SqliteSession> for OnSqlite {
    fn preview(
        &mut self,
        session: &mut SqliteSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Write);
        session.begin_immediate()?;
        all_written(session.update_all(overrides)?, overrides)?;
        steps.enter(Step::Read);
        let inputs = session.read_model(&self.workload)?;
        steps.enter(Step::Compute);
        let answer = self.workload.project(&inputs);
        steps.enter(Step::Discard);
        session.rollback()?;
        Ok(answer)
    }
}

pub(super) struct OnPostgres {
    workload: Workload,
    begin: Statement,
    updates: Updates,
    rollback: Statement,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        Ok(Self {
            workload: workload.clone(),
            begin: session.prepare_begin()?,
            updates: session.prepare_updates(workload)?,
            rollback: session.prepare("ROLLBACK", &[])?,
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
        steps.enter(Step::Write);
        let mut write = session.flight();
        write.execute(self.begin, &[])?;
        for field in overrides {
            self.updates.execute(&mut write, field)?;
        }
        all_written(write.land(|_| Ok(()))?.rows_affected, overrides)?;
        steps.enter(Step::Read);
        let inputs = session.read_model(&self.workload)?;
        steps.enter(Step::Compute);
        let answer = self.workload.project(&inputs);
        steps.enter(Step::Discard);
        session.execute(self.rollback)?;
        Ok(answer)
    }
}
