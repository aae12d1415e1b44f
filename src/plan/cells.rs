//! The points of the grid.

use serde::{Deserialize, Serialize};

use crate::manifest::Manifest;
use crate::strategy::StrategyName;
use crate::units::CellIndex;

/// What a cell is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellKind {
    /// A subject against the baseline.
    Comparison,
    /// A subject against itself: whatever difference shows is noise.
    Control,
}

impl CellKind {
    /// The word that stands in the archive.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comparison => "comparison",
            Self::Control => "control",
        }
    }
}

/// One point of the grid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Its place in the plan.
    pub index: CellIndex,
    /// Its name in figure ids, e.g. `cell[plans=40]`.
    pub id: String,
    /// What it is there for.
    pub kind: CellKind,
    /// The backend's label.
    pub backend: String,
    /// Size of the model.
    pub plans: u32,
    /// Horizon of the projection.
    pub months: u32,
    /// The strategy that is priced.
    pub subject: StrategyName,
    /// The strategy that it is priced against.
    pub baseline: StrategyName,
}

impl Cell {
    /// Rows of the model: `2 + 4 · plans`.
    pub fn fields(&self) -> u64 {
        2 + 4 * u64::from(self.plans)
    }

    /// What the cell is, independent of its place: random orders derive from it, so that adding a cell to a manifest
    /// leaves the orders of the others as they were.
    pub(super) fn coordinates(&self) -> String {
        format!(
            "kind={} backend={} plans={} months={} subject={} baseline={}",
            self.kind.as_str(),
            self.backend,
            self.plans,
            self.months,
            self.subject,
            self.baseline
        )
    }
}

/// Comparisons by size and subject, then a control a comparison whose sides differ.
pub(super) fn lay_out(manifest: &Manifest) -> Vec<Cell> {
    let grid = &manifest.grid;
    let points = || {
        grid.plans
            .iter()
            .flat_map(|&plans| grid.subjects.iter().map(move |&subject| (plans, subject)))
    };
    let cell = |kind, id, plans, subject, baseline| Cell {
        index: CellIndex(0),
        id,
        kind,
        backend: manifest.backend.label(),
        plans,
        months: manifest.measure.months,
        subject,
        baseline,
    };
    let comparisons = points().map(|(plans, subject)| {
        cell(
            CellKind::Comparison,
            grid.cell_id(plans, subject),
            plans,
            subject,
            grid.baseline,
        )
    });
    let controls = points()
        .filter(|&(_, subject)| grid.control && subject != grid.baseline)
        .map(|(plans, subject)| {
            cell(
                CellKind::Control,
                grid.control_id(plans, subject),
                plans,
                subject,
                subject,
            )
        });
    let numbered = |(index, cell): (usize, Cell)| Cell {
        index: CellIndex(index as u32),
        ..cell
    };
    comparisons.chain(controls).enumerate().map(numbered).collect()
}
