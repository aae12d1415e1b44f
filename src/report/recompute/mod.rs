//! Figures by other hands: a DuckDB script and a Python script that compute a run's figures from its Parquet files, and
//! the query for a single one.
//!
//! Nothing is computed here. The scripts know nothing of this program and are written to be read: a reviewer who
//! trusts neither can follow each figure from its columns. What a figure is stands in `analysis::definition`; how it is
//! said in SQL or Python stands here, and what can't be said there is named, with the reason.

mod quantiles;
mod query;
mod script;
mod steps;
mod view;

use crate::archive::RunFiles;

pub use query::query;
pub use script::{python, sql};

/// Which files a run's tables lie in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The run's directory, as it is to stand in a query for one figure.
    pub directory: String,
    /// What stands before the files' names where several runs share a directory; empty where one has its own.
    pub prefix: String,
    /// Files within the directory.
    pub files: RunFiles,
    /// Most forks that a cell has.
    pub forks_max: usize,
}

impl Sources {
    /// Whether the run has the tables and columns that schema 1.2 brought.
    fn has_steps(&self) -> bool {
        !self.files.steps.is_empty()
    }

    /// Whether there is no fork yet, and so nothing to compute from.
    pub fn is_empty(&self) -> bool {
        self.files.pairs.is_empty()
    }
}

/// What of a figure a language can't say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Neither the value nor an interval.
    Whole,
    /// The value can be said, its interval can't.
    Interval,
}

impl Part {
    /// The word in the scripts' headers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "figure",
            Self::Interval => "interval",
        }
    }
}

/// What such a list says about a figure's key; `steps.*` stands for all that begin so.
pub fn left_out<'a>(of: &'a [LeftOut], key: &str) -> Option<&'a LeftOut> {
    of.iter().find(|(wanted, _, _)| match wanted.strip_suffix('*') {
        Some(beginning) => key.starts_with(beginning),
        None => key == *wanted,
    })
}

/// A figure that a script leaves out, and why; a key that ends in `*` stands for all that begin so.
pub type LeftOut = (&'static str, Part, &'static str);

const SEEDED: &str = "two-level bootstrap: it depends on this program's stream of random numbers";

const IN_PYTHON: &str = "said in recompute.py";

/// What Python leaves out.
pub const NOT_IN_PYTHON: &[LeftOut] = &[("difference.fork_mean", Part::Interval, SEEDED)];

/// What SQL leaves out.
pub const NOT_IN_SQL: &[LeftOut] = &[
    ("difference.fork_mean", Part::Interval, SEEDED),
    (
        "verdict.p",
        Part::Whole,
        "tail of Student's t: DuckDB has no such function; see recompute.py",
    ),
    (
        "forks_needed",
        Part::Whole,
        "Student's t for any number of forks: DuckDB has no such function; see recompute.py",
    ),
    ("wire.*", Part::Whole, IN_PYTHON),
    ("round_trips", Part::Whole, IN_PYTHON),
    ("at_no_delay", Part::Whole, IN_PYTHON),
    ("counted", Part::Whole, IN_PYTHON),
    ("for[*", Part::Whole, IN_PYTHON),
];
