//! The steps between a run's files and its figures, each a SELECT with a name: a table of the script, and a common table
//! expression of a single query.

use std::fmt::Write;

use super::Sources;
use super::quantiles::T_975;
use super::steps::STEPS;

/// A step: its name, the steps that it reads, why it is there, and what it says.
pub(super) struct View {
    pub name: &'static str,
    needs: &'static [&'static str],
    story: &'static str,
    text: Text,
}

enum Text {
    /// A SELECT, in which `{pairs}` and the like stand for files.
    Select(&'static str),
    /// Student's t, cell by cell, over a column of a table.
    OverForks(&'static str, &'static str),
}

/// A step in its own words.
pub(super) const fn view(
    name: &'static str,
    needs: &'static [&'static str],
    story: &'static str,
    text: &'static str,
) -> View {
    View {
        name,
        needs,
        story,
        text: Text::Select(text),
    }
}

/// A step that is Student's t over a column of a table, cell by cell.
pub(super) const fn over_forks(
    name: &'static str,
    needs: &'static [&'static str],
    story: &'static str,
    table: &'static str,
    column: &'static str,
) -> View {
    View {
        name,
        needs,
        story,
        text: Text::OverForks(table, column),
    }
}

/// The mean of one value a fork, and Student's t interval, as a SELECT.
pub(super) fn student_t(table: &str, column: &str, group: &str) -> String {
    format!(
        "\
SELECT {group}, mean AS value, mean - t * error AS low, mean + t * error AS high
FROM (
  SELECT {group}, avg({column}) AS mean, stddev_samp({column}) / sqrt(count({column})) AS error,
    count({column}) - 1 AS freedom
  FROM {table}
  GROUP BY {group}
) LEFT JOIN student_t USING (freedom)"
    )
}

/// How a query names a run's directory.
#[derive(Clone, Copy)]
pub(super) enum Directory<'a> {
    /// By the script's variable `run`.
    Variable,
    /// As it is.
    Path(&'a str),
}

impl Directory<'_> {
    fn read(self, files: &[String]) -> String {
        let paths: Vec<String> = files.iter().map(|file| self.path(file)).collect();
        match paths.as_slice() {
            [path] => format!("read_parquet({path})"),
            paths => format!("read_parquet([\n  {}\n])", paths.join(",\n  ")),
        }
    }

    fn path(self, file: &str) -> String {
        match self {
            Self::Variable => format!("getvariable('run') || {}", quoted(&format!("/{file}"))),
            Self::Path(path) => quoted(&format!("{}/{file}", path.trim_end_matches('/'))),
        }
    }
}

/// A text as SQL writes it.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl View {
    /// Why it is there, as comments.
    pub fn comment(&self) -> String {
        self.story
            .lines()
            .fold(String::new(), |text, line| text + "-- " + line + "\n")
    }

    /// Whether it reads the steps of previews, itself or by way of another; older runs do not have them.
    pub fn reads_steps(&self) -> bool {
        let reads = |view: &&View| matches!(view.text, Text::Select(text) if text.contains("{steps}"));
        needed(&[self.name]).iter().any(reads)
    }

    /// The SELECT, over the run's files.
    pub fn select(&self, sources: &Sources, directory: Directory<'_>) -> String {
        let text = match self.text {
            Text::OverForks(table, column) => return student_t(table, column, "cell"),
            Text::Select(text) => text,
        };
        let file = |name: &str| directory.read(&[format!("{}{name}", sources.prefix)]);
        text.replace("{cells}", &file("cells.parquet"))
            .replace("{manifest}", &file("manifest.parquet"))
            .replace("{forks}", &directory.read(&sources.files.forks))
            .replace("{pairs}", &directory.read(&sources.files.pairs))
            .replace("{steps}", &directory.read(&sources.files.steps))
            .replace("{own_distance}", own_distance(sources))
            .replace("{t}", &t_values(sources.forks_max))
    }
}

/// The distance over the subject's own connection, which older runs do not have.
fn own_distance(sources: &Sources) -> &'static str {
    if sources.has_steps() {
        "subject_distance_ns"
    } else {
        "NULL::BIGINT AS subject_distance_ns"
    }
}

/// Degrees of freedom that the run has, and their quantiles.
fn t_values(forks_max: usize) -> String {
    let mut text = String::new();
    for (place, t) in T_975.iter().enumerate().take(forks_max.saturating_sub(1).max(1)) {
        let separator = match place {
            0 => "",
            place if place % 5 == 0 => ",\n  ",
            _ => ", ",
        };
        let _ = write!(text, "{separator}({}, {t:?}::DOUBLE)", place + 1);
    }
    text
}

/// The steps that these need, in order, with what they need themselves.
pub(super) fn needed(names: &[&str]) -> Vec<&'static View> {
    let mut wanted: Vec<&str> = names.to_vec();
    let mut chosen: Vec<&'static View> = Vec::new();
    for view in STEPS.iter().rev() {
        if wanted.contains(&view.name) {
            wanted.extend(view.needs);
            chosen.push(view);
        }
    }
    chosen.reverse();
    chosen
}
