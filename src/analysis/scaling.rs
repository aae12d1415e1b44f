//! How a difference grows with the size of the model.
//!
//! Round by round (one fork of every size), a straight line is fitted to the forks' medians by least squares; the line's
//! fixed part and its part per plan are then means over rounds, with Student's t. The fork stays the unit, and what a
//! round has in common cancels in the slope.

use super::interval::{Interval, Mean};
use super::line::Line;
use super::regression::Regression;

/// How the difference changes over the sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// The change over the whole range lies within the margin.
    Constant,
    /// It grows with the size.
    Grows,
    /// It shrinks with the size.
    Shrinks,
    /// It rises somewhere and falls elsewhere.
    NotMonotone,
    /// The run can't tell.
    Unsure,
}

impl Trend {
    /// A plain statement, to follow "the difference".
    pub fn statement(self) -> &'static str {
        match self {
            Self::Constant => "is constant within the margin over these sizes",
            Self::Grows => "grows with the size",
            Self::Shrinks => "shrinks with the size",
            Self::NotMonotone => "is not monotone: it rises between some sizes and falls between others",
            Self::Unsure => "may or may not change with the size: this run can't tell",
        }
    }
}

/// A difference over sizes, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// What it is of.
    pub line: Line,
    /// The sizes, ascending.
    pub plans: Vec<u32>,
    /// Rounds that have a fork of every size.
    pub rounds: usize,
    /// The line at no plans, and its interval.
    pub fixed: (f64, Option<Interval>),
    /// The line's rise a plan, and its interval.
    pub per_plan: (f64, Option<Interval>),
    /// What that comes to.
    pub trend: Trend,
}

/// Fits the medians of `rounds`, each with a value a size. `None` below two sizes or without a round.
pub(super) fn fit(of: Line, plans: &[u32], rounds: &[Vec<f64>], margin: f64) -> Option<Scaling> {
    if plans.len() < 2 || rounds.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = plans.iter().map(|&plans| f64::from(plans)).collect();
    let (fixed, per_plan): (Vec<f64>, Vec<f64>) = rounds.iter().map(|round| fitted(&sizes, round)).unzip();
    let told = |values: &[f64]| {
        (
            super::interval::mean(values),
            Mean::of(values).map(|mean| mean.interval()),
        )
    };
    Some(Scaling {
        line: of,
        plans: plans.to_vec(),
        rounds: rounds.len(),
        fixed: told(&fixed),
        per_plan: told(&per_plan),
        trend: trend(&sizes, rounds, &per_plan, margin),
    })
}

/// Least squares: value at zero, and slope.
fn fitted(sizes: &[f64], values: &[f64]) -> (f64, f64) {
    let points: Vec<(f64, f64)> = sizes.iter().copied().zip(values.iter().copied()).collect();
    // Sizes differ, so there is a line.
    Regression::of(&points).map_or((f64::NAN, f64::NAN), |line| (line.at_zero(), line.slope))
}

fn trend(sizes: &[f64], rounds: &[Vec<f64>], slopes: &[f64], margin: f64) -> Trend {
    let steps: Vec<Option<Interval>> = (1..sizes.len())
        .map(|place| {
            let step: Vec<f64> = rounds.iter().map(|round| round[place] - round[place - 1]).collect();
            Mean::of(&step).map(|mean| mean.interval())
        })
        .collect();
    let rises = steps.iter().flatten().any(|step| step.low > 0.0);
    let falls = steps.iter().flatten().any(|step| step.high < 0.0);
    let range = sizes[sizes.len() - 1] - sizes[0];
    let Some(change) = Mean::of(slopes).map(|slope| slope.interval().map(|slope| slope * range)) else {
        return Trend::Unsure;
    };
    match () {
        () if rises && falls => Trend::NotMonotone,
        () if change.reach() <= margin => Trend::Constant,
        () if change.low > 0.0 => Trend::Grows,
        () if change.high < 0.0 => Trend::Shrinks,
        () => Trend::Unsure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line {
            subject: "rollback".to_owned(),
            baseline: "copy".to_owned(),
            backend: None,
            schema: None,
            delay: None,
            further: String::new(),
        }
    }

    fn fit_of(values: [f64; 3], margin: f64) -> Scaling {
        let rounds: Vec<Vec<f64>> = (0..5)
            .map(|round| values.iter().map(|value| value + f64::from(round % 3)).collect())
            .collect();
        fit(line(), &[10, 40, 120], &rounds, margin).unwrap()
    }

    #[test]
    fn a_straight_line_is_found_again() {
        let scaling = fit_of([110.0, 140.0, 220.0], 1.0);
        assert!((scaling.per_plan.0 - 1.0).abs() < 1e-9, "{scaling:?}");
        assert!((scaling.fixed.0 - 100.8).abs() < 1e-9, "{scaling:?}");
        assert_eq!(scaling.trend, Trend::Grows);
    }

    #[test]
    fn statements_follow_the_margin_and_the_steps() {
        assert_eq!(fit_of([100.0, 100.0, 100.0], 10.0).trend, Trend::Constant);
        assert_eq!(fit_of([220.0, 140.0, 110.0], 1.0).trend, Trend::Shrinks);
        // The study's own shape: 6.54, 6.16, 7.02 ms.
        assert_eq!(fit_of([6_540.0, 6_160.0, 7_020.0], 10.0).trend, Trend::NotMonotone);
        assert_eq!(fit(line(), &[10], &[vec![1.0]], 1.0), None);
        let one = fit(line(), &[10, 20], &[vec![1.0, 2.0]], 1.0).unwrap();
        assert_eq!((one.trend, one.per_plan.1), (Trend::Unsure, None));
    }
}
