//! `analyze --strict` prints the same figures, and ends otherwise when something must be known about them.

use std::process::{Command, Output};

const RUN: &str = "tests/fixtures/schema-1.0/20261130T120000Z-synthetic-7c76d6b7";

fn analyze(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .arg("analyze")
        .args(arguments)
        .output()
        .expect("the program starts")
}

#[test]
fn warnings_end_with_a_code_of_their_own_only_when_asked() {
    for format in ["table", "json"] {
        let lenient = analyze(&[RUN, "--format", format]);
        let strict = analyze(&[RUN, "--format", format, "--strict"]);
        assert_eq!((lenient.status.code(), strict.status.code()), (Some(0), Some(8)));
        assert_eq!(lenient.stdout, strict.stdout, "the figures are the same");
        assert!(lenient.stderr.is_empty());
        let said = String::from_utf8_lossy(&strict.stderr).into_owned();
        assert!(said.contains("--strict asked for none"), "{said}");
    }
}

#[test]
fn strict_means_nothing_where_no_figures_are_printed() {
    let output = analyze(&["--check", "README.md", "--strict"]);
    assert_eq!(output.status.code(), Some(2));
}
