//! Bootstraps of the median difference: the study's pooled one, and one over forks and pairs.
//!
//! The pooled bootstrap takes pairs of one process for independent of each other and of which process they are from; it
//! is reported as "within session". The two-level one resamples forks, and pairs within them.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::interval::{Interval, LEVEL};
use super::pooled::Pooled;
use super::ranks::{self, MedianRank};
use crate::nearest_rank;

const TAIL: f64 = (1.0 - LEVEL) / 2.0;

/// The study's percentile bootstrap of the nearest-rank median, in the limit of infinitely many resamples: exact, free of
/// a seed. `sorted` is ascending; `None` where it is empty.
pub fn pooled_exact(sorted: &[i64]) -> Option<Interval> {
    exact(&Pooled::of([&sorted]))
}

/// The same with a finite number of resamples, as the study ran it (10 000): each resample's median is drawn from its
/// exact distribution. `sorted` is ascending; `None` where it is empty.
pub fn pooled_resampled(sorted: &[i64], resamples: u32, seed: u64) -> Option<Interval> {
    resampled(&Pooled::of([&sorted]), resamples, seed)
}

/// [`pooled_exact`] over several forks.
pub(super) fn exact(pooled: &Pooled<'_>) -> Option<Interval> {
    let n = Some(pooled.count()).filter(|&n| n > 0)?;
    let at = |probability| pooled.at(ranks::median_quantile(n, probability)) as f64;
    Some(Interval {
        low: at(TAIL),
        high: at(1.0 - TAIL),
    })
}

/// [`pooled_resampled`] over several forks. Ranks are drawn and ordered; two of them are looked up.
pub(super) fn resampled(pooled: &Pooled<'_>, resamples: u32, seed: u64) -> Option<Interval> {
    let n = Some(pooled.count()).filter(|&n| n > 0)?;
    let ranks = MedianRank::of(n);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut medians: Vec<i64> = (0..resamples)
        .map(|_| ranks.of_bits(random.next_u64()) as i64)
        .collect();
    let mut at = |numerator| {
        let rank = nearest_rank::quantile(&mut medians, numerator, 1_000)?;
        Some(pooled.at(rank as usize) as f64)
    };
    Some(Interval {
        low: at(25)?,
        high: at(975)?,
    })
}

/// Percentile bootstrap of the mean of the forks' medians over two levels: forks with replacement, and within each drawn
/// fork its pairs, whose median is drawn from its exact distribution.
///
/// `forks` hold each fork's differences, ascending; `None` below two forks, where one is empty, and without resamples.
pub fn two_level<F: AsRef<[i64]>>(forks: &[F], resamples: u32, seed: u64) -> Option<Interval> {
    let forks: Vec<&[i64]> = forks.iter().map(AsRef::as_ref).collect();
    if forks.len() < 2 || forks.iter().any(|fork| fork.is_empty()) || resamples == 0 {
        return None;
    }
    // Most forks have as many pairs as the others, and equal numbers have equal distributions.
    let mut ranks: BTreeMap<usize, MedianRank> = BTreeMap::new();
    for fork in &forks {
        ranks.entry(fork.len()).or_insert_with(|| MedianRank::of(fork.len()));
    }
    let ranks: Vec<&MedianRank> = forks.iter().map(|fork| &ranks[&fork.len()]).collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut means: Vec<f64> = (0..resamples)
        .map(|_| {
            let sum: i128 = (0..forks.len())
                .map(|_| {
                    let (drawn, bits) = below(&mut random, forks.len());
                    i128::from(forks[drawn][ranks[drawn].of_bits(bits) - 1])
                })
                .sum();
            sum as f64 / forks.len() as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let at = |numerator| {
        means
            .get(nearest_rank::rank(means.len(), numerator, 1_000) - 1)
            .copied()
    };
    Some(Interval {
        low: at(25)?,
        high: at(975)?,
    })
}

/// An index below `bound`, and what is left of the same 64 random bits: the two halves of a multiply-shift are
/// independent but for `bound / 2⁶⁴`.
fn below(random: &mut impl Rng, bound: usize) -> (usize, u64) {
    let product = u128::from(random.next_u64()) * bound as u128;
    ((product >> 64) as usize, product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The study's procedure to the letter: draw every pair of every resample.
    fn brute_force(sorted: &[i64], resamples: u32, random: &mut ChaCha8Rng) -> Interval {
        let mut medians: Vec<i64> = (0..resamples)
            .map(|_| {
                let mut draws: Vec<i64> = (0..sorted.len())
                    .map(|_| sorted[below(random, sorted.len()).0])
                    .collect();
                nearest_rank::median(&mut draws).unwrap()
            })
            .collect();
        let at = |values: &mut [i64], q| nearest_rank::quantile(values, q, 1_000).unwrap() as f64;
        Interval {
            low: at(&mut medians, 25),
            high: at(&mut medians, 975),
        }
    }

    /// P(Bin(n, k/n) ≥ m), summed term by term.
    fn tail(n: usize, k: usize, m: usize) -> f64 {
        let p = k as f64 / n as f64;
        (m..=n)
            .map(|hits| {
                let ways: f64 = (0..hits).map(|i| (n - i) as f64 / (i + 1) as f64).product();
                ways * p.powi(hits as i32) * (1.0 - p).powi((n - hits) as i32)
            })
            .sum()
    }

    proptest! {
        #[test]
        fn exact_interval_equals_the_sum_of_the_binomial(n in 1usize..60) {
            let ranks: Vec<i64> = (1..=n as i64).collect();
            let m = n.div_ceil(2);
            let first = |level: f64| (1..=n).find(|&k| tail(n, k, m) >= level - 1e-12).unwrap() as f64;
            let expected = Interval { low: first(0.025), high: first(0.975) };
            prop_assert_eq!(pooled_exact(&ranks), Some(expected));
        }

        /// Ranks stand for values, so that a distance counts ranks: Monte-Carlo noise of 2 000 resamples stays within
        /// a fifth of the rank's standard deviation, and a rank or two.
        #[test]
        fn exact_and_drawn_intervals_come_to_what_resampling_every_pair_gives(n in 2usize..150, seed in any::<u64>()) {
            let ranks: Vec<i64> = (1..=n as i64).collect();
            let brute = brute_force(&ranks, 2_000, &mut ChaCha8Rng::seed_from_u64(seed));
            let tolerance = 2.0 + (n as f64).sqrt() / 2.0 * 0.3;
            for quick in [pooled_exact(&ranks), pooled_resampled(&ranks, 2_000, seed)] {
                let quick = quick.unwrap();
                prop_assert!((quick.low - brute.low).abs() <= tolerance, "{quick:?} {brute:?}");
                prop_assert!((quick.high - brute.high).abs() <= tolerance, "{quick:?} {brute:?}");
            }
        }
    }

    #[test]
    fn two_levels_see_what_differs_between_forks() {
        let fork = |shift: i64| (0..200).map(|value| value + shift).collect::<Vec<i64>>();
        let alike: Vec<Vec<i64>> = (0..10).map(|_| fork(0)).collect();
        let apart: Vec<Vec<i64>> = (0..10).map(|place| fork(place * 100)).collect();
        let width = |interval: Interval| interval.high - interval.low;
        let (alike, apart) = (
            two_level(&alike, 5_000, 1).unwrap(),
            two_level(&apart, 5_000, 1).unwrap(),
        );
        assert!(width(apart) > 10.0 * width(alike), "{alike:?} {apart:?}");
        assert!(apart.contains(100.0 * 4.5 + 99.5), "{apart:?}");
        assert_eq!(two_level(&[vec![1]], 100, 1), None);
    }
}
