//! The model is read anew at each preview and the overrides are applied in memory: never stale, and never a write.

use super::facts::{EVERYWHERE, Facts, Honour};
use super::{PreviewError, Strategy};
use crate::backend::postgres::PostgresSession;
use crate::backend::sqlite::SqliteSession;
use crate::step::{Step, Steps};
use crate::workload::{Answer, Inputs, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "Read the model anew, apply the overrides in memory, compute.",
    stands_for: "the honest middle way",
    on: EVERYWHERE,
    why_not: "",
    round_trips: Some(1),
    writes: "nothing",
    honours: &[Honour::Fresh],
    caveat: "overrides are applied outside the database",
    needs: &[],
    nominal_ms: 0.05,
};

pub(super) struct CopyFresh {
    workload: Workload,
}

impl CopyFresh {
    pub(super) fn open(workload: &Workload) -> Self {
        Self {
            workload: workload.clone(),
        }
    }

    fn answer(&self, mut inputs: Inputs, overrides: &Overrides) -> Answer {
        overrides.apply_to(&mut inputs);
        self.workload.project(&inputs)
    }
}

impl Strategy<SqliteSession> for CopyFresh {
    fn preview(
        &mut self,
        session: &mut SqliteSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Read);
        let inputs = session.read_model(&self.workload)?;
        steps.enter(Step::Compute);
        Ok(self.answer(inputs, overrides))
    }
}

impl Strategy<PostgresSession> for CopyFresh {
    fn preview(
        &mut self,
        session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Read);
        let inputs = session.read_model(&self.workload)?;
        steps.enter(Step::Compute);
        Ok(self.answer(inputs, overrides))
    }
}
