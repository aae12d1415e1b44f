//! The study's strategy B: a loaded copy of the model in memory. The database is never touched.
//!
//! It is right only as long as the copy equals what a read would return; that is what every pair's comparison of
//! answers tests.

use super::{PreviewError, Strategy};
use crate::workload::{Answer, Inputs, Overrides, Workload};

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
    fn preview(&mut self, _session: &mut S, overrides: &Overrides) -> Result<Answer, PreviewError> {
        let mut inputs = self.loaded.clone();
        overrides.apply_to(&mut inputs);
        Ok(self.workload.project(&inputs))
    }
}
