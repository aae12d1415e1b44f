//! A run's figures as values, cell by cell. How they are computed stands in `cell` and `analyst`.

use super::claim::ClaimVerdict;
use super::diagnostics::Warning;
use super::distance::Distances;
use super::evidence::RunFacts;
use super::interval::{Interval, Mean};
use super::scaling::Scaling;
use super::steps::CellSteps;
use super::verdict::Verdict;
use super::wire::CellWire;
use crate::archive::CellRow;
use crate::plan::CellKind;

/// A quantile of one side, or why it is withheld.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantile {
    /// The nearest-rank value and its order-statistic interval, ns.
    Value {
        /// The value.
        value: i64,
        /// Where the population's quantile lies with 95 %, whatever the distribution, were the pairs independent.
        interval: Option<Interval>,
    },
    /// There are so few pairs that no interval of order statistics holds the quantile.
    TooFew {
        /// Pairs that there are.
        pairs: usize,
    },
}

/// One side of a cell, over all counted pairs; times in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Median.
    pub p50: Quantile,
    /// 95th percentile.
    pub p95: Quantile,
    /// 99th percentile.
    pub p99: Quantile,
    /// Smallest and largest of the forks' medians.
    pub fork_medians: Option<(i64, i64)>,
}

/// Subject against baseline; times in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Median of the differences: nearest rank, over all counted pairs.
    pub median: i64,
    /// Difference of the medians, subject's minus baseline's: another estimand, for comparison with unpaired studies.
    pub of_medians: i64,
    /// Mean of the forks' medians, its error and degrees of freedom; `None` below two forks.
    pub over_forks: Option<Mean>,
    /// Two-level bootstrap of the same mean.
    pub two_level: Option<Interval>,
    /// The study's pooled bootstrap of the median, within session.
    pub pooled: Interval,
    /// Share of counted pairs in which the subject took longer.
    pub slower_share: f64,
    /// Student's t on the forks' shares, cut to 0 to 1; `None` where all forks have the same share.
    pub slower_interval: Option<Interval>,
    /// Subject's median over baseline's; `None` where the baseline's is 0.
    pub ratio: Option<f64>,
    /// Student's t on the logarithms of the forks' ratios.
    pub ratio_interval: Option<Interval>,
    /// Median difference with the subject first, less that with the baseline first: mean over forks, and interval.
    pub order_effect: Option<(f64, Option<Interval>)>,
    /// Lag-1 rank correlation of neighbouring pairs, mean over forks.
    pub autocorrelation: Option<f64>,
    /// What the pairs are worth in independent ones, from the autocorrelation.
    pub effective_pairs: Option<f64>,
}

impl Difference {
    /// The headline interval: Student's t on the forks' medians.
    pub fn headline(&self) -> Option<Interval> {
        self.over_forks.map(|mean| mean.interval())
    }
}

/// What a run could have told from nothing, from the control at the same size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFloor {
    /// Smallest difference, ns.
    pub difference: f64,
    /// Smallest factor between the medians, above 1.
    pub factor: Option<f64>,
}

/// What a cell shows.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSummary {
    /// The cell.
    pub cell: CellRow,
    /// Forks that are there.
    pub forks: usize,
    /// Measured pairs that count.
    pub pairs: usize,
    /// Measured pairs that do not: a side failed, or the answers differ.
    pub uncounted: u64,
    /// The subject.
    pub subject: Side,
    /// The baseline.
    pub baseline: Side,
    /// Their difference; `None` where no pair counts.
    pub difference: Option<Difference>,
    /// Median over the forks of the distance, ns; `None` in process.
    pub distance: Option<i64>,
    /// The difference in round trips: median difference over distance.
    pub trips: Option<f64>,
    /// The difference as a share of the debounce budget.
    pub budget_share: Option<f64>,
    /// Where the time goes; `None` where steps were not recorded.
    pub steps: Option<CellSteps>,
    /// What passed the proxy; `None` where none stood in the path.
    pub wire: Option<CellWire>,
    /// What could have been told from nothing at this cell.
    pub noise_floor: Option<NoiseFloor>,
    /// What the cell says against the margin, and the Holm-adjusted p-value; controls are not judged.
    pub verdict: Option<(Verdict, Option<f64>)>,
    /// Forks that an interval half as wide as the margin either way would have taken.
    pub forks_needed: Option<u32>,
}

/// A run's figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The run.
    pub facts: RunFacts,
    /// Cells in the order of the plan; controls are among them.
    pub cells: Vec<CellSummary>,
    /// How each pair of sides scales over the sizes.
    pub scaling: Vec<Scaling>,
    /// What the distance adds, for each difference over several delays.
    pub distances: Vec<Distances>,
    /// What a reader must know before the figures.
    pub warnings: Vec<Warning>,
    /// What the run says about each claim of its manifest.
    pub claims: Vec<ClaimVerdict>,
}

impl Analysis {
    /// The cells that answer the question.
    pub fn comparisons(&self) -> impl Iterator<Item = &CellSummary> {
        self.cells.iter().filter(|cell| cell.cell.is_comparison())
    }

    /// The cell of the primary figure.
    pub fn primary(&self) -> Option<&CellSummary> {
        self.cells.iter().find(|cell| {
            self.facts
                .primary
                .strip_prefix(&cell.cell.id)
                .is_some_and(|rest| rest.starts_with('.'))
        })
    }
}

/// Whether a cell is the control at another's place of the grid.
pub(super) fn is_control_of(other: &CellRow, cell: &CellRow) -> bool {
    other.kind == CellKind::Control
        && other.backend_name == cell.backend_name
        && other.path_delay == cell.path_delay
        && other.plans == cell.plans
        && other.schema_shape == cell.schema_shape
        && other.subject == cell.subject
}
