//! How sessions with a real PostgreSQL start, and how they are turned away, measured and control alike.

#[path = "support/mod.rs"]
mod support;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use preview_cost::backend::postgres::PgError;
use preview_cost::backend::postgres::control::Control;
use preview_cost::backend::postgres::target::{Secret, Target};
use preview_cost::backend::postgres::wire::WireSession;

use support::{DEADLINE, postgres, postgres_with};

#[test]
fn every_password_method_works_and_a_wrong_password_is_not_repeated() {
    let hba = "host all scram_role 127.0.0.1/32 scram-sha-256\n\
               host all md5_role 127.0.0.1/32 md5\n\
               host all clear_role 127.0.0.1/32 password\n";
    let server = postgres_with(hba, &[], &[]);
    let mut admin = server.session();
    for (role, encryption) in [
        ("scram_role", "scram-sha-256"),
        ("md5_role", "md5"),
        ("clear_role", "scram-sha-256"),
    ] {
        let create = format!("SET password_encryption = '{encryption}'; CREATE ROLE {role} LOGIN PASSWORD 'hunter2 ü'");
        admin.simple(&create).unwrap();
        let with = |password: Option<&str>| Target {
            user: role.to_owned(),
            password: password.map(Secret::new),
            ..server.target.clone()
        };
        WireSession::connect(&with(Some("hunter2 ü")), DEADLINE)
            .unwrap()
            .empty_round_trip()
            .unwrap();
        Control::connect(&with(Some("hunter2 ü"))).unwrap();

        let wrong = with(Some("swordfish"));
        let errors = [
            WireSession::connect(&wrong, DEADLINE).map(|_| ()).unwrap_err(),
            Control::connect(&wrong).map(|_| ()).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.sqlstate(), Some("28P01"), "{error}");
            assert!(error.to_string().contains("check the user and the password"), "{error}");
            assert!(!format!("{error} {error:?}").contains("swordfish"), "{error}");
        }
        let errors = [
            WireSession::connect(&with(None), DEADLINE).map(|_| ()).unwrap_err(),
            Control::connect(&with(None)).map(|_| ()).unwrap_err(),
        ];
        for error in errors {
            assert!(
                error.to_string().contains(&format!("the password of {role}")),
                "{error}"
            );
        }
    }
}

#[test]
fn a_unix_socket_serves_as_well() {
    let server = postgres();
    let target = server.over_unix_socket();
    WireSession::connect(&target, DEADLINE)
        .unwrap()
        .empty_round_trip()
        .unwrap();
    Control::connect(&target).unwrap().require_supported().unwrap();
}

#[test]
fn a_full_server_and_an_unknown_database_say_so() {
    let server = postgres_with(
        "",
        &[
            "max_connections=5",
            "superuser_reserved_connections=0",
            "max_wal_senders=0",
        ],
        &[],
    );
    let nowhere = Target {
        dbname: "nowhere".to_owned(),
        ..server.target.clone()
    };
    let error = WireSession::connect(&nowhere, DEADLINE).map(|_| ()).unwrap_err();
    assert_eq!(error.sqlstate(), Some("3D000"), "{error}");

    let mut open = Vec::new();
    let error = loop {
        assert!(open.len() <= 5, "the server lets everyone in");
        match WireSession::connect(&server.target, DEADLINE) {
            Ok(session) => open.push(session),
            Err(error) => break error,
        }
    };
    assert_eq!(error.sqlstate(), Some("53300"), "{error}");
    assert!(error.to_string().contains("max_connections"), "{error}");
    let error = Control::connect(&server.target).map(|_| ()).unwrap_err();
    assert_eq!(error.sqlstate(), Some("53300"), "{error}");
}

#[test]
fn what_is_no_postgres_server_is_told_apart() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let target = Target::loopback(port, "postgres", None, "postgres");
    let error = WireSession::connect(&target, DEADLINE).map(|_| ()).unwrap_err();
    assert!(matches!(error, PgError::Connect { .. }), "{error}");
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");

    let error = WireSession::connect(&answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"), DEADLINE)
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("is this a PostgreSQL server?"), "{error}");

    let silent = Target {
        connect_timeout: Duration::from_millis(200),
        ..answering(b"")
    };
    let error = WireSession::connect(&silent, DEADLINE).map(|_| ()).unwrap_err();
    assert!(matches!(error, PgError::Timeout { .. }), "{error}");
}

/// A listener that gives every client the same answer and then says nothing more.
fn answering(answer: &'static [u8]) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut clients: Vec<TcpStream> = Vec::new();
        while let Ok((mut client, _)) = listener.accept() {
            client.write_all(answer).unwrap();
            clients.push(client);
        }
    });
    Target::loopback(port, "postgres", None, "postgres")
}
