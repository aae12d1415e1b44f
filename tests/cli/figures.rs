//! Every figure of JSON, derived again from the archived pairs alone, by brute force.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use preview_cost::archive::{CellRow, ForkPairs, ForkSteps, PairSide, PairStatus, Phase};
use preview_cost::plan::CellKind;
use serde_json::Value;

use crate::remains::{analyze, read};
use crate::samples;
use crate::support::ask;

/// Student's t at 97.5 % with one degree of freedom: two forks.
const T_OF_TWO: f64 = 12.706_204_736_432_095;
const BUDGET_NS: f64 = 400e6;

/// Value, and the ends of the interval.
type Told = (Option<f64>, Option<f64>, Option<f64>);

fn told(run: &Path) -> BTreeMap<String, Told> {
    let document: Value = serde_json::from_str(&ask(&mut analyze(run, "json")).exits(0).stdout).unwrap();
    let figures = document["runs"][0]["figures"].as_array().unwrap();
    let mut told = BTreeMap::new();
    for figure in figures {
        for word in ["id", "unit", "estimator"] {
            assert!(figure[word].as_str().is_some_and(|text| !text.is_empty()), "{figure:#}");
        }
        let [value, low, high] = ["value", "low", "high"].map(|key| {
            assert!(figure[key].is_number() || figure[key].is_null(), "{figure:#}");
            figure[key].as_f64()
        });
        let twice = told.insert(figure["id"].as_str().unwrap().to_owned(), (value, low, high));
        assert_eq!(twice, None, "{figure:#}");
    }
    told
}

/// Subject, baseline and difference of every counted pair of a fork, as floats.
fn times(fork: &ForkPairs) -> [Vec<f64>; 3] {
    let counted = fork
        .pairs
        .iter()
        .filter(|pair| pair.phase == Phase::Measured && pair.status == PairStatus::Ok);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for pair in counted {
        let (subject, baseline) = (
            pair.subject.time.unwrap().0 as f64,
            pair.baseline.time.unwrap().0 as f64,
        );
        times[0].push(subject);
        times[1].push(baseline);
        times[2].push(subject - baseline);
    }
    times
}

/// The smallest value that at least this share of the values do not exceed.
fn nearest_rank(values: &[f64], percent: usize) -> f64 {
    let enough = |limit: f64| values.iter().filter(|&&value| value <= limit).count() * 100 >= values.len() * percent;
    values
        .iter()
        .copied()
        .filter(|&limit| enough(limit))
        .fold(f64::INFINITY, f64::min)
}

/// P(at least `least` of `n` draws with replacement fall on the first `k` of `n` values).
fn tail(n: usize, k: usize, least: usize) -> f64 {
    let p = k as f64 / n as f64;
    let ways = |hits: usize| (0..hits).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>();
    (least..=n)
        .map(|hits| ways(hits) * p.powi(hits as i32) * (1.0 - p).powi((n - hits) as i32))
        .sum()
}

/// The limits of the percentile bootstrap of the median.
fn bootstrap(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let at = |level: f64| sorted[(1..=n).find(|&k| tail(n, k, n.div_ceil(2)) >= level - 1e-12).unwrap() - 1];
    (at(0.025), at(0.975))
}

/// The interval over two forks' medians: half their distance times t, around their mean.
fn over_two_forks(medians: &[f64]) -> (f64, f64, f64) {
    let [one, other] = medians else {
        panic!("two forks: {medians:?}")
    };
    let (mean, half) = (f64::midpoint(*one, *other), (one - other).abs() / 2.0 * T_OF_TWO);
    (mean, mean - half, mean + half)
}

/// Every figure of a cell without its noise floor.
fn derived(forks: &[&ForkPairs]) -> BTreeMap<&'static str, Told> {
    let forks: Vec<[Vec<f64>; 3]> = forks.iter().map(|fork| times(fork)).collect();
    let pooled = |which: usize| forks.iter().flat_map(|fork| fork[which].clone()).collect::<Vec<f64>>();
    let medians = |which: usize| {
        forks
            .iter()
            .map(|fork| nearest_rank(&fork[which], 50))
            .collect::<Vec<f64>>()
    };
    let value = |value: f64| (Some(value), None, None);
    let differences = pooled(2);
    let median = nearest_rank(&differences, 50);
    let (mean, low, high) = over_two_forks(&medians(2));
    let (pooled_low, pooled_high) = bootstrap(&differences);
    let slower = differences.iter().filter(|&&difference| difference > 0.0).count();
    let mut figures = BTreeMap::from([
        ("forks", value(forks.len() as f64)),
        ("pairs.ok", value(differences.len() as f64)),
        ("pairs.uncounted", value(0.0)),
        ("difference.median", (Some(median), Some(low), Some(high))),
        (
            "difference.median.within_session",
            (Some(median), Some(pooled_low), Some(pooled_high)),
        ),
        ("difference.fork_mean", value(mean)),
        (
            "difference.of_medians",
            value(nearest_rank(&pooled(0), 50) - nearest_rank(&pooled(1), 50)),
        ),
        (
            "difference.ratio",
            value(nearest_rank(&pooled(0), 50) / nearest_rank(&pooled(1), 50)),
        ),
        (
            "difference.slower_share",
            value(slower as f64 / differences.len() as f64),
        ),
        ("difference.budget_share", value(median / BUDGET_NS)),
        // SQLite is in process, and forty-two pairs are too few for a tail.
        ("difference.trips", (None, None, None)),
        ("distance.median", (None, None, None)),
        ("subject.p95", (None, None, None)),
        ("subject.p99", (None, None, None)),
        ("baseline.p95", (None, None, None)),
        ("baseline.p99", (None, None, None)),
    ]);
    for (which, [p50, min, max]) in [
        ["subject.p50", "subject.fork_median.min", "subject.fork_median.max"],
        ["baseline.p50", "baseline.fork_median.min", "baseline.fork_median.max"],
    ]
    .into_iter()
    .enumerate()
    {
        figures.insert(p50, value(nearest_rank(&pooled(which), 50)));
        figures.insert(min, value(medians(which).iter().copied().fold(f64::INFINITY, f64::min)));
        figures.insert(
            max,
            value(medians(which).iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        );
    }
    figures
}

fn near(told: Option<f64>, derived: Option<f64>) -> bool {
    match (told, derived) {
        (Some(told), Some(derived)) => (told - derived).abs() <= 1e-9 * derived.abs().max(1.0),
        (told, derived) => told == derived,
    }
}

/// Figures that the analysis' own tests hold to brute force.
const ELSEWHERE: [&str; 8] = [
    ".difference.order_effect",
    ".difference.autocorrelation",
    ".pairs.effective",
    ".noise_factor",
    ".verdict.p",
    ".forks_needed",
    "].fixed",
    "].per_plan",
];

/// Of one pair: how long each side's steps took together, by the step's word.
type StepSums = BTreeMap<(PairSide, &'static str), i64>;

/// The counted pairs' steps, cell by cell, by brute force: a map a pair.
#[derive(Default)]
struct StepFigures(BTreeMap<u32, Vec<StepSums>>);

impl StepFigures {
    fn add(&mut self, fork: &ForkSteps, pairs: &[ForkPairs]) {
        let of_fork = pairs
            .iter()
            .find(|other| (other.cell, other.fork) == (fork.cell, fork.fork));
        for pair in &of_fork.unwrap().pairs {
            if pair.phase != Phase::Measured || pair.status != PairStatus::Ok {
                continue;
            }
            let mut sums = BTreeMap::new();
            for step in fork
                .steps
                .iter()
                .filter(|step| (step.phase, step.pair) == (pair.phase, pair.pair))
            {
                *sums.entry((step.side, step.step.as_str())).or_insert(0) += step.time.0;
            }
            self.0.entry(fork.cell.0).or_default().push(sums);
        }
    }

    fn derived(&self, cells: &[CellRow]) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::new();
        for cell in cells {
            let pairs = &self.0[&cell.cell.0];
            let mut tell = |key: String, value: f64| figures.insert(format!("{}.steps.{key}", cell.id), value);
            let all: BTreeSet<(PairSide, &str)> = pairs.iter().flat_map(|pair| pair.keys().copied()).collect();
            for &(side, step) in &all {
                let mut times: Vec<i64> = pairs
                    .iter()
                    .filter_map(|pair| pair.get(&(side, step)).copied())
                    .collect();
                times.sort_unstable();
                let whole: i64 = pairs
                    .iter()
                    .flatten()
                    .filter(|((of, _), _)| *of == side)
                    .map(|(_, time)| time)
                    .sum();
                let key = format!("{}.{step}", side.as_str());
                tell(format!("{key}.p50"), times[times.len().div_ceil(2) - 1] as f64);
                tell(format!("{key}.share"), times.iter().sum::<i64>() as f64 / whole as f64);
            }
            let part = |pair: &BTreeMap<(PairSide, &str), i64>, step: &str| {
                let of = |side| pair.get(&(side, step)).copied().unwrap_or(0);
                of(PairSide::Subject) - of(PairSide::Baseline)
            };
            let steps: BTreeSet<&str> = all.iter().map(|(_, step)| *step).collect();
            let difference =
                |pair: &&BTreeMap<(PairSide, &str), i64>| steps.iter().map(|step| part(pair, step)).sum::<i64>();
            let mut ordered: Vec<_> = pairs.iter().collect();
            ordered.sort_by_key(difference);
            let quarter = ordered.len() / 4;
            let middle = &ordered[quarter..ordered.len() - quarter];
            let mean = |sum: i64| sum as f64 / middle.len() as f64;
            for step in &steps {
                tell(
                    format!("difference.{step}"),
                    mean(middle.iter().map(|pair| part(pair, step)).sum()),
                );
            }
            tell("difference.whole".to_owned(), mean(middle.iter().map(difference).sum()));
        }
        figures
    }
}

#[test]
fn every_figure_follows_from_the_archived_pairs() {
    let run = samples::sealed(0);
    let mut told = told(run);
    let (archive, forks) = read(run).unwrap();
    for cell in &archive.cells {
        let forks_of = |wanted| forks.iter().filter(move |fork| fork.cell == wanted).collect::<Vec<_>>();
        let mut figures = derived(&forks_of(cell.cell));
        let control = archive
            .cells
            .iter()
            .find(|other| other.kind == CellKind::Control && other.plans == cell.plans)
            .unwrap();
        let (_, low, high) = derived(&forks_of(control.cell))["difference.median"];
        figures.insert(
            "noise_floor",
            (low.zip(high).map(|(low, high)| low.abs().max(high.abs())), None, None),
        );
        for (key, (value, low, high)) in figures {
            let id = format!("{}.{key}", cell.id);
            let said = told.remove(&id).unwrap_or_else(|| panic!("{id} is not told"));
            // An interval that is not derived here is held to brute force in the analysis' own tests.
            let ends = low.is_none() || (near(said.1, low) && near(said.2, high));
            let agrees = near(said.0, value) && ends;
            assert!(agrees, "{id}: told {said:?}, derived {:?}", (value, low, high));
        }
    }
    let mut of_steps = StepFigures::default();
    archive.for_each_fork_steps(|fork| of_steps.add(&fork, &forks)).unwrap();
    for (id, value) in of_steps.derived(&archive.cells) {
        let said = told.remove(&id).unwrap_or_else(|| panic!("{id} is not told"));
        assert!(near(said.0, Some(value)), "{id}: told {said:?}, derived {value}");
    }
    let unknown: Vec<&String> = told
        .keys()
        .filter(|id| !ELSEWHERE.iter().any(|key| id.ends_with(key)))
        .collect();
    assert!(unknown.is_empty(), "figures that no test knows: {unknown:?}");
}
