//! The same manifest gives the same work in the same order; only times differ.

use std::collections::BTreeMap;
use std::path::Path;

use preview_cost::archive::{ForkPairs, PairStatus, Phase};

use crate::remains::read;
use crate::samples;
use crate::support::{Bench, SMALL, edited};

/// All of a run that must not change from one run to the next: per cell and fork, its place and its pairs.
type Work = BTreeMap<(String, u32), (u32, Vec<Pair>)>;

#[derive(Debug, Clone, PartialEq)]
struct Pair {
    phase: Phase,
    place: u32,
    subject_first: bool,
    delta: u64,
    answers: [Option<String>; 2],
}

fn work(run: &Path) -> Work {
    let (archive, forks) = read(run).unwrap();
    let mut work = Work::new();
    for (row, ForkPairs { pairs, .. }) in archive.forks.iter().zip(forks) {
        let cell = archive.cells.iter().find(|cell| cell.cell == row.cell).unwrap();
        let pairs = pairs.into_iter().map(|pair| {
            assert_eq!(pair.status, PairStatus::Ok);
            assert!(pair.subject.answer.is_some());
            Pair {
                phase: pair.phase,
                place: pair.pair.0,
                subject_first: pair.subject_first,
                delta: pair.delta.to_bits(),
                answers: [pair.subject.answer, pair.baseline.answer],
            }
        });
        work.insert((cell.id.clone(), row.fork.0), (row.position, pairs.collect()));
    }
    work
}

fn orders(work: &Work) -> Vec<(&(String, u32), Vec<bool>)> {
    work.iter()
        .map(|(fork, (_, pairs))| (fork, pairs.iter().map(|pair| pair.subject_first).collect()))
        .collect()
}

fn schedule(work: &Work) -> Vec<&(String, u32)> {
    let mut schedule: Vec<_> = work.iter().map(|(fork, (position, _))| (position, fork)).collect();
    schedule.sort();
    schedule.into_iter().map(|(_, fork)| fork).collect()
}

#[test]
fn the_same_manifest_gives_the_same_orders_deltas_and_answers() {
    let (one, other) = (work(samples::sealed(0)), work(samples::sealed(1)));
    assert_eq!(one.len(), 8);
    assert_eq!(one, other);
}

#[test]
fn another_seed_gives_other_orders_and_the_same_answers() {
    let one = work(samples::sealed(0));
    let other = work(&Bench::new(edited(SMALL, &[("seed = 7", "seed = 8")])).measure());
    for ((fork, order), (same, another)) in orders(&one).into_iter().zip(orders(&other)) {
        assert_eq!(fork, same);
        assert_ne!(order, another, "{fork:?}");
    }
    assert_ne!(schedule(&one), schedule(&other));
    let answers = |work: &Work| -> Vec<_> {
        work.values()
            .flat_map(|(_, pairs)| pairs.iter().map(|pair| pair.answers.clone()).collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(answers(&one), answers(&other));
}

#[test]
fn another_size_leaves_the_orders_of_the_others_as_they_were() {
    let one = work(samples::sealed(0));
    let wider = work(&Bench::new(edited(SMALL, &[("plans = [1, 3]", "plans = [3, 2, 1]")])).measure());
    assert_eq!((one.len(), wider.len()), (8, 12));
    for (fork, (_, pairs)) in &one {
        assert_eq!(pairs, &wider[fork].1, "{fork:?}");
    }
}

#[test]
fn balanced_orders_are_exactly_half_and_half_in_each_phase() {
    let work = work(samples::sealed(0));
    let mut odd = Vec::new();
    for (fork, (_, pairs)) in &work {
        let first = |phase| {
            let of_phase = pairs.iter().filter(|pair| pair.phase == phase);
            let (first, second): (Vec<_>, Vec<_>) = of_phase.partition(|pair| pair.subject_first);
            (first.len(), second.len())
        };
        assert_eq!(first(Phase::Warmup), (2, 2), "{fork:?}");
        let (first, second) = first(Phase::Measured);
        assert_eq!((first + second, first.abs_diff(second)), (21, 1), "{fork:?}");
        odd.push(first > second);
    }
    // The odd pair goes either way; with this seed it does.
    assert!(odd.contains(&true) && odd.contains(&false), "{odd:?}");
}

#[test]
fn coins_are_not_forced_into_balance() {
    let change = ("seed = 7", "seed = 7\norder = \"coin\"");
    let work = work(&Bench::new(edited(SMALL, &[change])).measure());
    let unbalanced = |(_, pairs): &(u32, Vec<Pair>)| {
        let measured = pairs.iter().filter(|pair| pair.phase == Phase::Measured);
        let first = measured.filter(|pair| pair.subject_first).count();
        !(10..=11).contains(&first)
    };
    // By chance all eight forks are balanced with one seed in six thousand; with this one they are not.
    assert!(work.values().any(unbalanced));
    let balanced = orders_of_sample();
    assert_ne!(
        orders(&work).into_iter().map(|(_, order)| order).collect::<Vec<_>>(),
        balanced
    );
}

fn orders_of_sample() -> Vec<Vec<bool>> {
    let sample = work(samples::sealed(0));
    orders(&sample).into_iter().map(|(_, order)| order).collect()
}
