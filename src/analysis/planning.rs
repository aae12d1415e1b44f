//! How many forks would have been enough.

use super::interval::{LEVEL, Mean, quantile_of_t};

/// Forks beyond which the answer is that this can't be had by more forks.
const FORKS_MAX: u32 = 100_000;

/// Fewest forks whose Student t interval would have had at most this half-width, were the spread between forks what
/// this run's is: the smallest `n` with `t(n − 1) · s / √n ≤ half_width`. `None` above a hundred thousand.
pub fn forks_for(measured: &Mean, half_width: f64) -> Option<u32> {
    // The error is s / √n, and the degrees of freedom n − 1.
    let deviation = measured.error * (measured.freedom + 1.0).sqrt();
    let enough = |forks: u32| {
        let t = quantile_of_t(f64::midpoint(1.0, LEVEL), f64::from(forks - 1));
        t * deviation / f64::from(forks).sqrt() <= half_width
    };
    // The half-width falls with every fork, so the first that is enough can be found by halving.
    let (mut low, mut high) = (2, FORKS_MAX);
    if !enough(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_forks_are_just_enough_for_their_own_half_width() {
        let measured = Mean::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let half = (measured.interval().high - measured.interval().low) / 2.0;
        assert_eq!(forks_for(&measured, half * 1.000_001), Some(5));
        assert_eq!(forks_for(&measured, half * 0.999_999), Some(6));
        assert_eq!(forks_for(&measured, 0.0), None);
        assert_eq!(forks_for(&Mean { error: 0.0, ..measured }, 0.0), Some(2));
    }
}
