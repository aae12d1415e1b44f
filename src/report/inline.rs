//! Single numbers inside a document, between markers that name the figure that they are.
//!
//! ```text
//! The rollback takes <!-- fig:results/RUN cell[plans=40].difference.median -->1.11 ms<!-- /fig --> longer.
//! ```
//!
//! A marker right after a backtick, or in a fenced block, is an example and stays as it is.

use std::ops::Range;

use thiserror::Error;

use super::explain::figure;
use super::format::figure_text;
use crate::analysis::Analysis;

const OPEN: &str = "<!-- fig:";
const OPEN_END: &str = " -->";
const CLOSE: &str = "<!-- /fig -->";

/// A number of the document, and the figure that it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineFigure {
    /// Line of the document, from 1.
    pub line: usize,
    /// Directory of the run, relative to the document.
    pub run: String,
    /// Id of the figure.
    pub id: String,
    /// Where the number stands, in bytes.
    place: Range<usize>,
}

/// What is wrong with a marker or with what it holds. The line stands first, to follow the file's name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InlineError {
    /// The marker does not close on its line.
    #[error("{line}: the marker `<!-- fig:…` is not closed by `<!-- /fig -->` on the same line")]
    Unclosed {
        /// From 1.
        line: usize,
    },
    /// The marker names no run or no figure.
    #[error("{line}: the marker must read `<!-- fig:results/<run> <id> -->`, and it names {named:?}")]
    Malformed {
        /// From 1.
        line: usize,
        /// What it names.
        named: String,
    },
    /// The run has no such figure.
    #[error("{line}: {id}: the run {run} has no such figure; the nearest are {nearest}")]
    Unknown {
        /// From 1.
        line: usize,
        /// What was named.
        id: String,
        /// The run.
        run: String,
        /// Ids that there are.
        nearest: String,
    },
    /// The figure has no value.
    #[error("{line}: {id}: the figure has no value in the run {run}{reason}")]
    NoValue {
        /// From 1.
        line: usize,
        /// Id of the figure.
        id: String,
        /// The run.
        run: String,
        /// Why, where that is known.
        reason: String,
    },
    /// The number is not the figure.
    #[error(
        "{line}: {id}: the text says {found:?}, and the archive gives {expected:?}; `analyze --splice` rewrites it"
    )]
    Stale {
        /// From 1.
        line: usize,
        /// Id of the figure.
        id: String,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
}

/// The marked numbers of a document, in order.
///
/// # Errors
/// Markers that can't be understood.
pub fn inline_figures(text: &str) -> Result<Vec<InlineFigure>, InlineError> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if !fenced {
            of_line(line, number, start, &mut found)?;
        }
        start += line.len();
    }
    Ok(found)
}

fn of_line(text: &str, line: usize, start: usize, found: &mut Vec<InlineFigure>) -> Result<(), InlineError> {
    let mut at = 0;
    while let Some(open) = text[at..].find(OPEN).map(|place| at + place) {
        at = open + OPEN.len();
        if text[..open].ends_with('`') {
            continue;
        }
        let unclosed = InlineError::Unclosed { line };
        let Some((named, rest)) = text[at..].split_once(OPEN_END) else {
            return Err(unclosed);
        };
        let from = at + named.len() + OPEN_END.len();
        let Some(length) = rest.find(CLOSE).filter(|&length| !rest[..length].contains(OPEN)) else {
            return Err(unclosed);
        };
        let Some((run, id)) = named.trim().rsplit_once(' ') else {
            return Err(InlineError::Malformed {
                line,
                named: named.to_owned(),
            });
        };
        found.push(InlineFigure {
            line,
            run: run.trim().to_owned(),
            id: id.to_owned(),
            place: start + from..start + from + length,
        });
        at = from + length + CLOSE.len();
    }
    Ok(())
}

impl InlineFigure {
    /// What must stand there: the figure's value as in tables, with its unit.
    ///
    /// # Errors
    /// The run has no such figure, or the figure has no value.
    pub fn expected(&self, analysis: &Analysis) -> Result<String, InlineError> {
        let (line, id, run) = (self.line, self.id.clone(), analysis.facts.run.clone());
        match figure(analysis, &self.id) {
            Err(nearest) => Err(InlineError::Unknown {
                line,
                id,
                run,
                nearest: nearest.join(", "),
            }),
            Ok(figure) => figure_text(&figure).ok_or_else(|| InlineError::NoValue {
                line,
                id,
                run,
                reason: figure.withheld.map_or(String::new(), |reason| format!(": {reason}")),
            }),
        }
    }

    /// Whether the document says so.
    ///
    /// # Errors
    /// [`InlineError::Stale`].
    pub fn check(&self, text: &str, expected: &str) -> Result<(), InlineError> {
        let found = &text[self.place.clone()];
        if found == expected {
            return Ok(());
        }
        Err(InlineError::Stale {
            line: self.line,
            id: self.id.clone(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        })
    }
}

/// The document with what is expected in the place of each marked number. The figures are the document's own.
pub fn splice_inline(text: &str, figures: &[(InlineFigure, String)]) -> String {
    let mut spliced = String::with_capacity(text.len());
    let mut at = 0;
    for (figure, expected) in figures {
        spliced.push_str(&text[at..figure.place.start]);
        spliced.push_str(expected);
        at = figure.place.end;
    }
    spliced.push_str(&text[at..]);
    spliced
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "é <!-- fig:results/x a[b=1].c -->1 ms<!-- /fig -->, <!-- fig:results/y d[e=2].f --><!-- /fig -->.\n";

    #[test]
    fn only_the_numbers_between_markers_change() {
        let figures = inline_figures(TEXT).unwrap();
        let named: Vec<(&str, &str)> = figures.iter().map(|f| (f.run.as_str(), f.id.as_str())).collect();
        assert_eq!(named, [("results/x", "a[b=1].c"), ("results/y", "d[e=2].f")]);
        let expected = ["2 ms".to_owned(), "3".to_owned()];
        let spliced = splice_inline(TEXT, &figures.iter().cloned().zip(expected).collect::<Vec<_>>());
        assert_eq!(spliced, TEXT.replace("1 ms", "2 ms").replace("--><!--", "-->3<!--"));
        assert_eq!(figures[0].check(TEXT, "1 ms"), Ok(()));
        assert!(matches!(
            figures[1].check(TEXT, "3"),
            Err(InlineError::Stale { line: 1, .. })
        ));
    }

    #[test]
    fn examples_are_left_alone() {
        let text = format!(
            "`{}`\n```text\n{TEXT}```\n{TEXT}",
            TEXT.lines().next().unwrap().trim_start_matches("é ")
        );
        let lines: Vec<usize> = inline_figures(&text)
            .unwrap()
            .iter()
            .map(|figure| figure.line)
            .collect();
        // The second marker of the first line does not follow a backtick.
        assert_eq!(lines, [1, 5, 5]);
    }

    #[test]
    fn markers_that_make_no_sense_are_named_by_line() {
        for text in [
            "\n<!-- fig:x y",
            "\n<!-- fig:x y -->1",
            "\n<!-- fig:x y -->1\n<!-- /fig -->",
        ] {
            assert_eq!(inline_figures(text), Err(InlineError::Unclosed { line: 2 }), "{text}");
        }
        let nested = "<!-- fig:x y -->1 <!-- fig:x z -->2<!-- /fig -->";
        assert_eq!(inline_figures(nested), Err(InlineError::Unclosed { line: 1 }));
        let malformed = InlineError::Malformed {
            line: 1,
            named: "x".to_owned(),
        };
        assert_eq!(inline_figures("<!-- fig:x -->1<!-- /fig -->"), Err(malformed));
    }
}
