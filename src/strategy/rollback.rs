//! The study's strategy A: write the overrides in a transaction, read the model back, compute, roll back.
//!
//! On PostgreSQL it leaves in three flights with one Sync each, as the study's driver sends it: BEGIN with the updates,
//! the select, the rollback. Every step is awaited, the rollback too: a rollback in the background would hide a round
//! trip and the tail of the locks.

use super::{PreviewError, Strategy};
use crate::backend::BackendError;
use crate::backend::postgres::{Param, PostgresSession, Statement};
use crate::backend::sqlite::SqliteSession;
use crate::workload::{Answer, Overrides, Workload};

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
    fn preview(&mut self, session: &mut SqliteSession, overrides: &Overrides) -> Result<Answer, PreviewError> {
        session.begin_immediate()?;
        let mut touched = 0;
        for field in overrides {
            touched += session.update(&field.name, field.value)?;
        }
        all_written(touched, overrides)?;
        let inputs = session.read_model(&self.workload)?;
        let answer = self.workload.project(&inputs);
        session.rollback()?;
        Ok(answer)
    }
}

pub(super) struct OnPostgres {
    workload: Workload,
    begin: Statement,
    update: Statement,
    rollback: Statement,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        Ok(Self {
            workload: workload.clone(),
            begin: session.prepare("BEGIN", &[])?,
            update: session.prepare_update()?,
            rollback: session.prepare("ROLLBACK", &[])?,
        })
    }
}

impl Strategy<PostgresSession> for OnPostgres {
    fn preview(&mut self, session: &mut PostgresSession, overrides: &Overrides) -> Result<Answer, PreviewError> {
        let mut write = session.flight();
        write.execute(self.begin, &[])?;
        for field in overrides {
            write.execute(self.update, &[Param::Text(&field.name), Param::Float8(field.value)])?;
        }
        all_written(write.land(|_| Ok(()))?.rows_affected, overrides)?;
        let inputs = session.read_model(&self.workload)?;
        let answer = self.workload.project(&inputs);
        let mut discard = session.flight();
        discard.execute(self.rollback, &[])?;
        discard.land(|_| Ok(()))?;
        Ok(answer)
    }
}

fn all_written(touched: u64, overrides: &Overrides) -> Result<(), PreviewError> {
    let overridden = overrides.len() as u64;
    if touched == overridden {
        Ok(())
    } else {
        Err(PreviewError::Write { touched, overridden })
    }
}
