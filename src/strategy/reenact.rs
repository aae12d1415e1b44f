//! One read with the overrides laid over it, and no write: what the update would have made is computed, not executed.
//!
//! A row that is overridden twice comes twice, and a missing one is missing: the reader refuses both.

use super::facts::{EVERYWHERE, Facts, Honour};
use super::{PreviewError, Strategy};
use crate::backend::BackendError;
use crate::backend::postgres::{PostgresSession, Statement, land_model};
use crate::backend::sqlite::SqliteSession;
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "Read the model in one select with the overrides laid over it, cast to the column's type; no write.",
    stands_for: "historical what-if by reenactment (arXiv:2203.12860)",
    on: EVERYWHERE,
    why_not: "",
    round_trips: Some(1),
    writes: "nothing",
    honours: &[Honour::Fresh, Honour::ColumnType],
    caveat: "a second read path to keep honest",
    needs: &[],
    nominal_ms: 0.1,
};

pub(super) struct OnSqlite {
    workload: Workload,
    select: String,
}

impl OnSqlite {
    pub(super) fn open(session: &SqliteSession, workload: &Workload) -> Self {
        Self {
            workload: workload.clone(),
            select: session.reenacted(&workload.overrides(0.0)),
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
        steps.enter(Step::Read);
        let inputs = session.read_over(&self.select, overrides, &self.workload)?;
        steps.enter(Step::Compute);
        Ok(self.workload.project(&inputs))
    }
}

pub(super) struct OnPostgres {
    workload: Workload,
    select: Statement,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        let value_type = session.value_type()?;
        let table = session.table().clone();
        let select = table.select_over(table.arrays(), &value_type);
        Ok(Self {
            workload: workload.clone(),
            select: session.prepare(&select, table.array_types())?,
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
        steps.enter(Step::Read);
        let mut flight = session.flight();
        flight.execute_overrides(self.select, overrides, self.workload.shape())?;
        let (_, inputs) = land_model(flight, &self.workload)?;
        steps.enter(Step::Compute);
        Ok(self.workload.project(&inputs))
    }
}

pub(super) struct OnServed {
    workload: Workload,
    select: Statement,
}

impl OnServed {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        Ok(Self {
            workload: workload.clone(),
            select: session.prepare_reenacted(&workload.overrides(0.0))?,
        })
    }
}

impl Strategy<PostgresSession> for OnServed {
    fn preview(
        &mut self,
        session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Read);
        let mut flight = session.flight();
        flight.execute_fields(self.select, overrides, self.workload.shape())?;
        let (_, inputs) = land_model(flight, &self.workload)?;
        steps.enter(Step::Compute);
        Ok(self.workload.project(&inputs))
    }
}
