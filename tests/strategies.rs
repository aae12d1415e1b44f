//! Every strategy against every other, on real engines: the same answer to the last bit, and nothing left behind. And
//! what the rollback sends, counted on the wire.

#[path = "support/relay.rs"]
mod relay;
mod support;

use preview_cost::backend::postgres::{PostgresSession, Target};
use preview_cost::backend::sqlite::SqliteSession;
use preview_cost::strategy::{self, Strategy, StrategyName};
use preview_cost::workload::{Answer, Workload};
use relay::Relay;
use support::DEADLINE;

/// The study's deltas for its agreement test.
const DELTAS: [f64; 4] = [0.0, 0.005, 0.02, 0.05];
const SCHEMA: &str = "preview_cost_strategies";

/// The answers of each strategy at each delta.
fn answers<S>(
    session: &mut S,
    workload: &Workload,
    open: impl Fn(StrategyName, &mut S) -> Box<dyn Strategy<S>>,
) -> Vec<[Answer; 4]> {
    StrategyName::ALL
        .map(|name| {
            let mut strategy = open(name, session);
            DELTAS.map(|delta| {
                strategy
                    .preview(session, &workload.overrides(delta))
                    .expect("a preview")
            })
        })
        .to_vec()
}

fn agree(answers: &[[Answer; 4]]) {
    for (delta, answer) in answers[0].iter().enumerate() {
        for other in answers {
            assert!(answer.same_bits(&other[delta]), "{answer:?} and {:?}", other[delta]);
        }
    }
    for (before, after) in answers[0].iter().zip(&answers[0][1..]) {
        assert!(!before.same_bits(after), "a larger drag changes the answer");
    }
}

#[test]
fn strategies_agree_on_sqlite_and_leave_the_model_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    for plans in [1, 2, 10, 40] {
        let workload = Workload::new(plans, 60);
        let file = |mode: &str| {
            let path = directory.path().join(format!("{mode}-{plans}"));
            SqliteSession::on_file(&path, mode, "full", DEADLINE).expect("a database on a file")
        };
        let memory = SqliteSession::in_memory().expect("a database in memory");
        for mut session in [memory, file("delete"), file("wal"), file("memory")] {
            session.create_model(&workload).unwrap();
            agree(&answers(&mut session, &workload, |name, session| {
                strategy::on_sqlite(name, session, &workload).unwrap()
            }));
            assert!(session.read_model(&workload).unwrap().same_bits(workload.stored()));
        }
    }
}

#[test]
fn strategies_agree_on_postgres_and_leave_the_model_as_it_was() {
    let server = support::postgres();
    let mut control = server.control();
    control.create_schema(SCHEMA).unwrap();
    for plans in [1, 2, 10, 40, 120] {
        let workload = Workload::new(plans, 60);
        control.create_model(SCHEMA, &rows(&workload)).unwrap();
        let mut session = PostgresSession::connect(&server.target, SCHEMA, DEADLINE).unwrap();
        agree(&answers(&mut session, &workload, |name, session| {
            strategy::on_postgres(name, session, &workload).unwrap()
        }));
        assert!(session.read_model(&workload).unwrap().same_bits(workload.stored()));
    }
}

#[test]
fn the_rollback_takes_three_flights_with_one_sync_each_and_the_copy_none() {
    let server = support::postgres();
    let mut control = server.control();
    control.create_schema(SCHEMA).unwrap();
    let workload = Workload::new(40, 60);
    control.create_model(SCHEMA, &rows(&workload)).unwrap();
    let relay = Relay::to(server.target.port);
    let through_relay = Target {
        port: relay.port,
        ..server.target.clone()
    };
    let mut session = PostgresSession::connect(&through_relay, SCHEMA, DEADLINE).unwrap();
    let mut rollback = strategy::on_postgres(StrategyName::Rollback, &mut session, &workload).unwrap();
    let mut copy = strategy::on_postgres(StrategyName::Copy, &mut session, &workload).unwrap();
    relay.take_writes();

    for delta in DELTAS {
        rollback.preview(&mut session, &workload.overrides(delta)).unwrap();
        // B(ind), E(xecute), S(ync): BEGIN and four updates; the select; the rollback. Each string is one write.
        assert_eq!(relay.take_writes(), ["BEBEBEBEBES", "BES", "BES"]);
        copy.preview(&mut session, &workload.overrides(delta)).unwrap();
        assert!(relay.take_writes().is_empty());
    }
    session.empty_round_trip().unwrap();
    assert_eq!(relay.take_writes(), ["S"]);
    assert_eq!(StrategyName::Rollback.round_trips(), 3);
    assert_eq!(StrategyName::Copy.round_trips(), 0);
}

fn rows(workload: &Workload) -> Vec<(String, f64)> {
    workload.rows().map(|(name, value)| (name.to_owned(), value)).collect()
}
