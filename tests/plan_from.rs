//! `plan --from`: what a run that was really measured says about the next one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MANIFEST: &str = r#"# A comment.
name = "tiny"
title = "A tiny run"
question = "How long does a tiny run take?"

[backend]
engine = "sqlite"

[grid]
plans = [2, 4]
subjects = ["rollback"]
baseline = "copy"

[measure]
seed = 1
forks = 3
previews = 12
warmup = 2

[figures]
margin_ms = 5.0
"#;

fn program(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn told(arguments: &[&Path]) -> String {
    let output = program(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the program writes UTF-8")
}

fn written(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn measured(directory: &Path, manifest: &Path) -> PathBuf {
    let results = directory.join("results");
    told(&["run".as_ref(), manifest, "--results".as_ref(), &results]);
    let mut entries = fs::read_dir(&results).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.is_dir()).unwrap()
}

/// What stands after the plan itself, with the forks needed and the times, which differ from run to run, taken out.
fn outlook(text: &str) -> String {
    let from = text.find("\nFrom the run ").expect("the run is named");
    let plain = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [cell, forks, _, time, "s"] if cell.contains("[plans=") && time.parse::<f64>().is_ok() => {
                format!("{cell} {forks} N T")
            }
            _ => line.to_owned(),
        }
    };
    text[from..].lines().map(plain).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_says_how_many_forks_are_enough_and_how_long_they_take() {
    let directory = tempfile::tempdir().unwrap();
    let manifest = written(directory.path(), "tiny.toml", MANIFEST);
    let run = measured(directory.path(), &manifest);
    let plan: &Path = "plan".as_ref();
    let from: &Path = "--from".as_ref();

    let own = told(&[plan, from, &run]);
    assert_eq!(
        own,
        told(&[plan, &manifest, from, &run]),
        "the run's own manifest is taken where none is named"
    );
    let text = outlook(&own);
    for cell in ["cell[plans=2]", "cell[plans=4]", "control[plans=2]", "control[plans=4]"] {
        assert!(text.contains(&format!("{cell} 3 N T")), "{text}");
    }
    assert!(text.contains("at most ± 2.50 ms, half the margin"), "{text}");
    assert!(text.contains("As planned, the forks take about "), "{text}");
    assert!(
        !text.contains("WARNING") && !text.contains("differs in comments"),
        "{text}"
    );

    let comment = written(
        directory.path(),
        "comment.toml",
        &MANIFEST.replace("# A comment.", "# Another."),
    );
    let text = outlook(&told(&[plan, &comment, from, &run]));
    assert!(text.contains("differs in comments or layout only"), "{text}");

    let other = MANIFEST
        .replace("previews = 12", "previews = 300")
        .replace("margin_ms = 5.0", "margin_ms = 6.0")
        .replace("plans = [2, 4]", "plans = [2, 8]")
        .replace("a tiny run take", "it take");
    let other = written(directory.path(), "other.toml", &other);
    let text = outlook(&told(&[plan, &other, from, &run]));
    for line in [
        "WARNING: that run measured something else",
        "  manifest.question\n",
        "  grid.plans: run 2, 4; manifest 2, 8",
        "  measure.previews: run 12; manifest 300",
        "  figures.margin: run 5000000; manifest 6000000",
        "As planned, the forks take a time that the run can't tell",
        "No number of forks can be named",
        "at most ± 3.00 ms",
    ] {
        assert!(text.contains(line), "{line} is missing: {text}");
    }
    let unknown = text.lines().find(|line| line.contains("cell[plans=8]")).unwrap();
    assert!(
        unknown.contains("unknown: fewer than 2 measured") && !text.contains("measure.seed"),
        "{text}"
    );
}

#[test]
fn a_plan_needs_a_manifest_or_a_run() {
    assert_eq!(program(&["plan".as_ref()]).status.code(), Some(2));
    let directory = tempfile::tempdir().unwrap();
    let manifest = written(directory.path(), "tiny.toml", MANIFEST);
    let output = program(&["plan".as_ref(), &manifest, "--from".as_ref(), directory.path()]);
    assert_eq!(
        output.status.code(),
        Some(5),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
