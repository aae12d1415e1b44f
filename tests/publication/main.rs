//! What one publishes: packed directories, citations, and what is generated.

mod cite;
mod generate;
mod pack;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FIXTURE: &str = "tests/fixtures/schema-1.0/20261130T120000Z-synthetic-7c76d6b7";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program in the repository's directory.
fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .current_dir(root())
        .args(arguments)
        .output()
        .expect("the program starts")
}

#[track_caller]
fn told(arguments: &[&str]) -> String {
    let output = program(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the program writes UTF-8")
}

/// What it says when it ends with this code.
#[track_caller]
fn refusal(arguments: &[&str], code: i32) -> String {
    let output = program(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{message}");
    message
}

/// A copy of the fixture under another run's directory name and with another place.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The committed runs.
fn committed() -> Vec<PathBuf> {
    let mut runs: Vec<PathBuf> = std::fs::read_dir(root().join("results"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    runs.sort();
    runs
}
