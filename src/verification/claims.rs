//! What was claimed before the run, and what the figures say of it.

use super::finding::{Finding, Outcome};
use crate::analysis::{self, Analysis};

/// A finding a claim. What is undecided is noted: it is no failure, and nothing to lean on.
pub fn of_claims(analysis: &Analysis) -> Vec<Finding> {
    let mut findings = Vec::new();
    for verdict in &analysis.claims {
        let outcome = match verdict.outcome {
            analysis::Outcome::Holds => Outcome::Ok,
            analysis::Outcome::Fails => Outcome::ClaimFailed,
            analysis::Outcome::Undecided => Outcome::Noted,
        };
        let detail = format!("{}: {}; {}", verdict.claim.id, verdict.outcome.as_str(), verdict.why);
        findings.push(Finding::new("claim", outcome, detail));
    }
    findings
}
