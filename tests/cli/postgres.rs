//! Runs on a real PostgreSQL that go well: the answers are SQLite's, and the database is as it was.

use std::path::Path;

use preview_cost::archive::{PairRow, PairStatus, Phase};
use serde_json::Value;

use crate::remains::{analyze, ledger, read};
use crate::samples;
use crate::server::{Database, at};
use crate::support::{Bench, Running, SMALL, ask, edited};

#[test]
fn a_run_leaves_the_database_as_it_was() {
    let database = Database::new();
    database.run(
        "CREATE SCHEMA bystander; CREATE TABLE bystander.model_field (name text, field_value float8); \
         INSERT INTO bystander.model_field VALUES ('growth_0', 1.5); \
         CREATE TABLE public.model_field (name text PRIMARY KEY, field_value float8); \
         INSERT INTO public.model_field VALUES ('growth_0', 2.5)",
    );
    let state = "SELECT string_agg(concat_ws(' ', xmin, ctid, name, field_value), ',') FROM (\
                 SELECT xmin, ctid, * FROM bystander.model_field UNION ALL SELECT xmin, ctid, * FROM public.model_field) x";
    let look = || database.client().query_one(state, &[]).unwrap().get::<_, String>(0);
    let (before, contents) = (look(), database.contents());
    let bench = Bench::new(database.manifest("postgres"));
    let (archive, forks) = read(&bench.measure()).unwrap();
    assert_eq!((archive.forks.len(), forks.len()), (8, 8));
    assert!(archive.forks.iter().all(|fork| fork.model_intact == Some(true)));
    assert!(
        archive
            .forks
            .iter()
            .all(|fork| fork.distance_before.is_some() && fork.distance_after.is_some())
    );
    assert_eq!(ledger(&bench.results(), None), ["started", "finished"]);
    assert_eq!((look(), database.contents()), (before, contents));
}

#[test]
fn answers_are_those_of_sqlite() {
    let answers = |run: &Path| -> Vec<_> {
        let (_, forks) = read(run).unwrap();
        let pairs = forks.into_iter().flat_map(|fork| fork.pairs);
        pairs
            .map(|pair| {
                (
                    pair.delta.to_bits(),
                    pair.subject.answer.unwrap(),
                    pair.baseline.answer.unwrap(),
                )
            })
            .collect()
    };
    let database = Database::new();
    let bench = Bench::new(database.manifest("postgres"));
    assert_eq!(answers(&bench.measure()), answers(samples::sealed(0)));
}

#[test]
fn a_url_takes_the_place_of_the_manifests_server() {
    let database = Database::new();
    let ephemeral = (
        "engine = \"sqlite\"\nstorage = \"memory\"",
        "engine = \"postgres\"\nprovision = \"container\"\nimage = \"nothing:0\"",
    );
    let bench = Bench::new(edited(SMALL, &[ephemeral]));
    let mut command = bench.run();
    command
        .args(["--url", "${SERVER_OF_THE_TEST}"])
        .env("SERVER_OF_THE_TEST", database.url("postgres"));
    ask(&mut command).exits(0);
    let json = ask(&mut analyze(&bench.only_run(), "json")).exits(0).stdout;
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["runs"][0]["backend"], "postgres at url");
    assert_eq!(database.contents(), ["public"]);
}

#[test]
fn a_schema_can_be_named_and_goes_with_the_run() {
    let database = Database::new();
    let manifest = edited(
        &database.manifest("postgres"),
        &[("[grid]", "schema = \"mine\"\n[grid]")],
    );
    let bench = Bench::new(manifest);
    bench.measure();
    assert_eq!(database.contents(), ["public"]);
    bench.measure();
    assert_eq!(
        ledger(&bench.results(), None),
        ["started", "finished", "started", "finished"]
    );
}

/// Somebody changes the stored model under a fork: its pairs are a test of that, and so is its end.
#[test]
fn a_model_that_is_changed_underneath_is_found_out() {
    let database = Database::new();
    let manifest = edited(
        &database.manifest("postgres"),
        &[
            ("[grid]", "schema = \"ours\"\n[grid]"),
            ("plans = [1, 3]", "plans = [1]\ncontrol = false"),
            ("previews = 21", "previews = 1500"),
        ],
    );
    let bench = Bench::new(manifest);
    let mut running = Running::start(&mut bench.run());
    let mut client = database.client();
    let change = "UPDATE ours.model_field SET field_value = field_value + 1 WHERE name = 'price_0'";
    let idle = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'preview-cost' \
                AND state = 'idle in transaction' AND query LIKE 'UPDATE%'";
    running.until("a session is in a preview", || {
        (!client.query(idle, &[]).unwrap().is_empty()).then_some(())
    });
    client.batch_execute(change).unwrap();
    let said = running.end().exits(6);
    let messages = said.messages();
    assert_eq!(messages.len(), 2, "{said:#?}");
    assert!(messages[0].starts_with("sealed "), "{said:#?}");
    assert!(
        messages[1].contains("the answers differed, and after 1 forks a preview had persisted"),
        "{said:#?}"
    );
    assert!(
        said.stdout
            .contains("After 1 forks the stored model was not what was seeded"),
        "{said:#?}"
    );
    let (archive, forks) = read(&bench.only_run()).unwrap();
    let damaged: Vec<_> = archive.forks.iter().map(|fork| fork.model_intact).collect();
    assert_eq!(damaged, [Some(false), Some(true)]);
    let status = |fork: usize| forks[fork].pairs.iter().map(|pair| pair.status).collect::<Vec<_>>();
    assert!(status(0).contains(&PairStatus::Mismatch) && status(1).iter().all(|&status| status == PairStatus::Ok));
    let json: Value = serde_json::from_str(&ask(&mut analyze(&bench.only_run(), "json")).exits(0).stdout).unwrap();
    let figures = json["runs"][0]["figures"].as_array().unwrap();
    let value = |id: &str| {
        figures.iter().find(|figure| figure["id"] == id).unwrap()["value"]
            .as_u64()
            .unwrap()
    };
    let measured = |pair: &&PairRow| pair.phase == Phase::Measured && pair.status == PairStatus::Mismatch;
    let mismatches = forks[0].pairs.iter().filter(measured).count() as u64;
    assert_eq!(value("cell[plans=1].pairs.uncounted"), mismatches);
    assert_eq!(value("cell[plans=1].pairs.ok"), 3_000 - mismatches);
    assert_eq!(database.contents(), ["public"]);
}

/// Two runs at once on one database do not meet.
#[test]
fn runs_side_by_side_do_not_meet() {
    let database = Database::new();
    let url = database.url("postgres");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| Bench::new(at(&url)).measure());
        }
    });
    assert_eq!(database.contents(), ["public"]);
}
