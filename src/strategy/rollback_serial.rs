//! The rollback, one statement at a time: each waits for the answer of the one before.

use super::facts::{Facts, WIRE, WRITTEN};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::postgres::{PostgresSession, Statement, Updates};
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "The rollback with every statement sent and awaited alone.",
    stands_for: "transactional tests through an ORM (Rails, Django, Spring)",
    on: WIRE,
    why_not: "in process there are no trips, so it would be the rollback",
    round_trips: Some(7),
    writes: "4 dead rows, about 1 kB of log",
    honours: WRITTEN,
    caveat: "holds row locks over its trips",
    needs: &[],
    nominal_ms: 0.15,
};

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
        session.execute(self.begin)?;
        let mut touched = 0;
        for field in overrides {
            let mut write = session.flight();
            self.updates.execute(&mut write, field)?;
            touched += write.land(|_| Ok(()))?.rows_affected;
        }
        all_written(touched, overrides)?;
        steps.enter(Step::Read);
        let inputs = session.read_model(&self.workload)?;
        steps.enter(Step::Compute);
        let answer = self.workload.project(&inputs);
        steps.enter(Step::Discard);
        session.execute(self.rollback)?;
        Ok(answer)
    }
}
