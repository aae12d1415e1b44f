//! Explanations and scripts: that they are told for every figure, and the same each time. That they come to the same
//! numbers is `make recompute-check`, which needs DuckDB and pandas.

#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../figures/synthetic.rs"]
mod synthetic;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use preview_cost::analysis::{CELL_FIGURES, SCALING_FIGURES, STEP_FIGURES};
use preview_cost::report::recompute::{LeftOut, NOT_IN_PYTHON, NOT_IN_SQL, Part};
use synthetic::Synthetic;

const WITH_STEPS: &str = "tests/fixtures/schema-1.2/20261130T120000Z-synthetic-7c76d6b7";
const RUN: &str = "tests/fixtures/schema-1.0/20261130T120000Z-synthetic-7c76d6b7";

fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn told(arguments: &[&str]) -> String {
    let output = program(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the program writes UTF-8")
}

fn explain(id: &str) -> String {
    told(&["analyze", RUN, "--explain", id])
}

/// Both scripts of a run.
fn scripts(run: &Path) -> [String; 2] {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("new");
    told(&[
        "recompute",
        &run.display().to_string(),
        "--out",
        &out.display().to_string(),
    ]);
    ["recompute.sql", "recompute.py"].map(|name| fs::read_to_string(out.join(name)).unwrap())
}

#[test]
fn a_figure_is_told_whole() {
    insta::assert_snapshot!("headline", explain("cell[plans=10].difference.median"));
    insta::assert_snapshot!(
        "within_session",
        explain("cell[plans=40].difference.median.within_session")
    );
    insta::assert_snapshot!("no_query", explain("cell[plans=40].verdict.p"));
    insta::assert_snapshot!(
        "over_sizes",
        explain("scaling[subject=rollback,baseline=copy].per_plan")
    );
}

#[test]
fn every_figure_can_be_explained() {
    let csv = told(&["analyze", RUN, "--format", "csv"]);
    let csv: Vec<&str> = csv.lines().skip(1).collect();
    let of_first: Vec<&&str> = csv.iter().filter(|line| line.contains("cell[plans=10]")).collect();
    assert_eq!(of_first.len(), CELL_FIGURES.len());
    for definition in CELL_FIGURES {
        let text = explain(&format!("cell[plans=10].{}", definition.key));
        let whole = NOT_IN_SQL
            .iter()
            .any(|(key, part, _)| *key == definition.key && *part == Part::Whole);
        assert_eq!(text.contains("\nWITH "), !whole, "{text}");
        assert!(text.contains(definition.estimator), "{text}");
    }
}

#[test]
fn an_unknown_figure_names_the_nearest_ones() {
    let output = program(&["analyze", RUN, "--explain", "cell[plans=10].diference.median"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("the nearest are cell[plans=10].difference.median, "),
        "{error}"
    );
    let output = program(&["analyze", RUN, RUN, "--explain", "cell[plans=10].difference.median"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn scripts_are_the_same_each_time() {
    let run = Path::new(RUN);
    assert_eq!(scripts(run), scripts(run));
    let [sql, python] = scripts(run);
    insta::assert_snapshot!("sql", sql);
    let head: Vec<&str> = python.lines().take(32).collect();
    insta::assert_snapshot!("python_head", head.join("\n"));
}

#[test]
fn scripts_say_every_figure_or_why_not() {
    let [sql, python] = scripts(Path::new(RUN));
    let left_out = |key: &str, of: &[LeftOut]| of.iter().any(|(k, part, _)| *k == key && *part == Part::Whole);
    for definition in CELL_FIGURES.iter().chain(SCALING_FIGURES) {
        let key = definition.key;
        assert_eq!(
            sql.contains(&format!("SELECT id || '.{key}', value")),
            !left_out(key, NOT_IN_SQL),
            "{key}"
        );
        // A side's figures are named without their side.
        let last = key.trim_start_matches("subject.").trim_start_matches("baseline.");
        let last = if last.starts_with('p') && last.len() == 3 {
            "p{percent}"
        } else {
            last
        };
        assert_eq!(
            python.contains(&format!("\"{last}\"")),
            !left_out(key, NOT_IN_PYTHON),
            "{key}"
        );
    }
    for (script, mark, of) in [(&sql, "--", NOT_IN_SQL), (&python, "#", NOT_IN_PYTHON)] {
        for (key, part, reason) in of {
            let line = format!("{mark} left out: {key} ({}): {reason}\n", part.as_str());
            assert!(script.contains(&line), "{line}");
        }
    }
}

/// A run with steps: both scripts say every figure of theirs; an older run's scripts don't mention them.
#[test]
fn scripts_say_the_figures_of_steps_where_there_are_steps() {
    let [sql, python] = scripts(Path::new(WITH_STEPS));
    for definition in STEP_FIGURES {
        let figure = format!("SELECT id || '.{}', value", definition.key);
        assert!(sql.contains(&figure), "{figure}");
    }
    assert!(sql.contains("/steps.parquet'") && python.contains("\"steps.parquet\""));
    let [sql, _] = scripts(Path::new(RUN));
    assert!(!sql.contains("step_times") && !sql.contains("steps.parquet"), "{sql}");
    let query = told(&[
        "analyze",
        WITH_STEPS,
        "--explain",
        "cell[plans=10].steps.difference.write",
    ]);
    assert!(
        query.contains("\nWITH ") && query.contains("/steps.parquet'"),
        "{query}"
    );
}

#[test]
fn scripts_of_an_unfinished_run_read_its_parts() {
    let directory = tempfile::tempdir().unwrap();
    let run = Synthetic::start(directory.path()).forks(1).directory();
    let [sql, python] = scripts(&run);
    for part in ["parts/00000", "parts/00001", "parts/00002", "parts/00003"] {
        for kind in ["pairs", "fork"] {
            let file = format!("{part}.{kind}.parquet");
            assert!(sql.contains(&file) && python.contains(&file), "{file}");
        }
    }
}

#[test]
fn a_run_without_a_fork_has_nothing_to_recompute() {
    let directory = tempfile::tempdir().unwrap();
    let run = Synthetic::start(directory.path()).directory().display().to_string();
    let output = program(&["recompute", &run, "--out", &run]);
    assert_eq!(output.status.code(), Some(5));
    let text = told(&["analyze", &run, "--explain", "cell[plans=10].difference.median"]);
    assert!(
        text.contains("No DuckDB query gives it: the run has no fork yet."),
        "{text}"
    );
}
