//! What a figure over several cells is of: the cells that differ in nothing but what it runs over.

use crate::archive::CellRow;
use crate::manifest::delay_in_ids;
use crate::units::Nanos;

/// Cells that differ in their size alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The strategy that is priced.
    pub subject: String,
    /// The strategy that it is priced against.
    pub baseline: String,
    /// The backend's name, where the run has several.
    pub backend: Option<String>,
    /// How the model's table is laid out, where the run has several ways.
    pub schema: Option<String>,
    /// What a proxy adds to each round trip, where one stands in the path.
    pub delay: Option<Nanos>,
    /// What is named beside the sides, each with a comma before it, for people.
    pub further: String,
}

impl Line {
    /// The line that a cell is on.
    pub(super) fn of(cell: &CellRow) -> Self {
        Self {
            subject: cell.subject.clone(),
            baseline: cell.baseline.clone(),
            backend: cell.backend_name.clone(),
            schema: cell.schema_shape.clone(),
            delay: cell.path_delay,
            further: cell.further(),
        }
    }

    /// Whether a cell is on it.
    pub fn has(&self, cell: &CellRow) -> bool {
        Self::of(cell) == *self
    }

    /// As ids have it, e.g. `subject=rollback,baseline=copy,backend=tcp`.
    pub fn id(&self) -> String {
        let mut id = format!("subject={},baseline={}", self.subject, self.baseline);
        let delay = self.delay.map(delay_in_ids);
        for (key, value) in [("backend", &self.backend), ("schema", &self.schema), ("delay", &delay)] {
            if let Some(value) = value {
                id.extend([",", key, "=", value]);
            }
        }
        id
    }
}
