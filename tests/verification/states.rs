//! The states that exit codes tell apart, from the command line.

use std::fs;
use std::path::Path;

use crate::{Copy, TINY, measured, only_run, program};

#[track_caller]
fn exits(arguments: &[&str], directory: &Path, code: i32) -> String {
    let output = program(arguments, directory);
    let told = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    told
}

fn name(copy: &Copy) -> String {
    copy.run().file_name().unwrap().to_str().unwrap().to_owned()
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn a_whole_run_is_told_and_nothing_is_written() {
    let copy = Copy::new();
    let before = files(&copy.run());
    let told = exits(&["verify", &name(&copy)], copy.0.path(), 0);
    assert!(told.contains("start 1 of 1 under this registration"), "{told}");
    assert!(told.contains("within-a-second: holds"), "{told}");
    assert_eq!(exits(&["verify", "."], &copy.run(), 0), told);
    assert_eq!(files(&copy.run()), before);

    let json = exits(&["verify", &name(&copy), "--format", "json"], copy.0.path(), 0);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["outcome"], "ok");
    assert!(told.contains(json[0]["root"].as_str().unwrap()));
}

#[test]
fn a_claim_that_fails_is_told_apart() {
    let fails = TINY.replace("value = 1000000000", "value = -1000000000");
    let directory = measured(&fails);
    let run = only_run(&directory.path().join("results"));
    let told = exits(&["verify", run.to_str().unwrap()], directory.path(), 9);
    assert!(told.contains("within-a-second: fails"), "{told}");
}

#[test]
fn what_is_altered_is_told_apart() {
    let copy = Copy::new();
    fs::write(copy.run().join("manifest.toml"), TINY.replace("every", "any")).unwrap();
    let told = exits(&["verify", &name(&copy)], copy.0.path(), 10);
    assert!(told.contains("not what SHA256SUMS says: manifest.toml"), "{told}");
}

#[test]
fn what_is_not_here_is_told_apart() {
    let copy = Copy::new();
    fs::remove_file(copy.run().join("pairs.parquet")).unwrap();
    let told = exits(&["verify", &name(&copy)], copy.0.path(), 12);
    assert!(told.contains("these are not here: pairs.parquet"), "{told}");

    let copy = Copy::new();
    fs::remove_file(copy.ledger()).unwrap();
    let told = exits(&["verify", &name(&copy)], copy.0.path(), 12);
    assert!(told.contains("there is no LEDGER.jsonl"), "{told}");

    let empty = tempfile::tempdir().unwrap();
    exits(&["verify", "."], empty.path(), 12);
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/schema-1.0/20261130T120000Z-synthetic-7c76d6b7"
    );
    let told = exits(&["verify", fixture], empty.path(), 10);
    assert!(told.contains("before runs had a chain"), "{told}");
}

/// One who fetches the files of a release may put the ledger beside the run's own files.
#[test]
fn a_ledger_among_the_files_of_a_run_will_do() {
    let copy = Copy::new();
    fs::rename(copy.ledger(), copy.run().join("LEDGER.jsonl")).unwrap();
    exits(&["verify", "."], &copy.run(), 0);
}

#[test]
fn files_of_several_runs_side_by_side_are_taken_run_by_run() {
    let flat = tempfile::tempdir().unwrap();
    let copy = Copy::new();
    let run = name(&copy);
    for entry in fs::read_dir(copy.run()).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        fs::copy(&path, flat.path().join(format!("{run}.{file}"))).unwrap();
    }
    fs::copy(copy.ledger(), flat.path().join("LEDGER.jsonl")).unwrap();
    let told = exits(&["verify", "."], flat.path(), 0);
    assert!(told.contains(&format!("{run}: ok\n")), "{told}");
    fs::write(flat.path().join(format!("{run}.cells.parquet")), "no").unwrap();
    exits(&["verify", "."], flat.path(), 10);
}

#[test]
fn a_number_that_is_not_its_archives_is_told() {
    let copy = Copy::new();
    let figure = |value: &str| {
        format!(
            "<!-- fig:{} cell[plans=2].pairs.ok -->{value}<!-- /fig -->\n",
            name(&copy)
        )
    };
    fs::write(copy.0.path().join("README.md"), figure("36 pairs")).unwrap();
    exits(&["verify", &name(&copy), "--against", "README.md"], copy.0.path(), 0);
    fs::write(copy.0.path().join("README.md"), figure("37 pairs")).unwrap();
    exits(&["verify", &name(&copy), "--against", "README.md"], copy.0.path(), 10);
}

#[test]
fn a_packed_run_is_verified_where_it_lies() {
    let directory = measured(TINY);
    let run = only_run(&directory.path().join("results"));
    let citation = concat!(env!("CARGO_MANIFEST_DIR"), "/CITATION.cff");
    exits(
        &["pack", run.to_str().unwrap(), "--out", "packed", "--citation", citation],
        directory.path(),
        0,
    );
    let told = exits(&["verify", "packed"], directory.path(), 0);
    assert!(told.contains("start 1 of 1 under this registration"), "{told}");
    let figures = exits(&["analyze", "packed"], directory.path(), 0);
    assert_eq!(figures, exits(&["analyze", run.to_str().unwrap()], directory.path(), 0));
    for name in ["cells.parquet", "report.html", "README.md", "SHA256SUMS"] {
        let path = directory.path().join("packed").join(name);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [whole.as_slice(), b"x"].concat()).unwrap();
        exits(&["verify", "packed"], directory.path(), 10);
        fs::write(&path, &whole).unwrap();
    }
    let script = directory.path().join("packed/recompute.py");
    fs::remove_file(script).unwrap();
    exits(&["verify", "packed"], directory.path(), 12);
}

#[test]
fn claims_of_a_run_that_was_not_registered_are_notes() {
    let fails = TINY.replace("value = 1000000000", "value = -1000000000");
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("tiny.toml"), fails).unwrap();
    exits(&["run", "tiny.toml"], directory.path(), 0);
    exits(&["register", "tiny.toml"], directory.path(), 0);
    exits(&["run", "tiny.toml"], directory.path(), 0);
    let results = directory.path().join("results");
    let mut runs: Vec<_> = fs::read_dir(&results)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    runs.retain(|path| path.is_dir());
    runs.sort();
    let first = exits(&["verify", runs[0].to_str().unwrap()], directory.path(), 0);
    assert!(
        first.contains("fails, in an exploratory run, which confirms nothing"),
        "{first}"
    );
    let second = exits(&["verify", runs[1].to_str().unwrap()], directory.path(), 9);
    assert!(
        second.contains("starts of this very manifest before it was registered: 1"),
        "{second}"
    );
}
