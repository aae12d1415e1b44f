//! A disk that refuses: not writable, full, or with a limit. What was measured before stays and is readable.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::unistd::geteuid;

use crate::support::{Bench, Running, Said, ask, endless, files_under, is_told_as_unfinished, ledger};

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

/// Root may write everywhere, so it hands the program to somebody who may not.
fn as_somebody_else(command: &mut Command, bench: &Bench) {
    if geteuid().is_root() {
        let program = bench.path().join("program");
        fs::copy(env!("CARGO_BIN_EXE_preview-cost"), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
}

#[test]
fn results_without_permission_are_told_with_what_to_do() {
    let bench = Bench::new(endless());
    let program = bench.path().join("program");
    let mut command = bench.run();
    as_somebody_else(&mut command, &bench);
    if program.exists() {
        command = Command::new(&program);
        command
            .args(["run", "m.toml"])
            .current_dir(bench.path())
            .uid(NOBODY)
            .gid(NOBODY);
    }
    fs::create_dir(bench.results()).unwrap();
    fs::set_permissions(bench.results(), fs::Permissions::from_mode(0o555)).unwrap();
    let said = ask(&mut command).exits(7);
    assert!(said.message().contains("Permission denied"), "{said:#?}");
    assert!(
        said.message()
            .contains("make the directory writable, or name another with --results"),
        "{said:#?}"
    );
    assert_eq!(files_under(&bench.results()), Vec::<String>::new());
}

/// Runs until the system refuses a part; gives what was said.
#[track_caller]
fn breaks_off(bench: &Bench, said: Said, reason: &str) {
    let run = bench.only_run();
    let forks = bench.parts();
    let said = said.exits(7);
    let message = said.message();
    assert!(
        message.starts_with("preview-cost: cannot write results/") && message.contains(reason),
        "{message}"
    );
    let name = run.file_name().unwrap().to_str().unwrap();
    let advice = format!("{forks} of 4000 forks are on disk; see them with: preview-cost analyze results/{name}\n");
    assert!(message.ends_with(&advice), "{message}");
    assert!(forks >= 1);
    is_told_as_unfinished(&run, forks);
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "failed"]);
    let torn = files_under(&run).into_iter().filter(|name| name.ends_with(".tmp"));
    assert_eq!(torn.count(), 0);
}

/// The part after next is written to the device that is always full.
#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_measured() {
    let bench = Bench::new(endless());
    let mut running = Running::start(&mut bench.run());
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    let next = bench.parts() + 2;
    symlink("/dev/full", bench.only_run().join(format!("parts/{next:05}.pairs.tmp"))).unwrap();
    breaks_off(
        &bench,
        running.end(),
        "No space left on device (os error 28); make room: what was measured before is on disk",
    );
}

/// The shell takes the limit's signal away, as a batch system may; the write then fails.
#[test]
fn a_limit_on_file_sizes_ends_the_run_and_keeps_what_was_measured() {
    let bench = Bench::new(endless().replace("previews = 400", "previews = 20"));
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" run m.toml";
    let mut command = Command::new("bash");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_preview-cost")])
        .current_dir(bench.path());
    let mut running = Running::start(&mut command);
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    // No file of this run outgrows the limit by itself, so one is made to.
    let next = bench.parts() + 2;
    let big = bench.path().join("big");
    fs::write(&big, vec![0; 1 << 20]).unwrap();
    symlink(&big, bench.only_run().join(format!("parts/{next:05}.pairs.tmp"))).unwrap();
    let said = running.end();
    let _: io::Result<()> = fs::remove_file(&big);
    breaks_off(&bench, said, "File too large");
}
