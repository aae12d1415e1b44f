//! Shapes of samples, for the eye: windows, distribution functions, paired quantiles and summaries of long series.
//!
//! A plot can't show a million pairs and needn't. What it shows instead is decided here, by rules that are the same for
//! every run, and what falls outside of it is counted.

use crate::nearest_rank;

/// Quartile ranges beyond the quartiles at which a value counts as far out (Tukey, "Exploratory Data Analysis", 1977).
const FAR_OUT: i64 = 3;

/// The stretch of an axis that shows the bulk of a sample, and how many values lie beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Lower end.
    pub low: i64,
    /// Upper end.
    pub high: i64,
    /// Values below.
    pub below: usize,
    /// Values above.
    pub above: usize,
}

impl Window {
    /// The window widened to hold two more values; the counts follow.
    #[must_use]
    pub fn including(self, low: i64, high: i64, sorted: &[i64]) -> Self {
        Self::over(self.low.min(low), self.high.max(high), sorted)
    }

    fn over(low: i64, high: i64, sorted: &[i64]) -> Self {
        Self {
            low,
            high,
            below: sorted.partition_point(|&value| value < low),
            above: sorted.len() - sorted.partition_point(|&value| value <= high),
        }
    }
}

/// The window of sorted values: from the smallest to the largest that is not far out. `None` where there are none.
pub fn window(sorted: &[i64]) -> Option<Window> {
    let quartile = |place: u32| Some(sorted[nearest_rank::rank(sorted.len(), place, 4).checked_sub(1)?]);
    if sorted.is_empty() {
        return None;
    }
    let (first, third) = (quartile(1)?, quartile(3)?);
    let reach = third.saturating_sub(first).saturating_mul(FAR_OUT);
    let (low, high) = (first.saturating_sub(reach), third.saturating_add(reach));
    let low = sorted[sorted.partition_point(|&value| value < low)];
    let high = sorted[sorted.partition_point(|&value| value <= high) - 1];
    Some(Window::over(low, high, sorted))
}

/// A step of a distribution function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// A measured value.
    pub value: i64,
    /// Share of values that are at most as large.
    pub share: f64,
}

/// The empirical distribution function of sorted values, at no more than `steps` of its steps: equal shares apart, the
/// first and the last among them.
pub fn distribution(sorted: &[i64], steps: usize) -> Vec<Step> {
    let n = sorted.len();
    let steps = steps.clamp(2, n.max(2));
    let places = (0..steps).map(|step| step * n.saturating_sub(1) / (steps - 1));
    let mut told: Vec<Step> = Vec::new();
    for place in places.filter(|place| *place < n) {
        let value = sorted[place];
        let share = sorted.partition_point(|&other| other <= value) as f64 / n as f64;
        if told.last().is_none_or(|last| last.value < value) {
            told.push(Step { value, share });
        }
    }
    told
}

/// The same percentile of two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantilePair {
    /// Which percentile.
    pub percent: u32,
    /// Of the subject.
    pub subject: i64,
    /// Of the baseline.
    pub baseline: i64,
}

/// The nearest-rank percentiles from 1 to 99 of two sorted samples; none where one is empty.
pub fn quantile_pairs(subject: &[i64], baseline: &[i64]) -> Vec<QuantilePair> {
    if subject.is_empty() || baseline.is_empty() {
        return Vec::new();
    }
    let at = |sorted: &[i64], percent| sorted[nearest_rank::rank(sorted.len(), percent, 100) - 1];
    (1..100)
        .map(|percent| QuantilePair {
            percent,
            subject: at(subject, percent),
            baseline: at(baseline, percent),
        })
        .collect()
}

/// Values of a sample at equal distances, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thinned {
    /// The values.
    pub values: Vec<i64>,
    /// One value in so many is there; 1 where all are.
    pub every: usize,
}

/// Every n-th value, with the smallest n that leaves no more than `most`.
pub fn thinned(values: &[i64], most: usize) -> Thinned {
    let every = values.len().div_ceil(most.max(1)).max(1);
    Thinned {
        values: values.iter().step_by(every).copied().collect(),
        every,
    }
}

/// Neighbouring values of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Place of the first.
    pub start: usize,
    /// Place after the last.
    pub end: usize,
    /// Smallest.
    pub low: i64,
    /// Nearest-rank median.
    pub median: i64,
    /// Largest.
    pub high: i64,
}

/// A series in no more than `most` buckets of the same length; the last may be shorter. A series that is no longer than
/// that has its values as buckets.
pub fn buckets(series: &[i64], most: usize) -> Vec<Bucket> {
    let length = series.len().div_ceil(most.max(1)).max(1);
    let bucket = |(place, values): (usize, &[i64])| {
        Some(Bucket {
            start: place * length,
            end: place * length + values.len(),
            low: *values.iter().min()?,
            median: nearest_rank::median(&mut values.to_vec())?,
            high: *values.iter().max()?,
        })
    };
    series.chunks(length).enumerate().filter_map(bucket).collect()
}

/// How many sorted values lie in each of `bins` equal parts of a window. What lies beyond is not among them.
pub fn histogram(sorted: &[i64], window: Window, bins: usize) -> Vec<usize> {
    let width = i128::from(window.high) - i128::from(window.low);
    let edge = |bin: usize| i128::from(window.low) + width * bin as i128 / bins as i128;
    let below = |bin: usize| {
        if bin == bins {
            sorted.partition_point(|&value| value <= window.high)
        } else {
            sorted.partition_point(|&value| i128::from(value) < edge(bin))
        }
    };
    (0..bins).map(|bin| below(bin + 1) - below(bin)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_window_leaves_out_what_is_far_out_and_counts_it() {
        let sorted = [-900, 10, 11, 12, 13, 14, 15, 16, 17, 800, 900];
        let found = window(&sorted).unwrap();
        let expected = Window {
            low: 10,
            high: 17,
            below: 1,
            above: 2,
        };
        assert_eq!(found, expected);
        let wider = found.including(-5, 850, &sorted);
        assert_eq!((wider.low, wider.high, wider.below, wider.above), (-5, 850, 1, 1));
        assert_eq!(window(&[]), None);
        assert_eq!(window(&[7]).map(|one| (one.low, one.high)), Some((7, 7)));
    }

    #[test]
    fn distributions_step_at_measured_values() {
        let steps = distribution(&[1, 1, 2, 5], 100);
        let told: Vec<(i64, f64)> = steps.iter().map(|step| (step.value, step.share)).collect();
        assert_eq!(told, [(1, 0.5), (2, 0.75), (5, 1.0)]);
        assert!(distribution(&[], 10).is_empty());
        assert_eq!(distribution(&[3], 10), [Step { value: 3, share: 1.0 }]);
        let long: Vec<i64> = (0..10_000).collect();
        assert_eq!(distribution(&long, 50).len(), 50);
    }

    #[test]
    fn percentiles_are_paired_by_nearest_rank() {
        let subject: Vec<i64> = (1..=100).collect();
        let baseline = [5];
        let pairs = quantile_pairs(&subject, &baseline);
        assert_eq!(pairs.len(), 99);
        assert!(
            pairs
                .iter()
                .all(|pair| pair.subject == i64::from(pair.percent) && pair.baseline == 5)
        );
        assert!(quantile_pairs(&subject, &[]).is_empty());
    }

    #[test]
    fn long_series_are_summed_up_and_short_ones_are_not() {
        let series = [4, 9, 1, 7, 3];
        let told: Vec<_> = buckets(&series, 3)
            .iter()
            .map(|bucket| (bucket.start, bucket.end, bucket.low, bucket.median, bucket.high))
            .collect();
        assert_eq!(told, [(0, 2, 4, 4, 9), (2, 4, 1, 1, 7), (4, 5, 3, 3, 3)]);
        assert_eq!(buckets(&series, 5).len(), 5);
        assert!(buckets(&[], 5).is_empty());
        assert_eq!(
            thinned(&series, 2),
            Thinned {
                values: vec![4, 7],
                every: 3
            }
        );
        assert_eq!(thinned(&series, 5).every, 1);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_window_and_counts(
            mut values in prop::collection::vec(prop_oneof![-50i64..50, any::<i64>()], 1..300),
            bins in 1usize..40,
        ) {
            values.sort_unstable();
            let window = window(&values).unwrap();
            prop_assert!(window.low <= window.high);
            let counted: usize = histogram(&values, window, bins).iter().sum();
            prop_assert_eq!(counted + window.below + window.above, values.len());
            let steps = distribution(&values, bins);
            prop_assert!(steps.windows(2).all(|pair| pair[0].value < pair[1].value && pair[0].share < pair[1].share));
            prop_assert!((steps.last().unwrap().share - 1.0).abs() < f64::EPSILON);
        }
    }
}
