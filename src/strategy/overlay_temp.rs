//! A temporary table of overrides, laid over the model by a join.
//!
//! The table lives as long as the session and is emptied and filled in each preview. It is the session's own, and the
//! other side of a pair never reads it.

use super::facts::{EVERYWHERE, Facts, Honour};
use super::{PreviewError, Strategy};
use crate::backend::BackendError;
use crate::backend::postgres::{Overlay, PostgresSession, Statement, land_model};
use crate::backend::sqlite::SqliteSession;
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "Put the overrides into the session's temporary table and read the model joined with it.",
    stands_for: "overlay views",
    on: EVERYWHERE,
    why_not: "",
    round_trips: Some(1),
    writes: "4 rows of a temporary table, which are not logged",
    honours: &[Honour::Fresh, Honour::ColumnType],
    caveat: "a second read path to keep honest; breaks transaction pooling",
    needs: &[],
    nominal_ms: 0.2,
};

pub(super) struct OnSqlite {
    workload: Workload,
    select: String,
}

impl OnSqlite {
    pub(super) fn open(session: &mut SqliteSession, workload: &Workload) -> Result<Self, BackendError> {
        session.create_overlay()?;
        Ok(Self {
            workload: workload.clone(),
            select: session.overlaid(),
        })
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
        session.run("BEGIN")?;
        session.fill_overlay(overrides)?;
        steps.enter(Step::Read);
        let inputs = session.read_with(&self.select, &self.workload)?;
        steps.enter(Step::Discard);
        session.run("COMMIT")?;
        steps.enter(Step::Compute);
        Ok(self.workload.project(&inputs))
    }
}

pub(super) struct OnPostgres {
    workload: Workload,
    empty: Statement,
    fill: Statement,
    select: Statement,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        let value_type = session.value_type()?;
        let table = session.table().clone();
        let columns = table.override_columns();
        session.simple(&format!(
            "CREATE TEMPORARY TABLE IF NOT EXISTS preview_override ({columns})"
        ))?;
        let fill = format!("INSERT INTO pg_temp.preview_override SELECT * FROM {}", table.arrays());
        let select = table.select_over("pg_temp.preview_override AS o", &value_type);
        Ok(Self {
            workload: workload.clone(),
            empty: session.prepare("DELETE FROM pg_temp.preview_override", &[])?,
            fill: session.prepare(&fill, table.array_types())?,
            select: session.prepare(&select, &[])?,
        })
    }
}

impl Strategy<PostgresSession> for OnPostgres {
    /// One flight without a BEGIN is one transaction, which the Sync commits.
    fn preview(
        &mut self,
        session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Exchange);
        let mut flight = session.flight();
        flight.execute(self.empty, &[])?;
        flight.execute_overrides(self.fill, overrides, self.workload.shape())?;
        flight.execute(self.select, &[])?;
        let (_, inputs) = land_model(flight, &self.workload)?;
        steps.enter(Step::Compute);
        Ok(self.workload.project(&inputs))
    }
}

pub(super) struct OnServed {
    workload: Workload,
    begin: Statement,
    overlay: Overlay,
    commit: Statement,
}

impl OnServed {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        Ok(Self {
            workload: workload.clone(),
            // It writes to the temporary table only, so it takes no lock of the model's database.
            begin: session.prepare("BEGIN", &[])?,
            overlay: session.prepare_overlay()?,
            commit: session.prepare("COMMIT", &[])?,
        })
    }
}

impl Strategy<PostgresSession> for OnServed {
    /// SQLite's flight has no transaction of its own, so it begins and ends one, as in the worker's process.
    fn preview(
        &mut self,
        session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Exchange);
        let mut flight = session.flight();
        flight.execute(self.begin, &[])?;
        flight.fill_overlay(self.overlay, overrides, self.workload.shape())?;
        flight.execute(self.overlay.select, &[])?;
        flight.execute(self.commit, &[])?;
        let (_, inputs) = land_model(flight, &self.workload)?;
        steps.enter(Step::Compute);
        Ok(self.workload.project(&inputs))
    }
}
