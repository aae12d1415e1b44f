//! The steps that each strategy tells of, on real engines, and how far a preview came that failed.

use preview_cost::backend::postgres::PostgresSession;
use preview_cost::backend::sqlite::SqliteSession;
use preview_cost::clock::Clock;
use preview_cost::step::{Step, Steps};
use preview_cost::strategy::{self, Ground, Strategy, StrategyName};
use preview_cost::workload::{Answer, Workload};

use super::support::{self, DEADLINE};

const SCHEMA: &str = "preview_cost_steps";

use Step::{Compute, Discard, Exchange, Read, Write};

/// What a strategy does on PostgreSQL, step by step.
fn on_postgres(name: StrategyName) -> &'static [Step] {
    match name {
        StrategyName::Rollback | StrategyName::RollbackSerial | StrategyName::RollbackSet | StrategyName::Savepoint => {
            &[Write, Read, Compute, Discard]
        }
        // It decodes when the transaction is over.
        StrategyName::RollbackDriver => &[Write, Read, Discard, Read, Compute],
        StrategyName::RollbackPipelined
        | StrategyName::RollbackOneMessage
        | StrategyName::UndoFunction
        | StrategyName::OverlayTemp => &[Exchange, Compute],
        StrategyName::Reenact | StrategyName::CopyFresh => &[Read, Compute],
        StrategyName::Copy => &[Compute],
        // A database or a server of its own: made and connected to, one message, left and removed.
        _ => &[Write, Exchange, Discard, Compute],
    }
}

/// What it does on SQLite.
fn on_sqlite(name: StrategyName) -> &'static [Step] {
    match name {
        StrategyName::Reenact | StrategyName::CopyFresh => &[Read, Compute],
        StrategyName::Copy => &[Compute],
        StrategyName::OverlayTemp => &[Write, Read, Discard, Compute],
        _ => &[Write, Read, Compute, Discard],
    }
}

/// A preview's steps, whose times must add up to it, and its answer.
fn steps_of<S>(
    strategy: &mut dyn Strategy<S>,
    session: &mut S,
    workload: &Workload,
) -> (Vec<Step>, Result<Answer, String>) {
    let clock = Clock::start();
    let mut steps = Steps::by(clock);
    steps.begin();
    let start = clock.now();
    let answer = strategy.preview(session, &workload.overrides(0.02), &mut steps);
    let end = clock.now();
    let steps = steps.between(start, end);
    let sum: i64 = steps.iter().map(|(_, time)| time.0).sum();
    assert_eq!(sum, end.0 - start.0, "{steps:?}");
    let words = steps.into_iter().map(|(step, _)| step).collect();
    (words, answer.map_err(|error| error.to_string()))
}

#[test]
fn every_strategy_tells_its_steps_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let workload = Workload::new(10, 60);
    let file = directory.path().join("model");
    let mut session = SqliteSession::on_file(&file, "wal", "off", DEADLINE).unwrap();
    session.create_model(&workload).unwrap();
    for name in StrategyName::on(Ground::SqliteFile) {
        let mut strategy = strategy::on_sqlite(name, &mut session, &workload).unwrap();
        let (steps, answer) = steps_of(&mut *strategy, &mut session, &workload);
        assert_eq!(steps, on_sqlite(name), "{name}");
        answer.unwrap();
    }
}

#[test]
fn every_strategy_tells_its_steps_on_postgres() {
    let server = support::postgres();
    let mut control = server.control();
    control.create_schema(SCHEMA).unwrap();
    let workload = Workload::new(10, 60);
    control.create_shaped(SCHEMA, &workload).unwrap();
    let mut session = PostgresSession::connect(&server.target, SCHEMA, &workload, DEADLINE).unwrap();
    for name in StrategyName::on(Ground::PostgresOther) {
        let mut strategy = strategy::on_postgres(name, &mut session, &workload).unwrap();
        let (steps, answer) = steps_of(&mut *strategy, &mut session, &workload);
        assert_eq!(steps, on_postgres(name), "{name}");
        answer.unwrap();
    }
    session.close();
    control.drop_schema(SCHEMA).unwrap();
}

/// The steps of a preview that fails are those that it came to.
#[test]
fn a_preview_that_fails_has_the_steps_that_it_came_to() {
    let workload = Workload::new(10, 60);
    let expected: [(StrategyName, &[Step]); 2] =
        [(StrategyName::Rollback, &[Write]), (StrategyName::CopyFresh, &[Read])];

    let mut session = SqliteSession::in_memory().unwrap();
    session.create_model(&workload).unwrap();
    for (name, came_to) in expected {
        let mut strategy = strategy::on_sqlite(name, &mut session, &workload).unwrap();
        session.batch("DELETE FROM model_field").unwrap();
        let (steps, answer) = steps_of(&mut *strategy, &mut session, &workload);
        assert_eq!(steps, came_to, "{name}: {answer:?}");
        assert!(answer.is_err(), "{name}");
        session.reset().unwrap();
    }

    let server = support::postgres();
    let mut control = server.control();
    control.create_schema(SCHEMA).unwrap();
    control.create_shaped(SCHEMA, &workload).unwrap();
    let mut session = PostgresSession::connect(&server.target, SCHEMA, &workload, DEADLINE).unwrap();
    let table = session.table().name().to_owned();
    session.simple(&format!("DELETE FROM {table}")).unwrap();
    let further: [(StrategyName, &[Step]); 3] = [
        (StrategyName::RollbackPipelined, &[Exchange]),
        // It cleans up by itself.
        (StrategyName::Savepoint, &[Write, Discard]),
        (StrategyName::RollbackOneMessage, &[Exchange, Discard]),
    ];
    for (name, came_to) in expected.into_iter().chain(further) {
        let mut strategy = strategy::on_postgres(name, &mut session, &workload).unwrap();
        let (steps, answer) = steps_of(&mut *strategy, &mut session, &workload);
        assert_eq!(steps, came_to, "{name}: {answer:?}");
        assert!(answer.is_err(), "{name}");
        session.reset().unwrap();
    }
}
