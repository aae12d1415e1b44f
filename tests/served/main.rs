//! Engines behind PostgreSQL's protocol that are not PostgreSQL: SQLite behind a socket, and H2. Their strategies must give
//! the answers that SQLite gives in this process, bit for bit, and leave nothing.

mod h2;
mod protocol;
mod raw;
mod sqlite;

use std::path::Path;

use preview_cost::backend::postgres::{Dialect, PostgresSession, Target};
use preview_cost::backend::sqlite::SqliteSession;
use preview_cost::step::Steps;
use preview_cost::strategy::{self, Engine, Ground, StrategyName};
use preview_cost::workload::{Answer, Workload};

/// The study's deltas.
const DELTAS: [f64; 4] = [0.0, 0.005, 0.02, 0.05];
/// What can be done over the protocol, on either engine.
const STRATEGIES: [StrategyName; 9] = [
    StrategyName::Rollback,
    StrategyName::RollbackSerial,
    StrategyName::RollbackPipelined,
    StrategyName::Copy,
    StrategyName::CopyFresh,
    StrategyName::RollbackOneMessage,
    StrategyName::Savepoint,
    StrategyName::Reenact,
    StrategyName::OverlayTemp,
];
/// How long the tests' sessions wait for an answer.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(20);

/// This program.
fn exe() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_preview-cost"))
}

/// What a rollback in this process answers.
fn expected(workload: &Workload) -> Vec<Answer> {
    let mut session = SqliteSession::in_memory().unwrap();
    session.create_model(workload).unwrap();
    let mut rollback = strategy::on_sqlite(StrategyName::Rollback, &mut session, workload).unwrap();
    let mut answer = |delta| rollback.preview(&mut session, &workload.overrides(delta), &mut Steps::off());
    DELTAS.map(|delta| answer(delta).unwrap()).to_vec()
}

/// Holds every strategy to the answers, twice over, and the model to what was seeded.
fn agree(engine: Engine, dialect: Dialect, target: &Target, schema: &str, workload: &Workload) {
    let expected = expected(workload);
    let mut session = PostgresSession::connect_to(dialect, target, schema, workload, DEADLINE).unwrap();
    let ground = match engine {
        Engine::Sqlite => Ground::SqliteServed,
        _ => Ground::H2,
    };
    for name in STRATEGIES {
        let mut strategy = strategy::on_wire(engine, name, &mut session, workload).unwrap();
        for (delta, expected) in DELTAS.iter().chain(&DELTAS).zip(expected.iter().chain(&expected)) {
            let answer = strategy.preview(&mut session, &workload.overrides(*delta), &mut Steps::off());
            let answer = answer.unwrap_or_else(|error| panic!("{name} at {delta}: {error}"));
            assert!(
                answer.same_bits(expected),
                "{name} at {delta}: {answer:?}, not {expected:?}"
            );
        }
        let stored = session.read_model(workload).unwrap();
        assert!(stored.same_bits(workload.stored()), "{name} left something");
    }
    for &name in StrategyName::ALL {
        let why = name.facts().refusal(ground);
        assert_eq!(
            why.is_none(),
            STRATEGIES.contains(&name),
            "{name}: a plan and a session agree"
        );
        if let Some(why) = why {
            let refused = strategy::on_wire(engine, name, &mut session, workload).err().unwrap();
            assert!(!why.is_empty() && refused.to_string().ends_with(why), "{refused}");
        }
    }
}
