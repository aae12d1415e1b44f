//! The rollback with one update for all overrides, which come as arrays.

use super::facts::{Facts, POSTGRES, WRITTEN};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::postgres::{PostgresSession, Statement};
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "The rollback with one UPDATE … FROM unnest(…) for all overrides.",
    stands_for: "a set-based write path",
    on: POSTGRES,
    why_not: "it needs arrays, which sqlite does not have",
    round_trips: Some(3),
    writes: "4 dead rows, about 1 kB of log",
    honours: WRITTEN,
    caveat: "holds row locks over its trips",
    needs: &[],
    nominal_ms: 0.15,
};

pub(super) struct OnPostgres {
    workload: Workload,
    begin: Statement,
    update: Statement,
    rollback: Statement,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        let table = session.table().clone();
        Ok(Self {
            workload: workload.clone(),
            begin: session.prepare_begin()?,
            update: session.prepare(&table.update_from(table.arrays()), table.array_types())?,
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
        let shape = self.workload.shape();
        let mut write = session.flight();
        write.execute(self.begin, &[])?;
        write.execute_overrides(self.update, overrides, shape)?;
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
