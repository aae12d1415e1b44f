//! The rollback as one message of the simple protocol: any driver can send it. The server parses and plans each
//! statement anew, and answers in text, which is read back exactly.
//!
//! After an error the server skips the rest of the message, the rollback too, so a clean-up follows within the preview.

use std::fmt::Write as _;

use super::facts::{Facts, WIRE, WRITTEN};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::postgres::PostgresSession;
use crate::step::{Step, Steps};
use crate::workload::{Answer, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "The rollback as one simple-query message, with a clean-up after an error.",
    stands_for: "one trip with any driver",
    on: WIRE,
    why_not: "in process there are no messages, so it would be the rollback",
    round_trips: Some(1),
    writes: "4 dead rows, about 1 kB of log",
    honours: WRITTEN,
    caveat: "parsed and planned at each preview; values pass as text",
    needs: &[],
    nominal_ms: 0.3,
};

pub(super) struct OnPostgres {
    workload: Workload,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        // Binary values know nothing of it.
        session.answer_exactly()?;
        Ok(Self {
            workload: workload.clone(),
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
        let mut sql = format!("{}; ", session.begin());
        for field in overrides {
            // Writing to a string does not fail.
            let _ = write!(sql, "{}; ", session.table().update_as_text(field));
        }
        let _ = write!(sql, "{}; ROLLBACK", session.table().select_as_text());
        match session.simple_model(&sql, &self.workload) {
            Ok((landing, inputs)) => {
                steps.enter(Step::Compute);
                all_written(landing.rows_affected, overrides)?;
                Ok(self.workload.project(&inputs))
            }
            Err(error) => {
                steps.enter(Step::Discard);
                session.reset()?;
                Err(error.into())
            }
        }
    }
}
