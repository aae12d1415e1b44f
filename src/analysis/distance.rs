//! What the distance adds: a difference against what the path was longer by, fork by fork.
//!
//! A preview that waits for `k` round trips is later by `k` times what each is longer. So the slope of the difference over
//! the delay that was achieved is the round trips that the subject waits for beyond the baseline, found from times alone;
//! the proxy's count of them is found from the protocol alone, and the two must agree. What remains at no delay is the
//! line's value at zero, and the line turned round says how far away a given penalty lies.

use super::diagnostics::Examined;
use super::evidence::RunFacts;
use super::interval::Interval;
use super::line::Line;
use super::regression::Regression;
use super::summary::CellSummary;
use super::wire::WireDigest;
use crate::archive::{CellRow, ForkRow};
use crate::manifest::Penalty;

/// A difference over the delays of the path; times in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Distances {
    /// What it is of.
    pub line: Line,
    /// Size of the model.
    pub plans: u32,
    /// Forks that the line goes through.
    pub forks: usize,
    /// The line's rise for each nanosecond that a round trip is longer: round trips beyond the baseline.
    pub round_trips: (f64, Option<Interval>),
    /// The line at no delay.
    pub at_no_delay: (f64, Option<Interval>),
    /// Round trips beyond the baseline as the proxy counted them: means over all measured previews of all delays.
    pub counted: Option<f64>,
    /// The distance at the least delay, which the path has of itself.
    pub least_distance: Option<i64>,
    /// How far away each penalty lies that was asked about.
    pub answers: Vec<Answered>,
}

/// How far away a penalty lies.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The penalty.
    pub penalty: Penalty,
    /// Round-trip time at which the line has it, and the interval of that; `None` where the line is level. Below the
    /// distance that was measured at no delay it is an extrapolation, and below zero no distance has it.
    pub distance: Option<(f64, Option<Interval>)>,
}

impl Distances {
    /// As ids have it, e.g. `plans=40,subject=rollback,baseline=copy`.
    pub fn id(&self) -> String {
        format!("plans={},{}", self.plans, self.line.id())
    }

    /// Whether the round trips that times tell are those that were counted; `None` where either is unknown.
    pub fn agrees(&self) -> Option<bool> {
        Some(self.round_trips.1?.contains(self.counted?))
    }
}

/// A cell with what is known of its forks.
type Seen<'a> = (&'a CellSummary, &'a Examined);

/// The lines of a run, in the order of its cells; those of at least two delays.
pub(super) fn lines(cells: &[CellSummary], examined: &[Examined], facts: &RunFacts) -> Vec<Distances> {
    let cells: Vec<Seen<'_>> = cells.iter().zip(examined).collect();
    let mut keys: Vec<(u32, Line)> = Vec::new();
    for cell in cells.iter().filter_map(key) {
        if !keys.contains(&cell) {
            keys.push(cell);
        }
    }
    let of = |wanted: (u32, Line)| {
        let on_line: Vec<Seen<'_>> = (cells.iter().copied())
            .filter(|cell| key(cell).as_ref() == Some(&wanted))
            .collect();
        fit(wanted, &on_line, facts)
    };
    keys.into_iter().filter_map(of).collect()
}

/// Size and line of a comparison through the proxy, whatever its delay.
fn key((summary, _): &Seen<'_>) -> Option<(u32, Line)> {
    let row = &summary.cell;
    row.path_delay.filter(|_| row.is_comparison())?;
    let without_delay = CellRow {
        path_delay: None,
        ..row.clone()
    };
    Some((row.plans, Line::of(&without_delay)))
}

fn fit((plans, line): (u32, Line), cells: &[Seen<'_>], facts: &RunFacts) -> Option<Distances> {
    if cells.len() < 2 {
        return None;
    }
    let points: Vec<(f64, f64)> = cells.iter().flat_map(points).collect();
    let fitted = Regression::of(&points)?;
    let nearest = cells.iter().min_by_key(|(summary, _)| summary.cell.path_delay)?;
    let least_distance = nearest.0.distance;
    let answers = facts.distance_for.iter().map(|&penalty| {
        let wanted = penalty.nanos(facts.debounce);
        let from = |delay: f64| least_distance.map(|least| least as f64 + delay);
        let distance = fitted.reaches(wanted).and_then(from).map(|distance| {
            let over = fitted.reaches_interval(wanted).zip(least_distance);
            (
                distance,
                over.map(|(over, least)| over.map(|delay| delay + least as f64)),
            )
        });
        Answered { penalty, distance }
    });
    Some(Distances {
        plans,
        forks: points.len(),
        round_trips: (fitted.slope, fitted.slope_interval()),
        at_no_delay: (fitted.at_zero(), fitted.at_zero_interval()),
        counted: counted(cells),
        least_distance,
        answers: answers.collect(),
        line,
    })
}

/// Each fork's achieved delay and median difference.
fn points((_, examined): &Seen<'_>) -> Vec<(f64, f64)> {
    let forks = examined.forks.iter().zip(&examined.wires);
    let point = |(fork, wire): (&ForkRow, &Option<WireDigest>)| {
        let added = wire.as_ref()?.added()?;
        Some((added as f64, fork.medians?[2].0 as f64))
    };
    forks.filter_map(point).collect()
}

/// Mean over the cells of the counted difference.
fn counted(cells: &[Seen<'_>]) -> Option<f64> {
    let counted: Option<Vec<f64>> = cells
        .iter()
        .map(|(summary, _)| {
            let wire = summary.wire.as_ref()?;
            Some(wire.subject.mean_trips - wire.baseline.mean_trips)
        })
        .collect();
    counted.map(|counted| super::interval::mean(&counted))
}
