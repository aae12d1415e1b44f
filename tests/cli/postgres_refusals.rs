//! PostgreSQL that can't be had: one clear message, exit code 3, nothing measured and nothing left.

use crate::server::{Database, at, role_with_password};
use crate::stand_ins;
use crate::support::{Bench, ask, edited};

/// Holds that a manifest's server is refused, with these words.
#[track_caller]
fn refused(manifest: &str, words: &[&str]) -> String {
    let bench = Bench::new(manifest);
    let said = ask(&mut bench.run()).exits(3);
    let message = said.message();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message}");
    }
    assert_eq!(message.lines().count(), 1, "{message}");
    // Neither a run nor a line in the ledger: nothing was announced.
    assert_eq!(bench.files(), ["m.toml"]);
    message.to_owned()
}

fn loopback(port: u16, more: &str) -> String {
    at(&format!("postgres://me@127.0.0.1:{port}/db{more}"))
}

#[test]
fn nobody_listens() {
    let port = stand_ins::nobody();
    let words = [
        format!("cannot reach PostgreSQL at 127.0.0.1:{port}: Connection refused"),
        "check that the server runs".to_owned(),
    ];
    refused(&loopback(port, ""), &words.each_ref().map(String::as_str));
}

#[test]
fn the_host_has_no_address() {
    refused(
        &at("postgres://me@nowhere.invalid/db"),
        &["cannot reach PostgreSQL at nowhere.invalid:5432: "],
    );
}

#[test]
fn what_listens_is_no_postgresql() {
    for mode in ["?sslmode=disable", "?sslmode=prefer", "?sslmode=require"] {
        for port in [stand_ins::hangs_up(), stand_ins::speaks_http()] {
            refused(&loopback(port, mode), &["PostgreSQL at 127.0.0.1:"]);
        }
    }
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let port = stand_ins::listener(|stream| {
        std::mem::forget(stream);
        Ok(())
    });
    refused(
        &loopback(port, "?connect_timeout=2"),
        &["timeout: the server did not answer within 2 s"],
    );
}

#[test]
fn the_server_is_too_old() {
    refused(
        &loopback(stand_ins::is_old(), "?sslmode=disable"),
        &["PostgreSQL 90600 is too old: version 12 or newer is needed"],
    );
}

#[test]
fn the_password_is_wrong_or_missing() {
    let database = Database::new();
    let role = database.name();
    role_with_password(role, "right-b1a2");
    let said = refused(
        &database.manifest(role),
        &["the server asks for the password of", "set PGPASSWORD"],
    );
    assert!(!said.contains("right-b1a2"));
    let bench = Bench::new(database.manifest(&format!("{role}:${{PASSWORD_OF_THE_TEST}}")));
    let said = ask(bench.run().env("PASSWORD_OF_THE_TEST", "wrong-c3d4")).exits(3);
    assert!(said.message().contains("password authentication failed"), "{said:#?}");
    assert!(said.message().contains("SQLSTATE 28P01"), "{said:#?}");
    assert!(!said.stderr.contains("wrong-c3d4"), "{said:#?}");
    assert_eq!(bench.files(), ["m.toml"]);
}

#[test]
fn the_database_does_not_exist() {
    let database = Database::new();
    let url = database
        .url("postgres")
        .replace(&format!("/{}?", database.name()), "/nowhere?");
    refused(
        &at(&url),
        &["database \"nowhere\" does not exist", "name an existing database"],
    );
}

#[test]
fn the_role_does_not_exist() {
    refused(
        &Database::new().manifest("nobody_here"),
        &["role \"nobody_here\" does not exist", "check the role"],
    );
}

#[test]
fn transactions_are_read_only() {
    let database = Database::new();
    let role = database.name();
    database.run(&format!(
        "CREATE ROLE {role} LOGIN SUPERUSER; ALTER ROLE {role} SET default_transaction_read_only = on"
    ));
    refused(
        &database.manifest(role),
        &[
            "the server takes no writes: its transactions are read-only by default",
            "name the primary server",
        ],
    );
    assert_eq!(database.contents(), ["public"]);
}

#[test]
fn there_are_no_connections_left() {
    let database = Database::new();
    let role = database.name();
    database.run(&format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 0"));
    refused(
        &database.manifest(role),
        &["too many connections for role", "SQLSTATE 53300", "close other clients"],
    );
}

#[test]
fn the_role_may_not_create_a_schema() {
    let database = Database::new();
    let role = database.name();
    database.run(&format!("CREATE ROLE {role} LOGIN"));
    refused(
        &database.manifest(role),
        &["may not create a schema in this database", "GRANT CREATE ON DATABASE"],
    );
    database.run(&format!("GRANT CREATE ON DATABASE {role} TO {role}"));
    Bench::new(database.manifest(role)).measure();
    assert_eq!(database.contents(), ["public"]);
}

#[test]
fn the_schema_is_taken_and_left_as_it_is() {
    let database = Database::new();
    database.run("CREATE SCHEMA mine; CREATE TABLE mine.model_field AS SELECT 'growth_0' AS name, 1.5 AS field_value");
    let before = database.contents();
    let manifest = edited(
        &database.manifest("postgres"),
        &[("[grid]", "schema = \"mine\"\n[grid]")],
    );
    refused(
        &manifest,
        &["schema mine exists already in this database; nothing was touched"],
    );
    assert_eq!(database.contents(), before);
    let kept: i64 = database
        .client()
        .query_one("SELECT count(*) FROM mine.model_field WHERE field_value = 1.5", &[])
        .unwrap()
        .get(0);
    assert_eq!(kept, 1);
}

#[test]
fn the_url_makes_no_sense_or_names_a_variable_that_is_not_set() {
    refused(
        &at("postgres://me:${NOT_SET_ANYWHERE}@127.0.0.1/db"),
        &["the environment variable NOT_SET_ANYWHERE, which is not set", "--url"],
    );
    for (url, words) in [
        (
            "postgres://me@127.0.0.1:notaport/db",
            "connection parameter port must be",
        ),
        ("postgres:///db", "names no host"),
        (
            "postgres://me@h/db?sslmode=maybe",
            "connection parameter sslmode must be",
        ),
        (
            "postgres://me@h/db?target_session_attrs=any",
            "connection parameter target_session_attrs is not supported",
        ),
    ] {
        refused(&at(url), &[words]);
    }
    let bench = Bench::new(at("${URL_OF_THE_TEST}"));
    for url in [
        "postgres://me:hunter2@h:hunter2/db",
        "mysql://me:hunter2@h/db",
        "postgres://me:hunter2/2@h/db",
        "me:hunter2@h",
    ] {
        let said = ask(bench.run().env("URL_OF_THE_TEST", url)).exits(3);
        assert!(!said.message().contains("hunter2"), "{said:#?}");
    }
    assert_eq!(bench.files(), ["m.toml"]);
}
