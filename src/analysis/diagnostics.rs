//! What a reader must know before trusting a figure, as data: each finding has a code, a scope and plain words.
//!
//! Nothing is trimmed or corrected on the strength of a diagnostic. It is said, and the reader decides.

use super::changepoint::{Changepoint, changepoints};
use super::evidence::{CellSample, Evidence, ForkSample, State};
use super::interval::{self, Mean};
use super::summary::CellSummary;
use crate::archive::ForkRow;
use crate::nearest_rank;

/// Fewest forks for an interval over forks to be worth much.
const FORKS_MIN: usize = 5;
/// Largest lag-1 autocorrelation that passes without a word.
const AUTOCORRELATION_MAX: f64 = 0.2;
/// Spread of the forks' medians, as a share of the difference, above which it is told.
const SPREAD_MAX: f64 = 0.5;
/// Change of level, as a share of the level, below which a series is steady.
const LEVEL_CHANGE_MIN: f64 = 0.05;
/// Drift over the run, as a share of the difference, below which nothing is said.
const DRIFT_MIN: f64 = 0.05;
/// Level of the drift's test; it is one of several diagnostics.
const DRIFT_LEVEL: f64 = 0.01;
/// Readings of the clock that a difference should be worth.
const CLOCK_READINGS_MIN: i64 = 10;

/// Something to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// A stable word for programs, e.g. `drift`.
    pub code: &'static str,
    /// Id of the cell, or `run`.
    pub scope: String,
    /// What was seen, and what it means.
    pub message: String,
}

/// Every finding, those about the whole run first.
pub(super) fn warnings(evidence: &Evidence, cells: &[CellSummary]) -> Vec<Warning> {
    let mut warnings = of_run(evidence, cells);
    for (sample, summary) in evidence.cells.iter().zip(cells) {
        warnings.extend(of_cell(sample, summary, evidence));
    }
    warnings
}

fn of_run(evidence: &Evidence, cells: &[CellSummary]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut add = |code, message: String| {
        warnings.push(Warning {
            code,
            scope: "run".to_owned(),
            message,
        });
    };
    let (present, planned) = (evidence.forks_present(), evidence.facts.forks_planned);
    if evidence.facts.state == State::Unfinished {
        let there: Vec<String> = cells
            .iter()
            .map(|cell| format!("{} has {}", cell.cell.id, cell.forks))
            .collect();
        add(
            "unfinished",
            format!(
                "UNFINISHED RUN: {present} of {planned} forks are there, and every figure is provisional. {}.",
                there.join(", ")
            ),
        );
    }
    let failed = evidence.forks_failed();
    if failed > 0 {
        add(
            "broken-forks",
            format!("{failed} of {present} forks broke off; their pairs up to then are counted."),
        );
    }
    let uncounted: u64 = cells.iter().map(|cell| cell.uncounted).sum();
    if uncounted > 0 {
        let message = "measured pairs failed, timed out or gave different answers. They are in pairs.parquet with \
                       their reasons and are not counted in the figures.";
        add("uncounted-pairs", format!("{uncounted} {message}"));
    }
    let persisted = |fork: &&ForkRow| fork.model_intact == Some(false);
    let damaged = evidence
        .cells
        .iter()
        .flat_map(|cell| &cell.forks)
        .filter(persisted)
        .count();
    if damaged > 0 {
        add(
            "persisted",
            format!("After {damaged} forks the stored model was not what was seeded: a preview persisted."),
        );
    }
    if !evidence.changed.is_empty() {
        add(
            "machine-changed",
            format!(
                "Between start and end of the run changed: {}.",
                evidence.changed.join(", ")
            ),
        );
    }
    if let Some(message) = drift(evidence) {
        add("drift", message);
    }
    warnings
}

/// Whether the forks' medians move with their place in the run: each as a share of its cell's mean, over the share of the
/// run that had passed; the slope by least squares, tested by Student's t.
fn drift(evidence: &Evidence) -> Option<String> {
    let last = f64::from(evidence.facts.forks_planned.saturating_sub(1));
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut means = 0;
    for cell in evidence.cells.iter().filter(|cell| !cell.cell.is_control) {
        let medians: Vec<(f64, f64)> = (cell.forks.iter())
            .filter_map(|fork| Some((f64::from(fork.position) / last, fork.medians?[2].0 as f64)))
            .collect();
        let mean = interval::mean(&medians.iter().map(|(_, median)| *median).collect::<Vec<_>>());
        if medians.len() >= 2 && mean != 0.0 {
            means += 1;
            points.extend(medians.iter().map(|(place, median)| (*place, median / mean - 1.0)));
        }
    }
    let slope = slope(&points, means)?;
    let significant = 2.0 * slope.tail(slope.value.abs()) < DRIFT_LEVEL;
    (significant && slope.value.abs() > DRIFT_MIN).then(|| {
        let direction = if slope.value > 0.0 { "grew" } else { "shrank" };
        format!(
            "Over the run, differences {direction} by about {:.0} % of their size: the machine or the server was not the \
             same at the end. The forks' random order spreads this over all cells.",
            slope.value.abs() * 100.0
        )
    })
}

/// Least squares through the points' centre, after `means` cell means were taken out.
fn slope(points: &[(f64, f64)], means: usize) -> Option<Mean> {
    let freedom = points.len().checked_sub(means + 1).filter(|&freedom| freedom > 0)? as f64;
    let centre = points.iter().map(|point| point.0).sum::<f64>() / points.len() as f64;
    let variance: f64 = points.iter().map(|point| (point.0 - centre).powi(2)).sum();
    if variance == 0.0 {
        return None;
    }
    let value = points.iter().map(|point| (point.0 - centre) * point.1).sum::<f64>() / variance;
    let residual: f64 = points
        .iter()
        .map(|point| (point.1 - value * (point.0 - centre)).powi(2))
        .sum();
    let error = (residual / freedom / variance).sqrt();
    Some(Mean { value, error, freedom })
}

fn of_cell(sample: &CellSample, summary: &CellSummary, evidence: &Evidence) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut add = |code, message: String| {
        warnings.push(Warning {
            code,
            scope: sample.cell.id.clone(),
            message,
        });
    };
    let Some(difference) = &summary.difference else {
        return warnings;
    };
    if summary.forks < FORKS_MIN {
        add(
            "few-forks",
            format!(
                "{} forks; an interval over forks is worth little below {FORKS_MIN}.",
                summary.forks
            ),
        );
    }
    if let Some(message) = unsteady(sample) {
        add("no-steady-state", message);
    }
    if difference.autocorrelation.is_some_and(|r| r > AUTOCORRELATION_MAX) {
        add(
            "autocorrelation",
            format!(
                "Neighbouring pairs are alike (lag-1 rank correlation {:.2}): {} pairs are worth about {:.0}. The \
                 interval over forks allows for it, the one within session does not.",
                difference.autocorrelation.unwrap_or_default(),
                summary.pairs,
                difference.effective_pairs.unwrap_or_default()
            ),
        );
    }
    if let Some((effect, interval)) = difference
        .order_effect
        .and_then(|(effect, interval)| Some((effect, interval?)))
        && !interval.contains(0.0)
        && effect.abs() > evidence.facts.margin.0 as f64
    {
        add(
            "order-effect",
            format!(
                "Which side comes first matters: the difference is {:.4} ms larger when the subject does. Balanced orders \
                 keep it out of the median.",
                effect / 1e6
            ),
        );
    }
    if sample.cell.is_control {
        return warnings;
    }
    let medians: Vec<i64> = sample
        .forks
        .iter()
        .filter_map(|fork| Some(fork.medians?[2].0))
        .collect();
    if let (Some(low), Some(high)) = (medians.iter().min(), medians.iter().max())
        && (high - low) as f64 > SPREAD_MAX * difference.median.abs() as f64
    {
        add(
            "fork-spread",
            format!(
                "The forks' medians differ among each other by {:.0} % of the difference itself.",
                (high - low) as f64 / difference.median.abs().max(1) as f64 * 100.0
            ),
        );
    }
    let reading = sample
        .forks
        .iter()
        .map(|fork| fork.clock_resolution.0.max(fork.clock_overhead.0))
        .max()
        .unwrap_or(0);
    if difference.median.abs() < CLOCK_READINGS_MIN * reading {
        add(
            "clock-floor",
            format!("The difference is within {CLOCK_READINGS_MIN} readings of the clock ({reading} ns each)."),
        );
    }
    warnings
}

/// Forks in which a side's level still changed after the warm-up.
fn unsteady(sample: &CellSample) -> Option<String> {
    let unsteady = sample.samples.iter().filter(|fork| still_changes(fork)).count();
    (unsteady > 0).then(|| {
        format!(
            "In {unsteady} of {} forks a side's level still changed by more than {:.0} % after the warm-up.",
            sample.samples.len(),
            LEVEL_CHANGE_MIN * 100.0
        )
    })
}

fn still_changes(fork: &ForkSample) -> bool {
    [&fork.subject_series, &fork.baseline_series]
        .into_iter()
        .any(|series| level_changes(series).iter().any(|change| change.at > fork.warmup))
}

/// The changes of level that are large enough to be told.
pub(super) fn level_changes(series: &[i64]) -> Vec<Changepoint> {
    let mut changes = changepoints(series);
    changes.retain(|change| (change.after - change.before).abs() > LEVEL_CHANGE_MIN * change.before);
    changes
}

/// Lag-1 correlation of a fork's differences, by ranks, so that single slow pairs don't decide it.
pub(super) fn autocorrelation(differences: &[i64]) -> Option<f64> {
    let n = differences.len();
    if n < 10 {
        return None;
    }
    let ranks = ranks(differences);
    let centre = (n as f64 - 1.0) / 2.0;
    let variance: f64 = ranks.iter().map(|rank| (rank - centre).powi(2)).sum();
    let covariance: f64 = ranks
        .windows(2)
        .map(|pair| (pair[0] - centre) * (pair[1] - centre))
        .sum();
    (variance > 0.0).then(|| covariance / variance)
}

/// Ranks from 0; equal values share the mean of theirs.
fn ranks(values: &[i64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|&place| values[place]);
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let same = order[start..]
            .iter()
            .take_while(|&&place| values[place] == values[order[start]])
            .count();
        let shared = start as f64 + (same as f64 - 1.0) / 2.0;
        for &place in &order[start..start + same] {
            ranks[place] = shared;
        }
        start += same;
    }
    ranks
}

/// A fork's median difference with the subject first, less that with the baseline first, ns.
pub(super) fn order_effect(fork: &ForkSample) -> Option<f64> {
    let median = |subject_first: bool| {
        let differences = fork.differences();
        let mut chosen: Vec<i64> = (differences.into_iter().zip(&fork.subject_first))
            .filter(|(_, first)| **first == subject_first)
            .map(|(difference, _)| difference)
            .collect();
        nearest_rank::median(&mut chosen)
    };
    Some((median(true)? - median(false)?) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autocorrelation_knows_a_saw_from_a_slope() {
        let slope: Vec<i64> = (0..100).collect();
        let saw: Vec<i64> = (0..100).map(|place| place % 2).collect();
        assert!(autocorrelation(&slope).unwrap() > 0.9);
        assert!(autocorrelation(&saw).unwrap() < -0.9);
        assert_eq!(autocorrelation(&[1; 50]), None);
        assert_eq!(autocorrelation(&slope[..9]), None);
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[5, 1, 5, 0]), [2.5, 1.0, 2.5, 0.0]);
    }

    #[test]
    fn a_slope_is_found_with_its_error() {
        // Centred, as the cell means leave them.
        let point = |place: i32| {
            (
                f64::from(place),
                2.0 * (f64::from(place) - 9.5) + f64::from(place % 2) - 0.5,
            )
        };
        let points: Vec<(f64, f64)> = (0..20).map(point).collect();
        let slope = slope(&points, 1).unwrap();
        assert!((slope.value - 2.0).abs() < 0.05 && slope.error < 0.05, "{slope:?}");
        assert_eq!(super::slope(&points[..2], 1), None);
    }
}
