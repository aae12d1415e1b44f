//! Schemas on SQLite that do something to a write: each strategy agrees with the rollback, differs or fails, and its
//! facts say which.

use preview_cost::backend::sqlite::SqliteSession;
use preview_cost::step::Steps;
use preview_cost::strategy::{self, Ground, Honour, StrategyName};
use preview_cost::workload::Workload;

use crate::support::DEADLINE;

const DELTA: f64 = 0.013;

/// What the schema does to those strategies that honour something.
enum Then {
    /// They agree with the rollback, and the others don't.
    Alone(Honour),
    /// They fail, with this in the message, and the others answer as the copy does.
    Fail(Honour, &'static str),
    /// Everyone agrees.
    All,
}

const HOSTILE: [(&str, &str, Then); 6] = [
    (
        "a trigger that changes a written value",
        "CREATE TRIGGER rounds AFTER UPDATE ON model_field BEGIN
             UPDATE model_field SET field_value = round(new.field_value, 2) WHERE name = new.name;
         END",
        Then::Alone(Honour::Triggers),
    ),
    (
        "a generated column",
        "ALTER TABLE model_field RENAME TO old;
         CREATE TABLE model_field (name text PRIMARY KEY, base real, field_value real AS (base) STORED);
         INSERT INTO model_field SELECT name, field_value FROM old",
        Then::Fail(Honour::Checks, "cannot UPDATE generated column"),
    ),
    (
        "a CHECK that rejects a delta",
        "ALTER TABLE model_field RENAME TO old;
         CREATE TABLE model_field (name text PRIMARY KEY, field_value real CHECK (name <> 'fixed_burn' OR field_value < 66000));
         INSERT INTO model_field SELECT name, field_value FROM old",
        Then::Fail(Honour::Checks, "CHECK constraint failed"),
    ),
    (
        "numeric(10,2), which SQLite does not round",
        "ALTER TABLE model_field RENAME TO old;
         CREATE TABLE model_field (name text PRIMARY KEY, field_value numeric(10, 2));
         INSERT INTO model_field SELECT name, field_value FROM old",
        Then::All,
    ),
    (
        "a deferred constraint",
        "CREATE TABLE allowed (value real PRIMARY KEY);
         INSERT INTO allowed SELECT DISTINCT field_value FROM model_field;
         ALTER TABLE model_field RENAME TO old;
         CREATE TABLE model_field (name text PRIMARY KEY,
                                   field_value real REFERENCES allowed (value) DEFERRABLE INITIALLY DEFERRED);
         INSERT INTO model_field SELECT name, field_value FROM old",
        Then::Fail(Honour::Deferred, "FOREIGN KEY constraint failed"),
    ),
    (
        "a sequence default",
        "CREATE TABLE log (id integer PRIMARY KEY AUTOINCREMENT, name text);
         CREATE TRIGGER logged AFTER UPDATE ON model_field BEGIN INSERT INTO log (name) VALUES (new.name); END",
        Then::All,
    ),
];

#[test]
fn on_hostile_schemas_sqlite_strategies_do_what_their_facts_say() {
    let directory = tempfile::tempdir().unwrap();
    let workload = Workload::new(10, 60);
    for (place, (what, sql, then)) in HOSTILE.iter().enumerate() {
        let path = directory.path().join(place.to_string());
        let mut session = SqliteSession::on_file(&path, "delete", "off", DEADLINE).unwrap();
        session.create_model(&workload).unwrap();
        session.batch("PRAGMA foreign_keys = ON").unwrap();
        session.batch(sql).unwrap();
        let stored = session.read_model(&workload).unwrap();
        let overrides = workload.overrides(DELTA);
        let mut answer = |name| {
            let answer = strategy::on_sqlite(name, &mut session, &workload)
                .map_err(|error| error.to_string())
                .and_then(|mut strategy| {
                    strategy
                        .preview(&mut session, &overrides, &mut Steps::off())
                        .map_err(|error| error.to_string())
                });
            session.reset().unwrap();
            answer
        };
        let rollback = answer(StrategyName::Rollback);
        let copy = answer(StrategyName::Copy).unwrap();
        for name in StrategyName::on(Ground::SqliteFile) {
            let honours = |honour: &Honour| name.facts().honours.contains(honour);
            match (then, answer(name)) {
                (Then::Fail(honour, message), found) if honours(honour) => {
                    let error = found.expect_err(what);
                    assert!(error.contains(message), "{what}: {name}: {error}");
                }
                (Then::Fail(..), found) => assert!(found.unwrap().same_bits(&copy), "{what}: {name}"),
                (Then::Alone(honour), found) => {
                    let same = found.unwrap().same_bits(rollback.as_ref().unwrap());
                    assert_eq!(same, honours(honour), "{what}: {name}");
                }
                (Then::All, found) => {
                    assert!(found.unwrap().same_bits(rollback.as_ref().unwrap()), "{what}: {name}");
                }
            }
        }
        assert!(session.read_model(&workload).unwrap().same_bits(&stored), "{what}");
    }
}
