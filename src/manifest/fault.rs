//! What is wrong with a manifest, where, and what to do.

use std::fmt;
use std::ops::Range;

/// One fault of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Dotted key; empty where the fault is not about one.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl Fault {
    /// A fault at a byte range of the source.
    pub fn at(source: &str, span: &Range<usize>, key: &str, message: impl Into<String>) -> Self {
        let start = (0..=span.start.min(source.len()))
            .rev()
            .find(|&at| source.is_char_boundary(at))
            .unwrap_or(0);
        let before = &source[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            key: key.to_owned(),
            message: message.into(),
        }
    }
}

/// Every fault of one manifest, in the order of the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    path: String,
    faults: Vec<Fault>,
}

impl Faults {
    pub(super) fn new(path: &str, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| (fault.line, fault.column));
        faults.dedup();
        Self {
            path: path.to_owned(),
            faults,
        }
    }

    /// The faults.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.faults.iter()
    }
}

impl<'a> IntoIterator for &'a Faults {
    type Item = &'a Fault;
    type IntoIter = std::slice::Iter<'a, Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Faults {
    /// A line a fault: `path:line:column: key: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.faults.len();
        write!(f, "the manifest has {count} fault{}", if count == 1 { "" } else { "s" })?;
        for Fault {
            line,
            column,
            key,
            message,
        } in &self.faults
        {
            let separator = if key.is_empty() { "" } else { ": " };
            write!(f, "\n  {}:{line}:{column}: {key}{separator}{message}", self.path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = "a = 1\nbé = 2\n";
        let at = source.find('=').unwrap();
        let fault = Fault::at(source, &(at..at + 1), "a", "x");
        assert_eq!((fault.line, fault.column), (1, 3));
        let at = source.rfind('=').unwrap();
        let fault = Fault::at(source, &(at..at + 1), "b", "x");
        assert_eq!((fault.line, fault.column), (2, 4));
        let fault = Fault::at(source, &(999..1000), "", "x");
        assert_eq!((fault.line, fault.column), (3, 1));
    }
}
