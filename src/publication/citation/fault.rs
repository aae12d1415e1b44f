//! What is wrong with a citation, and where.

use std::fmt;

/// How much a fault matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// A reader of the format refuses the file, or a repository misreads it.
    Error,
    /// It is read, and not as one may think.
    Warning,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// How much it matters.
    pub severity: Severity,
    /// Where: a key, with its place in a list.
    pub at: String,
    /// What is wrong, and what to write.
    pub problem: String,
}

impl Fault {
    pub(super) fn error(at: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            at: at.into(),
            problem: problem.into(),
        }
    }

    pub(super) fn warning(at: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(at, problem)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.severity {
            Severity::Error => write!(f, "{}: {}", self.at, self.problem),
            Severity::Warning => write!(f, "{} (warning): {}", self.at, self.problem),
        }
    }
}
