//! Where the level of a series changes: optimal partitioning (Jackson et al., "An algorithm for optimal partitioning of
//! data on an interval", 2005) of medians of blocks, of which there are few enough to try every level.
//!
//! Medians of blocks, because single slow previews are no change of level. The cost of a segment is its squared error;
//! a further changepoint must pay `15 · σ² · ln n`, with σ from the differences of neighbouring blocks: the factor of
//! Barrett et al., "Virtual machine warmup blows hot and cold", 2017, who chose it so that neighbours that are alike, as
//! previews are, don't make levels of every wave. A level is at least three blocks long.

use crate::nearest_rank;

/// Fewest values in a block.
const BLOCK_MIN: usize = 10;
/// Most blocks of a series.
const BLOCKS_MAX: usize = 200;
/// What a changepoint costs, in variances times the logarithm of the number of blocks.
const PENALTY: f64 = 15.0;
/// Fewest blocks of a level.
const LEVEL_BLOCKS_MIN: usize = 3;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Changepoint {
    /// Place of the first value of the new level.
    pub at: usize,
    /// Level before, the mean of the blocks' medians.
    pub before: f64,
    /// Level after.
    pub after: f64,
}

/// Every change of level of a series, in order.
pub fn changepoints(series: &[i64]) -> Vec<Changepoint> {
    let block = BLOCK_MIN.max(series.len().div_ceil(BLOCKS_MAX));
    let medians: Vec<f64> = series
        .chunks_exact(block)
        .filter_map(|values| nearest_rank::median(&mut values.to_vec()).map(|median| median as f64))
        .collect();
    let bounds = segments(&medians);
    let level = |from: usize, to: usize| super::interval::mean(&medians[from..to]);
    bounds
        .windows(3)
        .map(|bound| Changepoint {
            at: bound[1] * block,
            before: level(bound[0], bound[1]),
            after: level(bound[1], bound[2]),
        })
        .collect()
}

/// Bounds of the best segments: 0, each changepoint, and the length.
fn segments(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    let Some(variance) = noise_variance(values).filter(|variance| *variance > 0.0) else {
        return vec![0, n];
    };
    let penalty = PENALTY * variance * (n as f64).ln();
    let cost = SegmentCost::of(values);
    // What the first `end` blocks cost at best, and where their last level begins. There is no level in fewer blocks than
    // the shortest has.
    let mut best = vec![f64::INFINITY; n + 1];
    let mut last = vec![0usize; n + 1];
    best[0] = -penalty;
    for end in LEVEL_BLOCKS_MIN..=n {
        for start in 0..=end - LEVEL_BLOCKS_MIN {
            let total = best[start] + cost.of_segment(start, end) + penalty;
            if total < best[end] {
                (best[end], last[end]) = (total, start);
            }
        }
    }
    let mut bounds = vec![n];
    while let Some(&end) = bounds.last().filter(|&&end| end > 0) {
        bounds.push(last[end]);
    }
    bounds.reverse();
    bounds
}

/// Squared errors of any segment in constant time, from running sums of centred values.
struct SegmentCost {
    sums: Vec<(f64, f64)>,
}

impl SegmentCost {
    fn of(values: &[f64]) -> Self {
        let centre = super::interval::mean(values);
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in values {
            sum += value - centre;
            squares += (value - centre).powi(2);
            sums.push((sum, squares));
        }
        Self { sums }
    }

    fn of_segment(&self, start: usize, end: usize) -> f64 {
        let (sum, squares) = (
            self.sums[end].0 - self.sums[start].0,
            self.sums[end].1 - self.sums[start].1,
        );
        squares - sum.powi(2) / (end - start) as f64
    }
}

/// Variance of a block's median around its level: from the median absolute difference of neighbours, which a few
/// changes of level don't move. `None` below four blocks.
fn noise_variance(values: &[f64]) -> Option<f64> {
    if values.len() < 4 {
        return None;
    }
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_unstable_by(f64::total_cmp);
    // 1.4826 · MAD estimates a normal standard deviation; a difference of two has √2 of it.
    let deviation = 1.4826 * steps[steps.len() / 2] / std::f64::consts::SQRT_2;
    Some(deviation.powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// Heavy-tailed noise around levels that change at known places.
    fn series(levels: &[(usize, i64)], seed: u64) -> Vec<i64> {
        let mut random = ChaCha20Rng::seed_from_u64(seed);
        let noise = |random: &mut ChaCha20Rng| {
            let uniform = (random.next_u64() % 1_000) as i64;
            if uniform > 980 { uniform * 100 } else { uniform }
        };
        levels
            .iter()
            .flat_map(|&(count, level)| (0..count).map(|_| level + noise(&mut random)).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn a_change_of_level_is_found_near_its_place() {
        let found = changepoints(&series(&[(150, 100_000), (230, 103_000)], 1));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].at.abs_diff(150) <= 20 && found[0].after > found[0].before,
            "{found:?}"
        );
    }

    #[test]
    fn slow_previews_alone_are_no_change_in_most_series() {
        let false_alarms = (0..200)
            .filter(|&seed| !changepoints(&series(&[(380, 100_000)], seed)).is_empty())
            .count();
        assert!(false_alarms <= 4, "{false_alarms} of 200");
    }

    #[test]
    fn short_and_flat_series_have_none() {
        assert!(changepoints(&[]).is_empty());
        assert!(changepoints(&[1; 25]).is_empty());
        assert!(changepoints(&[5; 400]).is_empty());
    }

    /// The best segmentation of a short series by trying all of them.
    #[test]
    fn the_best_of_all_segmentations_is_found() {
        let mut random = ChaCha20Rng::seed_from_u64(3);
        for _ in 0..50 {
            let values: Vec<f64> = (0..12)
                .map(|place| f64::from(place / 5) * 4.0 + (random.next_u64() % 100) as f64 / 50.0)
                .collect();
            let Some(variance) = noise_variance(&values).filter(|variance| *variance > 0.0) else {
                continue;
            };
            let penalty = PENALTY * variance * 12f64.ln();
            let cost = SegmentCost::of(&values);
            let price = |bounds: &[usize]| {
                bounds
                    .windows(2)
                    .map(|bound| cost.of_segment(bound[0], bound[1]) + penalty)
                    .sum::<f64>()
            };
            let best = (0..1u32 << 11)
                .map(|cuts| {
                    let inner = (1..12).filter(|place| cuts >> (place - 1) & 1 == 1);
                    [0].into_iter().chain(inner).chain([12]).collect::<Vec<usize>>()
                })
                .filter(|bounds| bounds.windows(2).all(|bound| bound[1] - bound[0] >= LEVEL_BLOCKS_MIN))
                .map(|bounds| price(&bounds))
                .fold(f64::INFINITY, f64::min);
            assert!((price(&segments(&values)) - best).abs() < 1e-9);
        }
    }
}
