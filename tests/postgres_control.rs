//! The control session against a real PostgreSQL: what it creates, refuses, removes, and reports.

#[path = "support/mod.rs"]
mod support;

use preview_cost::backend::postgres::PgError;
use preview_cost::backend::postgres::control::Control;
use preview_cost::backend::postgres::target::Target;
use preview_cost::backend::postgres::wire::{Param, ParamType};
use preview_cost::environment::FactStatus;

use support::{postgres, postgres_with};

fn rows(names: &[&str]) -> Vec<(String, f64)> {
    names
        .iter()
        .zip(1..)
        .map(|(name, value)| ((*name).to_owned(), f64::from(value) / 3.0))
        .collect()
}

#[test]
fn a_model_is_made_read_and_removed_in_a_schema_with_a_difficult_name() {
    let server = postgres();
    let mut control = server.control();
    control.require_supported().unwrap();
    let schema = "Odd \"name'; DROP";
    control.create_schema(schema).unwrap();
    let given = rows(&["b", "a", "C", "b_2"]);
    control.create_model(schema, &given).unwrap();
    let stored = control.read_model(schema).unwrap();
    assert_eq!(
        stored.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["C", "a", "b", "b_2"]
    );
    assert!(stored.iter().all(|row| given.contains(row)));

    let mut session = server.session();
    let select = session
        .prepare("SELECT name FROM \"Odd \"\"name'; DROP\".model_field", &[])
        .unwrap();
    let mut flight = session.flight();
    flight.execute(select, &[]).unwrap();
    let mut order = Vec::new();
    flight
        .land(|row| {
            order.push(row.text(0)?.to_owned());
            Ok(())
        })
        .unwrap();
    assert_eq!(order, ["b", "a", "C", "b_2"]);

    control.create_model(schema, &rows(&["other"])).unwrap();
    assert_eq!(control.read_model(schema).unwrap(), rows(&["other"]));
    let error = control.create_model(schema, &rows(&["twice", "twice"])).unwrap_err();
    assert_eq!(error.sqlstate(), Some("23505"), "{error}");
    assert_eq!(control.read_model(schema).unwrap(), rows(&["other"]));

    control.drop_model(schema).unwrap();
    assert_eq!(control.read_model(schema).unwrap_err().sqlstate(), Some("42P01"));
    control.drop_schema(schema).unwrap();
    control.drop_schema(schema).unwrap();
    control.create_schema(schema).unwrap();
}

#[test]
fn nothing_that_is_not_ours_is_touched() {
    let server = postgres();
    let mut control = server.control();
    let mut user = server.session();
    user.simple("CREATE SCHEMA theirs; CREATE TABLE theirs.model_field (precious int)")
        .unwrap();
    assert!(matches!(control.create_schema("theirs"), Err(PgError::SchemaTaken { schema }) if schema == "theirs"));
    for refused in [
        control.drop_schema("theirs"),
        control.create_model("theirs", &rows(&["a"])),
        control.drop_model("theirs"),
        control.drop_schema("public"),
    ] {
        assert!(matches!(refused, Err(PgError::SchemaForeign { .. })), "{refused:?}");
    }
    user.simple("SELECT precious FROM theirs.model_field").unwrap();

    control.create_schema("ours").unwrap();
    assert!(matches!(
        control.create_schema("ours"),
        Err(PgError::SchemaTaken { .. })
    ));
    control.create_model("ours", &rows(&["a"])).unwrap();
    user.simple("CREATE TABLE ours.guest (precious int)").unwrap();
    let error = control.drop_schema("ours").unwrap_err();
    assert!(matches!(error, PgError::SchemaNotEmpty { .. }), "{error}");
    assert!(error.to_string().contains("ours.guest"), "{error}");
    user.simple("SELECT precious FROM ours.guest; DROP TABLE ours.guest")
        .unwrap();
    control.drop_schema("ours").unwrap();
    assert_eq!(
        user.simple("SELECT FROM pg_namespace WHERE nspname = 'ours'")
            .unwrap()
            .rows_returned,
        0
    );

    assert!(matches!(
        control.create_schema(&"x".repeat(64)),
        Err(PgError::Name { .. })
    ));
    assert_eq!(control.create_schema("pg_mine").unwrap_err().sqlstate(), Some("42939"));
}

#[test]
fn a_role_without_rights_and_a_read_only_server_are_told_so() {
    let server = postgres_with("", &[], &[]);
    server.session().simple("CREATE ROLE guest LOGIN").unwrap();
    let guest = Target {
        user: "guest".to_owned(),
        ..server.target.clone()
    };
    let error = Control::connect(&guest).unwrap().create_schema("mine").unwrap_err();
    assert!(matches!(error, PgError::Privilege { .. }), "{error}");
    assert!(
        error.to_string().contains("guest") && error.to_string().contains("GRANT CREATE"),
        "{error}"
    );

    let facts = Control::connect(&guest).unwrap().server_facts().unwrap();
    let denied = facts.iter().find(|fact| fact.key == "settings.superuser_only").unwrap();
    assert_eq!((denied.status, denied.value.as_deref()), (FactStatus::Denied, None));

    let read_only = Target {
        options: Some("-c default_transaction_read_only=on".to_owned()),
        ..server.target.clone()
    };
    let error = Control::connect(&read_only).unwrap().require_supported().unwrap_err();
    assert!(matches!(error, PgError::ReadOnly { .. }), "{error}");
}

#[test]
fn facts_say_what_the_server_is_and_hide_what_may_be_secret() {
    let settings = [
        "work_mem=8MB",
        "archive_command=echo hunter2",
        "primary_conninfo=password=hunter2",
    ];
    let server = postgres_with("", &settings, &[]);
    let facts = server.control().server_facts().unwrap();
    let fact = |key: &str| {
        facts
            .iter()
            .find(|fact| fact.key == key)
            .unwrap_or_else(|| panic!("no fact {key}"))
    };
    assert!(fact("version").value.as_deref().unwrap().starts_with("PostgreSQL 15"));
    for (key, value) in [
        ("data_checksums", "off"),
        ("is_superuser", "on"),
        ("encoding", "UTF8"),
        ("collation", "C"),
        ("in_recovery", "f"),
    ] {
        assert_eq!(fact(key).value.as_deref(), Some(value), "{key}");
    }
    assert_eq!(fact("uptime").unit.as_deref(), Some("s"));
    let work_mem = fact("setting.work_mem");
    assert_eq!(
        (work_mem.value.as_deref(), work_mem.unit.as_deref()),
        (Some("8192"), Some("kB"))
    );
    assert_eq!(work_mem.source, "pg_settings: command line");
    for key in [
        "setting.archive_command",
        "setting.primary_conninfo",
        "setting.data_directory",
        "setting.hba_file",
    ] {
        assert_eq!(
            (fact(key).status, fact(key).value.as_deref()),
            (FactStatus::Masked, None),
            "{key}"
        );
    }
    assert!(
        facts
            .iter()
            .all(|fact| fact.scope == "server" && !format!("{fact:?}").contains("hunter2"))
    );
    assert!(
        facts.iter().all(|fact| !fact.key.ends_with("_timeout")),
        "the control session's own limits are reported"
    );
}

#[test]
fn the_tables_state_shows_what_rolled_back_updates_leave_behind() {
    let server = postgres();
    let mut control = server.control();
    control.create_schema("state").unwrap();
    control.create_model("state", &rows(&["a", "b", "c"])).unwrap();
    let fresh = control.table_state("state").unwrap();
    assert_eq!(
        (fresh.table_bytes, fresh.live_tuples, fresh.dead_tuples, fresh.updates),
        (8192, 3, 0, 0)
    );
    assert!(fresh.index_bytes > 0);

    let mut session = server.session();
    let update = "UPDATE state.model_field SET field_value = $2 WHERE name = $1";
    let update = session.prepare(update, &[ParamType::Text, ParamType::Float8]).unwrap();
    for _ in 0..5 {
        session.simple("BEGIN").unwrap();
        let mut flight = session.flight();
        flight.execute(update, &[Param::Text("a"), Param::Float8(0.5)]).unwrap();
        flight.execute(update, &[Param::Text("c"), Param::Float8(0.5)]).unwrap();
        assert_eq!(flight.land(|_| Ok(())).unwrap().rows_affected, 2);
        session.reset().unwrap();
    }
    session.flush_statistics().unwrap();
    let used = control.table_state("state").unwrap();
    assert_eq!((used.updates, used.live_tuples), (10, 3));
    assert!(used.dead_tuples > 0 && used.hot_updates > 0, "{used:?}");
    assert_eq!(control.table_state("nowhere").unwrap_err().sqlstate(), Some("3F000"));
}
