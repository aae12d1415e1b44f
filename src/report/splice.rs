//! Tables inside a document, between markers that name the runs that they come from.
//!
//! ```text
//! <!-- preview-cost analyze results/RUN [results/RUN …] -->
//! …
//! <!-- /preview-cost -->
//! ```

use thiserror::Error;

const OPEN: &str = "<!-- preview-cost analyze ";
const CLOSE: &str = "<!-- /preview-cost -->";
const OPEN_END: &str = " -->";

/// What a pair of markers asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// Directories of runs, relative to the document.
    pub runs: Vec<String>,
}

/// Markers that can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpliceError {
    /// There are none.
    #[error("has no line `<!-- preview-cost analyze results/<run> -->` and no `<!-- fig:results/<run> <id> -->`")]
    NoMarkers,
    /// An opening marker names no run, or does not end on its line.
    #[error("line {0}: the marker names no run")]
    Empty(usize),
    /// An opening marker has no closing one before the next.
    #[error("line {0}: the marker is not closed by `<!-- /preview-cost -->`")]
    Unclosed(usize),
}

/// The markers of a document, in order.
///
/// # Errors
/// [`SpliceError`], with the line.
pub fn directives(text: &str) -> Result<Vec<Directive>, SpliceError> {
    let mut directives = Vec::new();
    let mut open: Option<usize> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(rest) = line.trim().strip_prefix(OPEN) {
            if let Some(before) = open {
                return Err(SpliceError::Unclosed(before));
            }
            let runs: Vec<String> = rest
                .strip_suffix(OPEN_END)
                .map(|runs| runs.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default();
            if runs.is_empty() {
                return Err(SpliceError::Empty(number));
            }
            directives.push(Directive { runs });
            open = Some(number);
        } else if line.trim() == CLOSE {
            open = None;
        }
    }
    match open {
        Some(line) => Err(SpliceError::Unclosed(line)),
        None if directives.is_empty() => Err(SpliceError::NoMarkers),
        None => Ok(directives),
    }
}

/// The document with a table between each pair of markers, in order.
///
/// # Errors
/// [`SpliceError`], as [`directives`].
pub fn splice(text: &str, tables: &[String]) -> Result<String, SpliceError> {
    directives(text)?;
    let mut tables = tables.iter();
    let mut spliced = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.trim() == CLOSE {
            inside = false;
        }
        if !inside {
            spliced.push_str(line);
            spliced.push('\n');
        }
        if line.trim().starts_with(OPEN) {
            inside = true;
            let table = tables.next().map_or("", String::as_str);
            spliced.extend(["\n", table.trim_end(), "\n\n"]);
        }
    }
    Ok(spliced)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\n<!-- preview-cost analyze results/x results/y -->\nold\n<!-- /preview-cost -->\nb\n";

    #[test]
    fn only_what_stands_between_the_markers_changes() {
        let runs = vec!["results/x".to_owned(), "results/y".to_owned()];
        assert_eq!(directives(TEXT), Ok(vec![Directive { runs }]));
        let spliced = splice(TEXT, &["new\n".to_owned()]).unwrap();
        assert_eq!(spliced, TEXT.replace("old\n", "\nnew\n\n"));
        assert_eq!(
            splice(&spliced, &["new\n".to_owned()]).unwrap(),
            spliced,
            "splicing twice changes nothing"
        );
    }

    #[test]
    fn markers_that_make_no_sense_are_named_by_line() {
        assert_eq!(directives("nothing"), Err(SpliceError::NoMarkers));
        assert_eq!(
            directives("\n<!-- preview-cost analyze  -->\n"),
            Err(SpliceError::Empty(2))
        );
        assert_eq!(
            directives("<!-- preview-cost analyze x -->\n"),
            Err(SpliceError::Unclosed(1))
        );
    }
}
