//! Ctrl-C, SIGTERM and kill -9, of the run and of its worker: what was measured stays, and nobody is left behind.

use std::os::unix::process::CommandExt as _;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::processes::{child_as, family, is_running};
use crate::remains::{ends_in, files_under, is_told_as_unfinished, ledger};
use crate::support::{Bench, Running, edited, endless, soon};

/// An endless run on a file, with some forks on disk and a worker at work.
fn under_way() -> (Bench, Running, i32) {
    let storage = ("storage = \"memory\"", "storage = \"file\"\njournal_mode = \"wal\"");
    let bench = Bench::new(edited(&endless(), &[storage]));
    let mut running = Running::start(bench.run().process_group(0));
    running.until("two forks are on disk", || (bench.parts() >= 2).then_some(()));
    let supervisor = running.pid();
    let worker = running.until("a worker is at work", || child_as(supervisor, "worker"));
    (bench, running, worker)
}

#[track_caller]
fn nothing_is_left(bench: &Bench, worker: i32) {
    assert!(!is_running(worker));
    let files = files_under(&bench.only_run());
    assert!(
        files
            .iter()
            .all(|file| !file.contains("scratch") && !ends_in(file, "tmp")),
        "{files:?}"
    );
    assert!(!bench.only_run().join("scratch").exists());
}

#[test]
fn a_signal_ends_the_run_in_good_order() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let (bench, running, worker) = under_way();
        running.signal(signal);
        let said = running.end().exits(130);
        let (run, forks) = (bench.only_run(), bench.parts());
        let name = run.file_name().unwrap().to_str().unwrap();
        let message = format!(
            "preview-cost: interrupted\n{forks} of 4000 forks are on disk; see them with: preview-cost analyze results/{name}\n\
             measure the others with: preview-cost run --resume results/{name}, or seal what there is with: preview-cost \
             recover results/{name}\n"
        );
        assert_eq!(said.message(), message);
        nothing_is_left(&bench, worker);
        is_told_as_unfinished(&run, forks);
        assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "interrupted"]);
    }
}

/// As a terminal sends it: to the whole group, which the worker does not belong to.
#[test]
fn ctrl_c_in_a_terminal_reaches_the_run_alone() {
    let (bench, running, worker) = under_way();
    kill(Pid::from_raw(-running.pid()), Signal::SIGINT).unwrap();
    assert!(
        running
            .end()
            .exits(130)
            .message()
            .starts_with("preview-cost: interrupted\n")
    );
    nothing_is_left(&bench, worker);
}

#[test]
fn a_second_ctrl_c_ends_the_run_at_once() {
    let (bench, running, worker) = under_way();
    running.signal(Signal::SIGINT);
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    soon("the worker goes away", || (!is_running(worker)).then_some(()));
    is_told_as_unfinished(&bench.only_run(), bench.parts());
}

#[test]
fn a_worker_that_is_killed_ends_the_run_and_keeps_what_was_measured() {
    let (bench, running, worker) = under_way();
    kill(Pid::from_raw(worker), Signal::SIGKILL).unwrap();
    let said = running.end().exits(4);
    let (run, forks) = (bench.only_run(), bench.parts());
    assert!(
        said.message().contains("ended unexpectedly (signal: 9 (SIGKILL))\n"),
        "{said:#?}"
    );
    assert!(
        said.message()
            .contains(&format!("\n{forks} of 4000 forks are on disk; ")),
        "{said:#?}"
    );
    nothing_is_left(&bench, worker);
    is_told_as_unfinished(&run, forks);
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "failed"]);
}

#[test]
fn a_supervisor_that_is_killed_leaves_no_worker_and_readable_forks() {
    let (bench, running, worker) = under_way();
    let family = family(running.pid());
    assert!(family.contains(&worker));
    running.signal(Signal::SIGKILL);
    let said = running.end().dies_of(Signal::SIGKILL);
    assert_eq!(said.stderr, "");
    soon("the worker goes away by itself", || {
        family.iter().all(|&pid| !is_running(pid)).then_some(())
    });
    let run = bench.only_run();
    is_told_as_unfinished(&run, bench.parts());
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started"]);
}

/// A run after one that was killed is chained to it like any other; two at once take turns.
#[test]
fn the_ledger_holds_every_start_and_every_end() {
    let (bench, running, _) = under_way();
    let killed = bench.only_run();
    running.signal(Signal::SIGKILL);
    running.end().dies_of(Signal::SIGKILL);
    let start = |_| Running::start(bench.run().args(["--results", "results"]));
    let mut both: Vec<Running> = (0..2).map(start).collect();
    for running in &mut both {
        let pid = running.pid();
        running.until("its worker is at work", || child_as(pid, "worker"));
    }
    for running in both {
        running.signal(Signal::SIGTERM);
        running.end().exits(130);
    }
    assert_eq!(bench.runs().len(), 3);
    assert_eq!(ledger(&bench.results(), Some(&killed)), ["started"]);
    for run in bench.runs().into_iter().filter(|run| *run != killed) {
        assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "interrupted"]);
    }
}
