//! How often an interval holds the truth, by simulation: the headline's nearly always says what it claims, the pooled
//! one's does not as soon as forks differ.
//!
//! Five forks of 200 heavy-tailed pairs (Student's t with 3 degrees of freedom), whose levels differ among forks by a
//! tenth, or a third, of the spread within one. The true median difference is 0.

use preview_cost::analysis::{Interval, pooled_exact, student_t, two_level};
use preview_cost::nearest_rank;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const RUNS: usize = 1_000;
const PAIRS: usize = 200;
/// Within-fork scale in nanoseconds, fine enough that rounding to integers does not matter.
const SCALE: f64 = 1e6;

fn uniform(random: &mut ChaCha20Rng) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Box and Muller.
fn normal(random: &mut ChaCha20Rng) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

fn heavy_tailed(random: &mut ChaCha20Rng) -> f64 {
    let chi_square: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / (chi_square / 3.0).sqrt()
}

fn simulated(random: &mut ChaCha20Rng, forks: usize, between: f64) -> Vec<Vec<i64>> {
    let within = 3f64.sqrt();
    (0..forks)
        .map(|_| {
            let level = between * within * normal(random);
            let mut fork: Vec<i64> = (0..PAIRS)
                .map(|_| ((level + heavy_tailed(random)) * SCALE) as i64)
                .collect();
            fork.sort_unstable();
            fork
        })
        .collect()
}

/// Shares of runs in which the headline, the pooled and the two-level interval hold 0.
fn coverage(forks: usize, between: f64, two_levels: bool) -> [f64; 3] {
    let mut random = ChaCha20Rng::seed_from_u64(20_261_130);
    let mut held = [0usize; 3];
    for run in 0..RUNS {
        let sample = simulated(&mut random, forks, between);
        let medians: Vec<f64> = sample
            .iter()
            .map(|fork| nearest_rank::median(&mut fork.clone()).unwrap() as f64)
            .collect();
        let mut pooled = sample.concat();
        pooled.sort_unstable();
        let two_level = if two_levels {
            two_level(&sample, 400, run as u64)
        } else {
            None
        };
        for (place, interval) in [student_t(&medians), pooled_exact(&pooled), two_level]
            .into_iter()
            .enumerate()
        {
            held[place] += usize::from(interval.is_some_and(|interval: Interval| interval.contains(0.0)));
        }
    }
    held.map(|held| held as f64 / RUNS as f64)
}

#[test]
fn headline_covers_near_its_level_where_the_pooled_interval_does_not() {
    // A thousand runs at 95 % come within ± 2 % of it in all but 0.4 % of seeds; the seed is fixed.
    let [headline, pooled, _] = coverage(5, 0.1, false);
    assert!((0.93..=0.97).contains(&headline), "headline {headline}");
    assert!(pooled < 0.80, "pooled {pooled}");

    let [headline, pooled, _] = coverage(5, 1.0 / 3.0, false);
    assert!((0.93..=0.97).contains(&headline), "headline {headline}");
    assert!(pooled < 0.50, "pooled {pooled}");
}

#[test]
fn without_a_difference_between_forks_both_cover() {
    let [headline, pooled, _] = coverage(5, 0.0, false);
    assert!((0.93..=0.97).contains(&headline), "headline {headline}");
    assert!((0.93..=0.97).contains(&pooled), "pooled {pooled}");
}

#[test]
fn two_levels_cover_from_twenty_forks_on() {
    let [_, _, two_level] = coverage(20, 0.1, true);
    assert!((0.91..=0.98).contains(&two_level), "two-level {two_level}");
}
