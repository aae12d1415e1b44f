//! What was claimed before the run, and what the figures say of it.

use super::finding::{Finding, Outcome};
use crate::analysis::{self, Analysis, State};

/// A finding a claim. What is undecided is noted: it is no failure, and nothing to lean on. So is what a run says that was
/// not registered before, or is not whole.
pub fn of_claims(analysis: &Analysis) -> Vec<Finding> {
    let reservation = match (&analysis.facts.standing, analysis.facts.state) {
        (standing, _) if standing.is_exploratory() => Some(", in an exploratory run, which confirms nothing"),
        (_, State::Finished) => None,
        (_, State::Unfinished | State::Incomplete) => Some(", of a run that is not whole"),
    };
    let mut findings = Vec::new();
    for verdict in &analysis.claims {
        let outcome = match (reservation, verdict.outcome) {
            (Some(_), _) | (None, analysis::Outcome::Undecided) => Outcome::Noted,
            (None, analysis::Outcome::Holds) => Outcome::Ok,
            (None, analysis::Outcome::Fails) => Outcome::ClaimFailed,
        };
        let detail = format!(
            "{}: {}{}; {}",
            verdict.claim.id,
            verdict.outcome.as_str(),
            reservation.unwrap_or_default(),
            verdict.why
        );
        findings.push(Finding::new("claim", outcome, detail));
    }
    findings
}
