//! The two scripts for a whole run.

use std::fmt::Write;

use super::query::{indented, say};
use super::steps::STEPS;
use super::view::Directory;
use super::{LeftOut, NOT_IN_PYTHON, NOT_IN_SQL, Sources};
use crate::analysis::{CELL_FIGURES, Definition, RunFacts, SCALING_FIGURES, STEP_FIGURES};

const FIGURES_PY: &str = include_str!("figures.py");

/// `recompute.sql`: every figure of a run that DuckDB can say, a row each, with its id.
pub fn sql(facts: &RunFacts, sources: &Sources) -> String {
    let mut text = header(
        "--",
        facts,
        &format!(
            "duckdb -csv -cmd \"SET VARIABLE run = 'results/<run>'\" < {}recompute.sql   (or without -cmd, in the run's directory)",
            sources.prefix
        ),
        &[
            "Checked with the DuckDB of tests/recompute/requirements.txt. One thread, because a sum of doubles depends on its order.",
            "Equal to the last bit: counts, and all that is an order statistic. Means, intervals over forks and ratios: to",
            "1e-12 of their size.",
        ],
        NOT_IN_SQL,
    );
    text.push_str("SET threads = 1;\nSET VARIABLE run = coalesce(getvariable('run'), '.');\n");
    for view in STEPS.iter().filter(|view| sources.has_steps() || !view.reads_steps()) {
        let select = view.select(sources, Directory::Variable);
        let _ = write!(
            text,
            "\n{}CREATE TEMP TABLE {} AS\n{select};\n",
            view.comment(),
            view.name
        );
    }
    text.push_str("\nCREATE TEMP TABLE figures (id VARCHAR, value DOUBLE, low DOUBLE, high DOUBLE);\n");
    let of_steps = if sources.has_steps() { STEP_FIGURES } else { &[] };
    for definition in CELL_FIGURES.iter().chain(of_steps).chain(SCALING_FIGURES) {
        text.push_str(&insert(definition));
    }
    text.push_str("\nSELECT id, value, low, high FROM figures ORDER BY id;\n");
    text
}

fn insert(definition: &Definition) -> String {
    let Some(said) = say(definition.key) else {
        return String::new();
    };
    let joined = if said.over_sizes {
        ""
    } else {
        " JOIN cells USING (cell)"
    };
    format!(
        "\n-- {}: {}\nINSERT INTO figures\nSELECT id || '.{}', value, low, high\nFROM (\n{}\n){joined};\n",
        definition.key,
        definition.estimator,
        definition.key,
        indented(&said.select)
    )
}

/// `recompute.py`: every figure of a run that pandas can say, as CSV.
pub fn python(facts: &RunFacts, sources: &Sources) -> String {
    let mut text = header(
        "#",
        facts,
        &format!(
            "python {}recompute.py results/<run>   (or without an argument, in the run's directory)",
            sources.prefix
        ),
        &[
            "Checked with the versions of tests/recompute/requirements.txt. scipy gives Student's t (every interval",
            "over forks, noise_floor, noise_factor, verdict.p, forks_needed, fixed, per_plan) and the binomial distribution",
            "(intervals of p50, p95 and p99, and whether a tail is told; difference.median.within_session). All else is",
            "pandas and numpy. Equal to the last bit: counts, and all that is an order statistic. The rest: to 1e-12.",
        ],
        NOT_IN_PYTHON,
    );
    text.push('\n');
    let (imports, rest) = FIGURES_PY.split_once("\nCOLUMNS").unwrap_or((FIGURES_PY, ""));
    let rest = ["cells.parquet", "manifest.parquet"]
        .iter()
        .fold(rest.to_owned(), |rest, name| {
            rest.replace(&format!("\"{name}\""), &format!("\"{}{name}\"", sources.prefix))
        });
    let _ = write!(
        text,
        "{imports}\nPAIRS = {}\nFORKS = {}\nSTEPS = {}\nWIRE = {}\nCOLUMNS{rest}",
        list(&sources.files.pairs),
        list(&sources.files.forks),
        list(&sources.files.steps),
        list(&sources.files.wire)
    );
    text
}

fn list(files: &[String]) -> String {
    match files {
        [] => "[]".to_owned(),
        [file] => format!("[\"{file}\"]"),
        files => {
            files
                .iter()
                .fold("[\n".to_owned(), |text, file| text + "    \"" + file + "\",\n")
                + "]"
        }
    }
}

fn header(mark: &str, facts: &RunFacts, usage: &str, notes: &[&str], left_out: &[LeftOut]) -> String {
    let mut text = format!(
        "{mark} Figures of the run {}, from its Parquet files alone.\n{mark} Manifest SHA-256 {}\n{mark}\n{mark} {usage}\n{mark}\n",
        facts.run, facts.manifest_sha256
    );
    for note in notes {
        let _ = writeln!(text, "{mark} {note}");
    }
    let _ = writeln!(text, "{mark}");
    for (key, part, reason) in left_out {
        let _ = writeln!(text, "{mark} left out: {key} ({}): {reason}", part.as_str());
    }
    text
}
