//! Least squares through points, with Student's t for what the line says: its slope, its value at zero, and where it
//! reaches a value.
//!
//! The formulas are those of any textbook (Draper and Smith, *Applied Regression Analysis*, 3rd ed., 1.4 and 3.2); the
//! interval of an abscissa is Fieller's.

use super::interval::{Interval, LEVEL, mean, quantile_of_t};

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Regression {
    points: usize,
    mean_x: f64,
    mean_y: f64,
    /// Sum of the squared distances of the abscissas from their mean.
    spread: f64,
    /// Rise of the line for each unit of x.
    pub slope: f64,
    /// Sum of the squared residuals.
    residual: f64,
}

impl Regression {
    /// Of points whose abscissas are not all the same; `None` otherwise.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let (mean_x, mean_y) = (mean(&xs), mean(&ys));
        let spread: f64 = xs.iter().map(|x| (x - mean_x).powi(2)).sum();
        let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = covariance / spread;
        if !slope.is_finite() {
            return None;
        }
        let off = |(x, y): &(f64, f64)| (y - mean_y - slope * (x - mean_x)).powi(2);
        Some(Self {
            points: points.len(),
            mean_x,
            mean_y,
            spread,
            slope,
            residual: points.iter().map(off).sum(),
        })
    }

    /// The line at zero.
    pub fn at_zero(&self) -> f64 {
        self.mean_y - self.slope * self.mean_x
    }

    /// Interval of the slope; `None` below three points.
    pub fn slope_interval(&self) -> Option<Interval> {
        let half = self.scale()? / self.spread.sqrt();
        Some(around(self.slope, half))
    }

    /// Interval of the line at zero; `None` below three points.
    pub fn at_zero_interval(&self) -> Option<Interval> {
        let half = self.scale()? * (1.0 / self.points as f64 + self.mean_x.powi(2) / self.spread).sqrt();
        Some(around(self.at_zero(), half))
    }

    /// Where the line reaches `y`; `None` where it is level.
    pub fn reaches(&self, y: f64) -> Option<f64> {
        Some(self.mean_x + (y - self.mean_y) / self.slope).filter(|x| x.is_finite())
    }

    /// Interval of where the line reaches `y`; `None` below three points, and where the slope can't be told from zero, so
    /// that it may be anywhere.
    pub fn reaches_interval(&self, y: f64) -> Option<Interval> {
        let scale = self.scale()?;
        let (rise, uncertain) = (y - self.mean_y, scale.powi(2) / self.spread);
        let steep = self.slope.powi(2) - uncertain;
        if steep <= 0.0 {
            return None;
        }
        let middle = self.mean_x + self.slope * rise / steep;
        let half = scale * (rise.powi(2) / self.spread + steep / self.points as f64).sqrt() / steep;
        Some(around(middle, half))
    }

    /// Student's t times the residuals' standard deviation.
    fn scale(&self) -> Option<f64> {
        let freedom = self.points.checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
        Some(quantile_of_t(f64::midpoint(1.0, LEVEL), freedom) * (self.residual / freedom).sqrt())
    }
}

fn around(middle: f64, half: f64) -> Interval {
    Interval {
        low: middle - half,
        high: middle + half,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_a_worked_example() {
        // x̄ = 3, ȳ = 4.2, Sxx = 10, Sxy = 8.
        let points = [(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 6.0)];
        let line = Regression::of(&points).unwrap();
        assert!((line.slope - 0.8).abs() < 1e-12 && (line.at_zero() - 1.8).abs() < 1e-12);
        // s² = Σr²/3 = 2.4/3 = 0.8, t(0.975; 3) = 3.182446.
        let half = 3.182_446_305_284_264 * (0.8_f64 / 10.0).sqrt();
        let slope = line.slope_interval().unwrap();
        assert!((slope.high - (0.8 + half)).abs() < 1e-9, "{slope:?}");
        let half = 3.182_446_305_284_264 * (0.8 * (0.2 + 0.9_f64)).sqrt();
        assert!((line.at_zero_interval().unwrap().low - (1.8 - half)).abs() < 1e-9);
    }

    #[test]
    fn what_has_no_answer_has_none() {
        assert_eq!(Regression::of(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Regression::of(&[]), None);
        let two = Regression::of(&[(0.0, 1.0), (1.0, 2.0)]).unwrap();
        assert_eq!((two.slope, two.slope_interval()), (1.0, None));
        let level = Regression::of(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]).unwrap();
        assert_eq!((level.reaches(5.0), level.reaches_interval(5.0)), (None, None));
    }

    proptest! {
        /// Fieller's ends are where the band around the line just reaches the value.
        #[test]
        fn the_interval_of_an_abscissa_inverts_the_band(
            slope in 0.5f64..5.0, at_zero in -10.0f64..10.0, y in -20.0f64..20.0,
            noise in prop::collection::vec(-0.2f64..0.2, 8)
        ) {
            let points: Vec<(f64, f64)> = (0..8).zip(noise)
                .map(|(x, off)| (f64::from(x), at_zero + slope * f64::from(x) + off))
                .collect();
            let line = Regression::of(&points).unwrap();
            let ends = line.reaches_interval(y).unwrap();
            prop_assert!(ends.contains(line.reaches(y).unwrap()));
            for x in [ends.low, ends.high] {
                let half = line.scale().unwrap() * (1.0 / 8.0 + (x - line.mean_x).powi(2) / line.spread).sqrt();
                let middle = line.at_zero() + line.slope * x;
                prop_assert!(((middle - y).abs() - half).abs() < 1e-6 * (1.0 + half));
            }
        }
    }
}
