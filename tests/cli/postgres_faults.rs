//! PostgreSQL that goes away while it is measured: what was measured stays, and the database is cleaned where there
//! still is one.

use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use preview_cost::archive::{ForkStatus, PairStatus};

use crate::processes::{child_as, children, family, is_running};
use crate::remains::{analyze, is_told_as_unfinished, ledger, read};
use crate::server::{self, Database, at, endless};
use crate::stand_ins::Way;
use crate::steps;
use crate::support::{Bench, Running, SMALL, ask, edited, soon};

/// A measured session in the middle of a preview.
const IN_A_PREVIEW: &str = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'preview-cost' \
                            AND state = 'idle in transaction' AND query LIKE 'UPDATE%'";

/// The one fork that broke off, as it is archived: its last pair says why.
#[track_caller]
fn one_fork_broke_off(run: &Path, reasons: &[&str]) {
    let (archive, forks) = read(run).unwrap();
    let (rows, pairs): (Vec<_>, Vec<_>) = archive
        .forks
        .iter()
        .zip(&forks)
        .filter(|(row, _)| row.status == ForkStatus::Failed)
        .unzip();
    let ([row], [fork]) = (rows.as_slice(), pairs.as_slice()) else {
        panic!("one fork broke off: {rows:#?}")
    };
    assert_eq!(row.pairs_recorded as usize, fork.pairs.len());
    assert!(row.pairs_recorded < row.pairs_planned);
    let (last, before) = fork.pairs.split_last().unwrap();
    assert_eq!(last.status, PairStatus::Failed);
    assert!(before.iter().all(|pair| pair.status == PairStatus::Ok));
    let reason = last.reason.as_deref().unwrap();
    assert_eq!(row.reason.as_deref(), Some(reason));
    assert!(reasons.iter().any(|words| reason.contains(words)), "{reason}");
    let whole = archive.forks.iter().filter(|fork| fork.status == ForkStatus::Ok);
    assert!(whole.clone().count() >= 1);
    assert!(whole.into_iter().all(|fork| fork.pairs_recorded == fork.pairs_planned));
}

#[test]
fn a_session_that_is_ended_mid_fork_breaks_the_run_off_and_the_schema_goes() {
    let database = Database::new();
    let bench = Bench::new(endless(&database.manifest("postgres")));
    let mut running = Running::start(&mut bench.run());
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    let mut client = database.client();
    let end_it = format!("SELECT pg_terminate_backend(pid) {IN_A_PREVIEW}");
    running.until("a session is in a preview", || {
        (!client.query(&end_it, &[]).unwrap().is_empty()).then_some(())
    });
    let said = running.end().exits(4);
    let (run, forks) = (bench.only_run(), bench.parts());
    let message = said.message();
    assert!(
        message.contains(" broke off: subject: connection lost")
            || message.contains(" broke off: baseline: connection lost"),
        "{message}"
    );
    assert!(message.contains("SQLSTATE 57P01"), "{message}");
    assert!(
        message.contains(&format!("\n{forks} of 4000 forks are on disk; ")),
        "{message}"
    );
    one_fork_broke_off(&run, &["SQLSTATE 57P01"]);
    let (archive, _) = read(&run).unwrap();
    let broken = archive.forks.iter().position(|fork| fork.status == ForkStatus::Failed);
    steps::last_preview_came_so_far(&run, broken.unwrap());
    is_told_as_unfinished(&run, forks);
    let table = ask(&mut analyze(&run, "table")).exits(0).stdout;
    assert!(table.contains(&format!("1 of {forks} forks broke off")), "{table}");
    assert_eq!(ledger(&bench.results(), Some(&run)), ["started", "failed"]);
    assert_eq!(database.contents(), ["public"]);
}

/// A hanging server is given up; what was created on it can't be removed, so it is named.
#[test]
fn a_server_that_hangs_mid_fork_is_given_up() {
    let database = Database::new();
    let way = Way::to(server::port());
    let url = database.url_through(way.port) + "&connect_timeout=2";
    let timeout = ("[figures]", "timeout_ms = 400\n[figures]");
    let named = ("[grid]", "schema = \"ours\"\n[grid]");
    let bench = Bench::new(edited(&endless(&at(&url)), &[timeout, named]));
    let mut running = Running::start(&mut bench.run());
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    let mut client = database.client();
    let look = format!("SELECT pid {IN_A_PREVIEW}");
    running.until("a session is in a preview", || {
        (!client.query(&look, &[]).unwrap().is_empty()).then_some(())
    });
    way.freeze();
    let said = running.end().exits(4);
    let messages = said.messages();
    assert_eq!(messages.len(), 2, "{said:#?}");
    assert!(
        messages[0].starts_with("could not clean up: schema ours may be left on the server"),
        "{said:#?}"
    );
    assert!(
        messages[1].contains("timeout: the server did not answer within "),
        "{said:#?}"
    );
    let (archive, forks) = read(&bench.only_run()).unwrap();
    let timeouts = forks
        .iter()
        .flat_map(|fork| &fork.pairs)
        .filter(|pair| pair.status == PairStatus::Timeout);
    assert_eq!(timeouts.count(), 1);
    assert_eq!(
        archive
            .forks
            .iter()
            .filter(|fork| fork.status == ForkStatus::Failed)
            .count(),
        1
    );
    is_told_as_unfinished(&bench.only_run(), bench.parts());
}

/// The server of the run's own, its process, and the warden that keeps it.
fn own_server() -> (Bench, Running, i32, i32) {
    let ephemeral = (
        "engine = \"sqlite\"\nstorage = \"memory\"",
        "engine = \"postgres\"\nprovision = \"ephemeral\"",
    );
    let bench = Bench::new(endless(&edited(SMALL, &[ephemeral])));
    let mut running = Running::start(&mut bench.run());
    let supervisor = running.pid();
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    let warden = child_as(supervisor, "warden").unwrap();
    let server = children(warden)[0];
    (bench, running, warden, server)
}

#[test]
fn a_server_that_dies_mid_fork_breaks_the_run_off() {
    let (bench, mut running, warden, server) = own_server();
    let supervisor = running.pid();
    running.until("a worker is at work", || child_as(supervisor, "worker"));
    kill(Pid::from_raw(server), Signal::SIGQUIT).unwrap();
    let said = running.end().exits(4);
    let message = said.message();
    assert!(
        message.contains("connection lost") || message.contains("cannot reach PostgreSQL"),
        "{message}"
    );
    assert!(
        message.contains("forks are on disk; see them with: preview-cost analyze"),
        "{message}"
    );
    is_told_as_unfinished(&bench.only_run(), bench.parts());
    assert_eq!(ledger(&bench.results(), None), ["started", "failed"]);
    assert!(!is_running(warden) && !is_running(server));
}

#[test]
fn ctrl_c_stops_the_runs_own_server() {
    let (bench, running, warden, server) = own_server();
    running.signal(Signal::SIGINT);
    assert!(
        running
            .end()
            .exits(130)
            .message()
            .starts_with("preview-cost: interrupted\n")
    );
    assert!(!is_running(warden) && !is_running(server));
    is_told_as_unfinished(&bench.only_run(), bench.parts());
    assert_eq!(ledger(&bench.results(), None), ["started", "interrupted"]);
}

#[test]
fn a_supervisor_that_is_killed_leaves_no_server() {
    let (bench, running, _, server) = own_server();
    let family = family(running.pid());
    assert!(family.contains(&server));
    running.signal(Signal::SIGKILL);
    running.end().dies_of(Signal::SIGKILL);
    soon("worker, warden and server go by themselves", || {
        family.iter().all(|&pid| !is_running(pid)).then_some(())
    });
    is_told_as_unfinished(&bench.only_run(), bench.parts());
}

/// Before the first fork there is nothing to keep.
#[test]
fn ctrl_c_while_the_server_starts_leaves_nothing() {
    let ephemeral = (
        "engine = \"sqlite\"\nstorage = \"memory\"",
        "engine = \"postgres\"\nprovision = \"ephemeral\"",
    );
    let bench = Bench::new(edited(SMALL, &[ephemeral]));
    let mut running = Running::start(&mut bench.run());
    let supervisor = running.pid();
    let warden = running.until("the warden is there", || child_as(supervisor, "warden"));
    running.signal(Signal::SIGINT);
    let said = running.end().exits(130);
    assert_eq!(
        said.message(),
        "preview-cost: interrupted before the first fork; nothing was measured\n"
    );
    assert!(!is_running(warden));
    assert_eq!(bench.files(), ["m.toml"]);
}

#[test]
fn ctrl_c_removes_the_runs_schema() {
    let database = Database::new();
    let bench = Bench::new(endless(&database.manifest("postgres")));
    let mut running = Running::start(&mut bench.run());
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    running.signal(Signal::SIGTERM);
    running.end().exits(130);
    assert_eq!(database.contents(), ["public"]);
    is_told_as_unfinished(&bench.only_run(), bench.parts());
}

/// Somebody else's table in the run's schema is not dropped with it.
#[test]
fn what_somebody_puts_into_the_runs_schema_stays() {
    let database = Database::new();
    let manifest = edited(
        &endless(&database.manifest("postgres")),
        &[("[grid]", "schema = \"ours\"\n[grid]")],
    );
    let bench = Bench::new(manifest);
    let mut running = Running::start(&mut bench.run());
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    database.run("CREATE TABLE ours.precious (a int)");
    running.signal(Signal::SIGINT);
    let said = running.end().exits(130);
    let messages = said.messages();
    assert_eq!(messages.len(), 2, "{said:#?}");
    assert!(
        messages[0].contains("schema ours is left in place, because something else lives in it"),
        "{said:#?}"
    );
    assert!(database.contents().contains(&"ours.precious".to_owned()));
}
