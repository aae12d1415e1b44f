//! H2 by its own server, with Java and the jar of this machine.

use std::fmt::Write;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use preview_cost::backend::postgres::wire::WireSession;
use preview_cost::backend::postgres::{Dialect, Secret, Target};
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
    for line in of_h2 {
        assert!(line.contains("127.0.0.1"), "it listens elsewhere too: {line}");
    }
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

const MANIFEST: &str = r#"name = "h2"
title = "t"
question = "q"
[backend]
engine = "h2"
[grid]
plans = [3]
subjects = ["rollback"]
baseline = "copy"
[measure]
previews = 9
warmup = 2
forks = 2
seed = 7
[figures]
margin_ms = 0.05
"#;

#[test]
fn a_run_measures_h2_and_a_missing_jar_is_told_with_the_command_that_brings_it() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("h2.toml"), MANIFEST).unwrap();
    let run = || {
        let mut command = Command::new(exe());
        command.args(["run", "h2.toml"]).current_dir(directory.path());
        command
    };
    let missing = run().env("PREVIEW_COST_H2_JAR", "/nowhere/h2.jar").output().unwrap();
    let said = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(3), "{said}");
    assert!(
        said.contains("apt-get install -y default-jre-headless libh2-java"),
        "{said}"
    );
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
