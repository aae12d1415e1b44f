//! `generate`: completions and manual pages are not empty, and the schema fits what is printed.

use std::fs;

use serde_json::Value;

use super::{FIXTURE, committed, told};

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = told(&["generate", "completions", shell]);
        for word in ["analyze", "pack", "citation"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    told(&["generate", "man", "--out", directory.path().to_str().unwrap()]);
    for name in [
        "",
        "-run",
        "-analyze",
        "-pack",
        "-cite",
        "-generate",
        "-generate-man",
        "-doctor",
    ] {
        let path = directory.path().join(format!("preview-cost{name}.1"));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            page.contains(".SH NAME") && page.contains(".SH OPTIONS"),
            "{}",
            path.display()
        );
    }
    assert!(!directory.path().join("preview-cost-worker.1").exists());
}

#[test]
fn what_analyze_prints_fits_the_schema() {
    let schema: Value = serde_json::from_str(&told(&["generate", "schema"])).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut runs = vec![FIXTURE.to_owned()];
    runs.extend(committed().iter().map(|run| run.display().to_string()));
    for run in &runs {
        let printed: Value = serde_json::from_str(&told(&["analyze", run, "--format", "json"])).unwrap();
        let faults: Vec<String> = validator.iter_errors(&printed).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{run}: {faults:?}");
        // The schema can tell: what is bent does not fit.
        for (pointer, bent) in [
            ("/version", Value::from(1)),
            ("/runs/0/state", Value::from("paused")),
            ("/runs/0/figures/0/value", Value::from("1")),
            ("/runs/0/figures/0/id", Value::Null),
        ] {
            let mut printed = printed.clone();
            *printed.pointer_mut(pointer).unwrap() = bent;
            assert!(!validator.is_valid(&printed), "{pointer}");
        }
    }
}
