//! A savepoint in a transaction that stays open: what nested transactional tests do.
//!
//! On PostgreSQL the long transaction has a connection of its own, since the other side of a pair must be able to begin
//! and end its own on the shared one. Its row locks are released with the savepoint.
//!
//! On SQLite, behind a socket too, the outermost savepoint is itself the transaction, and RELEASE would commit it, which
//! writes: it is rolled back to, and ROLLBACK ends it.

use super::facts::{EVERYWHERE, Facts, WRITTEN};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::postgres::{PostgresSession, Statement, Updates};
use crate::backend::sqlite::SqliteSession;
use crate::step::{Step, Steps};
use crate::workload::{Answer, Inputs, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "Set a savepoint in a long transaction, write, read, roll back to it and release it.",
    stands_for: "nested transactional tests (Rails, Django)",
    on: EVERYWHERE,
    why_not: "",
    round_trips: Some(3),
    writes: "4 dead rows, about 1 kB of log, a subtransaction",
    honours: WRITTEN,
    caveat: "holds back vacuum for as long as its transaction is open; uses a connection of its own on postgres",
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
        session.run("SAVEPOINT preview")?;
        all_written(session.update_all(overrides)?, overrides)?;
        steps.enter(Step::Read);
        let inputs = session.read_model(&self.workload)?;
        steps.enter(Step::Compute);
        let answer = self.workload.project(&inputs);
        steps.enter(Step::Discard);
        session.run("ROLLBACK TO preview")?;
        session.rollback()?;
        Ok(answer)
    }
}

pub(super) struct OnPostgres {
    workload: Workload,
    own: PostgresSession,
    savepoint: Statement,
    updates: Updates,
    back: Statement,
    release: Statement,
}

impl OnPostgres {
    pub(super) fn open(session: &PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        let mut own = session.another(workload)?;
        own.simple("BEGIN")?;
        Ok(Self {
            workload: workload.clone(),
            savepoint: own.prepare("SAVEPOINT preview", &[])?,
            updates: own.prepare_updates(workload)?,
            back: own.prepare("ROLLBACK TO SAVEPOINT preview", &[])?,
            release: own.prepare("RELEASE SAVEPOINT preview", &[])?,
            own,
        })
    }

    fn write_and_read(&mut self, overrides: &Overrides, steps: &mut Steps) -> Result<Inputs, PreviewError> {
        steps.enter(Step::Write);
        let mut write = self.own.flight();
        write.execute(self.savepoint, &[])?;
        for field in overrides {
            self.updates.execute(&mut write, field)?;
        }
        all_written(write.land(|_| Ok(()))?.rows_affected, overrides)?;
        steps.enter(Step::Read);
        Ok(self.own.read_model(&self.workload)?)
    }
}

impl Strategy<PostgresSession> for OnPostgres {
    fn preview(
        &mut self,
        _session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        match self.write_and_read(overrides, steps) {
            Ok(inputs) => {
                steps.enter(Step::Compute);
                let answer = self.workload.project(&inputs);
                steps.enter(Step::Discard);
                let mut discard = self.own.flight();
                discard.execute(self.back, &[])?;
                discard.execute(self.release, &[])?;
                discard.land(|_| Ok(()))?;
                Ok(answer)
            }
            Err(error) => {
                steps.enter(Step::Discard);
                // The caller resets the shared session, not this one.
                self.own.reset()?;
                self.own.simple("BEGIN")?;
                Err(error)
            }
        }
    }

    fn own_round_trip(&mut self) -> Result<bool, PreviewError> {
        self.own.empty_round_trip()?;
        Ok(true)
    }
}

pub(super) struct OnServed {
    workload: Workload,
    savepoint: Statement,
    updates: Updates,
    back: Statement,
    rollback: Statement,
}

impl OnServed {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        Ok(Self {
            workload: workload.clone(),
            savepoint: session.prepare("SAVEPOINT preview", &[])?,
            updates: session.prepare_updates(workload)?,
            back: session.prepare("ROLLBACK TO preview", &[])?,
            rollback: session.prepare("ROLLBACK", &[])?,
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
        steps.enter(Step::Write);
        let mut write = session.flight();
        write.execute(self.savepoint, &[])?;
        for field in overrides {
            self.updates.execute(&mut write, field)?;
        }
        all_written(write.land(|_| Ok(()))?.rows_affected, overrides)?;
        steps.enter(Step::Read);
        let inputs = session.read_model(&self.workload)?;
        steps.enter(Step::Compute);
        let answer = self.workload.project(&inputs);
        steps.enter(Step::Discard);
        let mut discard = session.flight();
        discard.execute(self.back, &[])?;
        discard.execute(self.rollback, &[])?;
        discard.land(|_| Ok(()))?;
        Ok(answer)
    }
}

impl Drop for OnPostgres {
    fn drop(&mut self) {
        // So that its locks are gone and its work is counted when the fork looks back. The server does so by itself
        // when the connection is gone.
        let _ = self.own.reset();
        self.own.count();
    }
}
