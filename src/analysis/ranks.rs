//! Which rank of a sample a quantile or a resample's median falls on: exact, from the binomial distribution.
//!
//! A resample of `n` values has its `m`-th value at or below rank `k` of the sample exactly when at least `m` of its `n`
//! draws fall there: with probability `P(Bin(n, k/n) ≥ m) = I(k/n; m, n − m + 1)`, the regularised incomplete beta
//! function. No resample need be drawn to know the distribution, and none to draw from it.

use std::f64::consts::{PI, SQRT_2};

use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;

use super::interval::LEVEL;
use crate::nearest_rank;

/// Largest sample for which the incomplete beta function is used. Its continued fraction takes of the order of `√n` steps,
/// and the library stops after 140: for a million it is off by 0.5 % in the middle, for a hundred millions at the ends of intervals too.
const EXACT_MAX: usize = 100_000;

/// Standard deviations of the median's rank beyond which its probability is nothing in double precision.
const DEVIATIONS: f64 = 9.0;

/// Steps of probability at which a search for a rank may start.
const GUIDES: usize = 1_024;

/// Distribution of the rank, from 1, that the nearest-rank median of a resample falls on.
#[derive(Debug, Clone)]
pub(super) struct MedianRank {
    /// Rank of the first entry of `cumulative`.
    first: usize,
    /// Probability of that rank or a lower one, rank by rank; the last is 1.
    cumulative: Vec<f64>,
    /// For each of [`GUIDES`] equal steps of probability, the place in `cumulative` where a search for it starts.
    guides: Vec<usize>,
}

impl MedianRank {
    /// For resamples of `n` values, `n` at least 1.
    pub fn of(n: usize) -> Self {
        let (m, first, last) = likely(n);
        let mut cumulative: Vec<f64> = (first..=last).map(|k| reached(n, m, k)).collect();
        if let Some(last) = cumulative.last_mut() {
            *last = 1.0;
        }
        let guides = (0..GUIDES)
            .map(|guide| place_of(&cumulative, guide as f64 / GUIDES as f64))
            .collect();
        Self {
            first,
            cumulative,
            guides,
        }
    }

    /// The rank that 64 random bits stand for.
    pub fn of_bits(&self, bits: u64) -> usize {
        // 53 bits, as a double from 0 to below 1. Ranks are drawn by inversion; the guide spares most of the search.
        let uniform = (bits >> 11) as f64 / (1u64 << 53) as f64;
        let from = self.guides[(uniform * GUIDES as f64) as usize];
        let beyond = self.cumulative[from..].iter().position(|&reached| reached > uniform);
        self.first + beyond.map_or(self.cumulative.len() - 1, |steps| from + steps)
    }
}

/// The first place whose probability is at least this; the last one for what is above all.
fn place_of(cumulative: &[f64], probability: f64) -> usize {
    let place = cumulative.partition_point(|&reached| reached < probability);
    place.min(cumulative.len() - 1)
}

/// The median's rank in a sample of `n`, and the first and the last rank that a resample's median may fall on.
fn likely(n: usize) -> (usize, usize, usize) {
    let m = nearest_rank::rank(n, 1, 2);
    let spread = (DEVIATIONS * (n as f64).sqrt() / 2.0).ceil() as usize + 1;
    (m, m.saturating_sub(spread).max(1), (m + spread).min(n))
}

/// The smallest rank of a resample's median that is reached with at least this probability: for one or two of them, a dozen
/// probabilities are enough.
pub(super) fn median_quantile(n: usize, probability: f64) -> usize {
    let (m, first, last) = likely(n);
    first + first_where(last - first, |place| reached(n, m, first + place) >= probability)
}

fn reached(n: usize, m: usize, k: usize) -> f64 {
    if k == n {
        1.0
    } else {
        at_least(n, k as f64 / n as f64, m)
    }
}

/// P(Bin(n, p) ≥ m), for p below 1.
fn at_least(n: usize, p: f64, m: usize) -> f64 {
    if n <= EXACT_MAX {
        beta_reg(m as f64, (n - m + 1) as f64, p)
    } else {
        1.0 - at_most_of_many(n, p, m as f64 - 1.0)
    }
}

/// P(Bin(n, p) ≤ k) for large `n`, by the normal distribution with corrections for continuity and skewness (Edgeworth's
/// expansion). What is left out is of the order of `1 / (n · p · (1 − p))`.
fn at_most_of_many(n: usize, p: f64, k: f64) -> f64 {
    let mean = n as f64 * p;
    let deviation = (mean * (1.0 - p)).sqrt();
    let z = (k + 0.5 - mean) / deviation;
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    let skewness = (1.0 - 2.0 * p) / deviation;
    let normal = erfc(-z / SQRT_2) / 2.0;
    (normal - skewness * (z * z - 1.0) / 6.0 * density).clamp(0.0, 1.0)
}

/// Ranks, from 1, between which a population's quantile lies with at least 95 % probability, whatever the distribution
/// (Hahn and Meeker, "Statistical Intervals", 1991): the order-statistic interval. `None` where `n` values are too few.
pub(super) fn quantile_interval(n: usize, numerator: u32, denominator: u32) -> Option<(usize, usize)> {
    let tail = (1.0 - LEVEL) / 2.0;
    let q = f64::from(numerator) / f64::from(denominator);
    let binomial = Binomial::new(q, n as u64).ok()?;
    let at_most = |k: usize| {
        if n <= EXACT_MAX {
            binomial.cdf(k as u64)
        } else {
            at_most_of_many(n, q, k as f64)
        }
    };
    // Values at or below the quantile number Bin(n, q): the l-th value lies above it with P(Bin ≤ l − 1).
    let low = first_where(n, |l| at_most(l) > tail);
    let high = first_where(n, |u| at_most(u) >= 1.0 - tail) + 1;
    (low >= 1 && high <= n).then_some((low, high))
}

/// The smallest value from 0 to `n` for which a monotone condition holds; it holds for `n`.
fn first_where(n: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_ranks_are_those_of_the_binomial_tail() {
        // scipy.stats.binom gives ranks 712 and 788 for 1 500 values, and 499 020 and 500 980 for a million.
        for (n, low, high) in [(1, 1, 1), (1_500, 712, 788), (1_000_000, 499_020, 500_980)] {
            let ends = (median_quantile(n, 0.025), median_quantile(n, 0.975));
            assert_eq!(ends, (low, high), "{n}");
        }
    }

    /// Drawing is inversion: evenly spread bits give every rank as often as its probability says.
    #[test]
    fn ranks_are_drawn_as_often_as_they_are_likely() {
        let ranks = MedianRank::of(300);
        let draws: u32 = 1 << 16;
        let mut counts = vec![0u32; 301];
        for draw in 0..draws {
            counts[ranks.of_bits((u64::from(draw) << 48) | (1 << 47))] += 1;
        }
        let mut below = 0.0;
        for (rank, count) in (1..=300).zip(&counts[1..]) {
            let reached = reached(300, 150, rank);
            let drawn = f64::from(*count) / f64::from(draws);
            assert!((drawn - (reached - below)).abs() < 2.0 / f64::from(draws), "{rank}");
            below = reached;
        }
    }

    /// The normal approximation, with its continuity correction, is right to a rank or two where samples are large.
    #[test]
    fn ranks_of_large_samples_are_those_of_the_normal_approximation() {
        let z = 1.959_963_984_540_054;
        for n in [1_000_000, 16_666_666, 100_000_000] {
            let half = n as f64 / 2.0;
            let reach = z * (n as f64).sqrt() / 2.0;
            let (low, high) = (median_quantile(n, 0.025), median_quantile(n, 0.975));
            assert!((low as f64 - (half - reach)).abs() < 2.0, "{n}: {low}");
            assert!((high as f64 - (half + reach)).abs() < 2.0, "{n}: {high}");
            for (percent, q) in [(50, 0.5), (95, 0.95), (99, 0.99f64)] {
                let (low, high) = quantile_interval(n, percent, 100).unwrap();
                let reach = z * (n as f64 * q * (1.0 - q)).sqrt();
                assert!((low as f64 - (n as f64 * q - reach)).abs() < 3.0, "{n}, {q}: {low}");
                assert!((high as f64 - (n as f64 * q + reach)).abs() < 3.0, "{n}, {q}: {high}");
            }
        }
    }

    /// Where both can be had, they agree.
    #[test]
    fn the_expansion_for_large_samples_is_close_to_the_exact_probability() {
        for p in [0.5, 0.5005, 0.95, 0.99] {
            let n = EXACT_MAX;
            let binomial = Binomial::new(p, n as u64).unwrap();
            for deviations in [-4.0, -1.96, 0.0, 1.0, 1.96, 3.0] {
                let k = (n as f64 * p + deviations * (n as f64 * p * (1.0 - p)).sqrt()).round();
                let (exact, quick) = (binomial.cdf(k as u64), at_most_of_many(n, p, k));
                let left_out = 0.1 / (n as f64 * p * (1.0 - p));
                assert!((exact - quick).abs() < left_out, "{p} {deviations}: {exact} {quick}");
            }
        }
    }

    #[test]
    fn order_statistic_intervals_cover_and_are_withheld_below_the_least_sample() {
        // For the median of 10 values: ranks 2 and 9, coverage 97.9 % (the textbook's table).
        assert_eq!(quantile_interval(10, 1, 2), Some((2, 9)));
        // 1 − 0.99ⁿ ≥ 0.975 takes 368 values; 1 − 0.95ⁿ takes 72.
        assert_eq!(quantile_interval(367, 99, 100), None);
        assert!(quantile_interval(368, 99, 100).is_some());
        assert_eq!(quantile_interval(71, 95, 100), None);
        assert!(quantile_interval(72, 95, 100).is_some());
    }

    /// P(low ≤ quantile ≤ high) summed over the binomial by brute force.
    #[test]
    fn order_statistic_intervals_have_their_level() {
        for (n, q) in [(100usize, 0.5f64), (500, 0.95), (2_000, 0.99)] {
            let (low, high) = quantile_interval(n, (q * 100.0) as u32, 100).unwrap();
            let mut log_ways = 0.0f64;
            let mut covered = 0.0;
            for hits in 0..=n {
                if hits > 0 {
                    log_ways += ((n - hits + 1) as f64 / hits as f64).ln();
                }
                let probability = (log_ways + hits as f64 * q.ln() + (n - hits) as f64 * (1.0 - q).ln()).exp();
                if hits >= low && hits < high {
                    covered += probability;
                }
            }
            assert!((LEVEL..LEVEL + 0.02).contains(&covered), "n {n}, q {q}: {covered}");
        }
    }
}
