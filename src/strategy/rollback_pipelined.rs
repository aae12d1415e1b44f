//! The rollback in one flight with one Sync: nothing that is sent depends on an answer, so nothing need be awaited in
//! between. After an error the server skips the rest up to the Sync, the rollback too: the caller's reset sends it.

use super::facts::{Facts, WIRE, WRITTEN};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::postgres::{PostgresSession, Statement, Updates, land_model};
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "The rollback with everything in one flight and one Sync, prepared, in binary form.",
    stands_for: "what a pipelining driver makes of the same transaction",
    on: WIRE,
    why_not: "in process there are no trips, so it would be the rollback",
    round_trips: Some(1),
    writes: "4 dead rows, about 1 kB of log",
    honours: WRITTEN,
    caveat: "",
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
        steps.enter(Step::Exchange);
        let select = session.select();
        let mut flight = session.flight();
        flight.execute(self.begin, &[])?;
        for field in overrides {
            self.updates.execute(&mut flight, field)?;
        }
        flight.execute(select, &[])?;
        flight.execute(self.rollback, &[])?;
        let (landing, inputs) = land_model(flight, &self.workload)?;
        steps.enter(Step::Compute);
        all_written(landing.rows_affected, overrides)?;
        Ok(self.workload.project(&inputs))
    }
}
