//! What a run says about the claims that its manifest makes: computed from the figures, never typed.
//!
//! A claim holds when the whole interval of its figure lies where the claim says that the figure lies, fails when the whole
//! interval lies elsewhere, and is undecided otherwise. A claim about a multiple of another figure is one about the
//! contrast `θ₁ − f·θ₂`, whose limits are recovered from those of the two figures (MOVER: G. Y. Zou and A. Donner,
//! "Construction of confidence limits about effect measures: a general approach", Statistics in Medicine 27, 2008, for
//! independent estimates):
//!
//! ```text
//! L = θ₁ − f·θ₂ − √((θ₁ − l₁)² + f²·(u₂ − θ₂)²)      U = θ₁ − f·θ₂ + √((u₁ − θ₁)² + f²·(θ₂ − l₂)²)
//! ```

use super::figure::Figure;
use super::interval::Interval;
use crate::manifest::{Claim, Comparison, Threshold};

/// What came of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The whole interval agrees.
    Holds,
    /// The whole interval disagrees.
    Fails,
    /// Neither.
    Undecided,
}

impl Outcome {
    /// The word in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
        }
    }
}

/// A claim, what was observed of it, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimVerdict {
    /// What is claimed.
    pub claim: Claim,
    /// The figure's value, in its unit; `None` where it is withheld or does not exist.
    pub observed: Option<f64>,
    /// The figure's own interval, in its unit.
    pub interval: Option<Interval>,
    /// Of a claim about a multiple of another figure: the contrast and its interval, in the figure's unit.
    pub contrast: Option<(f64, Interval)>,
    /// What came of it.
    pub outcome: Outcome,
    /// Why, in a sentence without its full stop.
    pub why: String,
}

/// Where a figure lies: its value, and an interval, which is the value alone where the figure has none by its nature.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Estimate {
    value: f64,
    interval: Interval,
    is_point: bool,
}

/// A verdict on each claim, in the manifest's order.
pub(super) fn verdicts(claims: &[Claim], figures: &[Figure]) -> Vec<ClaimVerdict> {
    claims.iter().map(|claim| verdict(claim, figures)).collect()
}

fn verdict(claim: &Claim, figures: &[Figure]) -> ClaimVerdict {
    let figure = figures.iter().find(|figure| figure.id == claim.figure);
    let mut verdict = ClaimVerdict {
        claim: claim.clone(),
        observed: figure.and_then(|figure| figure.value),
        interval: figure.and_then(|figure| figure.interval),
        contrast: None,
        outcome: Outcome::Undecided,
        why: String::new(),
    };
    let judged = estimate(&claim.figure, figures).and_then(|one| {
        let (estimate, target) = match &claim.threshold {
            Threshold::Value(value) => (one, *value),
            Threshold::Times { factor, of } => {
                let contrast = contrast(one, *factor, estimate(of, figures)?);
                verdict.contrast = Some((contrast.value, contrast.interval));
                (contrast, 0.0)
            }
        };
        Ok((
            outcome(claim.comparison, estimate.interval, target, claim.margin),
            estimate.is_point,
        ))
    });
    match judged {
        Err(reason) => verdict.why = reason,
        Ok((outcome, is_point)) => {
            verdict.outcome = outcome;
            verdict.why = why(outcome, is_point, claim, figure);
        }
    }
    verdict
}

/// Where the interval lies to the threshold.
fn outcome(comparison: Comparison, interval: Interval, target: f64, margin: f64) -> Outcome {
    let Interval { low, high } = interval;
    let (least, most) = (target - margin, target + margin);
    let (agrees, disagrees) = match comparison {
        Comparison::AtLeast => (low >= least, high < least),
        Comparison::AtMost => (high <= most, low > most),
        Comparison::Within => (low >= least && high <= most, high < least || low > most),
    };
    match (agrees, disagrees) {
        (true, _) => Outcome::Holds,
        (_, true) => Outcome::Fails,
        _ => Outcome::Undecided,
    }
}

/// A figure that can be held against something, or why it can't.
fn estimate(id: &str, figures: &[Figure]) -> Result<Estimate, String> {
    let figure = figures.iter().find(|figure| figure.id == id);
    let figure = figure.ok_or_else(|| format!("this run has no figure {id}"))?;
    let Some(value) = figure.value.filter(|value| value.is_finite()) else {
        let withheld = figure.withheld.as_deref();
        return Err(format!(
            "{id} has no value: {}",
            withheld.unwrap_or("there is nothing to compute it from")
        ));
    };
    let point = Estimate {
        value,
        interval: Interval {
            low: value,
            high: value,
        },
        is_point: true,
    };
    match figure.interval {
        Some(interval) if interval.low.is_finite() && interval.high.is_finite() => Ok(Estimate {
            interval,
            is_point: false,
            ..point
        }),
        None if !has_interval(figure) || is_unanimous(figure, figures) => Ok(point),
        _ => Err(format!(
            "{id} has no interval in this run, as it takes two forks at least"
        )),
    }
}

/// Whether figures of this kind have an interval.
fn has_interval(figure: &Figure) -> bool {
    figure.definition.estimator.contains("interval:")
}

/// A share that is the same in every one of several forks has no spread to make an interval from.
fn is_unanimous(figure: &Figure, figures: &[Figure]) -> bool {
    let Some(cell) = figure.id.strip_suffix(".difference.slower_share") else {
        return false;
    };
    let forks = figures.iter().find(|other| other.id == format!("{cell}.forks"));
    forks.and_then(|forks| forks.value).is_some_and(|forks| forks >= 2.0)
}

/// `one − factor · other`, with MOVER's limits. An interval that does not hold its own value, as that of a median may not
/// when few forks disagree, is widened to it.
fn contrast(one: Estimate, factor: f64, other: Estimate) -> Estimate {
    let [(l1, u1), (l2, u2)] = [one, other].map(|estimate| {
        let Interval { low, high } = estimate.interval;
        (low.min(estimate.value), high.max(estimate.value))
    });
    let value = one.value - factor * other.value;
    Estimate {
        value,
        interval: Interval {
            low: value - (one.value - l1).hypot(factor * (u2 - other.value)),
            high: value + (u1 - one.value).hypot(factor * (other.value - l2)),
        },
        is_point: one.is_point && other.is_point,
    }
}

fn why(outcome: Outcome, is_point: bool, claim: &Claim, figure: Option<&Figure>) -> String {
    let held = match (&claim.threshold, is_point) {
        (_, true) => "decided by the value alone, since it has no interval",
        (Threshold::Times { .. }, _) => "the interval of the contrast",
        _ => "the interval",
    };
    if is_point {
        return held.to_owned();
    }
    let lies = match outcome {
        Outcome::Holds => "lies wholly where it is claimed to",
        Outcome::Fails => "lies wholly elsewhere",
        Outcome::Undecided => "lies partly where it is claimed to and partly elsewhere",
    };
    let within_session = figure.is_some_and(|figure| {
        let estimator = figure.definition.estimator;
        estimator.contains("within session") || estimator.contains("pooled")
    });
    let caution = if within_session {
        "; it is one within session, which can't see what differs between forks"
    } else {
        ""
    };
    format!("{held} {lies}{caution}")
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::super::interval::student_t;
    use super::*;
    use crate::definition::definition_of;

    const ID: &str = "cell[plans=40].difference.median";
    const OTHER: &str = "cell[plans=10].difference.median";

    fn figure(id: &str, value: Option<f64>, interval: Option<(f64, f64)>) -> Figure {
        Figure {
            id: id.to_owned(),
            definition: definition_of(id).unwrap(),
            value,
            interval: interval.map(|(low, high)| Interval { low, high }),
            withheld: None,
            provisional: false,
            exploratory: false,
        }
    }

    fn claim(figure: &str, comparison: Comparison, threshold: Threshold, margin: f64) -> Claim {
        Claim {
            id: "c".to_owned(),
            figure: figure.to_owned(),
            unit: "ns".to_owned(),
            comparison,
            threshold,
            margin,
            because: None,
        }
    }

    fn of(comparison: Comparison, value: f64, margin: f64, interval: (f64, f64)) -> Outcome {
        let figures = [figure(ID, Some(f64::midpoint(interval.0, interval.1)), Some(interval))];
        verdict(&claim(ID, comparison, Threshold::Value(value), margin), &figures).outcome
    }

    #[test]
    fn a_claim_is_decided_by_the_whole_interval_and_at_the_edge_it_holds() {
        use Comparison::{AtLeast, AtMost, Within};
        use Outcome::{Fails, Holds, Undecided};
        for (comparison, value, margin, interval, expected) in [
            (AtLeast, 5.0, 0.0, (5.0, 9.0), Holds),
            (AtLeast, 5.0, 0.0, (4.0, 9.0), Undecided),
            (AtLeast, 5.0, 0.0, (4.0, 5.0), Undecided),
            (AtLeast, 5.0, 0.0, (4.0, 4.9), Fails),
            (AtLeast, 5.0, 1.0, (4.0, 4.9), Holds),
            (AtLeast, 5.0, 1.0, (3.0, 3.9), Fails),
            (AtMost, 5.0, 0.0, (1.0, 5.0), Holds),
            (AtMost, 5.0, 0.0, (1.0, 5.1), Undecided),
            (AtMost, 5.0, 0.0, (5.1, 6.0), Fails),
            (AtMost, 5.0, 1.0, (5.1, 6.0), Holds),
            (Within, 5.0, 1.0, (4.0, 6.0), Holds),
            (Within, 5.0, 1.0, (3.9, 6.0), Undecided),
            (Within, 5.0, 1.0, (1.0, 9.0), Undecided),
            (Within, 5.0, 1.0, (6.1, 9.0), Fails),
            (Within, 5.0, 1.0, (1.0, 3.9), Fails),
            (AtLeast, -5.0, 0.0, (-5.0, -4.0), Holds),
        ] {
            let found = of(comparison, value, margin, interval);
            assert_eq!(found, expected, "{comparison:?} {value} ± {margin} of {interval:?}");
        }
    }

    #[test]
    fn a_figure_without_value_or_interval_is_told_as_that() {
        let at_least = |id: &str| claim(id, Comparison::AtLeast, Threshold::Value(5.0), 0.0);
        let judge = |id: &str, figures: &[Figure]| {
            let verdict = verdict(&at_least(id), figures);
            (verdict.outcome, verdict.why)
        };
        let (outcome, why) = judge(ID, &[]);
        assert!(outcome == Outcome::Undecided && why.contains("has no figure"), "{why}");
        let withheld = Figure {
            withheld: Some("withheld: too few".to_owned()),
            ..figure(ID, None, None)
        };
        let (outcome, why) = judge(ID, &[withheld]);
        assert!(outcome == Outcome::Undecided && why.contains("too few"), "{why}");
        let (outcome, why) = judge(ID, &[figure(ID, Some(9.0), None)]);
        assert!(outcome == Outcome::Undecided && why.contains("two forks"), "{why}");
        let trips = "cell[plans=40].difference.trips";
        let (outcome, why) = judge(trips, &[figure(trips, Some(9.0), None)]);
        assert!(outcome == Outcome::Holds && why.contains("value alone"), "{why}");
        let share = "cell[plans=40].difference.slower_share";
        let of_forks = |forks| {
            [
                figure(share, Some(9.0), None),
                figure("cell[plans=40].forks", Some(forks), None),
            ]
        };
        assert_eq!(judge(share, &of_forks(1.0)).0, Outcome::Undecided);
        assert_eq!(judge(share, &of_forks(2.0)).0, Outcome::Holds);
    }

    #[test]
    fn limits_of_a_contrast_are_those_worked_out_by_hand() {
        let estimate = |value, low, high| Estimate {
            value,
            interval: Interval { low, high },
            is_point: false,
        };
        // 10 − 2·4 = 2; √(2² + 2²·1.5²) = √13; √(2² + 2²·1²) = √8.
        let Estimate { value, interval, .. } = contrast(estimate(10.0, 8.0, 12.0), 2.0, estimate(4.0, 3.0, 5.5));
        assert!((value - 2.0).abs() < 1e-12);
        assert!((interval.low - (2.0 - 13f64.sqrt())).abs() < 1e-12, "{interval:?}");
        assert!((interval.high - (2.0 + 8f64.sqrt())).abs() < 1e-12, "{interval:?}");
        // A value beyond its interval: 9 in 10..12 is taken as 9..12.
        let Interval { low, high } = contrast(estimate(9.0, 10.0, 12.0), 1.0, estimate(4.0, 4.0, 4.0)).interval;
        assert!((low - 5.0).abs() < 1e-12 && (high - 8.0).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn a_multiple_is_judged_by_its_contrast() {
        let times = |factor| Threshold::Times {
            factor,
            of: OTHER.to_owned(),
        };
        let figures = [
            figure(ID, Some(10.0), Some((8.0, 12.0))),
            figure(OTHER, Some(4.0), Some((3.0, 5.5))),
        ];
        let judge = |comparison, factor, margin| verdict(&claim(ID, comparison, times(factor), margin), &figures);
        // The contrast's interval at 2 is −1.61 to 4.83, at 1 it is 3.5 to 8.24, at 4 it is −12.3 to −1.53.
        assert_eq!(judge(Comparison::AtLeast, 2.0, 0.0).outcome, Outcome::Undecided);
        assert_eq!(judge(Comparison::AtLeast, 2.0, 1.61).outcome, Outcome::Holds);
        assert_eq!(judge(Comparison::AtLeast, 1.0, 0.0).outcome, Outcome::Holds);
        assert_eq!(judge(Comparison::AtMost, 1.0, 0.0).outcome, Outcome::Fails);
        assert_eq!(judge(Comparison::AtLeast, 4.0, 0.0).outcome, Outcome::Fails);
        assert_eq!(judge(Comparison::Within, 4.0, 12.4).outcome, Outcome::Holds);
        let one = judge(Comparison::AtLeast, 2.0, 0.0);
        assert_eq!(
            (one.observed, one.contrast.map(|contrast| contrast.0)),
            (Some(10.0), Some(2.0))
        );
        let missing = verdict(&claim(ID, Comparison::AtLeast, times(2.0), 0.0), &figures[..1]);
        assert_eq!((missing.outcome, missing.contrast), (Outcome::Undecided, None));
    }

    /// Box and Muller.
    fn normal(random: &mut ChaCha20Rng) -> f64 {
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }

    /// Means of normal values: the contrast's interval holds the truth about as often as it says.
    #[test]
    fn a_contrast_covers_the_truth_as_often_as_its_parts() {
        const RUNS: usize = 8_000;
        let mut random = ChaCha20Rng::seed_from_u64(20_261_130);
        for (forks, factor, spread) in [(5, 1.14, 1.0), (5, 2.0, 3.0), (5, 1.0, 0.2), (20, 1.14, 1.0)] {
            let mut sample = |mean: f64, spread: f64| {
                let values: Vec<f64> = (0..forks).map(|_| mean + spread * normal(&mut random)).collect();
                Estimate {
                    value: values.iter().sum::<f64>() / f64::from(forks),
                    interval: student_t(&values).unwrap(),
                    is_point: false,
                }
            };
            let held = (0..RUNS)
                .filter(|_| {
                    contrast(sample(10.0, 1.0), factor, sample(7.0, spread))
                        .interval
                        .contains(10.0 - factor * 7.0)
                })
                .count();
            let coverage = held as f64 / RUNS as f64;
            // With few forks it is a little wider than it need be.
            assert!(
                (0.94..=0.98).contains(&coverage),
                "{forks} forks, {factor}, {spread}: {coverage}"
            );
        }
    }
}
