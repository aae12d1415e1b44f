//! What one fork's pairs come to, worked out while they are at hand: its values in ascending order, and what can only be
//! seen in the order in which they ran. The next fork needs nothing else of them.

use std::thread;

use super::diagnostics::{autocorrelation, still_changes};
use super::evidence::ForkSample;
use crate::archive::{ForkTimes, PairStatus, Phase, Times};
use crate::nearest_rank;
use crate::units::Nanos;

/// Pairs below which a further thread costs more than it brings.
const PAIRS_TO_SHARE: usize = 20_000;

/// One fork, digested; times in ns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ForkDigest {
    /// The subject's counted times, ascending.
    pub subject: Vec<i64>,
    /// The baseline's.
    pub baseline: Vec<i64>,
    /// Subject minus baseline of the counted pairs, ascending.
    pub differences: Vec<i64>,
    /// Measured pairs that do not count.
    pub uncounted: u64,
    /// Whether a side's level still changed after the warm-up.
    pub is_unsteady: bool,
    /// Lag-1 rank correlation of neighbouring pairs.
    pub autocorrelation: Option<f64>,
    /// Median difference with the subject first, less that with the baseline first.
    pub order_effect: Option<f64>,
}

/// The counted pairs, in the order in which they ran.
struct Counted {
    subject: Vec<i64>,
    baseline: Vec<i64>,
    subject_first: Vec<bool>,
}

impl ForkDigest {
    /// Of a fork as it was read. What comes out does not depend on the number of threads.
    pub fn of_times(times: ForkTimes, threads: usize) -> Self {
        let warmup = times.phase.iter().filter(|phase| **phase == Phase::Warmup).count();
        let is_unsteady = either_changes(&times.subject.present, &times.baseline.present, warmup, threads);
        let has_time = |side: &Times, place| side.absent.binary_search(&place).is_err();
        let (mut measured, mut counts) = (0, Vec::with_capacity(times.phase.len()));
        for (place, (phase, status)) in times.phase.iter().zip(&times.status).enumerate() {
            let is_measured = *phase == Phase::Measured;
            measured += u64::from(is_measured);
            let has_times = || has_time(&times.subject, place) && has_time(&times.baseline, place);
            counts.push(is_measured && *status == PairStatus::Ok && has_times());
        }
        let mut flags = counts.iter();
        let mut subject_first = times.subject_first;
        subject_first.retain(|_| flags.next().is_some_and(|counted| *counted));
        let counted = Counted {
            subject: kept(times.subject, &counts),
            baseline: kept(times.baseline, &counts),
            subject_first,
        };
        let uncounted = measured - counted.subject.len() as u64;
        Self {
            uncounted,
            is_unsteady,
            ..Self::of_counted(counted, threads)
        }
    }

    /// Of a fork whose pairs are kept.
    pub fn of_sample(sample: &ForkSample) -> Self {
        let counted = Counted {
            subject: sample.subject.clone(),
            baseline: sample.baseline.clone(),
            subject_first: sample.subject_first.clone(),
        };
        Self {
            uncounted: sample.uncounted,
            is_unsteady: either_changes(&sample.subject_series, &sample.baseline_series, sample.warmup, 1),
            ..Self::of_counted(counted, 1)
        }
    }

    fn of_counted(counted: Counted, threads: usize) -> Self {
        let Counted {
            mut subject,
            mut baseline,
            subject_first,
        } = counted;
        let pairs = subject.iter().zip(&baseline);
        let differences: Vec<i64> = pairs.map(|(one, other)| one.saturating_sub(*other)).collect();
        let sides = || {
            subject.sort_unstable();
            baseline.sort_unstable();
        };
        let ordered = if threads > 1 && differences.len() >= PAIRS_TO_SHARE {
            thread::scope(|scope| {
                scope.spawn(sides);
                Ordered::of(differences, &subject_first)
            })
        } else {
            let mut sides = sides;
            sides();
            Ordered::of(differences, &subject_first)
        };
        Self {
            subject,
            baseline,
            differences: ordered.values,
            autocorrelation: ordered.autocorrelation,
            order_effect: ordered.order_effect,
            ..Self::default()
        }
    }

    /// Nearest-rank medians of subject, baseline and difference; `None` where no pair counts.
    pub fn medians(&self) -> Option<[Nanos; 3]> {
        if self.subject.is_empty() {
            return None;
        }
        let place = nearest_rank::rank(self.subject.len(), 1, 2) - 1;
        let sorted = [&self.subject, &self.baseline, &self.differences];
        Some(sorted.map(|values| Nanos(values[place])))
    }
}

/// The times of the pairs that count.
fn kept(times: Times, counts: &[bool]) -> Vec<i64> {
    let mut absent = times.absent.into_iter().peekable();
    let with_time = counts.iter().enumerate();
    let mut with_time = with_time.filter(|(place, _)| absent.next_if_eq(place).is_none());
    let mut present = times.present;
    present.retain(|_| with_time.next().is_some_and(|(_, counted)| *counted));
    present
}

fn either_changes(subject: &[i64], baseline: &[i64], warmup: usize, threads: usize) -> bool {
    if threads == 1 || subject.len() < PAIRS_TO_SHARE {
        return still_changes(subject, warmup) || still_changes(baseline, warmup);
    }
    thread::scope(|scope| {
        let other = scope.spawn(|| still_changes(baseline, warmup));
        // A thread that panicked goes on to panic here.
        still_changes(subject, warmup) | other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Differences in ascending order, and what the order in which they ran says.
struct Ordered {
    values: Vec<i64>,
    autocorrelation: Option<f64>,
    order_effect: Option<f64>,
}

impl Ordered {
    fn of(differences: Vec<i64>, subject_first: &[bool]) -> Self {
        let (values, places) = ascending(differences);
        Self {
            autocorrelation: autocorrelation(&values, &places),
            order_effect: order_effect(&values, &places, subject_first),
            values,
        }
    }
}

/// The values in ascending order, and the place that each came from; equal values stand in the order of their places.
pub(super) fn ascending(mut values: Vec<i64>) -> (Vec<i64>, Vec<u64>) {
    let (Some(&low), Some(&high)) = (values.iter().min(), values.iter().max()) else {
        return (values, Vec::new());
    };
    let bits = usize::BITS - (values.len() - 1).leading_zeros();
    let range = high.abs_diff(low);
    if range.leading_zeros() < bits {
        // Too far apart for a value and its place in 64 bits; no run comes near it.
        let mut places: Vec<u64> = (0..values.len() as u64).collect();
        places.sort_by_key(|&place| values[place as usize]);
        values.sort_unstable();
        return (values, places);
    }
    let mask = (1u64 << bits) - 1;
    let keys = (0..)
        .zip(&values)
        .map(|(place, value): (u64, _)| value.abs_diff(low) << bits | place);
    let mut keys: Vec<u64> = keys.collect();
    keys.sort_unstable();
    for (value, key) in values.iter_mut().zip(&mut keys) {
        *value = low.wrapping_add_unsigned(*key >> bits);
        *key &= mask;
    }
    (values, keys)
}

/// Median of the differences with the subject first, less that with the baseline first, ns.
fn order_effect(values: &[i64], places: &[u64], subject_first: &[bool]) -> Option<f64> {
    let subjects = subject_first.iter().filter(|first| **first).count();
    let baselines = subject_first.len() - subjects;
    if subjects == 0 || baselines == 0 {
        return None;
    }
    let ranks = [baselines, subjects].map(|count| nearest_rank::rank(count, 1, 2));
    let (mut seen, mut medians) = ([0, 0], [0, 0]);
    for (value, &place) in values.iter().zip(places) {
        let which = usize::from(subject_first[place as usize]);
        seen[which] += 1;
        if seen[which] == ranks[which] {
            medians[which] = *value;
        }
    }
    Some((i128::from(medians[1]) - i128::from(medians[0])) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn order_and_places_are_those_of_a_stable_sort(
            values in prop_oneof![
                prop::collection::vec(-9i64..9, 0..60),
                prop::collection::vec(any::<i64>(), 0..60),
            ],
        ) {
            let mut expected: Vec<u64> = (0..values.len() as u64).collect();
            expected.sort_by_key(|&place| values[place as usize]);
            let (sorted, places) = ascending(values.clone());
            prop_assert_eq!(&places, &expected);
            let there: Vec<i64> = places.iter().map(|&place| values[place as usize]).collect();
            prop_assert_eq!(sorted, there);
        }

        #[test]
        fn order_effect_is_that_of_the_two_medians(pairs in prop::collection::vec((-9i64..9, any::<bool>()), 0..40)) {
            let (values, firsts): (Vec<i64>, Vec<bool>) = pairs.iter().copied().unzip();
            let median = |which: bool| {
                let chosen = pairs.iter().filter(|(_, first)| *first == which);
                nearest_rank::median(&mut chosen.map(|(value, _)| *value).collect::<Vec<_>>())
            };
            let expected = median(true).zip(median(false)).map(|(one, other)| (one - other) as f64);
            let (sorted, places) = ascending(values);
            prop_assert_eq!(order_effect(&sorted, &places, &firsts), expected);
        }
    }
}
