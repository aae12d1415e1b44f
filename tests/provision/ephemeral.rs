//! Servers from this machine's binaries.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use preview_cost::backend::provision::{Order, ProvisionError, Provisioned, Search};

use crate::stand_in::StandIn;
use crate::support::{RawWarden, Traces, ask, exe, fact_in, is_running, open_directory, plain, soon, value};

fn with(name: &str, value: &str) -> Order {
    Order::Ephemeral {
        settings: vec![(name.to_owned(), value.to_owned())],
    }
}

fn start(order: &Order) -> Result<Provisioned, ProvisionError> {
    Provisioned::start(exe(), order, &mut |_| {})
}

/// A server, and where it is.
fn started(order: &Order) -> (Provisioned, Traces) {
    let server = start(order).unwrap();
    let traces = Traces::of(value(server.facts(), "data_directory"));
    assert!(traces.directory.is_dir() && is_running(traces.pid));
    (server, traces)
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_server_starts_answers_and_leaves_nothing() {
    let mut stages = Vec::new();
    let order = with("work_mem", "7MB");
    let server = Provisioned::start(exe(), &order, &mut |stage| stages.push(stage.to_owned())).unwrap();
    let traces = Traces::of(value(server.facts(), "data_directory"));
    assert_eq!(
        (server.host(), server.user(), server.password()),
        ("127.0.0.1", "postgres", None)
    );
    assert_eq!(server.dbname(), "postgres");
    assert_eq!(stages.len(), 2, "{stages:?}");

    let show = |name: &str| ask(server.port(), &format!("SELECT current_setting('{name}')")).unwrap();
    assert_eq!(
        (show("work_mem").as_str(), value(server.facts(), "setting.work_mem")),
        ("7MB", "7MB")
    );
    assert_eq!((show("fsync").as_str(), show("autovacuum").as_str()), ("on", "on"));
    assert_eq!(show("listen_addresses"), "127.0.0.1");
    assert_eq!(show("server_version"), value(server.facts(), "server.version"));
    let rules = "SELECT string_agg(concat_ws(' ', type, database, user_name, address, netmask, auth_method), ';')
                 FROM pg_hba_file_rules";
    assert_eq!(
        ask(server.port(), rules).unwrap(),
        "local {all} {all} trust;host {all} {all} 127.0.0.1 255.255.255.255 trust"
    );
    assert!(value(server.facts(), "initdb.options").contains("--no-locale"));

    let warden = i32::try_from(server.warden_id()).unwrap();
    assert_eq!(server.stop(), Ok(()));
    assert!(!traces.are_there() && !is_running(warden));
}

#[test]
fn dropping_is_as_good_as_stopping() {
    let (server, traces) = started(&plain());
    drop(server);
    assert!(!traces.are_there());
}

#[test]
fn a_panic_or_a_kill_of_the_supervisor_takes_the_server_along() {
    for role in ["panic", "hold"] {
        let temporary = open_directory();
        let mut supervisor = StandIn::start(role, temporary.path());
        let traces = supervisor.traces();
        if role == "hold" {
            supervisor.kill();
        }
        supervisor.end();
        traces.must_vanish();
        assert_eq!(entries(temporary.path()), 0);
    }
}

#[test]
fn a_supervisor_killed_while_the_server_starts_leaves_nothing() {
    let temporary = open_directory();
    let mut supervisor = StandIn::start("hold", temporary.path());
    assert!(supervisor.hear("stage").starts_with("creating"));
    supervisor.kill();
    supervisor.end();
    assert!(soon(|| entries(temporary.path()) == 0));
}

#[test]
fn ctrl_c_reaches_the_supervisor_first() {
    let temporary = open_directory();
    let mut supervisor = StandIn::start("answer-sigint", temporary.path());
    let traces = supervisor.traces();
    supervisor.press_ctrl_c();
    assert_eq!(supervisor.hear("answer"), "still here");
    assert_eq!(supervisor.end(), 130);
    traces.must_vanish();
}

#[test]
fn a_signal_to_the_warden_cleans_up() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let (server, traces) = started(&plain());
        kill(Pid::from_raw(i32::try_from(server.warden_id()).unwrap()), signal).unwrap();
        traces.must_vanish();
        assert_eq!(server.stop(), Ok(()));
    }
}

#[test]
fn an_ordinary_user_needs_no_privileges() {
    let directory = open_directory();
    let copy = directory.path().join("preview-cost");
    fs::copy(exe(), &copy).unwrap();
    let mut command = Command::new(&copy);
    let user = match User::from_name("nobody").unwrap() {
        Some(nobody) if geteuid().is_root() => {
            command
                .uid(nobody.uid.as_raw())
                .gid(nobody.gid.as_raw())
                .current_dir("/");
            nobody.name
        }
        _ => User::from_uid(geteuid()).unwrap().unwrap().name,
    };
    let mut warden = RawWarden::spawn(&mut command, &plain());
    let ready = warden.expect("ready");
    assert_eq!(fact_in(&ready, "server.user"), user);
    let traces = Traces::of(&fact_in(&ready, "data_directory"));
    let port = u16::try_from(ready["port"].as_u64().unwrap()).unwrap();
    assert_eq!(ask(port, "SELECT current_user::text").unwrap(), "postgres");
    warden.release();
    assert_eq!(warden.next(), "stopped");
    assert!(warden.end().success());
    assert!(!traces.are_there());
}

#[test]
fn a_directory_that_the_server_cannot_reach_is_not_used() {
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let mut warden = RawWarden::with("TMPDIR", closed.path(), &plain());
    let data = fact_in(&warden.expect("ready"), "data_directory");
    let inside = Path::new(&data).starts_with(closed.path());
    assert_eq!(inside, !geteuid().is_root(), "{data}");
    assert!(warden.end().success());
}

#[test]
fn variables_of_other_servers_do_not_reach_it() {
    let mut command = Command::new(exe());
    command
        .env("PGPORT", "1")
        .env("PGDATA", "/nowhere")
        .env("PGOPTIONS", "-c nonsense=1")
        .env("LC_ALL", "xx_XX");
    let mut warden = RawWarden::spawn(&mut command, &plain());
    warden.expect("ready");
    assert!(warden.end().success());
}

#[test]
fn a_setting_that_the_server_refuses_is_told_in_its_own_words() {
    let error = start(&with("no_such_setting", "1")).unwrap_err();
    let ProvisionError::StartFailed { what, log, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(what, "postgres");
    assert!(log.contains("no_such_setting"), "{log}");
    let refused = start(&with("port", "5432")).unwrap_err();
    assert!(
        matches!(&refused, ProvisionError::SettingRefused { name, .. } if name == "port"),
        "{refused:?}"
    );
}

#[test]
fn a_server_that_ends_by_itself_is_reported_and_removed() {
    let (server, traces) = started(&plain());
    kill(Pid::from_raw(traces.pid), Signal::SIGKILL).unwrap();
    assert!(soon(|| ask(server.port(), "SELECT 'x'").is_err()));
    let error = server.stop().unwrap_err();
    assert!(matches!(&error, ProvisionError::ServerDied { .. }), "{error:?}");
    assert!(error.to_string().contains("signal: 9"), "{error}");
    assert!(!traces.directory.exists());
}

#[test]
fn an_interruption_ends_the_start() {
    let told = AtomicBool::new(false);
    let mut on_stage = |_: &str| told.store(true, Ordering::Relaxed);
    let outcome = Provisioned::start_unless(exe(), &plain(), &mut on_stage, &|| told.load(Ordering::Relaxed));
    assert_eq!(outcome.unwrap_err(), ProvisionError::Interrupted);
}

#[test]
fn no_binaries_is_one_message_with_one_command() {
    let nothing = tempfile::tempdir().unwrap();
    let search = Search {
        path: vec![nothing.path().to_owned()],
        root: nothing.path().to_owned(),
    };
    let text = search.find().unwrap_err().to_string();
    assert!(
        text.starts_with("no PostgreSQL server binaries") && text.contains("install"),
        "{text}"
    );
}

#[test]
fn a_program_that_is_no_warden_is_an_error() {
    for (exe, expected) in [
        ("/bin/true", "without a word"),
        ("/bin/echo", "no message"),
        ("/nowhere/x", "/nowhere/x"),
    ] {
        let error = Provisioned::start(Path::new(exe), &plain(), &mut |_| {}).unwrap_err();
        assert!(
            matches!(&error, ProvisionError::Warden { detail } if detail.contains(expected)),
            "{exe}: {error:?}"
        );
    }
}

#[test]
fn an_order_that_is_none_is_answered() {
    let mut command = Command::new(exe());
    let mut warden = RawWarden::spawn_with_line(&mut command, "{\"ephemeral\":{}}");
    let failed = warden.expect("failed");
    assert_eq!(failed["kind"], "warden");
    assert!(failed["detail"].as_str().unwrap().contains("settings"), "{failed}");
    assert!(!warden.end().success());
}
