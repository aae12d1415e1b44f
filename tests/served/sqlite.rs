//! SQLite behind TCP and behind a Unix socket.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use preview_cost::backend::postgres::{Dialect, PostgresSession};
use preview_cost::backend::sqlite::served::{SCHEMA, Served, ServedAt, ServedFile, ServedModel};
use preview_cost::strategy::Engine;
use preview_cost::workload::{Shape, Workload};

use crate::{DEADLINE, DELTAS, agree, exe, expected};

pub fn model(plans: u32, shape: Shape) -> ServedModel {
    ServedModel {
        file: None,
        plans,
        months: 60,
        shape,
        busy_timeout_ms: 1_000,
    }
}

#[test]
fn every_strategy_agrees_over_either_socket_in_memory_and_on_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let unix = ServedAt::Unix(directory.path().to_owned());
    for (at, plans) in [(&ServedAt::Tcp, 3), (&unix, 40)] {
        for on_file in [false, true] {
            let file = directory.path().join(format!("{plans}.sqlite"));
            let served = ServedModel {
                file: on_file.then(|| ServedFile {
                    path: file.clone(),
                    journal_mode: "wal".to_owned(),
                    synchronous: "full".to_owned(),
                }),
                ..model(plans, Shape::Kv)
            };
            let workload = Workload::new(plans, 60);
            let server = Served::start(exe(), &served, at).unwrap();
            agree(Engine::Sqlite, Dialect::Sqlite, server.target(), SCHEMA, &workload);
            assert_eq!(file.exists(), on_file);
        }
    }
    assert!(
        !directory.path().join(".s.PGSQL.5432").exists(),
        "the socket's file is gone"
    );
}

#[test]
fn the_wide_shape_is_served_too() {
    let workload = Workload::shaped(5, 60, Shape::Wide);
    let server = Served::start(exe(), &model(5, Shape::Wide), &ServedAt::Tcp).unwrap();
    agree(Engine::Sqlite, Dialect::Sqlite, server.target(), SCHEMA, &workload);
}

#[test]
fn every_shape_is_served() {
    for shape in [Shape::KvIndexed, Shape::KvTrigger, Shape::KvFillfactor70] {
        let workload = Workload::shaped(3, 60, shape);
        let server = Served::start(exe(), &model(3, shape), &ServedAt::Tcp).unwrap();
        agree(Engine::Sqlite, Dialect::Sqlite, server.target(), SCHEMA, &workload);
    }
}

/// The answers that every served strategy is held to are the study's own.
#[test]
fn what_is_expected_is_golden() {
    let workload = Workload::new(1, 60);
    let golden = include_str!("../golden/projection.csv");
    let mut rows = 0;
    for (delta, answer) in DELTAS.iter().zip(expected(&workload)) {
        let start = format!("1,60,{delta:?},");
        let row = golden.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
        let bits = [answer.ending_mrr, answer.ending_cash, answer.lifetime_revenue].map(f64::to_bits);
        let given = bits.map(|bits| format!("{bits:016x}")).join(",");
        assert!(
            row.starts_with(&format!("{given},{},", answer.runway_month)),
            "{delta}: {answer:?}, not {row}"
        );
        rows += 1;
    }
    assert_eq!(rows, DELTAS.len());
    let server = Served::start(exe(), &model(1, Shape::Kv), &ServedAt::Tcp).unwrap();
    agree(Engine::Sqlite, Dialect::Sqlite, server.target(), SCHEMA, &workload);
}

#[test]
fn two_sessions_take_turns() {
    let workload = Workload::new(3, 60);
    let server = Served::start(exe(), &model(3, Shape::Kv), &ServedAt::Tcp).unwrap();
    let connect = || PostgresSession::connect_to(Dialect::Sqlite, server.target(), SCHEMA, &workload, DEADLINE);
    let (mut one, mut other) = (connect().unwrap(), connect().unwrap());
    for _ in 0..3 {
        assert!(one.read_model(&workload).unwrap().same_bits(workload.stored()));
        assert!(other.read_model(&workload).unwrap().same_bits(workload.stored()));
    }
}

#[test]
fn what_cannot_be_opened_is_told() {
    let refused = ServedModel {
        file: Some(ServedFile {
            path: "/nowhere/at/all.sqlite".into(),
            journal_mode: "wal".to_owned(),
            synchronous: "full".to_owned(),
        }),
        ..model(3, Shape::Kv)
    };
    let error = Served::start(exe(), &refused, &ServedAt::Tcp).unwrap_err().to_string();
    assert!(error.contains("unable to open database file"), "{error}");
}

#[test]
fn a_server_goes_with_its_parent() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(exe())
        .arg("sqlite-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let order = serde_json::json!({
        "model": model(3, Shape::Kv),
        "at": ServedAt::Unix(directory.path().to_owned()),
    });
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{order}").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let socket = directory.path().join(".s.PGSQL.5432");
    assert!(line.contains("listening") && socket.exists(), "{line}");
    // That is all that a parent which was killed does.
    drop(stdin);
    let end = Instant::now() + DEADLINE;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it lives on");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(
        !directory.path().exists(),
        "what its parent made for the socket stays behind"
    );
}
