//! Runs against each other: across backends, machines or days.
//!
//! What differs in the surroundings comes first, because it is the likeliest reason for a difference in the figures.
//! Differences of differences carry Welch's interval over forks. Where runs are of the same manifest, a run is one
//! repetition of the whole, and the interval over runs sees what no interval within one can: another day.

use super::interval::{Interval, Mean};
use super::line::Line;
use super::summary::{Analysis, CellSummary};
use crate::archive::{FactRow, When};
use crate::environment::moves_by_nature;

/// A run to be compared, with the facts that it was measured under.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// Its figures.
    pub analysis: &'a Analysis,
    /// Its facts.
    pub facts: &'a [FactRow],
}

/// A fact that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferentFact {
    /// `scope.key`.
    pub name: String,
    /// Its value, or why there is none, run by run; `None` where a run does not have it.
    pub values: Vec<Option<String>>,
}

/// A cell over the runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCell {
    /// Size.
    pub plans: u32,
    /// Sides, and what else is named.
    pub line: Line,
    /// Run by run; `None` where a run does not have the cell.
    pub runs: Vec<Option<ComparedEntry>>,
    /// Mean over the runs of their means over forks, with Student's t over runs; only for runs of one manifest.
    pub over_runs: Option<Mean>,
}

/// One run's part in a compared cell; ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparedEntry {
    /// Median difference.
    pub median: i64,
    /// Mean over forks, its error and degrees of freedom.
    pub over_forks: Option<Mean>,
    /// Distance.
    pub distance: Option<i64>,
    /// This run's mean over forks less the first run's, with Welch's interval; `None` for the first run.
    pub against_first: Option<(f64, Interval)>,
}

/// Runs against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Ids of the runs.
    pub runs: Vec<String>,
    /// Which of them are exploratory, run by run.
    pub exploratory: Vec<bool>,
    /// Whether all are of one manifest.
    pub same_manifest: bool,
    /// What differs in their surroundings.
    pub different: Vec<DifferentFact>,
    /// Cells, by size, then in the order of the first run that has them.
    pub cells: Vec<ComparedCell>,
}

/// Compares runs; the first is what the others are held against.
pub fn compare(runs: &[Compared<'_>]) -> Comparison {
    let manifest = |run: &Compared<'_>| run.analysis.facts.manifest_sha256.clone();
    let same_manifest = runs.windows(2).all(|pair| manifest(&pair[0]) == manifest(&pair[1]));
    Comparison {
        runs: runs.iter().map(|run| run.analysis.facts.run.clone()).collect(),
        exploratory: (runs.iter().map(|run| run.analysis.facts.standing.is_exploratory())).collect(),
        same_manifest,
        different: different(runs),
        cells: cells(runs, same_manifest),
    }
}

fn different(runs: &[Compared<'_>]) -> Vec<DifferentFact> {
    let mut names: Vec<(&str, &str)> = runs
        .iter()
        .flat_map(|run| at_start(run).map(|row| (row.fact.scope.as_str(), row.fact.key.as_str())))
        .filter(|(scope, key)| !moves_by_nature(scope, key))
        .collect();
    names.sort_unstable();
    names.dedup();
    let value = |run: &Compared<'_>, name: (&str, &str)| {
        let row = at_start(run).find(|row| (row.fact.scope.as_str(), row.fact.key.as_str()) == name)?;
        Some(
            row.fact
                .value
                .clone()
                .unwrap_or_else(|| row.fact.status.as_str().to_owned()),
        )
    };
    let told = |name: (&str, &str)| {
        let values: Vec<Option<String>> = runs.iter().map(|run| value(run, name)).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        differs.then(|| DifferentFact {
            name: format!("{}.{}", name.0, name.1),
            values,
        })
    };
    names.into_iter().filter_map(told).collect()
}

fn at_start<'a>(run: &Compared<'a>) -> impl Iterator<Item = &'a FactRow> {
    run.facts.iter().filter(|row| row.when == When::Start)
}

/// What makes cells of different runs the same.
type Key = (u32, Line);

fn key(cell: &CellSummary) -> Key {
    (cell.cell.plans, Line::of(&cell.cell))
}

fn cells(runs: &[Compared<'_>], same_manifest: bool) -> Vec<ComparedCell> {
    let mut keys: Vec<Key> = Vec::new();
    for key in runs.iter().flat_map(|run| run.analysis.comparisons().map(key)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.sort_by_key(|key| key.0);
    keys.into_iter().map(|key| cell(runs, key, same_manifest)).collect()
}

fn cell(runs: &[Compared<'_>], wanted: Key, same_manifest: bool) -> ComparedCell {
    let mut entries: Vec<Option<ComparedEntry>> = runs.iter().map(|run| entry(run.analysis, &wanted)).collect();
    let first = entries.first().copied().flatten().and_then(|entry| entry.over_forks);
    for entry in entries.iter_mut().skip(1).flatten() {
        entry.against_first = first.zip(entry.over_forks).map(|(first, own)| {
            let difference = own.minus(&first);
            (difference.value, difference.interval())
        });
    }
    let means: Vec<f64> = entries
        .iter()
        .flatten()
        .filter_map(|entry| Some(entry.over_forks?.value))
        .collect();
    let (plans, line) = wanted;
    ComparedCell {
        plans,
        line,
        over_runs: if same_manifest { Mean::of(&means) } else { None },
        runs: entries,
    }
}

fn entry(run: &Analysis, wanted: &Key) -> Option<ComparedEntry> {
    let cell = run.comparisons().find(|cell| key(cell) == *wanted)?;
    let difference = cell.difference.as_ref()?;
    Some(ComparedEntry {
        median: difference.median,
        over_forks: difference.over_forks,
        distance: cell.distance,
        against_first: None,
    })
}
