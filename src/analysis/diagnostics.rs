//! What a reader must know before trusting a figure, as data: each finding has a code, a scope and plain words.
//!
//! Nothing is trimmed or corrected on the strength of a diagnostic. It is said, and the reader decides.

use std::collections::BTreeSet;

use super::changepoint::{Changepoint, changepoints};
use super::evidence::RunFacts;
use super::interval::{self, Mean};
use super::summary::CellSummary;
use super::wire::WireDigest;
use crate::archive::{ForkRow, ForkStatus, PoolWork};
use crate::step;

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

/// What is still known of a cell when its pairs are gone.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Examined {
    /// Its forks' rows.
    pub forks: Vec<ForkRow>,
    /// Forks in which a side's level still changed after the warm-up.
    pub unsteady: usize,
    /// What passed the proxy in them, in the same order; `None` for a fork without one.
    pub wires: Vec<Option<WireDigest>>,
}

/// What findings are about: the run, and its cells with what they show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Findings<'a> {
    /// The run.
    pub facts: &'a RunFacts,
    /// Facts that are not at the end what they were at the start.
    pub changed: &'a [String],
    /// What the cells show.
    pub cells: &'a [CellSummary],
    /// What is known of them beside it, in the same order.
    pub examined: &'a [Examined],
}

impl<'a> Findings<'a> {
    fn forks(self) -> impl Iterator<Item = &'a ForkRow> {
        self.examined.iter().flat_map(|cell| &cell.forks)
    }
}

/// Every finding, those about the whole run first.
pub(super) fn warnings(of: Findings<'_>) -> Vec<Warning> {
    let mut warnings = of_run(of);
    for (examined, summary) in of.examined.iter().zip(of.cells) {
        warnings.extend(of_cell(examined, summary, of.facts));
    }
    warnings
}

fn of_run(of: Findings<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut add = |code, message: String| {
        warnings.push(Warning {
            code,
            scope: "run".to_owned(),
            message,
        });
    };
    let (present, planned) = (of.forks().count(), of.facts.forks_planned);
    if of.facts.state.is_provisional() {
        let there: Vec<String> = (of.cells)
            .iter()
            .map(|cell| format!("{} has {}", cell.cell.id, cell.forks))
            .collect();
        let code = of.facts.state.as_str();
        add(
            code,
            format!(
                "{} RUN: {present} of {planned} forks are there, and every figure is provisional. {}.",
                code.to_uppercase(),
                there.join(", ")
            ),
        );
    }
    let sessions: BTreeSet<Option<u32>> = of.forks().map(|fork| fork.session).collect();
    if sessions.len() > 1 {
        let forks_of = |session| of.forks().filter(|fork| fork.session == session).count().to_string();
        let forks: Vec<String> = sessions.iter().map(|session| forks_of(*session)).collect();
        add(
            "resumed",
            format!(
                "Measured in {} sessions, with {} forks: the run broke off and was taken up again. What differs between \
                 sessions is not spread over all cells by the forks' random order.",
                sessions.len(),
                forks.join(" and ")
            ),
        );
    }
    let failed = of.forks().filter(|fork| fork.status == ForkStatus::Failed).count();
    if failed > 0 {
        add(
            "broken-forks",
            format!("{failed} of {present} forks broke off; their pairs up to then are counted."),
        );
    }
    let uncounted: u64 = of.cells.iter().map(|cell| cell.uncounted).sum();
    if uncounted > 0 {
        let message = "measured pairs failed, timed out or gave different answers. They are in pairs.parquet with \
                       their reasons and are not counted in the figures.";
        add("uncounted-pairs", format!("{uncounted} {message}"));
    }
    let damaged = of.forks().filter(|fork| fork.model_intact == Some(false)).count();
    if damaged > 0 {
        add(
            "persisted",
            format!("After {damaged} forks the stored model was not what was seeded: a preview persisted."),
        );
    }
    if !of.changed.is_empty() {
        add(
            "machine-changed",
            format!("Between start and end of the run changed: {}.", of.changed.join(", ")),
        );
    }
    if let Some(message) = drift(of) {
        add("drift", message);
    }
    warnings
}

/// Whether the forks' medians move with their place in the run: each as a share of its cell's mean, over the share of the
/// run that had passed; the slope by least squares, tested by Student's t.
fn drift(of: Findings<'_>) -> Option<String> {
    let last = f64::from(of.facts.forks_planned.checked_sub(1).filter(|&last| last > 0)?);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut means = 0;
    let cells = of.cells.iter().zip(of.examined);
    for (_, examined) in cells.filter(|(summary, _)| summary.cell.is_comparison()) {
        let medians: Vec<(f64, f64)> = (examined.forks.iter())
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

fn of_cell(examined: &Examined, summary: &CellSummary, facts: &RunFacts) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut add = |code, message: String| {
        warnings.push(Warning {
            code,
            scope: summary.cell.id.clone(),
            message,
        });
    };
    if let Some(message) = background(examined) {
        add("background-work", message);
    }
    if let Some(message) = without_steps(examined) {
        add("no-steps", message);
    }
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
    if let Some(message) = unsteady(examined) {
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
        && effect.abs() > facts.margin.0 as f64
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
    if !summary.cell.is_comparison() {
        return warnings;
    }
    let medians: Vec<i64> = examined
        .forks
        .iter()
        .filter_map(|fork| Some(fork.medians?[2].0))
        .collect();
    if let (Some(low), Some(high)) = (medians.iter().min(), medians.iter().max())
        && let spread = high.abs_diff(*low) as f64
        && spread > SPREAD_MAX * difference.median.unsigned_abs() as f64
    {
        add(
            "fork-spread",
            format!(
                "The forks' medians differ among each other by {:.0} % of the difference itself.",
                spread / difference.median.unsigned_abs().max(1) as f64 * 100.0
            ),
        );
    }
    let reading = examined
        .forks
        .iter()
        .map(|fork| fork.clock_resolution.0.max(fork.clock_overhead.0))
        .max()
        .unwrap_or(0);
    if difference.median.saturating_abs() < reading.saturating_mul(CLOCK_READINGS_MIN) {
        add(
            "clock-floor",
            format!("The difference is within {CLOCK_READINGS_MIN} readings of the clock ({reading} ns each)."),
        );
    }
    warnings
}

/// What pools did beside the previews: it is in no preview's time.
fn background(examined: &Examined) -> Option<String> {
    let with_pool = || examined.forks.iter().filter_map(|fork| Some((fork, fork.pool?)));
    let pairs: u64 = with_pool().map(|(fork, _)| u64::from(fork.pairs_recorded)).sum();
    if pairs == 0 {
        return None;
    }
    // Sums of what an archive holds, which may be anything.
    let sum = |of: fn(PoolWork) -> i64| with_pool().map(|(_, pool)| of(pool) as f64).sum::<f64>();
    Some(format!(
        "Beside the previews, and in no time of theirs, a pool worked {:.1} ms a pair in the background, also while the \
         other side was measured. {:.0} previews waited for it, {:.1} ms in all, which is in their times ({pairs} pairs, \
         warm-up included).",
        sum(|pool| pool.background.0) / pairs as f64 / 1e6,
        sum(|pool| i64::from(pool.waits)),
        sum(|pool| pool.wait.0) / 1e6,
    ))
}

/// Forks whose steps could not be recorded, though the manifest asks for them.
fn without_steps(examined: &Examined) -> Option<String> {
    let reasons = examined.forks.iter().filter_map(|fork| fork.steps_off.as_deref());
    let reasons: Vec<&str> = reasons.filter(|reason| *reason != step::NOT_ASKED_FOR).collect();
    reasons.first().map(|first| {
        format!(
            "In {} of {} forks the steps of measured previews were not recorded: {first}.",
            reasons.len(),
            examined.forks.len()
        )
    })
}

/// Forks in which a side's level still changed after the warm-up.
fn unsteady(examined: &Examined) -> Option<String> {
    (examined.unsteady > 0).then(|| {
        format!(
            "In {} of {} forks a side's level still changed by more than {:.0} % after the warm-up.",
            examined.unsteady,
            examined.forks.len(),
            LEVEL_CHANGE_MIN * 100.0
        )
    })
}

/// Whether a side's level still changed after its warm-up; the series holds the warm-up too.
pub(super) fn still_changes(series: &[i64], warmup: usize) -> bool {
    level_changes(series).iter().any(|change| change.at > warmup)
}

/// The changes of level that are large enough to be told.
pub(super) fn level_changes(series: &[i64]) -> Vec<Changepoint> {
    let mut changes = changepoints(series);
    changes.retain(|change| (change.after - change.before).abs() > LEVEL_CHANGE_MIN * change.before);
    changes
}

/// Lag-1 correlation of a fork's differences, by ranks, so that single slow pairs don't decide it. Of the differences in
/// ascending order and the places that they came from.
pub(super) fn autocorrelation(ascending: &[i64], places: &[u64]) -> Option<f64> {
    let n = ascending.len();
    if n < 10 {
        return None;
    }
    let ranks = ranks(ascending, places);
    let centre = (n as f64 - 1.0) / 2.0;
    let variance: f64 = ranks.iter().map(|rank| (rank - centre).powi(2)).sum();
    let covariance: f64 = ranks
        .windows(2)
        .map(|pair| (pair[0] - centre) * (pair[1] - centre))
        .sum();
    (variance > 0.0).then(|| covariance / variance)
}

/// Ranks from 0, place by place; equal values share the mean of theirs.
fn ranks(ascending: &[i64], places: &[u64]) -> Vec<f64> {
    let mut ranks = vec![0.0; ascending.len()];
    let mut start = 0;
    for same in ascending.chunk_by(|one, other| one == other) {
        let shared = start as f64 + (same.len() as f64 - 1.0) / 2.0;
        for &place in &places[start..start + same.len()] {
            ranks[place as usize] = shared;
        }
        start += same.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::fork::ascending;
    use super::*;

    #[test]
    fn autocorrelation_knows_a_saw_from_a_slope() {
        let slope: Vec<i64> = (0..100).collect();
        let saw: Vec<i64> = (0..100).map(|place| place % 2).collect();
        let autocorrelation = |differences: &[i64]| {
            let (values, places) = ascending(differences.to_vec());
            autocorrelation(&values, &places)
        };
        assert!(autocorrelation(&slope).unwrap() > 0.9);
        assert!(autocorrelation(&saw).unwrap() < -0.9);
        assert_eq!(autocorrelation(&[1; 50]), None);
        assert_eq!(autocorrelation(&slope[..9]), None);
    }

    #[test]
    fn equal_values_share_their_rank() {
        let (values, places) = ascending(vec![5, 1, 5, 0]);
        assert_eq!(ranks(&values, &places), [2.5, 1.0, 2.5, 0.0]);
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
