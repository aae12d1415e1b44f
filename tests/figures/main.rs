//! Figures and archives against what is known: a made-up run, its fixture for every schema version, and brute force.

mod synthetic;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use preview_cost::archive::{Archive, Completeness};
use synthetic::{FORKS, Synthetic};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
const RUN: &str = "20261130T120000Z-synthetic-7c76d6b7";

fn analyze(arguments: &[&str], run: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .arg("analyze")
        .args(arguments)
        .arg(run)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the program writes UTF-8")
}

fn fixture(version: &str) -> PathBuf {
    let versions = Path::new(FIXTURES).join(format!("schema-{version}"));
    let mut runs = fs::read_dir(&versions)
        .expect("the fixture is there")
        .map(|entry| entry.unwrap().path());
    runs.find(|path| path.is_dir()).expect("the fixture holds a run")
}

/// What a version ever wrote stays readable, and its figures stay what they were.
#[test]
fn archives_of_schema_1_0_give_the_figures_that_they_gave() {
    let run = fixture("1.0");
    insta::assert_snapshot!("table", analyze(&[], &run));
    insta::assert_snapshot!("markdown", analyze(&["--format", "markdown"], &run));
    insta::assert_snapshot!("json", analyze(&["--format", "json"], &run));
    insta::assert_snapshot!("csv", analyze(&["--format", "csv"], &run));
}

#[test]
fn archives_of_schema_1_1_give_the_same_figures() {
    let figures = |version| analyze(&["--format", "csv"], &fixture(version));
    assert_eq!(figures("1.1"), figures("1.0"));
}

/// What schema 1.2 brought: steps, and what passed the proxy.
#[test]
fn archives_of_schema_1_2_tell_steps_and_distances_too() {
    let told = analyze(&["--format", "csv"], &fixture("1.2"));
    let of_schema_1_0 = analyze(&["--format", "csv"], &fixture("1.0"));
    // The same cells give the same figures; only Holm's adjustment counts the cells.
    for line in of_schema_1_0
        .lines()
        .skip(1)
        .filter(|line| !line.contains(".verdict.p,"))
    {
        assert!(told.contains(line), "{line}");
    }
    insta::assert_snapshot!("steps", analyze(&["--only", "steps"], &fixture("1.2")));
    insta::assert_snapshot!("distance", analyze(&["--only", "distance"], &fixture("1.2")));
}

#[test]
fn equal_data_gives_equal_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let run = Synthetic::start(directory.path()).forks(FORKS).seal();
    let fixture = fixture(preview_cost::archive::SCHEMA_VERSION);
    let names = |directory: &Path| {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names(&run),
        names(&fixture),
        "a sealed run holds these files and no others"
    );
    // The chain begins with the ledger's line of the start, which holds the time; the sums name the chain.
    let timeless = |name: &std::ffi::OsString| name != "chain.jsonl" && name != "SHA256SUMS";
    for name in names(&run).into_iter().filter(timeless) {
        let (written, stored) = (
            fs::read(run.join(&name)).unwrap(),
            fs::read(fixture.join(&name)).unwrap(),
        );
        assert!(written == stored, "{} is written as it always was", name.display());
    }
}

#[test]
fn an_unfinished_run_is_readable_and_says_so_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let run = Synthetic::start(directory.path()).forks(2).directory();
    let archive = Archive::open(&run).unwrap();
    assert_eq!(
        (archive.completeness, archive.forks.len()),
        (Completeness::Unfinished, 12)
    );
    insta::assert_snapshot!("unfinished", analyze(&[], &run));
    let csv = analyze(&["--format", "csv"], &run);
    assert!(csv.lines().skip(1).all(|line| line.contains(",unfinished,")), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&analyze(&["--format", "json"], &run)).unwrap();
    let figures = json["runs"][0]["figures"].as_array().unwrap();
    assert!(!figures.is_empty() && figures.iter().all(|figure| figure["provisional"] == true));
}

#[test]
fn a_run_without_a_single_fork_has_no_figures_and_no_panic() {
    let directory = tempfile::tempdir().unwrap();
    let run = Synthetic::start(directory.path()).directory();
    let table = analyze(&[], &run);
    assert!(table.contains("UNFINISHED RUN: 0 of 18 forks"), "{table}");
}

#[test]
fn several_runs_stand_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    let other = Synthetic::start(directory.path()).forks(2).directory();
    let output = Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .args(["analyze", "--format", "markdown"])
        .args([&fixture("1.0"), &other])
        .output()
        .unwrap();
    insta::assert_snapshot!("side_by_side", String::from_utf8(output.stdout).unwrap());
}

/// Writes the fixture of the present schema version anew: `UPDATE_FIXTURE=1 cargo test --test figures`. Older versions
/// are never written again.
#[test]
fn the_fixture_of_the_present_version_is_made_here() {
    if std::env::var_os("UPDATE_FIXTURE").is_none() {
        assert!(fixture(preview_cost::archive::SCHEMA_VERSION).ends_with(RUN));
        return;
    }
    let directory = Path::new(FIXTURES).join(format!("schema-{}", preview_cost::archive::SCHEMA_VERSION));
    let _ = fs::remove_dir_all(&directory);
    Synthetic::start(&directory).forks(FORKS).seal();
    fs::remove_file(directory.join("LEDGER.jsonl")).unwrap();
}

#[test]
fn runs_are_held_against_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let other = Synthetic::start(directory.path()).forks(2).directory();
    let output = Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .args(["compare", "--format", "markdown"])
        .args([&fixture("1.0"), &other])
        .output()
        .unwrap();
    insta::assert_snapshot!("compare", String::from_utf8(output.stdout).unwrap());
}
