//! From a manifest to the exact list of what will be measured, in which order. Pure: the same manifest gives the same
//! plan everywhere, and `preview-cost plan` prints it without touching anything.

mod cells;
mod estimate;
pub mod order;

use thiserror::Error;

pub use cells::{Cell, CellKind};

use crate::manifest::Manifest;
use crate::strategy::StrategyName;
use crate::units::{CellIndex, ForkIndex, Nanos};

/// Most memory that a fork may need, in bytes: 2 GiB.
const MEMORY_BYTES_MAX: u64 = 2 << 30;
/// Bytes that a pair takes at its widest: as a row in the worker, as text on its way, and as columns.
const BYTES_PER_PAIR: u64 = 512;
/// Bytes that a row of the model takes: names, places, values, and the statement that seeds them.
const BYTES_PER_FIELD: u64 = 256;

/// One fork's place in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkSlot {
    /// Which cell it measures.
    pub cell: CellIndex,
    /// Which of the cell's forks it is.
    pub fork: ForkIndex,
}

/// What a run will do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    cells: Vec<Cell>,
    schedule: Vec<ForkSlot>,
    expected: Nanos,
}

/// Why a manifest can't be run on this program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A fork would need too much memory.
    #[error(
        "a fork of {cell} would need about {needed_mib} MiB of memory, and the bound is {bound_mib} MiB; lower \
         measure.previews, measure.warmup or grid.plans"
    )]
    TooLarge {
        /// Id of the cell.
        cell: String,
        /// Estimated need.
        needed_mib: u64,
        /// What is allowed.
        bound_mib: u64,
    },
}

impl Plan {
    /// Lays out the cells and the order of the forks.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`] before anything is started.
    pub fn of(manifest: &Manifest) -> Result<Self, PlanError> {
        let cells = cells::lay_out(manifest);
        if let Some((cell, needed)) = cells
            .iter()
            .map(|cell| (cell, memory_bytes(manifest, cell)))
            .find(|(_, needed)| *needed > MEMORY_BYTES_MAX)
        {
            return Err(PlanError::TooLarge {
                cell: cell.id.clone(),
                needed_mib: needed >> 20,
                bound_mib: MEMORY_BYTES_MAX >> 20,
            });
        }
        let schedule = schedule(manifest, &cells);
        let expected = estimate::run(manifest, &cells);
        Ok(Self {
            cells,
            schedule,
            expected,
        })
    }

    /// The cells, in the order of the grid; comparisons first, then controls.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The strategies on either side of its cells, each once.
    pub fn strategies(&self) -> Vec<StrategyName> {
        let sides = self.cells.iter().flat_map(|cell| [cell.subject, cell.baseline]);
        let mut strategies = Vec::new();
        for name in sides {
            if !strategies.contains(&name) {
                strategies.push(name);
            }
        }
        strategies
    }

    /// The cell at a place of the plan.
    pub fn cell(&self, index: CellIndex) -> &Cell {
        &self.cells[index.0 as usize]
    }

    /// The forks, in the order in which they are measured.
    pub fn schedule(&self) -> &[ForkSlot] {
        &self.schedule
    }

    /// How long the run takes, roughly, from nominal costs of the backend and the strategies; nothing is measured.
    pub fn expected_duration(&self) -> Nanos {
        self.expected
    }
}

fn memory_bytes(manifest: &Manifest, cell: &Cell) -> u64 {
    let pairs = u64::from(manifest.measure.previews) + u64::from(manifest.measure.warmup);
    let cohorts = u64::from(manifest.measure.months) * 8;
    pairs * BYTES_PER_PAIR + cell.fields() * BYTES_PER_FIELD + cohorts
}

/// Rounds of one fork of every cell, each round in a random order of its own, so that a drift over the run falls on
/// all cells alike.
fn schedule(manifest: &Manifest, cells: &[Cell]) -> Vec<ForkSlot> {
    let mut schedule = Vec::new();
    for fork in (0..manifest.measure.forks).map(ForkIndex) {
        let mut round: Vec<CellIndex> = cells.iter().map(|cell| cell.index).collect();
        order::round_stream(manifest.measure.seed, fork).shuffle(&mut round);
        schedule.extend(round.into_iter().map(|cell| ForkSlot { cell, fork }));
    }
    schedule
}
