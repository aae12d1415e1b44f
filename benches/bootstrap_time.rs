//! What the bootstraps save by knowing the distribution of a resample's median instead of drawing every pair.
//!
//! The plain loops would take minutes, so that a few of their resamples are run and their time is scaled to all of them;
//! a loop's time is proportional to its resamples. The pooled interval is held against the time that `scipy.stats.bootstrap`
//! took for the same on the machine that it was measured on: a number of another run, so that it says no more than the
//! order of magnitude. The plain loop beside it is of this run.

mod support;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use preview_cost::analysis::{pooled_exact, two_level};
use preview_cost::nearest_rank;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use support::{Outcome, line, median, verdict};

const RESAMPLES: u32 = 10_000;
const FORKS: usize = 20;
const PAIRS_OF_FORK: usize = 50_000;
const PAIRS_POOLED: usize = 1_000_000;
/// Resamples of a plain loop that are run.
const RUN: u32 = 5;
const ROUNDS: usize = 5;
/// Seconds that `scipy.stats.bootstrap` took for the median of a million with 10 000 resamples.
const SCIPY_S: f64 = 347.0;

fn main() -> ExitCode {
    support::report(
        "bootstraps: time against a plain loop (5 resamples, scaled to 10 000)",
        measure,
    )
}

fn measure() -> Outcome {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let forks: Vec<Vec<i64>> = (0..FORKS).map(|_| sample(PAIRS_OF_FORK, &mut random)).collect();
    let quick = seconds(ROUNDS, || {
        black_box(two_level(&forks, RESAMPLES, 1));
    })?;
    let plain = plain_two_level(&forks, &mut random);
    line(
        "two levels, 20 forks of 50 000 pairs",
        &format!("{:.1} ms", quick * 1e3),
    );
    line("the same, plain loop", &format!("{plain:.0} s"));
    verdict("100 × two levels / plain loop", 100.0 * quick / plain, 1.0);
    line("plain loop / two levels", &format!("{:.0}", plain / quick));

    let pooled = sample(PAIRS_POOLED, &mut random);
    let quick = seconds(ROUNDS, || {
        black_box(pooled_exact(&pooled));
    })?;
    let plain = plain_pooled(&pooled, &mut random);
    line("pooled, a million pairs", &format!("{:.3} ms", quick * 1e3));
    line("the same, plain loop", &format!("{plain:.0} s"));
    line("plain loop / pooled", &format!("{:.0}", plain / quick));
    line("347 s of scipy / pooled", &format!("{:.0}", SCIPY_S / quick));
    verdict("10 000 × pooled / 347 s of scipy", 1e4 * quick / SCIPY_S, 1.0);
    Ok(())
}

/// Ascending values.
fn sample(count: usize, random: &mut ChaCha8Rng) -> Vec<i64> {
    let mut values: Vec<i64> = (0..count).map(|_| (random.next_u64() >> 44) as i64).collect();
    values.sort_unstable();
    values
}

/// Median over some rounds.
fn seconds(rounds: usize, mut work: impl FnMut()) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        let begun = Instant::now();
        work();
        times.push(begun.elapsed().as_nanos() as i64);
    }
    Ok(median(&times)? as f64 / 1e9)
}

/// Seconds for all resamples, forks and pairs drawn one by one.
fn plain_two_level(forks: &[Vec<i64>], random: &mut ChaCha8Rng) -> f64 {
    let begun = Instant::now();
    for _ in 0..RUN {
        let medians = (0..forks.len()).map(|_| resampled_median(&forks[below(random, forks.len())], random));
        black_box(medians.sum::<i64>());
    }
    begun.elapsed().as_secs_f64() / f64::from(RUN) * f64::from(RESAMPLES)
}

fn plain_pooled(values: &[i64], random: &mut ChaCha8Rng) -> f64 {
    let begun = Instant::now();
    for _ in 0..RUN {
        black_box(resampled_median(values, random));
    }
    begun.elapsed().as_secs_f64() / f64::from(RUN) * f64::from(RESAMPLES)
}

fn resampled_median(values: &[i64], random: &mut ChaCha8Rng) -> i64 {
    let mut drawn: Vec<i64> = (0..values.len()).map(|_| values[below(random, values.len())]).collect();
    nearest_rank::median(&mut drawn).unwrap_or_default()
}

fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}
