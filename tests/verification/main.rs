//! `verify` against a small registered run that is flipped, swapped, cut and lied about in every way that we know.

mod bent;
mod flips;
#[path = "../sealing/mod.rs"]
mod sealing;
mod states;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

use preview_cost::verification::{Outcome, verify, worst};
use tempfile::TempDir;

const TINY: &str = include_str!("tiny.toml");

fn program(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

/// A results directory with one sealed run of a registered manifest.
fn measured(manifest: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("tiny.toml"), manifest).unwrap();
    for arguments in [["register", "tiny.toml"], ["run", "tiny.toml"]] {
        let output = program(&arguments, directory.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    directory
}

fn only_run(results: &Path) -> PathBuf {
    let mut runs = fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path());
    runs.find(|path| path.is_dir()).unwrap()
}

/// A copy of the results directory of one and the same run, to be bent.
struct Copy(TempDir);

impl Copy {
    fn new() -> Self {
        static WHOLE: OnceLock<TempDir> = OnceLock::new();
        let whole = WHOLE.get_or_init(|| measured(TINY)).path().join("results");
        let copy = tempfile::tempdir().unwrap();
        let run = only_run(&whole);
        fs::create_dir(copy.path().join(run.file_name().unwrap())).unwrap();
        fs::copy(whole.join("LEDGER.jsonl"), copy.path().join("LEDGER.jsonl")).unwrap();
        for entry in fs::read_dir(&run).unwrap() {
            let path = entry.unwrap().path();
            let name = Path::new(run.file_name().unwrap()).join(path.file_name().unwrap());
            fs::copy(&path, copy.path().join(name)).unwrap();
        }
        Self(copy)
    }

    fn run(&self) -> PathBuf {
        only_run(self.0.path())
    }

    fn ledger(&self) -> PathBuf {
        self.0.path().join("LEDGER.jsonl")
    }

    fn outcome(&self) -> Outcome {
        worst(&verify(&self.run()).findings)
    }
}

/// What is told of a run in which something is wrong.
fn told(run: &Path) -> String {
    let findings = verify(run).findings.into_iter();
    let wrong = findings.filter(|finding| finding.outcome > Outcome::Noted);
    let lines: Vec<String> = wrong
        .map(|finding| format!("{}: {}", finding.check, finding.detail))
        .collect();
    lines.join("\n")
}
