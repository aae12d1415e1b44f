//! A run's figures, cell by cell.

use super::bootstrap;
use super::diagnostics::{self, Warning};
use super::evidence::{CellSample, Evidence, ForkSample, RunFacts};
use super::interval::{Interval, Mean, student_t};
use super::planning;
use super::ranks;
use super::scaling::{self, Scaling};
use super::verdict::{self, Verdict};
use crate::archive::CellRow;
use crate::nearest_rank;

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
    /// What a reader must know before the figures.
    pub warnings: Vec<Warning>,
}

impl Analysis {
    /// The cells that answer the question.
    pub fn comparisons(&self) -> impl Iterator<Item = &CellSummary> {
        self.cells.iter().filter(|cell| !cell.cell.is_control)
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

/// Computes every figure. With `resample`, the pooled bootstrap is the study's own, with the manifest's number of
/// resamples, instead of its limit.
pub fn analyze(evidence: &Evidence, resample: bool) -> Analysis {
    let facts = &evidence.facts;
    let mut cells: Vec<CellSummary> = evidence
        .cells
        .iter()
        .map(|cell| summarise(cell, facts, resample))
        .collect();
    let floors: Vec<Option<NoiseFloor>> = cells.iter().map(|cell| noise_floor(cell, &cells)).collect();
    for (cell, floor) in cells.iter_mut().zip(floors) {
        cell.noise_floor = floor;
    }
    judge(&mut cells, facts.margin.0 as f64);
    Analysis {
        facts: facts.clone(),
        scaling: scale(evidence),
        warnings: diagnostics::warnings(evidence, &cells),
        cells,
    }
}

fn judge(cells: &mut [CellSummary], margin: f64) {
    let mut judged: Vec<&mut CellSummary> = cells.iter_mut().filter(|cell| !cell.cell.is_control).collect();
    let over_forks = |cell: &CellSummary| cell.difference.as_ref().and_then(|difference| difference.over_forks);
    let means: Vec<Option<Mean>> = judged.iter().map(|cell| over_forks(cell)).collect();
    for (cell, verdict) in judged.iter_mut().zip(verdict::verdicts(&means, margin)) {
        cell.verdict = Some(verdict);
    }
}

fn summarise(sample: &CellSample, facts: &RunFacts, resample: bool) -> CellSummary {
    let pooled = |side: fn(&ForkSample) -> &Vec<i64>| {
        let mut values: Vec<i64> = sample.samples.iter().flat_map(side).copied().collect();
        values.sort_unstable();
        values
    };
    let subject = side(&pooled(|fork| &fork.subject), &fork_medians(sample, 0));
    let baseline = side(&pooled(|fork| &fork.baseline), &fork_medians(sample, 1));
    let difference = difference(sample, (&subject, &baseline), facts, resample);
    let distance = distance(sample);
    let median = difference.as_ref().map(|difference| difference.median as f64);
    let trips = median.zip(distance).filter(|(_, distance)| *distance > 0);
    let over_forks = difference.as_ref().and_then(|difference| difference.over_forks);
    CellSummary {
        cell: sample.cell.clone(),
        forks: sample.forks.len(),
        pairs: sample.samples.iter().map(|fork| fork.subject.len()).sum(),
        uncounted: sample.samples.iter().map(|fork| fork.uncounted).sum(),
        subject,
        baseline,
        difference,
        distance,
        trips: trips.map(|(median, distance)| median / distance as f64),
        budget_share: median.map(|median| median / facts.debounce.0 as f64),
        noise_floor: None,
        verdict: None,
        forks_needed: over_forks.and_then(|mean| planning::forks_for(&mean, facts.margin.0 as f64 / 2.0)),
    }
}

fn fork_medians(sample: &CellSample, which: usize) -> Vec<i64> {
    sample
        .forks
        .iter()
        .filter_map(|fork| Some(fork.medians?[which].0))
        .collect()
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

/// A nearest-rank percentile of sorted values. A tail is told only with an interval; the median also without.
fn quantile(sorted: &[i64], percent: u32) -> Quantile {
    let pairs = sorted.len();
    let interval = ranks::quantile_interval(pairs, percent, 100).map(|(low, high)| Interval {
        low: sorted[low - 1] as f64,
        high: sorted[high - 1] as f64,
    });
    if pairs == 0 || (interval.is_none() && percent != 50) {
        return Quantile::TooFew { pairs };
    }
    Quantile::Value {
        value: sorted[nearest_rank::rank(pairs, percent, 100) - 1],
        interval,
    }
}

fn difference(sample: &CellSample, sides: (&Side, &Side), facts: &RunFacts, resample: bool) -> Option<Difference> {
    let forks: Vec<Vec<i64>> = sample
        .samples
        .iter()
        .map(|fork| {
            let mut differences = fork.differences();
            differences.sort_unstable();
            differences
        })
        .collect();
    let mut sorted: Vec<i64> = forks.concat();
    sorted.sort_unstable();
    let (Quantile::Value { value: subject, .. }, Quantile::Value { value: baseline, .. }) = (sides.0.p50, sides.1.p50)
    else {
        return None;
    };
    let pooled = if resample {
        bootstrap::pooled_resampled(&sorted, facts.resamples, facts.seed)
    } else {
        bootstrap::pooled_exact(&sorted)
    };
    let medians: Vec<f64> = fork_medians(sample, 2).iter().map(|&median| median as f64).collect();
    let (autocorrelation, effective_pairs) = autocorrelation(sample, sorted.len());
    Some(Difference {
        median: sorted[nearest_rank::rank(sorted.len(), 1, 2) - 1],
        of_medians: subject - baseline,
        over_forks: Mean::of(&medians),
        two_level: bootstrap::two_level(&forks, facts.resamples, facts.seed),
        pooled: pooled?,
        slower_share: share_above_zero(&sorted),
        slower_interval: slower_interval(&forks),
        ratio: (baseline > 0).then(|| subject as f64 / baseline as f64),
        ratio_interval: student_t(&log_ratios(sample)).map(|interval| interval.map(f64::exp)),
        order_effect: order_effect(sample),
        autocorrelation,
        effective_pairs,
    })
}

fn share_above_zero(differences: &[i64]) -> f64 {
    differences.iter().filter(|&&difference| difference > 0).count() as f64 / differences.len() as f64
}

fn slower_interval(forks: &[Vec<i64>]) -> Option<Interval> {
    let shares: Vec<f64> = forks
        .iter()
        .filter(|fork| !fork.is_empty())
        .map(|fork| share_above_zero(fork))
        .collect();
    // Equal shares have no spread, but their mean may be off by a rounding, which would pass for one.
    let differ = shares.iter().any(|share| share.total_cmp(&shares[0]).is_ne());
    let interval = student_t(&shares).filter(|_| differ)?;
    Some(interval.map(|share| share.clamp(0.0, 1.0)))
}

/// Logarithm of subject's median over baseline's, fork by fork.
fn log_ratios(sample: &CellSample) -> Vec<f64> {
    let ratio = |medians: &[crate::units::Nanos; 3]| medians[0].0 as f64 / medians[1].0 as f64;
    let ratios = sample.forks.iter().filter_map(|fork| fork.medians.as_ref().map(ratio));
    ratios
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .map(f64::ln)
        .collect()
}

fn order_effect(sample: &CellSample) -> Option<(f64, Option<Interval>)> {
    let effects: Vec<f64> = sample.samples.iter().filter_map(diagnostics::order_effect).collect();
    (!effects.is_empty()).then(|| (super::interval::mean(&effects), student_t(&effects)))
}

/// Mean over forks of the lag-1 rank correlation `r`, and what `n` pairs are worth: `n · (1 − r) / (1 + r)` for `r` above 0.
fn autocorrelation(sample: &CellSample, pairs: usize) -> (Option<f64>, Option<f64>) {
    let of_fork = |fork: &ForkSample| diagnostics::autocorrelation(&fork.differences());
    let correlations: Vec<f64> = sample.samples.iter().filter_map(of_fork).collect();
    if correlations.is_empty() {
        return (None, None);
    }
    let r = super::interval::mean(&correlations);
    let positive = r.max(0.0);
    (Some(r), Some(pairs as f64 * (1.0 - positive) / (1.0 + positive)))
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

/// The control's interval is where a difference between two equal sides may lie; what it reaches can't be told from
/// nothing.
fn noise_floor(cell: &CellSummary, cells: &[CellSummary]) -> Option<NoiseFloor> {
    let control = cells.iter().find(|other| is_control_of(&other.cell, &cell.cell))?;
    let control = control.difference.as_ref()?;
    Some(NoiseFloor {
        difference: control.headline()?.reach(),
        factor: control.ratio_interval.map(|ratio| ratio.map(f64::ln).reach().exp()),
    })
}

/// Whether a cell is the control at another's size.
pub(super) fn is_control_of(other: &CellRow, cell: &CellRow) -> bool {
    other.is_control && other.plans == cell.plans && other.subject == cell.subject
}

/// Fits each pair of sides over the sizes, with the forks that have the same place in their cells as rounds.
fn scale(evidence: &Evidence) -> Vec<Scaling> {
    let comparisons: Vec<&CellSample> = evidence.cells.iter().filter(|cell| !cell.cell.is_control).collect();
    let mut sides: Vec<(&str, &str)> = Vec::new();
    for cell in &comparisons {
        let pair = (cell.cell.subject.as_str(), cell.cell.baseline.as_str());
        if !sides.contains(&pair) {
            sides.push(pair);
        }
    }
    let margin = evidence.facts.margin.0 as f64;
    let of_sides = |pair: (&str, &str)| {
        let mut cells: Vec<&CellSample> = (comparisons.iter().copied())
            .filter(|cell| (cell.cell.subject.as_str(), cell.cell.baseline.as_str()) == pair)
            .collect();
        cells.sort_by_key(|cell| cell.cell.plans);
        let plans: Vec<u32> = cells.iter().map(|cell| cell.cell.plans).collect();
        scaling::fit(pair, &plans, &rounds(&cells), margin)
    };
    sides.into_iter().filter_map(of_sides).collect()
}

/// The forks' median differences, round by round, for the rounds that every cell has.
fn rounds(cells: &[&CellSample]) -> Vec<Vec<f64>> {
    let Some(first) = cells.first() else { return Vec::new() };
    let median = |cell: &CellSample, fork| {
        let row = cell.forks.iter().find(|row| row.fork == fork)?;
        Some(row.medians?[2].0 as f64)
    };
    first
        .forks
        .iter()
        .filter_map(|row| cells.iter().map(|cell| median(cell, row.fork)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_have_no_interval_however_many_forks_there_are() {
        let fork: Vec<i64> = (0..100).map(|pair| i64::from(pair > 0)).collect();
        for forks in 2..40 {
            assert_eq!(slower_interval(&vec![fork.clone(); forks]), None, "{forks} forks");
        }
        let other = vec![0; 100];
        let interval = slower_interval(&[fork.clone(), fork, other]).unwrap();
        assert_eq!(interval, Interval { low: 0.0, high: 1.0 });
    }
}
