//! What a cell says about its question, against the margin that was declared before the run.
//!
//! The real difference lies in one of three places: beyond the margin (slower), beyond it on the other side (faster), or
//! within (equivalent). A cell claims a place when its whole interval lies there; the smallest level at which it would
//! is the claim's p-value. Over the cells of a run, the claims are held to 5 % together by Holm's procedure ("A simple
//! sequentially rejective multiple test procedure", 1979). What can't be claimed is unsure.

use super::interval::{LEVEL, Mean};

/// What a cell says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The subject takes longer, by more than the margin.
    Slower,
    /// The subject takes less, by more than the margin.
    Faster,
    /// The difference lies within the margin.
    Equivalent,
    /// None of the three can be claimed.
    Unsure,
}

impl Verdict {
    /// The word in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Equivalent => "equivalent",
            Self::Unsure => "unsure",
        }
    }
}

/// A claim before it is adjusted: the likeliest place, and the two-sided p-value of claiming it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Claim {
    place: Verdict,
    p: f64,
}

fn claim(difference: &Mean, margin: f64) -> Claim {
    let (place, distance) = match difference.value {
        value if value > margin => (Verdict::Slower, value - margin),
        value if value < -margin => (Verdict::Faster, -margin - value),
        value => (Verdict::Equivalent, margin - value.abs()),
    };
    Claim {
        place,
        p: (2.0 * difference.tail(distance)).min(1.0),
    }
}

/// A verdict and its Holm-adjusted p-value, for each difference; a cell with fewer than two forks is unsure.
pub(super) fn verdicts(differences: &[Option<Mean>], margin: f64) -> Vec<(Verdict, Option<f64>)> {
    let claims: Vec<Option<Claim>> = differences
        .iter()
        .map(|difference| difference.as_ref().map(|mean| claim(mean, margin)))
        .collect();
    let mut order: Vec<usize> = (0..claims.len()).filter(|&place| claims[place].is_some()).collect();
    order.sort_by(|&a, &b| p_of(claims[a]).total_cmp(&p_of(claims[b])));
    let mut verdicts = vec![(Verdict::Unsure, None); claims.len()];
    let mut running = 0.0f64;
    for (rank, &place) in order.iter().enumerate() {
        let Some(claim) = claims[place] else { continue };
        running = running.max((claim.p * (order.len() - rank) as f64).min(1.0));
        let verdict = if running <= 1.0 - LEVEL {
            claim.place
        } else {
            Verdict::Unsure
        };
        verdicts[place] = (verdict, Some(running));
    }
    verdicts
}

fn p_of(claim: Option<Claim>) -> f64 {
    claim.map_or(1.0, |claim| claim.p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(value: f64, error: f64) -> Mean {
        Mean {
            value,
            error,
            freedom: 4.0,
        }
    }

    #[test]
    fn a_single_cell_claims_where_its_whole_interval_lies() {
        let one = |value, error| verdicts(&[Some(mean(value, error))], 10.0)[0].0;
        assert_eq!(one(100.0, 1.0), Verdict::Slower);
        assert_eq!(one(-100.0, 1.0), Verdict::Faster);
        assert_eq!(one(1.0, 1.0), Verdict::Equivalent);
        assert_eq!(one(12.0, 1.0), Verdict::Unsure);
        assert_eq!(one(0.0, 10.0), Verdict::Unsure);
        assert_eq!(verdicts(&[None], 10.0), vec![(Verdict::Unsure, None)]);
    }

    #[test]
    fn agrees_with_the_interval_for_one_cell() {
        for value in [-30.0, -11.0, -3.0, 0.0, 5.0, 12.0, 13.0, 14.0, 50.0] {
            let difference = mean(value, 1.2);
            let interval = difference.interval();
            let within = interval.low >= -10.0 && interval.high <= 10.0;
            let beyond = interval.low > 10.0 || interval.high < -10.0;
            let verdict = verdicts(&[Some(difference)], 10.0)[0].0;
            assert_eq!(verdict != Verdict::Unsure, within || beyond, "{value}");
        }
    }

    #[test]
    fn holm_adjusts_by_rank_and_never_lets_a_weaker_claim_pass_a_stronger_one() {
        let differences: Vec<Option<Mean>> = [13.9, 14.0, 200.0, 12.0].map(|value| Some(mean(value, 1.0))).to_vec();
        let single = |place: usize| claim(&differences[place].unwrap(), 10.0).p;
        let adjusted = verdicts(&differences, 10.0);
        assert!((adjusted[2].1.unwrap() - 4.0 * single(2)).abs() < 1e-12);
        assert!((adjusted[1].1.unwrap() - 3.0 * single(1)).abs() < 1e-12);
        assert!((adjusted[0].1.unwrap() - (2.0 * single(0)).max(3.0 * single(1))).abs() < 1e-12);
        assert_eq!(adjusted[2].0, Verdict::Slower);
        assert_eq!(adjusted[3].0, Verdict::Unsure);
    }
}
