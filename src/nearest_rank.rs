//! Nearest-rank quantiles, the study's convention: the value at rank `ceil(q·n)` of the sorted sample (its section 5).
//!
//! A quantile is always a value that was measured. For an even sample the median is the lower of the two middle
//! values. Workers and analysis share these few lines, so that a fork's medians are the same in both.

/// Rank, from 1, of the `numerator/denominator` quantile of `n` values: `ceil(q·n)`, in exact integer arithmetic.
///
/// # Panics
/// When `n` is 0 or the quantile is not in (0, 1].
pub fn rank(n: usize, numerator: u32, denominator: u32) -> usize {
    assert!(
        n > 0 && numerator > 0 && numerator <= denominator,
        "a quantile needs values"
    );
    let (numerator, denominator) = (numerator as usize, denominator as usize);
    (n * numerator).div_ceil(denominator)
}

/// A quantile of values in any order, which are reordered; `None` where there are none.
pub fn quantile(values: &mut [i64], numerator: u32, denominator: u32) -> Option<i64> {
    if values.is_empty() {
        return None;
    }
    let place = rank(values.len(), numerator, denominator) - 1;
    Some(*values.select_nth_unstable(place).1)
}

/// The median.
pub fn median(values: &mut [i64]) -> Option<i64> {
    quantile(values, 1, 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn even_samples_have_the_lower_middle_as_median() {
        assert_eq!(median(&mut [4, 1, 3, 2]), Some(2));
        assert_eq!(median(&mut [3, 1, 2]), Some(2));
        assert_eq!(median(&mut [7]), Some(7));
        assert_eq!(median(&mut []), None);
        assert_eq!(rank(300, 95, 100), 285);
        assert_eq!(rank(1_500, 99, 100), 1_485);
    }

    proptest! {
        #[test]
        fn quantile_is_the_smallest_value_that_enough_values_reach(
            mut values in prop::collection::vec(-50i64..50, 1..200),
            numerator in 1u32..=100,
        ) {
            let n = values.len();
            let q = quantile(&mut values, numerator, 100).unwrap();
            let at_most = |x: i64| values.iter().filter(|&&v| v <= x).count() * 100;
            prop_assert!(at_most(q) >= n * numerator as usize);
            let below = values.iter().filter(|&&v| v < q).count() * 100;
            prop_assert!(below < n * numerator as usize);
        }
    }
}
