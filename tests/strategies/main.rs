//! Every strategy against the rollback, on real engines: the same answer to the last bit, nothing left behind, and the
//! round trips that its facts name, counted on the wire.

mod faults;
mod hostile_postgres;
mod hostile_sqlite;
mod steps;
#[path = "../support/relay.rs"]
mod relay;
#[path = "../support/mod.rs"]
mod support;

use preview_cost::backend::BackendError;
use preview_cost::backend::postgres::{PostgresSession, Target};
use preview_cost::backend::sqlite::SqliteSession;
use preview_cost::step::Steps;
use preview_cost::strategy::{self, Ground, PreviewError, Strategy, StrategyName};
use preview_cost::workload::{Answer, Shape, Workload};
use relay::Relay;
use support::DEADLINE;

/// The study's deltas for its agreement test.
const DELTAS: [f64; 4] = [0.0, 0.005, 0.02, 0.05];
const SCHEMA: &str = "preview_cost_strategies";

/// The answers of a strategy at each delta, twice: a preview leaves nothing to the next one.
fn answers<S>(
    strategy: &mut dyn Strategy<S>,
    session: &mut S,
    workload: &Workload,
) -> Result<[Answer; 4], PreviewError> {
    let mut answers = Vec::new();
    for delta in DELTAS.into_iter().chain(DELTAS) {
        answers.push(strategy.preview(session, &workload.overrides(delta), &mut Steps::off())?);
    }
    for (first, second) in answers[..4].iter().zip(&answers[4..]) {
        assert!(first.same_bits(second), "a second round answers otherwise");
    }
    Ok([answers[0], answers[1], answers[2], answers[3]])
}

fn agree<S>(
    names: impl Iterator<Item = StrategyName>,
    session: &mut S,
    workload: &Workload,
    open: impl Fn(StrategyName, &mut S) -> Result<Box<dyn Strategy<S>>, BackendError>,
) {
    let mut rollback = open(StrategyName::Rollback, session).expect("the rollback");
    let expected = answers(&mut *rollback, session, workload).expect("the rollback's answers");
    for (before, after) in expected.iter().zip(&expected[1..]) {
        assert!(!before.same_bits(after), "a larger drag changes the answer");
    }
    for name in names {
        let mut strategy = open(name, session).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = answers(&mut *strategy, session, workload).unwrap_or_else(|error| panic!("{name}: {error}"));
        // The other side of a pair on the same session sees nothing of it.
        let others = answers(&mut *rollback, session, workload).expect("the rollback's answers");
        for ((expected, found), other) in expected.iter().zip(&found).zip(&others) {
            assert!(expected.same_bits(found), "{name}: {found:?} and {expected:?}");
            assert!(expected.same_bits(other), "after {name}: {other:?} and {expected:?}");
        }
    }
}

#[test]
fn strategies_agree_on_sqlite_and_leave_the_model_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let shapes = Shape::ALL.into_iter().filter(|shape| *shape != Shape::KvFillfactor70);
    for (shape, plans) in shapes.flat_map(|shape| [1, 2, 10, 40, 120].map(|plans| (shape, plans))) {
        let workload = Workload::shaped(plans, 60, shape);
        let file = |mode: &str| {
            let path = directory.path().join(format!("{mode}-{plans}-{}", shape.as_str()));
            (
                Ground::SqliteFile,
                SqliteSession::on_file(&path, mode, "off", DEADLINE).expect("a database on a file"),
            )
        };
        let memory = SqliteSession::in_memory().expect("a database in memory");
        for (ground, mut session) in [
            (Ground::SqliteMemory, memory),
            file("delete"),
            file("wal"),
            file("memory"),
        ] {
            session.create_model(&workload).unwrap();
            agree(StrategyName::on(ground), &mut session, &workload, |name, session| {
                strategy::on_sqlite(name, session, &workload)
            });
            assert!(session.read_model(&workload).unwrap().same_bits(workload.stored()));
        }
    }
    let left: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().contains("clone"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn strategies_agree_on_postgres_and_leave_the_model_as_it_was() {
    let server = support::postgres();
    let mut control = server.control();
    control.create_schema(SCHEMA).unwrap();
    for (shape, plans) in Shape::ALL
        .into_iter()
        .flat_map(|shape| [1, 2, 10, 40, 120].map(|plans| (shape, plans)))
    {
        let workload = Workload::shaped(plans, 60, shape);
        control.create_shaped(SCHEMA, &workload).unwrap();
        let mut session = PostgresSession::connect(&server.target, SCHEMA, &workload, DEADLINE).unwrap();
        // A clone takes a while: in the study's shape each size, in the others one.
        let is_quick = move |name: &StrategyName| name.round_trips().is_some();
        let all = shape == Shape::Kv || plans == 10;
        let names = StrategyName::on(Ground::PostgresOther).filter(move |name| all || is_quick(name));
        agree(names, &mut session, &workload, |name, session| {
            strategy::on_postgres(name, session, &workload)
        });
        assert!(session.read_model(&workload).unwrap().same_bits(workload.stored()));
        session.close();
        let stored = control.read_inputs(SCHEMA, &workload).unwrap().unwrap();
        assert!(stored.same_bits(workload.stored()));
    }
    control.drop_schema(SCHEMA).unwrap();
    let databases = "SELECT FROM pg_database WHERE datname LIKE 'preview_cost%'";
    let left = server.session().simple(databases).unwrap().rows_returned;
    assert_eq!(left, 0, "databases are left");
}

/// What a preview sends, a string a write: B(ind), E(xecute), S(ync), Q(uery).
fn expected_writes(name: StrategyName) -> &'static [&'static str] {
    match name {
        StrategyName::Rollback => &["BEBEBEBEBES", "BES", "BES"],
        StrategyName::RollbackSerial => &["BES", "BES", "BES", "BES", "BES", "BES", "BES"],
        StrategyName::RollbackSet => &["BEBES", "BES", "BES"],
        StrategyName::RollbackPipelined => &["BEBEBEBEBEBEBES"],
        StrategyName::RollbackDriver => &["Q", "BESBESBESBES", "BES", "Q"],
        StrategyName::RollbackOneMessage => &["Q"],
        StrategyName::Savepoint => &["BEBEBEBEBES", "BES", "BEBES"],
        StrategyName::UndoFunction | StrategyName::OverlayTemp => &["BEBEBES"],
        StrategyName::Reenact | StrategyName::CopyFresh => &["BES"],
        _ => &[],
    }
}

#[test]
fn each_strategy_takes_the_flights_that_its_facts_name() {
    let server = support::postgres();
    let mut control = server.control();
    control.create_schema(SCHEMA).unwrap();
    let workload = Workload::new(40, 60);
    control.create_shaped(SCHEMA, &workload).unwrap();
    let relay = Relay::to(server.target.port);
    let through_relay = Target {
        port: relay.port,
        ..server.target.clone()
    };
    let mut session = PostgresSession::connect(&through_relay, SCHEMA, &workload, DEADLINE).unwrap();
    for name in StrategyName::on(Ground::PostgresOther).filter(|name| name.round_trips().is_some()) {
        let mut strategy = strategy::on_postgres(name, &mut session, &workload).unwrap();
        relay.take_writes();
        for delta in DELTAS {
            strategy
                .preview(&mut session, &workload.overrides(delta), &mut Steps::off())
                .unwrap();
            let writes = relay.take_writes();
            assert_eq!(writes, expected_writes(name), "{name}");
            assert_eq!(Some(writes.len() as u32), name.round_trips(), "{name}");
        }
    }
    session.empty_round_trip().unwrap();
    assert_eq!(relay.take_writes().last().map(String::as_str), Some("S"));
}

#[test]
fn every_name_is_known_by_its_word_and_says_what_it_is() {
    for name in StrategyName::ALL {
        let facts = name.facts();
        assert!(facts.sentence.ends_with('.') && !facts.stands_for.is_empty(), "{name}");
        assert!(!facts.on.is_empty() && !facts.writes.is_empty(), "{name}");
        let both = [Ground::SqliteFile, Ground::PostgresOwn].map(|ground| facts.on.contains(&ground));
        assert_eq!(facts.why_not.is_empty(), both == [true, true], "{name}");
        // Elsewhere there is a reason too.
        for ground in [Ground::SqliteServed, Ground::H2] {
            let refusal = facts.refusal(ground);
            assert!(
                facts.on.contains(&ground) || refusal.is_some_and(|why| !why.is_empty()),
                "{name}"
            );
        }
    }
}

#[test]
fn a_strategy_of_another_engine_is_refused_with_a_reason() {
    let workload = Workload::new(1, 1);
    let mut session = SqliteSession::in_memory().unwrap();
    session.create_model(&workload).unwrap();
    for (name, reason) in [
        (StrategyName::UndoFunction, "no stored functions"),
        (StrategyName::FileClone, "storage = \"file\""),
    ] {
        let error = strategy::on_sqlite(name, &mut session, &workload)
            .err()
            .expect("a refusal");
        assert!(error.to_string().contains(reason), "{error}");
    }
}
