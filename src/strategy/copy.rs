//! The study's strategy B: a loaded copy of the model in memory. The database is never touched.
//!
//! It is right only as long as the copy equals what a read would return; that is what every pair's comparison of
//! answers tests.

use super::facts::{EVERYWHERE, Facts};
use super::{PreviewError, Strategy};
use crate::step::{Step, Steps};
use crate::workload::{Answer, Inputs, Overrides, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "Apply the overrides to a loaded copy in memory and compute; the database is never touched.",
    stands_for: "the study",
    on: EVERYWHERE,
    why_not: "",
    round_trips: Some(0),
    writes: "nothing",
    honours: &[],
    caveat: "a second read path to keep honest",
    needs: &[],
    nominal_ms: 0.0,
};

pub(super) struct Copy {
    workload: Workload,
    loaded: Inputs,
}

impl Copy {
    pub(super) fn open(workload: &Workload, loaded: Inputs) -> Self {
        Self {
            workload: workload.clone(),
            loaded,
        }
    }
}

impl<S> Strategy<S> for Copy {
    fn preview(&mut self, _session: &mut S, overrides: &Overrides, steps: &mut Steps) -> Result<Answer, PreviewError> {
        steps.enter(Step::Compute);
        let mut inputs = self.loaded.clone();
        overrides.apply_to(&mut inputs);
        Ok(self.workload.project(&inputs))
    }
}
