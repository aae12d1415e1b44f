//! Tables inside a document, between markers that name the runs that they come from.
//!
//! ```text
//! <!-- preview-cost analyze [--only claims|ranking] results/RUN [results/RUN …] -->
//! …
//! <!-- /preview-cost -->
//! ```

use thiserror::Error;

use super::Part;

const OPEN: &str = "<!-- preview-cost analyze ";
const CLOSE: &str = "<!-- /preview-cost -->";
const OPEN_END: &str = " -->";

/// What a pair of markers asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// Directories of runs, relative to the document.
    pub runs: Vec<String>,
    /// How much of each is told.
    pub part: Part,
}

/// Markers that can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpliceError {
    /// There are none.
    #[error("has no line `<!-- preview-cost analyze results/<run> -->` and no `<!-- fig:results/<run> <id> -->`")]
    NoMarkers,
    /// An opening marker names no run, or does not end on its line.
    #[error("line {0}: the marker names no run, or asks for what there is not: `--only` takes claims or ranking")]
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
            let words = rest.strip_suffix(OPEN_END).unwrap_or_default();
            directives.push(directive(words).ok_or(SpliceError::Empty(number))?);
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

/// What stands within a marker; `None` where it names no run, or a part that there is not.
fn directive(words: &str) -> Option<Directive> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    let part = match words.as_slice() {
        ["--only", "claims", ..] => Part::Claims,
        ["--only", "ranking", ..] => Part::Ranking,
        ["--only", "steps", ..] => Part::Steps,
        ["--only", "distance", ..] => Part::Distance,
        _ => Part::Whole,
    };
    if part != Part::Whole {
        words.drain(..2);
    }
    let runs: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let are_runs = !runs.is_empty() && runs.iter().all(|run| !run.starts_with("--"));
    are_runs.then_some(Directive { runs, part })
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
        let part = Part::Whole;
        assert_eq!(directives(TEXT), Ok(vec![Directive { runs, part }]));
        let spliced = splice(TEXT, &["new\n".to_owned()]).unwrap();
        assert_eq!(spliced, TEXT.replace("old\n", "\nnew\n\n"));
        assert_eq!(
            splice(&spliced, &["new\n".to_owned()]).unwrap(),
            spliced,
            "splicing twice changes nothing"
        );
    }

    #[test]
    fn a_marker_may_ask_for_a_part() {
        let marked = |words: &str| {
            directives(&format!(
                "<!-- preview-cost analyze {words} -->\n<!-- /preview-cost -->"
            ))
        };
        let asked = |part| {
            Ok(vec![Directive {
                runs: vec!["r".to_owned()],
                part,
            }])
        };
        assert_eq!(marked("--only claims r"), asked(Part::Claims));
        assert_eq!(marked("--only ranking r"), asked(Part::Ranking));
        assert_eq!(marked("--only nothing r"), Err(SpliceError::Empty(1)));
        assert_eq!(marked("--only claims"), Err(SpliceError::Empty(1)));
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
