//! What one cell shows, from its digested forks.

use super::bootstrap;
use super::fork::ForkDigest;
use super::interval::{Interval, Mean, mean, student_t};
use super::planning;
use super::pooled::Pooled;
use super::ranks;
use super::summary::{CellSummary, Difference, Quantile, Side};
use super::{RunFacts, diagnostics::Examined};
use crate::archive::{CellRow, ForkRow};
use crate::nearest_rank;

/// A cell with all of its forks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell<'a> {
    /// The cell.
    pub row: &'a CellRow,
    /// Its forks' rows.
    pub forks: &'a [ForkRow],
    /// What their pairs come to, in the same order.
    pub digests: &'a [ForkDigest],
}

/// How figures are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The run.
    pub facts: &'a RunFacts,
    /// Whether the pooled bootstrap is the study's own, with the manifest's number of resamples, instead of its limit.
    pub resample: bool,
}

impl Cell<'_> {
    /// Its figures, but for those that need other cells.
    pub fn summarise(self, asked: Asked<'_>) -> CellSummary {
        let subject = side(self.digests.iter().map(|fork| &fork.subject), &self.fork_medians(0));
        let baseline = side(self.digests.iter().map(|fork| &fork.baseline), &self.fork_medians(1));
        let difference = self.difference((&subject, &baseline), asked);
        let distance = self.distance();
        let median = difference.as_ref().map(|difference| difference.median as f64);
        let trips = median.zip(distance).filter(|(_, distance)| *distance > 0);
        let over_forks = difference.as_ref().and_then(|difference| difference.over_forks);
        let facts = asked.facts;
        CellSummary {
            cell: self.row.clone(),
            forks: self.forks.len(),
            pairs: self.digests.iter().map(|fork| fork.subject.len()).sum(),
            uncounted: self.digests.iter().map(|fork| fork.uncounted).sum(),
            subject,
            baseline,
            difference,
            distance,
            trips: trips.map(|(median, distance)| median / distance as f64),
            budget_share: median.map(|median| median / facts.debounce.0 as f64),
            steps: None,
            wire: None,
            noise_floor: None,
            verdict: None,
            forks_needed: over_forks.and_then(|mean| planning::forks_for(&mean, facts.margin.0 as f64 / 2.0)),
        }
    }

    /// What later findings need of it.
    pub fn examined(self) -> Examined {
        Examined {
            forks: self.forks.to_vec(),
            unsteady: self.digests.iter().filter(|fork| fork.is_unsteady).count(),
            wires: Vec::new(),
        }
    }

    fn fork_medians(self, which: usize) -> Vec<i64> {
        let medians = self.forks.iter().filter_map(|fork| Some(fork.medians?[which].0));
        medians.collect()
    }

    fn difference(self, sides: (&Side, &Side), asked: Asked<'_>) -> Option<Difference> {
        let differences: Vec<&[i64]> = self.digests.iter().map(|fork| fork.differences.as_slice()).collect();
        let pooled = Pooled::of(&differences);
        let (Quantile::Value { value: subject, .. }, Quantile::Value { value: baseline, .. }) =
            (sides.0.p50, sides.1.p50)
        else {
            return None;
        };
        let facts = asked.facts;
        let interval = if asked.resample {
            bootstrap::resampled(&pooled, facts.resamples, facts.seed)
        } else {
            bootstrap::exact(&pooled)
        };
        let medians: Vec<f64> = self.fork_medians(2).iter().map(|&median| median as f64).collect();
        let (autocorrelation, effective_pairs) = self.autocorrelation(pooled.count());
        Some(Difference {
            median: pooled.at(nearest_rank::rank(pooled.count(), 1, 2)),
            of_medians: subject.saturating_sub(baseline),
            over_forks: Mean::of(&medians),
            two_level: bootstrap::two_level(&differences, facts.resamples, facts.seed),
            pooled: interval?,
            slower_share: share_above_zero(&pooled),
            slower_interval: slower_interval(&differences),
            ratio: (baseline > 0).then(|| subject as f64 / baseline as f64),
            ratio_interval: student_t(&self.log_ratios()).map(|interval| interval.map(f64::exp)),
            order_effect: self.order_effect(),
            autocorrelation,
            effective_pairs,
        })
    }

    /// Logarithm of subject's median over baseline's, fork by fork.
    fn log_ratios(self) -> Vec<f64> {
        let ratio = |medians: &[crate::units::Nanos; 3]| medians[0].0 as f64 / medians[1].0 as f64;
        let ratios = self.forks.iter().filter_map(|fork| fork.medians.as_ref().map(ratio));
        ratios
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .map(f64::ln)
            .collect()
    }

    fn order_effect(self) -> Option<(f64, Option<Interval>)> {
        let effects: Vec<f64> = self.digests.iter().filter_map(|fork| fork.order_effect).collect();
        (!effects.is_empty()).then(|| (mean(&effects), student_t(&effects)))
    }

    /// Mean over forks of the lag-1 rank correlation `r`, and what `n` pairs are worth: `n · (1 − r) / (1 + r)` for `r` above
    /// 0.
    fn autocorrelation(self, pairs: usize) -> (Option<f64>, Option<f64>) {
        let correlations: Vec<f64> = self.digests.iter().filter_map(|fork| fork.autocorrelation).collect();
        if correlations.is_empty() {
            return (None, None);
        }
        let r = mean(&correlations);
        let positive = r.max(0.0);
        (Some(r), Some(pairs as f64 * (1.0 - positive) / (1.0 + positive)))
    }

    /// Median over all distances of the cell's forks, before and after the pairs: the subject's own, where it does not use
    /// the session that both sides share.
    fn distance(self) -> Option<i64> {
        let mut own: Vec<i64> = (self.forks.iter())
            .filter_map(|fork| Some(fork.own_distances[0]?.0))
            .collect();
        if let Some(own) = nearest_rank::median(&mut own) {
            return Some(own);
        }
        let forks = self.forks.iter();
        let mut distances: Vec<i64> = forks
            .flat_map(|fork| [fork.distance_before, fork.distance_after])
            .flatten()
            .map(|trip| trip.0)
            .collect();
        nearest_rank::median(&mut distances)
    }
}

fn side<'a>(forks: impl Iterator<Item = &'a Vec<i64>>, fork_medians: &[i64]) -> Side {
    let pooled = Pooled::of(forks);
    let range = fork_medians.iter().min().zip(fork_medians.iter().max());
    Side {
        p50: quantile(&pooled, 50),
        p95: quantile(&pooled, 95),
        p99: quantile(&pooled, 99),
        fork_medians: range.map(|(low, high)| (*low, *high)),
    }
}

/// A nearest-rank percentile. A tail is told only with an interval; the median also without.
fn quantile(pooled: &Pooled<'_>, percent: u32) -> Quantile {
    let pairs = pooled.count();
    let interval = ranks::quantile_interval(pairs, percent, 100).map(|(low, high)| Interval {
        low: pooled.at(low) as f64,
        high: pooled.at(high) as f64,
    });
    if pairs == 0 || (interval.is_none() && percent != 50) {
        return Quantile::TooFew { pairs };
    }
    Quantile::Value {
        value: pooled.at(nearest_rank::rank(pairs, percent, 100)),
        interval,
    }
}

fn share_above_zero(differences: &Pooled<'_>) -> f64 {
    (differences.count() - differences.at_most(0)) as f64 / differences.count() as f64
}

fn slower_interval(forks: &[&[i64]]) -> Option<Interval> {
    let shares: Vec<f64> = forks
        .iter()
        .filter(|fork| !fork.is_empty())
        .map(|fork| share_above_zero(&Pooled::of([fork])))
        .collect();
    // Equal shares have no spread, but their mean may be off by a rounding, which would pass for one.
    let differ = shares.iter().any(|share| share.total_cmp(&shares[0]).is_ne());
    let interval = student_t(&shares).filter(|_| differ)?;
    Some(interval.map(|share| share.clamp(0.0, 1.0)))
}
