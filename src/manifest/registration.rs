//! What an experiment states before it is run: what it estimates, what would disprove it, and its claims.

use chrono::NaiveDate;

/// What is written down beside the claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// What result would disprove the claims.
    pub disproof: String,
    /// What is estimated, in words.
    pub estimand: String,
    /// Which observations are left out, and by which rule; `none` where none are.
    pub exclusions: String,
    /// Who else has looked.
    pub novelty: Novelty,
}

/// The search for earlier answers to the same question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Novelty {
    /// When it was made.
    pub date: NaiveDate,
    /// Where.
    pub sources: Vec<String>,
    /// With which words.
    pub queries: Vec<String>,
    /// What came of it.
    pub finding: String,
}

/// A statement about a figure, which the run will hold against what it measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Lower-case letters, digits and hyphens; unique in the manifest.
    pub id: String,
    /// Id of the figure.
    pub figure: String,
    /// The figure's unit in the archive, in which value and margin are.
    pub unit: String,
    /// How the figure is said to lie to the threshold.
    pub comparison: Comparison,
    /// What it is compared with.
    pub threshold: Threshold,
    /// By how much it may miss; for [`Comparison::Within`], how far it may lie either way. Never negative.
    pub margin: f64,
    /// Where the claim comes from.
    pub because: Option<String>,
}

/// How a figure is said to lie to a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Not below it, less the margin.
    AtLeast,
    /// Not above it, plus the margin.
    AtMost,
    /// No further from it than the margin.
    Within,
}

impl Comparison {
    /// Every comparison.
    pub const ALL: [Self; 3] = [Self::AtLeast, Self::AtMost, Self::Within];

    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtLeast => "at-least",
            Self::AtMost => "at-most",
            Self::Within => "within",
        }
    }
}

/// What a figure is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Threshold {
    /// A number, in the figure's unit.
    Value(f64),
    /// Another figure of the same unit, times a factor above 0.
    Times {
        /// The factor.
        factor: f64,
        /// Id of the other figure.
        of: String,
    },
}
