//! H2 by its own server, with Java and the jar of this machine.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use preview_cost::backend::postgres::wire::WireSession;
use preview_cost::backend::postgres::{Dialect, PostgresSession, Secret, Target};
use preview_cost::backend::provision::{Order, Provisioned};
use preview_cost::environment::delayed_acks;
use preview_cost::strategy::Engine;
use preview_cost::workload::Workload;

use crate::{DEADLINE, agree, exe};

/// Delayed acknowledgements are counted for all connections together, so these tests go one by one.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn h2() -> (Provisioned, Target) {
    let server = Provisioned::start(exe(), &Order::H2, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let password = server.password().map(Secret::new);
    let target = Target::loopback(server.port(), server.user(), password, server.dbname());
    (server, target)
}

fn seed(session: &mut WireSession, workload: &Workload) {
    let mut sql =
        "CREATE TABLE public.model_field (name varchar(64) PRIMARY KEY, field_value double precision)".to_owned();
    for (name, value) in workload.rows() {
        write!(sql, "; INSERT INTO public.model_field VALUES ('{name}', {value})").unwrap();
    }
    session.simple(&sql).unwrap();
}

#[test]
fn every_strategy_agrees_and_the_server_goes() {
    let _alone = alone();
    let (server, target) = h2();
    let workload = Workload::new(40, 60);
    let mut session = WireSession::connect(&target, DEADLINE).unwrap();
    session.acknowledge_at_once();
    seed(&mut session, &workload);
    agree(Engine::H2, Dialect::H2, &target, "public", &workload);
    let listening = Command::new("ss").args(["-Hltn"]).output().unwrap();
    let listening = String::from_utf8(listening.stdout).unwrap();
    let of_h2 = listening
        .lines()
        .filter(|line| line.contains(&format!(":{} ", server.port())));
    let of_h2: Vec<&str> = of_h2.collect();
    assert!(
        matches!(of_h2[..], [line] if line.contains("127.0.0.1")),
        "not on the loopback address alone: {of_h2:?}"
    );
    drop(session);
    server.stop().unwrap();
    assert!(WireSession::connect(&target, DEADLINE).is_err(), "the server is gone");
}

/// The instrument that fails a fork must be able to: without acknowledging at once, it sees what happens.
#[test]
fn delayed_acknowledgements_are_seen() {
    const TRIPS: i64 = 20;
    let _alone = alone();
    let (_server, target) = h2();
    let workload = Workload::new(40, 60);
    let read = |at_once: bool| {
        let mut session = WireSession::connect(&target, DEADLINE).unwrap();
        if at_once {
            session.acknowledge_at_once();
        } else {
            seed(&mut session, &workload);
        }
        let select = session
            .prepare("SELECT field_value FROM public.model_field", &[])
            .unwrap();
        let before = delayed_acks().unwrap();
        for _ in 0..TRIPS {
            let mut flight = session.flight();
            flight.execute(select, &[]).unwrap();
            flight.land(|_| Ok(())).unwrap();
        }
        delayed_acks().unwrap() - before
    };
    let (delayed, at_once) = (read(false), read(true));
    assert!(delayed >= TRIPS / 2, "{delayed} of {TRIPS} were seen");
    assert!(at_once < delayed, "{at_once} where every read is acknowledged at once");
}

/// A flight that fails halfway, and a message that does, leave nothing that the next preview could meet.
#[test]
fn after_an_error_nothing_is_left() {
    let _alone = alone();
    let (_server, target) = h2();
    let workload = Workload::new(3, 60);
    let mut session = WireSession::connect(&target, DEADLINE).unwrap();
    session.acknowledge_at_once();
    seed(&mut session, &workload);
    let begin = session.prepare("BEGIN", &[]).unwrap();
    let update = session
        .prepare("UPDATE public.model_field SET field_value = 7", &[])
        .unwrap();
    let fails = session
        .prepare("INSERT INTO public.model_field VALUES ('growth_1', 1)", &[])
        .unwrap();
    let mut flight = session.flight();
    for statement in [begin, update, fails] {
        flight.execute(statement, &[]).unwrap();
    }
    assert!(flight.land(|_| Ok(())).is_err());
    session.reset().unwrap();
    let message = "BEGIN; UPDATE public.model_field SET field_value = 7; INSERT INTO nowhere VALUES (1); ROLLBACK";
    assert!(session.simple(message).is_err());
    session.reset().unwrap();
    // Another session sees what is stored, and waits for nobody.
    let connect = || PostgresSession::connect_to(Dialect::H2, &target, "public", &workload, DEADLINE).unwrap();
    assert!(connect().read_model(&workload).unwrap().same_bits(workload.stored()));
    let mut other = WireSession::connect(&target, DEADLINE).unwrap();
    other.acknowledge_at_once();
    other
        .simple("UPDATE public.model_field SET field_value = field_value")
        .unwrap();
}

/// H2's server makes a database for whoever asks, unless it was given a key, and its owner can run Java in it.
#[test]
fn nobody_gets_in_without_the_key_and_the_password() {
    let _alone = alone();
    let (server, target) = h2();
    let _first = WireSession::connect(&target, DEADLINE).unwrap();
    let enters = |user: &str, password: &str, dbname: &str| {
        let stranger = Target::loopback(server.port(), user, Some(Secret::new(password)), dbname);
        WireSession::connect(&stranger, DEADLINE).is_ok()
    };
    let password = server.password().unwrap();
    assert!(enters(server.user(), password, server.dbname()));
    for other in ["mem:other", "mem:preview", "mem:preview;DB_CLOSE_DELAY=-1", "test"] {
        assert!(!enters(server.user(), password, other), "{other} is a database");
    }
    assert!(!enters(server.user(), "guessed", server.dbname()));
    assert!(!enters("sa", "", server.dbname()));
}

fn manifest(previews: u32) -> String {
    format!(
        r#"name = "h2"
title = "t"
question = "q"
[backend]
engine = "h2"
[grid]
plans = [3]
subjects = ["rollback"]
baseline = "copy"
[measure]
previews = {previews}
warmup = 2
forks = 2
seed = 7
[figures]
margin_ms = 0.05
"#
    )
}

/// The program's `run` of such a manifest in a directory of its own.
fn run_in(directory: &Path, previews: u32) -> Command {
    fs::write(directory.join("h2.toml"), manifest(previews)).unwrap();
    let mut command = Command::new(exe());
    command.args(["run", "h2.toml"]).current_dir(directory);
    command
}

#[test]
fn a_run_measures_h2_and_a_missing_jar_is_told_with_the_command_that_brings_it() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let run = || run_in(directory.path(), 200);
    let missing = |name: &str, value: &str| {
        let output = run().env(name, value).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(
            said.contains("apt-get install -y default-jre-headless libh2-java"),
            "{said}"
        );
        said
    };
    assert!(missing("PREVIEW_COST_H2_JAR", "/nowhere/h2.jar").contains("names no file"));
    assert!(missing("PATH", "/nowhere").contains("no java"));
    let measured = run().output().unwrap();
    assert!(
        measured.status.success(),
        "{}",
        String::from_utf8_lossy(&measured.stderr)
    );
    assert!(
        String::from_utf8(measured.stdout)
            .unwrap()
            .contains("h2 memory, over its PostgreSQL protocol")
    );
}

/// Connections beside the run's have their acknowledgements delayed; the run can't know whose they were.
#[test]
fn a_fork_in_which_acknowledgements_were_delayed_is_a_failed_one() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let (_server, target) = h2();
    let done = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut session = WireSession::connect(&target, DEADLINE).unwrap();
                while !done.load(Ordering::Relaxed) {
                    session.simple("SELECT 1").unwrap();
                }
            });
        }
        let output = run_in(directory.path(), 9).output();
        done.store(true, Ordering::Relaxed);
        output.unwrap()
    });
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("the kernel delayed"), "{said}");
}

#[test]
fn a_killed_run_takes_java_along() {
    let _alone = alone();
    let (directory, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command = run_in(directory.path(), 100_000);
    command.env("TMPDIR", temporary.path());
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let java = || running_with(temporary.path());
    assert!(soon(|| java().is_some()), "H2 was not started");
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(soon(|| java().is_none()), "Java is still there: {:?}", java());
    let is_left = || {
        let mut entries = fs::read_dir(temporary.path()).unwrap().flatten();
        entries.any(|entry| entry.file_name().to_string_lossy().starts_with("preview-cost-h2-"))
    };
    assert!(soon(|| !is_left()), "its directory is still there");
}

/// The Java that was told to read its arguments from somewhere under a directory.
fn running_with(directory: &Path) -> Option<String> {
    let start = format!("@{}", directory.display());
    let told = |process: fs::DirEntry| fs::read_to_string(process.path().join("cmdline")).ok();
    let mut told = fs::read_dir("/proc").unwrap().flatten().filter_map(told);
    told.find(|told| told.contains(&start))
}

fn soon(condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + DEADLINE;
    while Instant::now() < end {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}
