//! Where the time goes: each step of the previews on both sides, and its part of the difference.

use super::Dialect;
use super::cell_grid::CellGrid;
use super::format::{milliseconds, percent};
use super::grid::Grid;
use crate::analysis::{Analysis, CellSteps, CellSummary, StepTime};

const NONE: &str = "–";

/// How the table is to be read.
pub(super) const LEGEND: &str = "Steps: the median over the previews that have the step, and its share of the side's time. Part: mean of \
                      subject minus baseline over the middle half of the pairs by their difference, so that no outlier \
                      is in it; steps follow each other without a gap, so the parts add up to the whole, and nothing is \
                      left over. Exchange: write, read and discard in one flight, which the client can't tell apart.";

/// The blocks about steps; none where no cell has them.
pub(super) fn blocks(analysis: &Analysis, dialect: Dialect) -> Vec<String> {
    if !are_there(analysis) {
        return Vec::new();
    }
    vec![steps_grid(analysis).render(dialect), LEGEND.to_owned()]
}

/// Whether any comparison has steps.
pub(super) fn are_there(analysis: &Analysis) -> bool {
    analysis.comparisons().any(|cell| cell.steps.is_some())
}

/// A row a step of each comparison, and one for the whole.
pub(super) fn steps_grid(analysis: &Analysis) -> Grid {
    let headings = [
        "plans",
        "difference",
        "step",
        "subject",
        "share",
        "baseline",
        "share",
        "part",
        "of the whole",
    ];
    let mut grid = CellGrid::new(&headings, 3);
    for cell in analysis.comparisons() {
        if let Some(steps) = &cell.steps {
            add(&mut grid, cell, steps);
        }
    }
    grid.grid()
}

fn add(grid: &mut CellGrid, cell: &CellSummary, steps: &CellSteps) {
    let label = |step: &str| vec![cell.cell.plans.to_string(), cell.cell.sides(), step.to_owned()];
    for step in &steps.steps {
        let mut row = label(step.step.as_str());
        row.extend([step.subject, step.baseline].into_iter().flat_map(time));
        row.push(milliseconds(step.part));
        row.push(share_of(step.part, steps.whole));
        grid.row(cell, row);
    }
    let mut row = label("whole");
    row.extend([NONE; 4].map(str::to_owned));
    row.push(milliseconds(steps.whole));
    row.push(share_of(steps.whole, steps.whole));
    grid.row(cell, row);
}

fn time(time: Option<StepTime>) -> [String; 2] {
    time.map_or([NONE; 2].map(str::to_owned), |time| {
        [milliseconds(time.median as f64), percent(time.share)]
    })
}

/// A part as a share; of nothing there is none.
fn share_of(part: f64, whole: f64) -> String {
    if whole == 0.0 {
        return NONE.to_owned();
    }
    percent(part / whole)
}
