//! One figure, told whole: what it is, where it comes from, and the query that gives it.

use std::fmt::Write;

use super::claims;
use super::format::figure_text;
use super::recompute::{NOT_IN_SQL, Sources, left_out, query};
use crate::analysis::{Analysis, Figure, Interval, State, figures};
use crate::archive::Standing;

/// Ids that are named when an id is unknown.
const NEAREST: usize = 3;

/// The figure of a run with this id.
///
/// # Errors
/// Where there is none, the nearest ids that there are.
pub fn figure(analysis: &Analysis, id: &str) -> Result<Figure, Vec<String>> {
    let mut figures = figures(analysis);
    if let Some(place) = figures.iter().position(|figure| figure.id == id) {
        return Ok(figures.swap_remove(place));
    }
    figures.sort_by(|a, b| strsim::jaro_winkler(id, &b.id).total_cmp(&strsim::jaro_winkler(id, &a.id)));
    Err(figures.into_iter().take(NEAREST).map(|figure| figure.id).collect())
}

/// A figure for people, ending in a line break.
///
/// # Errors
/// As [`figure`].
pub fn explain(analysis: &Analysis, sources: &Sources, id: &str) -> Result<String, Vec<String>> {
    let figure = figure(analysis, id)?;
    let facts = &analysis.facts;
    let state = match facts.state {
        State::Finished => "finished and sealed",
        State::Incomplete => "INCOMPLETE, and sealed as it was when it broke off",
        State::Unfinished => "UNFINISHED",
    };
    let mut text = format!("{id}\n\n");
    let mut line = |name: &str, told: &str| {
        let _ = writeln!(text, "{name:<12}{told}");
    };
    line("value", &value(&figure));
    line("interval", &interval(&figure));
    line("estimator", figure.definition.estimator);
    line("inputs", figure.definition.inputs);
    line("run", &format!("{}, {state}", facts.run));
    line("manifest", &format!("SHA-256 {}", facts.manifest_sha256));
    if let Some(root) = &facts.root {
        line("root", root);
    }
    line("files", &files(sources));
    line(
        "provisional",
        if figure.provisional {
            "yes: forks are missing"
        } else {
            "no"
        },
    );
    line("exploratory", &exploratory(&facts.standing));
    for claim in claims::about(analysis, id) {
        line("claim", &claim);
    }
    let _ = write!(text, "\n{}", asked(&figure, sources));
    Ok(text)
}

fn exploratory(standing: &Standing) -> String {
    match standing {
        Standing::Exploratory { reason } => format!("yes: {reason}"),
        Standing::Confirmatory(registered) => format!(
            "no: registered {} by the ledger's line with the SHA-256 {}, start {}",
            registered.at, registered.line, registered.start
        ),
    }
}

fn value(figure: &Figure) -> String {
    let unit = figure.definition.unit.as_str();
    match (figure.value, &figure.withheld) {
        (Some(value), _) => match figure_text(figure) {
            Some(told) => format!("{value} {unit}, in tables {told}"),
            None => format!("{value} {unit}"),
        },
        (None, Some(reason)) => reason.clone(),
        (None, None) => "none: this run has nothing to compute it from".to_owned(),
    }
}

fn interval(figure: &Figure) -> String {
    let unit = figure.definition.unit.as_str();
    figure.interval.map_or("none".to_owned(), |Interval { low, high }| {
        format!("{low} to {high} {unit}, 95 %")
    })
}

fn files(sources: &Sources) -> String {
    let several = |files: &[String]| match files {
        [file] => file.clone(),
        files => format!("{} files parts/*.{{pairs,fork}}.parquet", files.len()),
    };
    let files = &sources.files;
    format!(
        "{}, {}, cells.parquet and manifest.parquet in {}",
        several(&files.pairs),
        several(&files.forks),
        sources.directory
    )
}

fn asked(figure: &Figure, sources: &Sources) -> String {
    let key = figure.definition.key;
    let left_out = left_out(NOT_IN_SQL, key);
    match (query(&figure.id, sources), left_out) {
        (Some(query), None) => format!("DuckDB:\n\n{query}"),
        (Some(query), Some((_, part, reason))) => {
            format!("DuckDB, without its {} ({reason}):\n\n{query}", part.as_str())
        }
        (None, left_out) => {
            let reason = left_out.map_or("the run has no fork yet", |(_, _, reason)| reason);
            format!("No DuckDB query gives it: {reason}.\n")
        }
    }
}
