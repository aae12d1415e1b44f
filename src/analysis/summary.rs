//! A run's figures, cell by cell.

use super::evidence::{CellSample, Evidence, RunFacts, State};
use super::interval::{self, Interval, pooled_bootstrap_exact, pooled_bootstrap_resampled, student_t};
use crate::archive::CellRow;
use crate::nearest_rank;

/// Values that must lie beyond a tail quantile for it to be told.
const BEYOND_QUANTILE_MIN: usize = 5;

/// A quantile, or why it is withheld.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantile {
    /// The nearest-rank value, ns.
    Value(i64),
    /// Too few pairs lie beyond it.
    TooFew {
        /// Pairs that there are.
        pairs: usize,
        /// Pairs that it takes.
        needed: usize,
    },
}

impl Quantile {
    /// The value, if it is told.
    pub fn value(self) -> Option<i64> {
        match self {
            Self::Value(value) => Some(value),
            Self::TooFew { .. } => None,
        }
    }
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

/// Subject minus baseline, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Nearest-rank median over all counted pairs.
    pub median: i64,
    /// Mean of the forks' medians, the centre of the headline interval.
    pub fork_mean: f64,
    /// Student's t on the forks' medians; `None` below two forks.
    pub headline: Option<Interval>,
    /// The study's pooled bootstrap, within session.
    pub pooled: Interval,
    /// Share of counted pairs in which the subject took longer.
    pub slower_share: f64,
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
    /// The smallest difference that this run could have told from nothing at this cell, ns, from its control.
    pub noise_floor: Option<f64>,
}

/// A run's figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The run.
    pub facts: RunFacts,
    /// Cells in the order of the plan; controls are among them.
    pub cells: Vec<CellSummary>,
    /// What a reader must know before the figures.
    pub notes: Vec<String>,
}

/// Computes every figure. With `resample`, the pooled bootstrap is the study's own, with the manifest's number of
/// resamples, instead of its limit.
pub fn analyze(evidence: &Evidence, resample: bool) -> Analysis {
    let mut cells: Vec<CellSummary> = evidence
        .cells
        .iter()
        .map(|cell| summarise(cell, &evidence.facts, resample))
        .collect();
    let floors: Vec<Option<f64>> = cells.iter().map(|cell| noise_floor(cell, &cells)).collect();
    for (cell, floor) in cells.iter_mut().zip(floors) {
        cell.noise_floor = floor;
    }
    Analysis {
        facts: evidence.facts.clone(),
        notes: notes(evidence, &cells),
        cells,
    }
}

fn summarise(sample: &CellSample, facts: &RunFacts, resample: bool) -> CellSummary {
    let pooled = |side: fn(&super::ForkSample) -> &Vec<i64>| {
        let mut values: Vec<i64> = sample.samples.iter().flat_map(side).copied().collect();
        values.sort_unstable();
        values
    };
    let fork_medians = |which: usize| -> Vec<i64> {
        sample
            .forks
            .iter()
            .filter_map(|fork| Some(fork.medians?[which].0))
            .collect()
    };
    let subject = side(&pooled(|fork| &fork.subject), &fork_medians(0));
    let baseline = side(&pooled(|fork| &fork.baseline), &fork_medians(1));
    let difference = difference(sample, &fork_medians(2), facts, resample);
    let distance = distance(sample);
    let median = difference.as_ref().map(|difference| difference.median as f64);
    CellSummary {
        cell: sample.cell.clone(),
        forks: sample.forks.len(),
        pairs: sample.samples.iter().map(|fork| fork.subject.len()).sum(),
        uncounted: sample.samples.iter().map(|fork| fork.uncounted).sum(),
        subject,
        baseline,
        difference,
        distance,
        trips: median
            .zip(distance)
            .filter(|(_, distance)| *distance > 0)
            .map(|(median, distance)| median / distance as f64),
        budget_share: median.map(|median| median / facts.debounce.0 as f64),
        noise_floor: None,
    }
}

fn side(sorted: &[i64], fork_medians: &[i64]) -> Side {
    let range = fork_medians.iter().min().zip(fork_medians.iter().max());
    Side {
        p50: quantile(sorted, 50),
        p95: quantile(sorted, 95),
        p99: quantile(sorted, 99),
        fork_medians: range.map(|(low, high)| (*low, *high)),
    }
}

/// A nearest-rank percentile of sorted values. The median takes one value; a tail takes five beyond it.
fn quantile(sorted: &[i64], percent: u32) -> Quantile {
    let pairs = sorted.len();
    let needed = if percent == 50 {
        1
    } else {
        (BEYOND_QUANTILE_MIN * 100).div_ceil(100 - percent as usize)
    };
    if pairs < needed {
        return Quantile::TooFew { pairs, needed };
    }
    Quantile::Value(sorted[nearest_rank::rank(pairs, percent, 100) - 1])
}

fn difference(sample: &CellSample, fork_medians: &[i64], facts: &RunFacts, resample: bool) -> Option<Difference> {
    let mut sorted: Vec<i64> = sample.samples.iter().flat_map(super::ForkSample::differences).collect();
    sorted.sort_unstable();
    let Quantile::Value(median) = quantile(&sorted, 50) else {
        return None;
    };
    let medians: Vec<f64> = fork_medians.iter().map(|&median| median as f64).collect();
    let pooled = if resample {
        pooled_bootstrap_resampled(&sorted, facts.resamples, facts.seed)
    } else {
        pooled_bootstrap_exact(&sorted)
    };
    let slower = sorted.iter().filter(|&&difference| difference > 0).count();
    Some(Difference {
        median,
        fork_mean: interval::mean(&medians),
        headline: student_t(&medians),
        pooled: pooled?,
        slower_share: slower as f64 / sorted.len() as f64,
    })
}

/// Median over all distances of the cell's forks, before and after the pairs.
fn distance(sample: &CellSample) -> Option<i64> {
    let forks = sample.forks.iter();
    let mut distances: Vec<i64> = forks
        .flat_map(|fork| [fork.distance_before, fork.distance_after])
        .flatten()
        .map(|trip| trip.0)
        .collect();
    nearest_rank::median(&mut distances)
}

/// The control's headline interval is where a difference between two equal sides may lie; what it reaches can't be
/// told from nothing.
fn noise_floor(cell: &CellSummary, cells: &[CellSummary]) -> Option<f64> {
    let control = cells.iter().find(|other| {
        other.cell.is_control && other.cell.plans == cell.cell.plans && other.cell.subject == cell.cell.subject
    })?;
    Some(control.difference.as_ref()?.headline?.reach())
}

fn notes(evidence: &Evidence, cells: &[CellSummary]) -> Vec<String> {
    let mut notes = Vec::new();
    let (present, planned) = (evidence.forks_present(), evidence.facts.forks_planned);
    if evidence.facts.state == State::Unfinished {
        let missing: Vec<String> = cells
            .iter()
            .map(|cell| format!("{} has {}", cell.cell.id, cell.forks))
            .collect();
        notes.push(format!(
            "UNFINISHED RUN: {present} of {planned} forks are there, and every figure is provisional. {}.",
            missing.join(", ")
        ));
    }
    let failed = evidence.forks_failed();
    if failed > 0 {
        notes.push(format!(
            "{failed} of {present} forks broke off; their pairs up to then are counted."
        ));
    }
    let uncounted: u64 = cells.iter().map(|cell| cell.uncounted).sum();
    if uncounted > 0 {
        notes.push(format!(
            "{uncounted} measured pairs failed, timed out or gave different answers. They are in pairs.parquet with \
             their reasons and are not counted in the figures."
        ));
    }
    let damaged = evidence
        .cells
        .iter()
        .flat_map(|cell| &cell.forks)
        .filter(|fork| fork.model_intact == Some(false));
    match damaged.count() {
        0 => {}
        count => notes.push(format!(
            "After {count} forks the stored model was not what was seeded: a preview persisted."
        )),
    }
    if cells.iter().any(|cell| {
        cell.difference
            .as_ref()
            .is_some_and(|difference| difference.headline.is_none())
    }) {
        notes.push("An interval over forks takes at least two forks a cell.".to_owned());
    }
    notes
}
