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

pub use query::query;
pub use script::{python, sql};

/// Which files a run's tables lie in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The run's directory, as it is to stand in a query for one figure.
    pub directory: String,
    /// What stands before the files' names where several runs share a directory; empty where one has its own.
    pub prefix: String,
    /// Files of `pairs`, within the directory: one, or one a fork in an unfinished run.
    pub pairs: Vec<String>,
    /// Files of `forks`, likewise.
    pub forks: Vec<String>,
    /// Most forks that a cell has.
    pub forks_max: usize,
}

impl Sources {
    /// Whether there is no fork yet, and so nothing to compute from.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
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

/// A figure that a script leaves out, and why.
pub type LeftOut = (&'static str, Part, &'static str);

const SEEDED: &str = "two-level bootstrap: it depends on this program's stream of random numbers";

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
];
