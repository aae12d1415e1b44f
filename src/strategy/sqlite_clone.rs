//! A database of its own for each preview, on SQLite: cloned, written, read and thrown away.
//!
//! The overrides are committed in the clone, as a test in a database of its own would commit. A new connection has no
//! prepared statements, and its preparing is part of the price.

use super::facts::{Facts, Ground, Honour, SQLITE};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::sqlite::SqliteSession;
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

/// All that a commit in the clone would do, on what is committed now.
const HONOURS: &[Honour] = &Honour::ALL;

pub(super) const BACKUP: Facts = Facts {
    sentence: "Copy the database page by page into a new one in memory, write there, read, throw it away.",
    stands_for: "SQLite's backup interface",
    on: SQLITE,
    why_not: "it is sqlite's backup interface",
    round_trips: Some(0),
    writes: "nothing to the database; a copy of it in memory",
    honours: HONOURS,
    caveat: "takes the whole database, however small the model is",
    needs: &[],
    nominal_ms: 0.3,
};

pub(super) const DESERIALIZE: Facts = Facts {
    sentence: "Serialize the database into a buffer, open the buffer as a new one, write there, read, throw it away.",
    stands_for: "SQLite's serialize interface",
    on: SQLITE,
    why_not: "it is sqlite's serialize interface",
    round_trips: Some(0),
    writes: "nothing to the database; a copy of it in memory",
    honours: HONOURS,
    caveat: "takes the whole database, however small the model is",
    needs: &[],
    nominal_ms: 0.4,
};

pub(super) const FILE_CLONE: Facts = Facts {
    sentence: "Copy the database's file (sharing blocks where the file system can), write there, read, remove it.",
    stands_for: "a template of a file",
    on: &[Ground::SqliteFile],
    why_not: "it copies a file, which only sqlite on a file has: storage = \"file\"",
    round_trips: Some(0),
    writes: "a file of the database's size, with its journal",
    honours: HONOURS,
    caveat: "takes the whole database, however small the model is; keeps writers out while it copies",
    needs: &[],
    nominal_ms: 10.0,
};

/// How the clone is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    Backup,
    Deserialize,
    FileClone,
}

pub(super) struct Clone {
    workload: Workload,
    means: Means,
}

impl Clone {
    pub(super) fn open(means: Means, session: &SqliteSession, workload: &Workload) -> Result<Self, BackendError> {
        if means == Means::FileClone && !session.is_on_file() {
            return Err(BackendError::Unable(FILE_CLONE.why_not.to_owned()));
        }
        Ok(Self {
            workload: workload.clone(),
            means,
        })
    }
}

impl Strategy<SqliteSession> for Clone {
    fn preview(
        &mut self,
        session: &mut SqliteSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Write);
        let mut clone = match self.means {
            Means::Backup => session.backup()?,
            Means::Deserialize => session.deserialized()?,
            Means::FileClone => session.clone_file()?,
        };
        clone.begin_immediate()?;
        all_written(clone.update_all(overrides)?, overrides)?;
        clone.run("COMMIT")?;
        steps.enter(Step::Read);
        let inputs = clone.read_model(&self.workload)?;
        steps.enter(Step::Compute);
        let answer = self.workload.project(&inputs);
        steps.enter(Step::Discard);
        clone.throw_away()?;
        Ok(answer)
    }
}
