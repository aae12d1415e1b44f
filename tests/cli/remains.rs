//! What a run leaves on disk: its files, its ledger, and what `analyze` makes of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use preview_cost::archive::{Archive, ForkPairs, ReadError};
use preview_cost::digest;
use serde_json::Value;

use crate::support::{ask, program};

/// Whether a file's name ends so.
pub fn ends_in(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}

/// Number of forks whose parts are durable in an unfinished run.
pub fn parts_of(run: &Path) -> usize {
    let parts = files_under(&run.join("parts"));
    parts.iter().filter(|name| ends_in(name, "sums")).count()
}

/// Every file under a directory, by its path from there, sorted.
pub fn files_under(directory: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return files;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            files.extend(files_under(&path).iter().map(|below| format!("{name}/{below}")));
        } else {
            files.push(name);
        }
    }
    files.sort();
    files
}

/// Copies a run to another place.
pub fn copy(from: &Path, to: &Path) {
    for file in files_under(from) {
        let target = to.join(&file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(from.join(&file), target).unwrap();
    }
    fs::create_dir_all(to).unwrap();
}

/// The states of each line of the ledger, whose chain must hold; `None` for the run's name picks all.
#[track_caller]
pub fn ledger(results: &Path, run: Option<&Path>) -> Vec<String> {
    let text = fs::read_to_string(results.join("LEDGER.jsonl")).unwrap();
    let mut previous = Value::Null;
    let mut states = Vec::new();
    for (seq, line) in text.lines().enumerate() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&entry["seq"], &entry["previous"]),
            (&Value::from(seq), &previous),
            "{text}"
        );
        previous = Value::from(digest::of_bytes(line));
        let named = run.is_none_or(|run| entry["run"] == run.file_name().unwrap().to_str().unwrap());
        if named {
            states.push(entry["state"].as_str().unwrap().to_owned());
        }
    }
    states
}

/// `analyze` of one run, in a format.
pub fn analyze(run: &Path, format: &str) -> Command {
    let mut command = program();
    command.arg("analyze").arg(run).args(["--format", format]);
    command
}

/// Reads all of a run within this process.
pub fn read(run: &Path) -> Result<(Archive, Vec<ForkPairs>), ReadError> {
    let archive = Archive::open(run)?;
    let mut forks = Vec::new();
    archive.for_each_fork(|fork| forks.push(fork))?;
    Ok((archive, forks))
}

/// Holds that a run cut short is readable, with so many forks, and says everywhere that it is unfinished.
#[track_caller]
pub fn is_told_as_unfinished(run: &Path, forks: usize) {
    let table = ask(&mut analyze(run, "table")).exits(0).stdout;
    assert!(table.contains(&format!("UNFINISHED RUN: {forks} of ")), "{table}");
    assert!(table.contains("every figure is provisional"), "{table}");
    let markdown = ask(&mut analyze(run, "markdown")).exits(0).stdout;
    assert!(markdown.contains("> UNFINISHED RUN: "), "{markdown}");
    let json: Value = serde_json::from_str(&ask(&mut analyze(run, "json")).exits(0).stdout).unwrap();
    assert_eq!(json["runs"][0]["state"], "unfinished");
    let figures = json["runs"][0]["figures"].as_array().unwrap();
    assert!(!figures.is_empty() && figures.iter().all(|figure| figure["provisional"] == true));
    let csv = ask(&mut analyze(run, "csv")).exits(0).stdout;
    assert!(csv.lines().skip(1).all(|line| line.contains(",unfinished,")), "{csv}");
    assert!(!run.join("SHA256SUMS").exists());
}
