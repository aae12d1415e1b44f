//! What a cell looks like: its forks, their series and distributions, summed up so that they can be drawn.

use super::changepoint::Changepoint;
use super::curves::{self, Bucket, QuantilePair, Step, Thinned, Window};
use super::diagnostics::level_changes;
use super::evidence::{CellSample, Evidence, ForkSample};
use super::interval::Interval;
use super::summary::{self, Analysis, Difference};
use crate::nearest_rank;
use crate::units::ForkIndex;

/// Marks that all plots of a run have together, about.
const MARKS: usize = 100_000;
/// Fewest and most marks of one fork's series.
const MARKS_OF_FORK: (usize, usize) = (40, 400);
/// Most steps of a cell's and of a fork's distribution function.
const STEPS: (usize, usize) = (200, 60);
/// Parts of a histogram.
const BINS: usize = 32;

/// A cell that has pairs that count. Times in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Portrait {
    /// Where the bulk of its differences lies, with every fork's quartiles and the headline interval.
    pub window: Window,
    /// How many differences lie in each equal part of the window.
    pub histogram: Vec<usize>,
    /// Its forks that have pairs that count.
    pub forks: Vec<ForkPortrait>,
    /// Smallest and largest of the forks' medians of the difference.
    pub fork_medians: (i64, i64),
    /// Distribution of the differences.
    pub distribution: Vec<Step>,
    /// The control at the same size, where there is one.
    pub control: Option<ControlPortrait>,
    /// Percentiles of both sides.
    pub quantiles: Vec<QuantilePair>,
}

/// The differences of the subject against itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlPortrait {
    /// Where their bulk lies.
    pub window: Window,
    /// Their distribution.
    pub distribution: Vec<Step>,
}

/// A fork.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkPortrait {
    /// Which.
    pub fork: ForkIndex,
    /// Its differences, in the order in which they ran.
    pub differences: Thinned,
    /// Their median.
    pub median: i64,
    /// Their quartiles.
    pub quartiles: (i64, i64),
    /// Their distribution.
    pub distribution: Vec<Step>,
    /// Warm-up pairs at the start of the series.
    pub warmup: usize,
    /// Times of the subject.
    pub subject: Series,
    /// Times of the baseline.
    pub baseline: Series,
}

/// One side's times in a fork, warm-up included.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// How many there are.
    pub length: usize,
    /// The times, one by one or summed up.
    pub buckets: Vec<Bucket>,
    /// Where the level changed.
    pub changes: Vec<Changepoint>,
}

impl ForkPortrait {
    /// Changes of level of either side after the warm-up.
    pub fn changes_after_warmup(&self) -> usize {
        let after = |series: &Series| series.changes.iter().filter(|change| change.at > self.warmup).count();
        after(&self.subject) + after(&self.baseline)
    }
}

/// The cells of a run, in the order of the plan, controls among them; `None` for a cell without a pair that counts.
/// `analysis` is what the evidence gave.
pub fn portraits(evidence: &Evidence, analysis: &Analysis) -> Vec<Option<Portrait>> {
    let forks = evidence.forks_present().max(1);
    // A fork is drawn three times: its differences, and the series of each side.
    let marks = (MARKS / (3 * forks)).clamp(MARKS_OF_FORK.0, MARKS_OF_FORK.1);
    (evidence.cells.iter().zip(&analysis.cells))
        .map(|(cell, summary)| {
            let headline = summary.difference.as_ref().and_then(Difference::headline);
            portrait(cell, headline, &evidence.cells, marks)
        })
        .collect()
}

fn portrait(cell: &CellSample, headline: Option<Interval>, cells: &[CellSample], marks: usize) -> Option<Portrait> {
    let differences = sorted(cell, ForkSample::differences);
    let forks: Vec<ForkPortrait> = (cell.forks.iter().zip(&cell.samples))
        .filter_map(|(row, sample)| fork(row.fork, sample, marks))
        .collect();
    let medians = || forks.iter().map(|fork| fork.median);
    let fork_medians = (medians().min()?, medians().max()?);
    let mut window = curves::window(&differences)?;
    for fork in &forks {
        window = window.including(fork.quartiles.0, fork.quartiles.1, &differences);
    }
    if let Some(Interval { low, high }) = headline {
        window = window.including(low.floor() as i64, high.ceil() as i64, &differences);
    }
    Some(Portrait {
        window,
        histogram: curves::histogram(&differences, window, BINS),
        fork_medians,
        distribution: curves::distribution(&differences, STEPS.0),
        control: control(cell, cells),
        quantiles: curves::quantile_pairs(
            &sorted(cell, |fork| fork.subject.clone()),
            &sorted(cell, |fork| fork.baseline.clone()),
        ),
        forks,
    })
}

fn control(cell: &CellSample, cells: &[CellSample]) -> Option<ControlPortrait> {
    let control = cells
        .iter()
        .find(|other| summary::is_control_of(&other.cell, &cell.cell))?;
    let differences = sorted(control, ForkSample::differences);
    Some(ControlPortrait {
        window: curves::window(&differences)?,
        distribution: curves::distribution(&differences, STEPS.0),
    })
}

fn sorted(cell: &CellSample, values: impl Fn(&ForkSample) -> Vec<i64>) -> Vec<i64> {
    let mut all: Vec<i64> = cell.samples.iter().flat_map(values).collect();
    all.sort_unstable();
    all
}

fn fork(fork: ForkIndex, sample: &ForkSample, marks: usize) -> Option<ForkPortrait> {
    let mut differences = sample.differences();
    let thinned = curves::thinned(&differences, marks);
    differences.sort_unstable();
    let quartile = |place| differences[nearest_rank::rank(differences.len(), place, 4) - 1];
    if differences.is_empty() {
        return None;
    }
    let series = |times: &[i64]| Series {
        length: times.len(),
        buckets: curves::buckets(times, marks),
        changes: level_changes(times),
    };
    Some(ForkPortrait {
        fork,
        differences: thinned,
        median: quartile(2),
        quartiles: (quartile(1), quartile(3)),
        distribution: curves::distribution(&differences, STEPS.1),
        warmup: sample.warmup,
        subject: series(&sample.subject_series),
        baseline: series(&sample.baseline_series),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(level: i64) -> ForkSample {
        let times: Vec<i64> = (0..1_000).map(|place| level + place * 37 % 101).collect();
        ForkSample {
            subject: times[100..].to_vec(),
            baseline: vec![10; 900],
            subject_first: vec![true; 900],
            baseline_series: vec![10; 1_000],
            subject_series: times,
            warmup: 100,
            uncounted: 0,
            counted: vec![true; 900],
        }
    }

    #[test]
    fn a_fork_is_summed_up_to_the_marks_it_may_have() {
        let told = fork(ForkIndex(3), &sample(1_000), 40).unwrap();
        assert!(told.differences.values.len() <= 40 && told.differences.every > 1);
        assert!(told.subject.buckets.len() <= 40 && told.subject.length == 1_000);
        assert!(told.quartiles.0 < told.median && told.median < told.quartiles.1);
        assert_eq!(told.changes_after_warmup(), 0);
        assert_eq!(fork(ForkIndex(0), &ForkSample::default(), 40), None);
    }

    #[test]
    fn a_change_after_the_warmup_is_one() {
        let mut changed = sample(1_000);
        for time in &mut changed.subject_series[600..] {
            *time *= 2;
        }
        assert_eq!(fork(ForkIndex(0), &changed, 40).unwrap().changes_after_warmup(), 1);
    }
}
