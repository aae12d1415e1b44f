//! What a check found.

/// How a check came out, the better before the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It holds.
    Ok,
    /// There was nothing to hold it against, and nothing that should have been there.
    Noted,
    /// The data are what they say, and a claim about them fails.
    ClaimFailed,
    /// It can't be told from what is here.
    Unverifiable,
    /// What is here is whole, and the run is not.
    Incomplete,
    /// Something is not what it was, or not what it says.
    Tampered,
}

impl Outcome {
    /// The word in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Noted => "note",
            Self::ClaimFailed => "claim failed",
            Self::Unverifiable => "unverifiable",
            Self::Incomplete => "incomplete",
            Self::Tampered => "TAMPERED",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, in a word.
    pub check: &'static str,
    /// How it came out.
    pub outcome: Outcome,
    /// What was found.
    pub detail: String,
}

impl Finding {
    /// A check and how it came out.
    pub fn new(check: &'static str, outcome: Outcome, detail: impl Into<String>) -> Self {
        Self {
            check,
            outcome,
            detail: detail.into(),
        }
    }
}

/// The worst of all outcomes.
pub fn worst(findings: &[Finding]) -> Outcome {
    findings
        .iter()
        .map(|finding| finding.outcome)
        .max()
        .unwrap_or(Outcome::Unverifiable)
}
