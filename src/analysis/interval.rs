//! An interval, and Student's t over the few values that forks give.

use statrs::distribution::{ContinuousCDF, StudentsT};

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

    /// Whether a value lies in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The interval with both ends mapped by a function that keeps their order.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            low: f(self.low),
            high: f(self.high),
        }
    }
}

/// Arithmetic mean, summed in the order given.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean of independent values with its standard error and degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error, `s / √n`.
    pub error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

impl Mean {
    /// Of at least two values; `None` for fewer.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n < 2 {
            return None;
        }
        let value = mean(values);
        let variance = values.iter().map(|one| (one - value).powi(2)).sum::<f64>() / (n - 1) as f64;
        Some(Self {
            value,
            error: (variance / n as f64).sqrt(),
            freedom: (n - 1) as f64,
        })
    }

    /// Difference of two independent means, with Welch's approximate degrees of freedom.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let (a, b) = (self.error.powi(2), other.error.powi(2));
        let parts = a.powi(2) / self.freedom + b.powi(2) / other.freedom;
        Self {
            value: self.value - other.value,
            error: (a + b).sqrt(),
            freedom: if parts > 0.0 {
                (a + b).powi(2) / parts
            } else {
                self.freedom + other.freedom
            },
        }
    }

    /// Student's t interval, `mean ± t · s / √n`.
    pub fn interval(&self) -> Interval {
        let half_width = quantile_of_t(f64::midpoint(1.0, LEVEL), self.freedom) * self.error;
        Interval {
            low: self.value - half_width,
            high: self.value + half_width,
        }
    }

    /// Probability, under Student's t, of lying at least this far beyond: `P(T ≥ distance / error)`. For a mean without
    /// error it is 0 beyond, and 1 otherwise; where there is no number to test, nothing can be claimed and it is 1.
    pub fn tail(&self, distance: f64) -> f64 {
        if self.error == 0.0 {
            return if distance > 0.0 { 0.0 } else { 1.0 };
        }
        let t = distance / self.error;
        if t.is_nan() || t.is_infinite() {
            return if t > 0.0 { 0.0 } else { 1.0 };
        }
        StudentsT::new(0.0, 1.0, self.freedom).map_or(1.0, |distribution| distribution.sf(t))
    }
}

/// Quantile of Student's t distribution.
pub(super) fn quantile_of_t(probability: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(probability))
}

/// Student's t interval for the mean of independent values, here the forks' medians. `None` for fewer than two.
pub fn student_t(values: &[f64]) -> Option<Interval> {
    Mean::of(values).map(|mean| mean.interval())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn tail_is_half_at_the_mean_and_known_beyond() {
        let mean = Mean::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((mean.tail(0.0) - 0.5).abs() < 1e-12);
        // P(T ≥ 2.776445; 4) = 0.025.
        assert!((mean.tail(2.776_445_105_197_793 * mean.error) - 0.025).abs() < 1e-9);
        let flat = Mean::of(&[2.0, 2.0]).unwrap();
        assert!(flat.tail(1.0) == 0.0 && flat.tail(0.0) > 0.9);
    }

    #[test]
    fn welch_reduces_to_student_for_equal_errors() {
        let a = Mean {
            value: 3.0,
            error: 0.5,
            freedom: 4.0,
        };
        let b = Mean {
            value: 1.0,
            error: 0.5,
            freedom: 4.0,
        };
        let difference = a.minus(&b);
        assert!((difference.freedom - 8.0).abs() < 1e-12);
        assert!((difference.error - 0.5f64.sqrt()).abs() < 1e-12);
    }
}
