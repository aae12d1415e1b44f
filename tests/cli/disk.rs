//! A disk that refuses: not writable, full, or with a limit. What was measured before stays and is readable.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::unistd::geteuid;
use preview_cost::archive::Completeness;

use crate::remains::{ends_in, files_under, is_told_as_unfinished, ledger, read};
use crate::support::{Bench, Running, SMALL, Said, ask, edited, endless};

/// An id that owns nothing here.
const NOBODY: u32 = 65_534;

#[test]
fn results_that_cannot_be_made_are_told_before_anything_is_measured() {
    let bench = Bench::new(endless());
    fs::write(bench.path().join("file"), "x").unwrap();
    for results in ["file", "file/below", "/proc/results"] {
        let said = ask(&mut bench.command(&["run", "m.toml", "--results", results])).exits(7);
        assert!(
            said.message()
                .starts_with(&format!("preview-cost: cannot write {results}")),
            "{said:#?}"
        );
    }
    assert_eq!(bench.files(), ["file", "m.toml"]);
}

#[test]
fn results_without_permission_are_told_with_what_to_do() {
    let bench = Bench::new(endless());
    fs::create_dir(bench.results()).unwrap();
    fs::set_permissions(bench.results(), fs::Permissions::from_mode(0o555)).unwrap();
    let said = ask(&mut as_somebody_without_rights(&bench)).exits(7);
    assert!(said.message().contains("Permission denied"), "{said:#?}");
    assert!(
        said.message()
            .contains("make the directory writable, or name another with --results"),
        "{said:#?}"
    );
    assert_eq!(files_under(&bench.results()), Vec::<String>::new());
}

/// `run`, as a user to whom permissions apply: root hands a copy of the program to somebody else.
fn as_somebody_without_rights(bench: &Bench) -> Command {
    if !geteuid().is_root() {
        return bench.run();
    }
    let program = bench.path().join("program");
    fs::copy(env!("CARGO_BIN_EXE_preview-cost"), &program).unwrap();
    let mut command = Command::new(program);
    command.args(["run", "m.toml"]).current_dir(bench.path());
    command.uid(NOBODY).gid(NOBODY);
    command
}

/// Holds that a run was ended by the disk, and that what was measured before is there.
#[track_caller]
fn was_ended_by_the_disk(bench: &Bench, said: Said, planned: usize, reason: &str) {
    let said = said.exits(7);
    let (run, forks) = (bench.only_run(), bench.parts());
    let message = said.message();
    assert!(
        message.starts_with("preview-cost: cannot write results/") && message.contains(reason),
        "{message}"
    );
    let name = run.file_name().unwrap().to_str().unwrap();
    let advice = format!(
        "\n{forks} of {planned} forks are on disk; see them with: preview-cost analyze results/{name}\nmeasure "
    );
    assert!(message.contains(&advice), "{message}");
    is_told_as_unfinished(&run, forks);
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "failed"]);
    let torn = files_under(&run).into_iter().filter(|name| ends_in(name, "tmp"));
    assert_eq!(torn.count(), 0);
}

/// A start that can't be entered into the ledger is no start.
#[test]
fn a_ledger_that_cannot_be_written_stops_the_run_before_it_measures() {
    let bench = Bench::new(endless());
    fs::create_dir(bench.results()).unwrap();
    symlink("/nonexistent/ledger", bench.results().join("LEDGER.jsonl")).unwrap();
    let said = ask(&mut bench.run()).exits(7);
    assert!(
        said.message()
            .starts_with("preview-cost: cannot write results/LEDGER.jsonl: "),
        "{said:#?}"
    );
    assert_eq!(fs::read_dir(bench.results()).unwrap().count(), 1);
}

/// The part after next is written to the device that is always full.
#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_measured() {
    let bench = Bench::new(endless());
    let mut running = Running::start(&mut bench.run());
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    let next = bench.parts() + 2;
    symlink("/dev/full", bench.only_run().join(format!("parts/{next:05}.pairs.tmp"))).unwrap();
    let reason = "No space left on device (os error 28); make room: what was measured before is on disk";
    was_ended_by_the_disk(&bench, running.end(), 4_000, reason);
    assert_eq!(bench.parts(), next);
    let said = ask(bench.command(&["recover"]).arg(bench.only_run())).exits(0);
    let told = format!("sealed as incomplete, with {next} of 4000 forks: ");
    assert!(said.message().contains(&told), "{said:#?}");
}

/// Every part is within the limit, and the table of all pairs is beyond it: the run is whole and can't be sealed. The
/// shell takes the limit's signal away, as a batch system may, so that the write fails instead.
#[test]
fn a_run_that_cannot_be_sealed_keeps_every_fork() {
    let bench = Bench::new(edited(SMALL, &[("previews = 21", "previews = 100")]));
    let mut command = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" run m.toml";
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_preview-cost")])
        .current_dir(bench.path());
    was_ended_by_the_disk(&bench, ask(&mut command), 8, "pairs.parquet: File too large");
    assert_eq!(bench.parts(), 8);
    // Recovering meets the same limit, and loses nothing; without it, only the seal was missing.
    let run = bench.only_run();
    let mut command = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" recover results/*/";
    command.args(["-c", script, env!("CARGO_BIN_EXE_preview-cost")]);
    let said = ask(command.current_dir(bench.path())).exits(7);
    assert!(said.message().contains("pairs.parquet: File too large"), "{said:#?}");
    assert_eq!(bench.parts(), 8);
    let said = ask(bench.command(&["run", "--resume"]).arg(&run)).exits(0);
    assert!(said.messages()[0].starts_with("sealed "), "{said:#?}");
    let (archive, forks) = read(&run).unwrap();
    assert_eq!((archive.completeness, forks.len()), (Completeness::Sealed, 8));
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "failed", "recovered"]);
}
