//! The measured session against a real PostgreSQL: what goes over the wire, and what happens when things go wrong.

#[path = "support/relay.rs"]
mod relay;
#[path = "support/mod.rs"]
mod support;

use std::thread;
use std::time::{Duration, Instant};

use preview_cost::backend::postgres::PgError;
use preview_cost::backend::postgres::target::Target;
use preview_cost::backend::postgres::wire::{Landing, Param, ParamType, Statement, TransactionStatus, WireSession};

use relay::Relay;
use support::{DEADLINE, postgres};

const SCHEMA: &str = "wire_test";

/// The study's statements, prepared.
struct Preview {
    begin: Statement,
    update: Statement,
    select: Statement,
    rollback: Statement,
}

impl Preview {
    fn prepare(session: &mut WireSession) -> Self {
        Self {
            begin: session.prepare("BEGIN", &[]).unwrap(),
            update: session
                .prepare(
                    &format!("UPDATE {SCHEMA}.model_field SET field_value = $2 WHERE name = $1"),
                    &[ParamType::Text, ParamType::Float8],
                )
                .unwrap(),
            select: session
                .prepare(&format!("SELECT name, field_value FROM {SCHEMA}.model_field"), &[])
                .unwrap(),
            rollback: session.prepare("ROLLBACK", &[]).unwrap(),
        }
    }

    /// Writes, reads and discards in three flights.
    fn run(&self, session: &mut WireSession, overrides: &[(&str, f64)]) -> (Landing, Vec<(String, f64)>) {
        let mut flight = session.flight();
        flight.execute(self.begin, &[]).unwrap();
        for &(name, value) in overrides {
            flight
                .execute(self.update, &[Param::Text(name), Param::Float8(value)])
                .unwrap();
        }
        let written = flight.land(|_| Ok(())).unwrap();
        let mut rows = Vec::new();
        let mut flight = session.flight();
        flight.execute(self.select, &[]).unwrap();
        flight
            .land(|row| {
                rows.push((row.text(0)?.to_owned(), row.float8(1)?));
                Ok(())
            })
            .unwrap();
        let mut flight = session.flight();
        flight.execute(self.rollback, &[]).unwrap();
        flight.land(|_| Ok(())).unwrap();
        (written, rows)
    }
}

fn model(rows: usize) -> Vec<(String, f64)> {
    (0..rows)
        .map(|index| (format!("field_{index}"), index as f64 * 1.5))
        .collect()
}

fn server_with_model(rows: usize) -> support::TestServer {
    let server = postgres();
    let mut control = server.control();
    control.create_schema(SCHEMA).unwrap();
    control.create_model(SCHEMA, &model(rows)).unwrap();
    server
}

#[test]
fn a_preview_is_three_flights_with_one_sync_each() {
    let server = server_with_model(162);
    let relay = Relay::to(server.target.port);
    let through_relay = Target {
        port: relay.port,
        ..server.target.clone()
    };
    let mut session = WireSession::connect(&through_relay, DEADLINE).unwrap();
    let preview = Preview::prepare(&mut session);
    assert_eq!(relay.take_writes(), ["-", "PS", "PS", "PS", "PS"]);

    let before = session.traffic();
    let overrides = [
        ("field_0", -1.0),
        ("field_1", -2.0),
        ("field_2", -3.0),
        ("field_3", -4.0),
    ];
    let (written, rows) = preview.run(&mut session, &overrides);
    let after = session.traffic();

    assert_eq!(relay.take_writes(), ["BEBEBEBEBES", "BES", "BES"]);
    assert_eq!((after.flights - before.flights, after.syncs - before.syncs), (3, 3));
    assert_eq!(
        written,
        Landing {
            commands: 5,
            rows_affected: 4,
            rows_returned: 0
        }
    );
    assert_eq!(rows.len(), 162);
    for (name, value) in overrides {
        assert!(rows.contains(&(name.to_owned(), value)), "{name} was not overridden");
    }
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);

    session.empty_round_trip().unwrap();
    assert_eq!(relay.take_writes(), ["S"]);
    let mut expected = model(162);
    expected.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(server.control().read_model(SCHEMA).unwrap(), expected);
}

#[test]
fn float8_values_keep_every_bit() {
    let server = postgres();
    let mut session = server.session();
    let echo = session
        .prepare(
            "SELECT $1, $2, $3",
            &[ParamType::Float8, ParamType::Int8, ParamType::Text],
        )
        .unwrap();
    let values = [
        0.0,
        -0.0,
        f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        f64::from_bits(0x000F_FFFF_FFFF_FFFF),
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::EPSILON,
        0.1 + 0.2,
        1.0 / 3.0,
    ];
    let mut flight = session.flight();
    for value in values {
        flight
            .execute(
                echo,
                &[Param::Float8(value), Param::Int8(i64::MIN), Param::Text("größe")],
            )
            .unwrap();
    }
    let mut seen = Vec::new();
    flight
        .land(|row| {
            assert_eq!(
                (row.command() as usize, row.int8(1)?, row.text(2)?),
                (seen.len(), i64::MIN, "größe")
            );
            seen.push(row.float8(0)?.to_bits());
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, values.map(f64::to_bits));

    let mut flight = session.flight();
    flight
        .execute(echo, &[Param::Null, Param::Int8(0), Param::Text("")])
        .unwrap();
    flight
        .land(|row| {
            assert_eq!((row.bytes(0)?, row.text(2)?), (None, ""));
            Ok(())
        })
        .unwrap();
}

#[test]
fn large_answers_and_large_flights_pass() {
    let server = postgres();
    let mut session = server.session();
    let repeat = session.prepare(
        "SELECT repeat($1, 3), n FROM generate_series(1::int8, $2) n",
        &[ParamType::Text, ParamType::Int8],
    );
    let repeat = repeat.unwrap();
    let text = "x".repeat(300_000);
    let mut flight = session.flight();
    flight.execute(repeat, &[Param::Text(&text), Param::Int8(2)]).unwrap();
    flight
        .execute(repeat, &[Param::Text("y"), Param::Int8(50_000)])
        .unwrap();
    let mut bytes = 0;
    let landing = flight.land(|row| {
        bytes += row.text(0)?.len();
        Ok(())
    });
    assert_eq!(
        landing.unwrap(),
        Landing {
            commands: 2,
            rows_affected: 0,
            rows_returned: 50_002
        }
    );
    assert_eq!(bytes, 2 * 900_000 + 50_000 * 3);
}

#[test]
fn an_error_in_a_flight_says_how_far_it_came_and_leaves_the_session_usable() {
    let server = server_with_model(4);
    let mut session = server.session();
    let preview = Preview::prepare(&mut session);
    let insert = format!("INSERT INTO {SCHEMA}.model_field VALUES ($1, $2)");
    let insert = session.prepare(&insert, &[ParamType::Text, ParamType::Float8]).unwrap();
    let divide = session.prepare("SELECT 1 / $1", &[ParamType::Int8]).unwrap();

    let mut flight = session.flight();
    flight.execute(preview.begin, &[]).unwrap();
    flight
        .execute(preview.update, &[Param::Text("field_0"), Param::Float8(9.0)])
        .unwrap();
    flight
        .execute(insert, &[Param::Text("field_0"), Param::Float8(1.0)])
        .unwrap();
    flight
        .execute(preview.update, &[Param::Text("field_1"), Param::Float8(9.0)])
        .unwrap();
    let error = flight.land(|_| Ok(())).unwrap_err();
    let said = error.server().unwrap();
    assert_eq!((said.code.as_str(), said.completed), ("23505", 2));
    assert_eq!(said.detail.as_deref(), Some("Key (name)=(field_0) already exists."));
    assert!(error.to_string().contains("after 2 completed commands"), "{error}");
    assert_eq!(session.transaction_status(), TransactionStatus::Failed);
    session.reset().unwrap();
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);

    let mut flight = session.flight();
    flight.execute(divide, &[Param::Int8(0)]).unwrap();
    let error = flight.land(|_| Ok(())).unwrap_err();
    assert_eq!((error.sqlstate(), error.is_connection_lost()), (Some("22012"), false));
    session.reset().unwrap();

    assert_eq!(session.prepare("SELEKT", &[]).unwrap_err().sqlstate(), Some("42601"));
    session.simple("BEGIN").unwrap();
    assert_eq!(session.transaction_status(), TransactionStatus::Open);
    session.reset().unwrap();
    let (written, rows) = preview.run(&mut session, &[("field_3", 0.5)]);
    assert_eq!((written.rows_affected, rows.len()), (1, 4));
}

#[test]
fn a_callback_that_fails_and_a_flight_that_is_dropped_do_no_harm() {
    let server = server_with_model(10);
    let mut session = server.session();
    let preview = Preview::prepare(&mut session);
    let mut flight = session.flight();
    flight.execute(preview.select, &[]).unwrap();
    let error = flight.land(|row| row.float8(0).map(|_| ())).unwrap_err();
    assert!(error.to_string().contains("column 0 of a row is no float8"), "{error}");

    let mut flight = session.flight();
    flight.execute(preview.begin, &[]).unwrap();
    let error = flight.execute(preview.update, &[Param::Text("field_0")]).unwrap_err();
    assert!(
        error.to_string().contains("takes 2 parameters and was given 1"),
        "{error}"
    );
    session.empty_round_trip().unwrap();
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);

    let error = server.session().flight().execute(preview.select, &[]).unwrap_err();
    assert!(error.to_string().contains("another session"), "{error}");
}

#[test]
fn notices_and_settings_are_taken_in_at_any_time() {
    let server = postgres();
    let mut session = server.session();
    assert!(session.parameter("server_version").unwrap().starts_with("15"));
    session.simple("LISTEN news").unwrap();
    let chatty = "DO $$ BEGIN RAISE NOTICE 'hello'; END $$; SET application_name = 'other'; NOTIFY news";
    session.simple(chatty).unwrap();
    session.empty_round_trip().unwrap();
    assert_eq!(session.parameter("application_name"), Some("other"));
    session.flush_statistics().unwrap();
}

#[test]
fn a_terminated_session_is_lost_and_says_why() {
    let server = postgres();
    let end = |pid: i32| {
        server
            .session()
            .simple(&format!("SELECT pg_terminate_backend({pid}, 5000)"))
            .unwrap()
    };

    let mut idle = server.session();
    end(idle.backend_pid());
    let error = idle.empty_round_trip().unwrap_err();
    assert!(error.is_connection_lost(), "{error}");
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
    assert_eq!(idle.reset().unwrap_err().sqlstate(), Some("57P01"));

    let mut busy = server.session();
    let pid = busy.backend_pid();
    let waiting = thread::spawn(move || busy.simple("SELECT pg_sleep(60)").unwrap_err());
    thread::sleep(Duration::from_millis(300));
    end(pid);
    let error = waiting.join().unwrap();
    assert!(
        error.is_connection_lost() && error.sqlstate() == Some("57P01"),
        "{error}"
    );
}

#[test]
fn silence_is_a_timeout_after_which_reset_waits_for_what_is_owed() {
    let server = postgres();
    let mut session = WireSession::connect(&server.target, Duration::from_millis(400)).unwrap();
    let begun = Instant::now();
    let error = session.simple("BEGIN; SELECT pg_sleep(0.6)").unwrap_err();
    assert!(matches!(error, PgError::Timeout { .. }), "{error}");
    assert!(begun.elapsed() >= Duration::from_millis(400) && begun.elapsed() < Duration::from_secs(3));
    let error = session.empty_round_trip().unwrap_err();
    assert!(error.to_string().contains("reset the session first"), "{error}");
    session.reset().unwrap();
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);
    session.empty_round_trip().unwrap();
}
