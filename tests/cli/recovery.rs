//! `recover` and `run --resume`, as a user meets them.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use preview_cost::archive::{Archive, Completeness};
use serde_json::Value;

use crate::processes::child_as;
use crate::remains::{analyze, copy, files_under, ledger, parts_of, read};
use crate::server::Database;
use crate::support::{Bench, Running, SMALL, ask, edited, endless};

/// A run that was killed when it had some of its eight forks.
fn broken_off() -> (Bench, std::path::PathBuf) {
    let bench = Bench::new(edited(SMALL, &[("previews = 21", "previews = 400")]));
    let mut running = Running::start(&mut bench.run());
    running.until("two forks are on disk", || (bench.parts() >= 2).then_some(()));
    running.signal(Signal::SIGKILL);
    running.end().dies_of(Signal::SIGKILL);
    let run = bench.only_run();
    assert!(parts_of(&run) < 8);
    (bench, run)
}

fn recover(run: &Path) -> Command {
    let mut command = crate::support::program();
    command.arg("recover").arg(run);
    command
}

fn resume(run: &Path) -> Command {
    let mut command = crate::support::program();
    command.args(["run", "--resume"]).arg(run);
    command
}

#[test]
fn what_is_whole_is_sealed_and_told_as_incomplete_everywhere() {
    let (bench, run) = broken_off();
    let forks = parts_of(&run);
    let said = ask(&mut recover(&run)).exits(0);
    let shown = run.display();
    assert_eq!(
        said.message(),
        format!("preview-cost: sealed as incomplete, with {forks} of 8 forks: {shown}\n")
    );
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "recovered"]);
    let table = ask(&mut analyze(&run, "table")).exits(0).stdout;
    let told = format!("INCOMPLETE RUN: {forks} of 8 forks are there, and every figure is provisional.");
    assert!(table.contains(&told), "{table}");
    let json: Value = serde_json::from_str(&ask(&mut analyze(&run, "json")).exits(0).stdout).unwrap();
    assert_eq!(json["runs"][0]["state"], "incomplete");
    let figures = json["runs"][0]["figures"].as_array().unwrap();
    assert!(!figures.is_empty() && figures.iter().all(|figure| figure["provisional"] == true));
    let csv = ask(&mut analyze(&run, "csv")).exits(0).stdout;
    assert!(csv.lines().skip(1).all(|line| line.contains(",incomplete,")), "{csv}");
    ask(&mut bench.command(&["report", run.to_str().unwrap(), "--out", "page.html"])).exits(0);
    let page = fs::read_to_string(bench.path().join("page.html")).unwrap();
    assert!(page.contains("INCOMPLETE RUN") && page.contains("(incomplete)") && page.contains("sha256sum --check"));
}

#[test]
fn a_sealed_run_stays_as_it_is() {
    let (bench, run) = broken_off();
    ask(&mut recover(&run)).exits(0);
    let sums = fs::read_to_string(run.join("SHA256SUMS")).unwrap();
    let said = ask(&mut recover(&run)).exits(0);
    assert!(
        said.message().ends_with("is sealed already, as an incomplete run\n"),
        "{said:#?}"
    );
    let said = ask(&mut resume(&run)).exits(2);
    assert!(said.message().contains("is sealed, and sealed is final"), "{said:#?}");
    assert_eq!(fs::read_to_string(run.join("SHA256SUMS")).unwrap(), sums);
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "recovered"]);
    let whole = crate::samples::sealed(0);
    let said = ask(&mut recover(whole)).exits(0);
    assert!(said.message().ends_with("is sealed already\n"), "{said:#?}");
}

#[test]
fn a_run_whose_process_lives_is_left_alone() {
    let bench = Bench::new(endless());
    let mut running = Running::start(&mut bench.run());
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    let run = bench.only_run();
    for command in [&mut recover(&run), &mut resume(&run)] {
        let said = ask(command).exits(2);
        assert!(said.message().contains("is still running"), "{said:#?}");
    }
    let forks = bench.parts();
    running.until("it goes on", || (bench.parts() > forks).then_some(()));
    running.signal(Signal::SIGINT);
    let said = running.end().exits(130);
    assert!(
        said.message().contains("preview-cost run --resume results/"),
        "{said:#?}"
    );
}

#[test]
fn the_missing_forks_are_measured_and_the_run_is_complete() {
    let (bench, run) = broken_off();
    let before = Archive::open(&run).unwrap().forks;
    let said = ask(&mut resume(&run)).exits(0);
    assert!(said.stdout.contains("Measured in 2 sessions, with "), "{said:#?}");
    let (archive, _) = read(&run).unwrap();
    assert_eq!(archive.completeness, Completeness::Sealed);
    assert_eq!(archive.chain_faults().unwrap(), []);
    assert_eq!(archive.forks.len(), 8);
    for fork in &archive.forks {
        let stored = before.iter().find(|other| other.position == fork.position);
        assert!(
            stored.is_none_or(|stored| stored == fork),
            "what was measured stays as it was"
        );
        assert_eq!(fork.session, Some(u32::from(stored.is_none())));
    }
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "resumed", "finished"]);
    ask(bench.command(&["verify"]).arg(&run)).exits(0);
}

/// Killed again and again, it gets there.
#[test]
fn a_run_can_be_resumed_more_than_once() {
    let (bench, run) = broken_off();
    let forks = parts_of(&run);
    let mut running = Running::start(&mut resume(&run));
    running.until("one more fork is on disk", || (bench.parts() > forks).then_some(()));
    let supervisor = running.pid();
    if child_as(supervisor, "worker").is_some() {
        running.signal(Signal::SIGKILL);
    }
    running.end();
    ask(&mut resume(&run));
    let (archive, _) = read(&run).unwrap();
    assert_eq!((archive.completeness, archive.forks.len()), (Completeness::Sealed, 8));
    assert_eq!(archive.chain_faults().unwrap(), []);
}

#[test]
fn a_lost_fork_is_measured_anew() {
    let (_bench, run) = broken_off();
    fs::remove_file(run.join("parts/00000.sums")).unwrap();
    ask(&mut resume(&run)).exits(0);
    let (archive, _) = read(&run).unwrap();
    assert_eq!(archive.chain_faults().unwrap(), []);
    let first = archive.forks.iter().find(|fork| fork.position == 0).unwrap();
    assert_eq!((archive.completeness, first.session), (Completeness::Sealed, Some(1)));
}

#[test]
fn another_build_does_not_go_on_with_a_run() {
    let (bench, run) = broken_off();
    let other = bench.path().join("other");
    fs::copy(env!("CARGO_BIN_EXE_preview-cost"), &other).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    OpenOptions::new()
        .append(true)
        .open(&other)
        .unwrap()
        .write_all(b"x")
        .unwrap();
    let before = files_under(&run);
    let said = ask(Command::new(other).args(["run", "--resume"]).arg(&run)).exits(2);
    let message = said.message();
    assert!(
        message.contains("executable then: ") && message.contains("executable now: ") && message.contains("new run"),
        "{message}"
    );
    assert_eq!(files_under(&run), before);
}

#[test]
fn a_manifest_beside_resume_is_refused() {
    let (bench, run) = broken_off();
    let said = ask(bench.command(&["run", "m.toml", "--resume"]).arg(&run)).exits(2);
    assert!(said.stderr.contains("cannot be used with"), "{said:#?}");
}

#[test]
fn a_run_without_a_whole_fork_is_sealed_with_none() {
    let (_bench, run) = broken_off();
    for part in files_under(&run.join("parts")) {
        fs::remove_file(run.join("parts").join(part)).unwrap();
    }
    let said = ask(&mut recover(&run)).exits(0);
    assert!(
        said.messages()[0].starts_with("sealed as incomplete, with 0 of 8 forks: "),
        "{said:#?}"
    );
    assert!(
        said.messages()[1].starts_with("measured, and lost: fork 0 of cell "),
        "{said:#?}"
    );
    let table = ask(&mut analyze(&run, "table")).exits(0).stdout;
    assert!(table.contains("INCOMPLETE RUN: 0 of 8 forks"), "{table}");
}

#[test]
fn a_run_that_was_never_announced_is_removed_unless_something_else_lies_there() {
    let bench = Bench::new(SMALL);
    let run = bench.results().join("run");
    fs::create_dir_all(run.join("parts")).unwrap();
    fs::copy(bench.path().join("m.toml"), run.join("manifest.toml")).unwrap();
    fs::write(run.join("notes.txt"), "mine").unwrap();
    ask(&mut recover(&run)).exits(5);
    fs::remove_file(run.join("notes.txt")).unwrap();
    let said = ask(&mut resume(&run)).exits(2);
    assert!(said.message().contains("before anything was announced"), "{said:#?}");
    let said = ask(&mut recover(&run)).exits(0);
    assert!(said.message().contains("was removed"), "{said:#?}");
    assert!(!run.exists());
}

#[test]
fn what_is_no_run_is_told_as_such() {
    let bench = Bench::new(SMALL);
    for command in [
        &mut bench.command(&["recover", "."]),
        &mut bench.command(&["recover", "nowhere"]),
    ] {
        let said = ask(command).exits(5);
        assert!(said.message().contains("is not a run"), "{said:#?}");
    }
}

/// The server's own schema outlives a kill -9; it is named, and the run goes on in another.
#[test]
fn a_run_at_a_url_is_resumed_there_and_what_is_left_is_named() {
    let database = Database::new();
    let memory = "engine = \"sqlite\"\nstorage = \"memory\"";
    let container = "engine = \"postgres\"\nprovision = \"container\"\nimage = \"nothing:0\"";
    let bench = Bench::new(edited(
        SMALL,
        &[(memory, container), ("previews = 21", "previews = 200")],
    ));
    let url = database.url("postgres");
    let mut running = Running::start(bench.run().args(["--url", &url]));
    running.until("two forks are on disk", || (bench.parts() >= 2).then_some(()));
    running.signal(Signal::SIGKILL);
    running.end().dies_of(Signal::SIGKILL);
    let run = bench.only_run();
    let schema = database.contents().into_iter().find_map(|name| {
        let schema = name.split('.').next().unwrap().to_owned();
        schema.starts_with("preview_cost_").then_some(schema)
    });
    let schema = schema.expect("a killed run leaves its schema");
    let other = run.with_extension("copy");
    copy(&run, &other);
    let said = ask(&mut recover(&other)).exits(0);
    assert!(
        said.messages()[1].starts_with(&format!("the schema {schema} may be left on the server")),
        "{said:#?}"
    );
    let said = ask(&mut resume(&run)).exits(2);
    assert!(said.message().contains("give the same --url again"), "{said:#?}");
    ask(resume(&run).args(["--url", &url])).exits(0);
    let (archive, _) = read(&run).unwrap();
    assert_eq!((archive.completeness, archive.forks.len()), (Completeness::Sealed, 8));
    assert_eq!(archive.chain_faults().unwrap(), []);
    let left: Vec<String> = database.contents();
    assert!(
        left.iter()
            .filter(|name| name.starts_with("preview_cost_"))
            .all(|name| name.starts_with(&schema))
    );
}
