//! Clones that can't be made: who is in the way is told, and when they are gone the previews go on.

use std::path::Path;
use std::time::Duration;

use preview_cost::backend::Creations;
use preview_cost::backend::creations::Creation;
use preview_cost::backend::postgres::wire::WireSession;
use preview_cost::backend::postgres::{POOL_CLONES, PostgresSession, Target};
use preview_cost::step::Steps;
use preview_cost::strategy::{self, StrategyName};
use preview_cost::workload::Workload;

use crate::support::{self, DEADLINE, TestServer};

const SCHEMA: &str = "faults";

fn session(server: &TestServer, workload: &Workload, notes: &Path) -> PostgresSession {
    let mut control = server.control();
    control.create_schema(SCHEMA).unwrap();
    control.create_shaped(SCHEMA, workload).unwrap();
    let session = PostgresSession::connect(&server.target, SCHEMA, workload, DEADLINE).unwrap();
    session.noting(Creations::at(notes))
}

/// The template is the first database that a strategy notes.
pub fn template_in(notes: &Path) -> String {
    let noted = Creations::at(notes).read().unwrap();
    let mut databases = noted.into_iter().filter_map(|creation| match creation {
        Creation::Database(name) => Some(name),
        _ => None,
    });
    databases.next().expect("a database is noted")
}

/// A session in a template.
fn holder(server: &TestServer, template: String) -> WireSession {
    let within = Target {
        dbname: template,
        ..server.target.clone()
    };
    let mut holder = WireSession::connect(&within, Duration::from_secs(5)).unwrap();
    holder.simple("SET application_name = 'a curious neighbour'").unwrap();
    holder
}

#[test]
fn whoever_holds_a_template_in_use_is_named() {
    let server = support::postgres();
    let directory = tempfile::tempdir().unwrap();
    let workload = Workload::new(2, 12);
    let notes = directory.path().join("creations.jsonl");
    let mut session = session(&server, &workload, &notes);
    let mut template = strategy::on_postgres(StrategyName::Template, &mut session, &workload).unwrap();
    let overrides = workload.overrides(0.01);
    let holder = holder(&server, template_in(&notes));

    // The server looks again for five seconds before it says no.
    let error = template
        .preview(&mut session, &overrides, &mut Steps::off())
        .unwrap_err()
        .to_string();
    for words in [
        format!("the template {} is in use by", template_in(&notes)),
        "(postgres, a curious neighbour)".to_owned(),
        "55006".to_owned(),
    ] {
        assert!(error.contains(&words), "{words}: {error}");
    }
    holder.leave().unwrap();
    template.preview(&mut session, &overrides, &mut Steps::off()).unwrap();
}

#[test]
fn a_pool_serves_what_it_has_then_says_why_it_has_no_more_and_goes_on_when_it_can() {
    let server = support::postgres();
    let directory = tempfile::tempdir().unwrap();
    let workload = Workload::new(2, 12);
    let notes = directory.path().join("creations.jsonl");
    let mut session = session(&server, &workload, &notes);
    let mut pool = strategy::on_postgres(StrategyName::TemplatePool, &mut session, &workload).unwrap();
    assert_eq!(Creations::at(&notes).read().unwrap().len(), 1 + POOL_CLONES);
    assert_eq!(pool.background().unwrap().waits, 0);
    let overrides = workload.overrides(0.01);
    let holder = holder(&server, template_in(&notes));

    let expected = pool.preview(&mut session, &overrides, &mut Steps::off()).unwrap();
    for _ in 1..POOL_CLONES {
        assert!(
            pool.preview(&mut session, &overrides, &mut Steps::off())
                .unwrap()
                .same_bits(&expected)
        );
    }
    let error = pool
        .preview(&mut session, &overrides, &mut Steps::off())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("is in use by") && error.contains("a curious neighbour"),
        "{error}"
    );
    let work = pool.background().unwrap();
    assert!(work.waits == 1 && !work.waited.is_zero(), "{work:?}");

    holder.leave().unwrap();
    assert!(
        pool.preview(&mut session, &overrides, &mut Steps::off())
            .unwrap()
            .same_bits(&expected)
    );
    drop(pool);
    let databases = "SELECT FROM pg_database WHERE datname LIKE 'preview_cost%'";
    let left = server.session().simple(databases).unwrap().rows_returned;
    assert_eq!(left, 0, "databases are left");
}
