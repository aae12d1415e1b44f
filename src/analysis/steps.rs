//! Where the time of previews goes: step by step, and which steps make the difference.
//!
//! The steps of a preview add up to it, so those of a pair add up to its difference, exactly. Medians do not add up; means
//! do. So the difference is taken apart over the **middle half** of the pairs: those between the quartiles of the
//! difference, which no outlier reaches. The means of the steps' differences over these pairs add up to the mean difference
//! over these pairs, and nothing is left over.

use std::collections::BTreeMap;

use crate::archive::{ForkSteps, PairSide, Phase, StepRow};
use crate::nearest_rank;
use crate::step::Step;
use crate::units::{CellIndex, ForkIndex};

/// Steps that there are.
const STEPS: usize = Step::ALL.len();

/// Where the time of a cell's previews goes; times in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSteps {
    /// The steps that either side has, in the order of [`Step::ALL`].
    pub steps: Vec<StepSummary>,
    /// Mean difference over the middle half of the pairs: the sum of the steps' parts.
    pub whole: f64,
    /// Pairs of the middle half.
    pub middle: usize,
}

/// One step of a cell's previews.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSummary {
    /// The step.
    pub step: Step,
    /// Of the subject; `None` where it has no such step.
    pub subject: Option<StepTime>,
    /// Of the baseline.
    pub baseline: Option<StepTime>,
    /// Its part of the difference: mean over the middle half of subject minus baseline.
    pub part: f64,
}

/// How long a step of one side takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// Nearest-rank median over the previews that have the step; one that comes twice counts with its sum.
    pub median: i64,
    /// Its share of the side's time in all counted previews.
    pub share: f64,
}

/// The times of one pair's steps; `None` for a step that a side does not have.
type PairSteps = [[Option<i64>; STEPS]; 2];

/// Digests steps cell by cell; no more than one cell's are held at a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepsByCell {
    open: Option<(CellIndex, Vec<PairSteps>)>,
    done: BTreeMap<CellIndex, CellSteps>,
}

impl StepsByCell {
    /// Adds a fork, in the order of the archive. `counted` says of each measured pair whether it counts.
    pub fn add(&mut self, fork: &ForkSteps, counted: &[bool]) {
        if fork.steps.is_empty() {
            return;
        }
        if self.open.as_ref().is_some_and(|(cell, _)| *cell != fork.cell) {
            self.close();
        }
        let (_, pairs) = self.open.get_or_insert_with(|| (fork.cell, Vec::new()));
        pairs.extend(pairs_of(&fork.steps, counted));
    }

    fn close(&mut self) {
        if let Some((cell, pairs)) = self.open.take()
            && let Some(steps) = summarise(&pairs)
        {
            self.done.insert(cell, steps);
        }
    }

    /// What each cell shows.
    pub(super) fn finish(mut self) -> BTreeMap<CellIndex, CellSteps> {
        self.close();
        self.done
    }
}

/// Which measured pairs of the forks count, by cell and fork.
pub(super) type Counted = BTreeMap<(CellIndex, ForkIndex), Vec<bool>>;

/// The counted pairs whose both sides have steps.
fn pairs_of(rows: &[StepRow], counted: &[bool]) -> Vec<PairSteps> {
    let mut pairs: BTreeMap<(u32, u32), PairSteps> = BTreeMap::new();
    let measured = rows.iter().filter(|row| row.phase == Phase::Measured);
    for row in measured.filter(|row| counted.get(row.pair.0 as usize) == Some(&true)) {
        let pair = pairs.entry((row.previewer, row.pair.0)).or_default();
        let time = &mut pair[side(row.side)][place(row.step)];
        *time = Some(time.unwrap_or_default().saturating_add(row.time.0));
    }
    pairs.retain(|_, pair| pair.iter().all(|side| side.iter().any(Option::is_some)));
    pairs.into_values().collect()
}

fn side(side: PairSide) -> usize {
    usize::from(side == PairSide::Baseline)
}

fn place(step: Step) -> usize {
    Step::ALL.iter().position(|known| *known == step).unwrap_or_default()
}

/// Subject minus baseline, step by step.
fn parts(pair: &PairSteps) -> [i64; STEPS] {
    std::array::from_fn(|step| {
        let time = |side: usize| pair[side][step].unwrap_or_default();
        time(0).saturating_sub(time(1))
    })
}

fn summarise(pairs: &[PairSteps]) -> Option<CellSteps> {
    let middle = middle_half(pairs);
    if middle.is_empty() {
        return None;
    }
    let mut sums = [0i128; STEPS];
    for part in &middle {
        for (sum, part) in sums.iter_mut().zip(part) {
            *sum += i128::from(*part);
        }
    }
    let mean = |sum: i128| sum as f64 / middle.len() as f64;
    let steps = Step::ALL.into_iter().enumerate().filter_map(|(place, step)| {
        let [subject, baseline] = [0, 1].map(|side| step_time(pairs, side, place));
        subject.or(baseline)?;
        Some(StepSummary {
            step,
            subject,
            baseline,
            part: mean(sums[place]),
        })
    });
    Some(CellSteps {
        steps: steps.collect(),
        whole: mean(sums.iter().sum()),
        middle: middle.len(),
    })
}

/// The parts of the pairs that are left when a quarter of them is taken off at either end, by their difference; among
/// equals, the order of the archive decides.
fn middle_half(pairs: &[PairSteps]) -> Vec<[i64; STEPS]> {
    let mut all: Vec<[i64; STEPS]> = pairs.iter().map(parts).collect();
    all.sort_by_key(|parts| parts.iter().map(|part| i128::from(*part)).sum::<i128>());
    let quarter = all.len() / 4;
    all[quarter..all.len() - quarter].to_vec()
}

fn step_time(pairs: &[PairSteps], side: usize, place: usize) -> Option<StepTime> {
    let mut times: Vec<i64> = pairs.iter().filter_map(|pair| pair[side][place]).collect();
    let sum: i128 = times.iter().map(|time| i128::from(*time)).sum();
    let all = pairs.iter().flat_map(|pair| pair[side].iter().flatten());
    let whole: i128 = all.map(|time| i128::from(*time)).sum();
    Some(StepTime {
        median: nearest_rank::median(&mut times)?,
        share: if whole == 0 { 0.0 } else { sum as f64 / whole as f64 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Nanos, PairIndex};
    use proptest::prelude::*;

    fn row(pair: u32, side: PairSide, place: u32, step: Step, time: i64) -> StepRow {
        StepRow {
            previewer: 0,
            pair: PairIndex(pair),
            phase: Phase::Measured,
            side,
            place,
            step,
            time: Nanos(time),
        }
    }

    fn of(rows: Vec<StepRow>, counted: &[bool]) -> Option<CellSteps> {
        let mut by_cell = StepsByCell::default();
        let fork = ForkSteps {
            cell: CellIndex(0),
            fork: ForkIndex(0),
            steps: rows,
        };
        by_cell.add(&fork, counted);
        by_cell.finish().remove(&CellIndex(0))
    }

    #[test]
    fn a_step_that_comes_twice_counts_with_its_sum_and_uncounted_pairs_do_not() {
        let rows = vec![
            row(0, PairSide::Subject, 0, Step::Write, 10),
            row(0, PairSide::Subject, 1, Step::Read, 5),
            row(0, PairSide::Subject, 2, Step::Write, 20),
            row(0, PairSide::Baseline, 0, Step::Compute, 7),
            row(1, PairSide::Subject, 0, Step::Write, 1_000),
            row(1, PairSide::Baseline, 0, Step::Compute, 1),
        ];
        let steps = of(rows, &[true, false]).unwrap();
        assert_eq!((steps.whole, steps.middle), (28.0, 1));
        let write = steps.steps[0].subject.unwrap();
        assert_eq!((write.median, steps.steps[0].part), (30, 30.0));
        assert!((write.share - 30.0 / 35.0).abs() < 1e-12);
        assert!((steps.steps[2].part + 7.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(of(Vec::new(), &[]), None);
        assert_eq!(of(vec![row(0, PairSide::Subject, 0, Step::Write, 1)], &[true]), None);
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_mean_of_the_middle(times in prop::collection::vec((0i64..5_000, 0i64..5_000, 0i64..5_000), 1..60)) {
            let rows = (0u32..).zip(&times).flat_map(|(pair, (write, read, compute))| [
                row(pair, PairSide::Subject, 0, Step::Write, *write),
                row(pair, PairSide::Subject, 1, Step::Read, *read),
                row(pair, PairSide::Baseline, 0, Step::Compute, *compute),
            ]).collect();
            let steps = of(rows, &vec![true; times.len()]).unwrap();
            let mut differences: Vec<i64> = times.iter().map(|(write, read, compute)| write + read - compute).collect();
            differences.sort_unstable();
            let quarter = differences.len() / 4;
            let middle = &differences[quarter..differences.len() - quarter];
            let mean = middle.iter().sum::<i64>() as f64 / middle.len() as f64;
            prop_assert!((steps.whole - mean).abs() < 1e-9);
            let parts: f64 = steps.steps.iter().map(|step| step.part).sum();
            prop_assert!((parts - steps.whole).abs() < 1e-6, "{parts} {}", steps.whole);
            for side in [0, 1] {
                let shares: f64 = steps.steps.iter()
                    .filter_map(|step| [step.subject, step.baseline][side])
                    .map(|time| time.share).sum();
                prop_assert!((shares - 1.0).abs() < 1e-9 || shares == 0.0);
            }
        }
    }
}
