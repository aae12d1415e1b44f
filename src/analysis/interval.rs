//! Intervals: over forks, and within the session.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;

use crate::nearest_rank;

/// Level of every interval.
pub(super) const LEVEL: f64 = 0.95;

/// A closed interval, in the unit of what it is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The largest value in it, by absolute value.
    pub fn reach(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}

/// Student's t interval for the mean of independent values, here the forks' medians: `mean ± t · s / √n` with `n − 1`
/// degrees of freedom. `None` for fewer than two values.
pub fn student_t(values: &[f64]) -> Option<Interval> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = mean(values);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let t = StudentsT::new(0.0, 1.0, (n - 1) as f64)
        .ok()?
        .inverse_cdf(f64::midpoint(1.0, LEVEL));
    let half_width = t * (variance / n as f64).sqrt();
    Some(Interval {
        low: mean - half_width,
        high: mean + half_width,
    })
}

/// Arithmetic mean, summed in the order given.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The study's percentile bootstrap of the nearest-rank median, in the limit of infinitely many resamples.
///
/// With `m` the median's rank, a resample's median is at most the `k`-th value exactly when at least `m` of its `n`
/// draws are: with probability `P(Bin(n, k/n) ≥ m) = I(k/n; m, n − m + 1)`, the regularised incomplete beta function.
/// The interval's ends are the values at the smallest `k` that reach 2.5 % and 97.5 %. No seed, no resample.
///
/// `sorted` is ascending; `None` where it is empty.
pub fn pooled_bootstrap_exact(sorted: &[i64]) -> Option<Interval> {
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    let m = nearest_rank::rank(n, 1, 2);
    let reached = |k: usize| {
        if k == n {
            1.0
        } else {
            beta_reg(m as f64, (n - m + 1) as f64, k as f64 / n as f64)
        }
    };
    let smallest = |probability: f64| partition(1, n, |k| reached(k) >= probability);
    let tail = (1.0 - LEVEL) / 2.0;
    Some(Interval {
        low: sorted[smallest(tail) - 1] as f64,
        high: sorted[smallest(1.0 - tail) - 1] as f64,
    })
}

/// The first `k` in `low..=high` for which `holds`, which is monotone and true for `high`.
fn partition(mut low: usize, mut high: usize, holds: impl Fn(usize) -> bool) -> usize {
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

/// The same bootstrap as the study ran it: `resamples` resamples of the pairs with replacement, their nearest-rank
/// medians, and of these the nearest-rank 2.5 % and 97.5 % quantiles.
///
/// `sorted` is ascending; `None` where it is empty.
pub fn pooled_bootstrap_resampled(sorted: &[i64], resamples: u32, seed: u64) -> Option<Interval> {
    let n = sorted.len();
    if n == 0 || resamples == 0 {
        return None;
    }
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    let mut draws = vec![0i64; n];
    let mut medians: Vec<i64> = (0..resamples)
        .map(|_| {
            for draw in &mut draws {
                // A multiply-shift; its bias is below n / 2⁶⁴.
                *draw = ((u128::from(random.next_u64()) * n as u128) >> 64) as i64;
            }
            let median = nearest_rank::median(&mut draws).unwrap_or_default();
            sorted[median as usize]
        })
        .collect();
    let low = nearest_rank::quantile(&mut medians, 25, 1_000)? as f64;
    let high = nearest_rank::quantile(&mut medians, 975, 1_000)? as f64;
    Some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn t_interval_agrees_with_the_table() {
        // t(0.975; 4) = 2.776445; mean 3, s² = 2.5, n = 5.
        let interval = student_t(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let half = 2.776_445_105_197_793 * (2.5f64 / 5.0).sqrt();
        assert!((interval.low - (3.0 - half)).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - (3.0 + half)).abs() < 1e-9, "{interval:?}");
        assert_eq!(student_t(&[1.0]), None);
    }

    #[test]
    fn exact_ranks_are_those_of_the_binomial_tail() {
        // scipy.stats.binom gives ranks 712 and 788 for the median of 1 500 values.
        let ranks: Vec<i64> = (1..=1_500).collect();
        assert_eq!(
            pooled_bootstrap_exact(&ranks),
            Some(Interval {
                low: 712.0,
                high: 788.0
            })
        );
        assert_eq!(pooled_bootstrap_exact(&[5]), Some(Interval { low: 5.0, high: 5.0 }));
        assert_eq!(pooled_bootstrap_exact(&[]), None);
    }

    #[test]
    fn resampling_comes_to_the_exact_ranks() {
        let ranks: Vec<i64> = (1..=1_500).collect();
        let Interval { low, high } = pooled_bootstrap_resampled(&ranks, 10_000, 1).unwrap();
        assert!(
            (low - 712.0).abs() <= 2.0 && (high - 788.0).abs() <= 2.0,
            "{low} {high}"
        );
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
            prop_assert_eq!(pooled_bootstrap_exact(&ranks), Some(expected));
        }
    }
}
