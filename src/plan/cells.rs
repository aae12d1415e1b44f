//! The points of the grid.

use serde::{Deserialize, Serialize};

use crate::manifest::{Manifest, Point};
use crate::strategy::StrategyName;
use crate::units::{CellIndex, Nanos};
use crate::workload::{Shape, Workload};

/// What a cell is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellKind {
    /// A subject against the baseline.
    Comparison,
    /// A subject against itself: whatever difference shows is noise.
    Control,
    /// A subject through the proxy against itself without it: the difference is what the instrument costs.
    Path,
}

impl CellKind {
    /// The word that stands in the archive.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comparison => "comparison",
            Self::Control => "control",
            Self::Path => "path",
        }
    }

    /// The kind that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Comparison, Self::Control, Self::Path]
            .into_iter()
            .find(|kind| kind.as_str() == word)
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
    /// The backend's name, where the manifest has several.
    pub backend_name: Option<String>,
    /// Place of the backend in the manifest's list.
    pub backend_place: usize,
    /// What a proxy adds to each round trip; `None` without a proxy. Of a path cell, this is the subject's side: the
    /// baseline's has no proxy.
    pub path_delay: Option<Nanos>,
    /// Size of the model.
    pub plans: u32,
    /// Horizon of the projection.
    pub months: u32,
    /// How the model's table is laid out.
    pub shape: Shape,
    /// Whether the shape is part of the cell's id: the manifest asks for others than the study's.
    pub names_shape: bool,
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

    /// What is previewed.
    pub fn workload(&self) -> Workload {
        Workload::shaped(self.plans, self.months, self.shape)
    }

    /// What the cell is, independent of its place: random orders derive from it, so that adding a cell to a manifest
    /// leaves the orders of the others as they were.
    pub(super) fn coordinates(&self) -> String {
        // The study's shape goes without saying, and so do the only backend and a path without a proxy, so that orders
        // are those of manifests that know of no other.
        let mut further = String::new();
        if self.shape != Shape::Kv {
            further.extend([" schema=", self.shape.as_str()]);
        }
        if let Some(name) = &self.backend_name {
            further.extend([" name=", name]);
        }
        if let Some(delay) = self.path_delay {
            further.extend([" delay_ns=", &delay.0.to_string()]);
        }
        format!(
            "kind={} backend={} plans={} months={} subject={} baseline={}{further}",
            self.kind.as_str(),
            self.backend,
            self.plans,
            self.months,
            self.subject,
            self.baseline
        )
    }
}

/// Comparisons in the order of the grid, then a control a comparison whose sides differ, then the proxy's own cells.
pub(super) fn lay_out(manifest: &Manifest) -> Vec<Cell> {
    let grid = &manifest.grid;
    let cell = |kind, id, point: &Point, baseline| Cell {
        index: CellIndex(0),
        id,
        kind,
        backend: manifest.backends[point.backend].backend.label(),
        backend_name: grid.backend_name(point).map(str::to_owned),
        backend_place: point.backend,
        path_delay: point.delay,
        plans: point.plans,
        months: manifest.measure.months,
        shape: point.shape,
        names_shape: grid.names_schemas(),
        subject: point.subject,
        baseline,
    };
    let comparisons = grid
        .points()
        .map(|point| cell(CellKind::Comparison, grid.cell_id(&point), &point, grid.baseline));
    let controls = grid
        .controls()
        .map(|point| cell(CellKind::Control, grid.control_id(&point), &point, point.subject));
    let of_path = grid
        .path_controls()
        .map(|point| cell(CellKind::Path, grid.path_id(&point), &point, point.subject));
    let numbered = |(index, cell): (usize, Cell)| Cell {
        index: CellIndex(index as u32),
        ..cell
    };
    comparisons
        .chain(controls)
        .chain(of_path)
        .enumerate()
        .map(numbered)
        .collect()
}
