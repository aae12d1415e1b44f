//! Every preview's steps, added up again.

use std::collections::{HashMap, HashSet};

use super::finding::{Finding, Outcome};
use super::outcome_of;
use crate::archive::{Archive, ForkPairs, ForkSteps, PairSide, Phase};
use crate::units::{CellIndex, ForkIndex, Nanos};

/// A preview's place within its fork.
type Preview = (Phase, u32, u32, PairSide);
/// The sum of each preview's steps.
type Sums = HashMap<Preview, i64>;

/// Holds the steps of every preview against its time; `None` where no steps were recorded.
pub(super) fn check(archive: &Archive) -> Option<Finding> {
    let is_recorded = |steps: Option<u32>| steps.is_some_and(|steps| steps > 0);
    if !archive.forks.iter().any(|fork| is_recorded(fork.steps_recorded)) {
        return None;
    }
    let finding = |outcome, detail: String| Some(Finding::new("steps", outcome, detail));
    let mut sums: HashMap<(CellIndex, ForkIndex), Sums> = HashMap::new();
    let read = archive.for_each_fork_steps(|fork| {
        sums.insert((fork.cell, fork.fork), sums_of(&fork));
    });
    if let Err(error) = read {
        return finding(outcome_of(&error), error.to_string());
    }
    // Where nothing switched them off, every preview has them.
    let complete: HashSet<(CellIndex, ForkIndex)> = (archive.forks.iter())
        .filter(|fork| is_recorded(fork.steps_recorded) && fork.steps_off.is_none())
        .map(|fork| (fork.cell, fork.fork))
        .collect();
    let (mut previews, mut problem) = (0u64, None);
    let read = archive.for_each_fork(|fork| {
        let of_fork = sums.remove(&(fork.cell, fork.fork)).unwrap_or_default();
        previews += of_fork.len() as u64;
        if problem.is_none() {
            let is_complete = complete.contains(&(fork.cell, fork.fork));
            problem = mismatch(&fork, of_fork, is_complete);
        }
    });
    match (read, problem) {
        (Err(error), _) => finding(outcome_of(&error), error.to_string()),
        (_, Some(problem)) => finding(Outcome::Tampered, problem),
        _ => finding(
            Outcome::Ok,
            format!("the steps of {previews} previews add up to their times, to the nanosecond"),
        ),
    }
}

fn sums_of(fork: &ForkSteps) -> Sums {
    let mut sums = Sums::new();
    for step in &fork.steps {
        let sum: &mut i64 = sums
            .entry((step.phase, step.previewer, step.pair.0, step.side))
            .or_default();
        *sum = sum.saturating_add(step.time.0);
    }
    sums
}

/// A preview whose steps are not its time, or that has none where the fork is complete; or steps of a preview that there is
/// not.
fn mismatch(fork: &ForkPairs, mut sums: Sums, is_complete: bool) -> Option<String> {
    for pair in &fork.pairs {
        for (side, row) in [(PairSide::Subject, &pair.subject), (PairSide::Baseline, &pair.baseline)] {
            let sum = sums.remove(&(pair.phase, pair.previewer, pair.pair.0, side));
            // A preview that gave no answer has no time to hold its steps against.
            let Some(Nanos(time)) = row.time else { continue };
            let found = match sum {
                Some(sum) if sum != time => format!("add up to {sum} ns"),
                None if is_complete => "are missing".to_owned(),
                _ => continue,
            };
            return Some(format!(
                "the steps of the {} of pair {} ({}) of fork {} of cell {} {found}, and it took {time} ns",
                side.as_str(),
                pair.pair,
                pair.phase.as_str(),
                fork.fork,
                fork.cell,
            ));
        }
    }
    let stray = sums.into_keys().next()?;
    Some(format!(
        "fork {} of cell {} has steps of pair {} ({}), which pairs.parquet does not have",
        fork.fork,
        fork.cell,
        stray.2,
        stray.0.as_str()
    ))
}
