//! Schemas on PostgreSQL that do something to a write: each strategy agrees with the rollback, differs or fails, and
//! its facts say which.

use preview_cost::backend::postgres::{PostgresSession, Target};
use preview_cost::step::Steps;
use preview_cost::strategy::{self, Ground, Honour, StrategyName};
use preview_cost::workload::Workload;

use crate::support::{self, DEADLINE};

const DELTA: f64 = 0.013;
const SCHEMA: &str = "hostile";

/// What the schema does to those strategies that honour something.
enum Then {
    /// They agree with the rollback, and the others don't.
    Alone(Honour),
    /// They fail, with this in the message, and the others answer as the copy does.
    Fail(Honour, &'static str),
    /// Everyone agrees, and the sequence moves for those who honour triggers.
    AllAndTheSequenceMoves,
}

const HOSTILE: [(&str, &str, Then); 7] = [
    (
        "a trigger that changes a written value",
        "CREATE FUNCTION rounds() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN NEW.field_value := round(NEW.field_value::numeric, 2); RETURN NEW; END $$;
         CREATE TRIGGER rounds BEFORE UPDATE ON model_field FOR EACH ROW EXECUTE FUNCTION rounds()",
        Then::Alone(Honour::Triggers),
    ),
    (
        "a generated column",
        "ALTER TABLE model_field RENAME field_value TO base;
         ALTER TABLE model_field ADD field_value double precision GENERATED ALWAYS AS (base) STORED",
        Then::Fail(Honour::Checks, "428C9"),
    ),
    (
        "a CHECK that rejects a delta",
        "ALTER TABLE model_field ADD CHECK (name <> 'fixed_burn' OR field_value < 66000)",
        Then::Fail(Honour::Checks, "23514"),
    ),
    (
        "numeric(10,2)",
        "ALTER TABLE model_field ALTER field_value TYPE numeric(10, 2)",
        Then::Alone(Honour::ColumnType),
    ),
    (
        "a deferred constraint",
        "CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'refused at the commit'; END $$;
         CREATE CONSTRAINT TRIGGER refuses AFTER UPDATE ON model_field DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION refuses()",
        Then::Fail(Honour::Deferred, "refused at the commit"),
    ),
    (
        "row-level security",
        "ALTER TABLE model_field ENABLE ROW LEVEL SECURITY;
         CREATE POLICY sees ON model_field FOR SELECT USING (true);
         CREATE POLICY writes ON model_field FOR UPDATE USING (true)
             WITH CHECK (name <> 'fixed_burn' OR field_value < 66000)",
        Then::Fail(Honour::Checks, "42501"),
    ),
    (
        "a sequence default",
        "CREATE TABLE log (id bigserial PRIMARY KEY, name text);
         GRANT ALL ON ALL TABLES IN SCHEMA hostile TO tenant; GRANT ALL ON ALL SEQUENCES IN SCHEMA hostile TO tenant;
         CREATE FUNCTION logs() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO hostile.log (name) VALUES (NEW.name); RETURN NULL; END $$;
         CREATE TRIGGER logs AFTER UPDATE ON model_field FOR EACH ROW EXECUTE FUNCTION logs()",
        Then::AllAndTheSequenceMoves,
    ),
];

#[test]
fn on_hostile_schemas_postgres_strategies_do_what_their_facts_say() {
    let server = support::postgres();
    let workload = Workload::new(10, 60);
    let mut owner = server.session();
    owner.simple("CREATE ROLE tenant LOGIN").unwrap();
    let tenant = Target {
        user: "tenant".to_owned(),
        ..server.target.clone()
    };
    for (what, sql, then) in &HOSTILE {
        let mut control = server.control();
        control.create_schema(SCHEMA).unwrap();
        control.create_shaped(SCHEMA, &workload).unwrap();
        owner
            .simple("SET search_path = hostile; GRANT USAGE ON SCHEMA hostile TO tenant")
            .unwrap();
        owner.simple(sql).unwrap();
        owner.simple("GRANT SELECT, UPDATE ON model_field TO tenant").unwrap();
        let mut session = PostgresSession::connect(&tenant, SCHEMA, &workload, DEADLINE).unwrap();
        let stored = session.read_model(&workload).unwrap();
        let overrides = workload.overrides(DELTA);
        let mut answer = |name| {
            let answer = strategy::on_postgres(name, &mut session, &workload)
                .map_err(|error| error.to_string())
                .and_then(|mut strategy| {
                    strategy
                        .preview(&mut session, &overrides, &mut Steps::off())
                        .map_err(|error| error.to_string())
                });
            session.reset().unwrap();
            answer
        };
        let mut moved = || {
            let mut moved = false;
            let asked = owner.simple_rows("SELECT is_called FROM hostile.log_id_seq", |row| {
                moved = row.text(0)? == "t";
                Ok(())
            });
            asked
                .and_then(|_| owner.simple("ALTER SEQUENCE hostile.log_id_seq RESTART"))
                .unwrap();
            moved
        };
        let rollback = answer(StrategyName::Rollback);
        let copy = answer(StrategyName::Copy).unwrap();
        if matches!(then, Then::AllAndTheSequenceMoves) {
            assert!(moved());
        }
        for name in StrategyName::on(Ground::PostgresOther).filter(|name| name.round_trips().is_some()) {
            let honours = |honour: &Honour| name.facts().honours.contains(honour);
            match (then, answer(name)) {
                (Then::Fail(honour, message), found) if honours(honour) => {
                    let error = found.expect_err(what);
                    assert!(error.contains(message), "{what}: {name}: {error}");
                }
                (Then::Fail(..), found) => {
                    assert!(
                        found
                            .unwrap_or_else(|error| panic!("{what}: {name}: {error}"))
                            .same_bits(&copy),
                        "{what}: {name}"
                    );
                }
                (Then::Alone(honour), found) => {
                    let same = found
                        .unwrap_or_else(|error| panic!("{what}: {name}: {error}"))
                        .same_bits(rollback.as_ref().unwrap());
                    assert_eq!(same, honours(honour), "{what}: {name}");
                }
                (Then::AllAndTheSequenceMoves, found) => {
                    let same = found
                        .unwrap_or_else(|error| panic!("{what}: {name}: {error}"))
                        .same_bits(rollback.as_ref().unwrap());
                    assert!(same, "{what}: {name}");
                    assert_eq!(moved(), honours(&Honour::Triggers), "{what}: {name}");
                }
            }
        }
        assert!(session.read_model(&workload).unwrap().same_bits(&stored), "{what}");
        drop(session);
        owner.simple("DROP SCHEMA hostile CASCADE").unwrap();
    }
}
