//! SQLite's server as other clients of the protocol find it, and as nonsense does.

use std::io::{Read, Write};
use std::net::TcpStream;

use postgres::types::Type;
use postgres::{Client, NoTls, SimpleQueryMessage};
use preview_cost::backend::sqlite::served::{Served, ServedAt};
use preview_cost::workload::Shape;

use crate::exe;
use crate::raw::start;
use crate::sqlite::model;

fn served() -> (Served, Client) {
    let server = Served::start(exe(), &model(3, Shape::Kv), &ServedAt::Tcp).unwrap();
    let (port, key) = (server.target().port, &server.target().dbname);
    let config = format!("host=127.0.0.1 port={port} user=any dbname={key}");
    let client = Client::connect(&config, NoTls).unwrap();
    (server, client)
}

#[test]
fn a_drivers_typed_statements_and_values_work() {
    let (_server, mut client) = served();
    let select = client
        .prepare_typed("SELECT field_value FROM model_field WHERE name = $1", &[Type::TEXT])
        .unwrap();
    let value: f64 = client.query_one(&select, &[&"growth_1"]).unwrap().get(0);
    assert_eq!(value.to_bits(), 0.05f64.to_bits());
    // `$2` comes before `$1`: SQLite would number them the other way round.
    let update = client
        .prepare_typed(
            "UPDATE model_field SET field_value = $2 WHERE name = $1",
            &[Type::TEXT, Type::FLOAT8],
        )
        .unwrap();
    let value = |client: &mut Client| -> f64 { client.query_one(&select, &[&"growth_1"]).unwrap().get(0) };
    client.batch_execute("BEGIN").unwrap();
    assert_eq!(client.execute(&update, &[&"growth_1", &0.25]).unwrap(), 1);
    assert_eq!(value(&mut client).to_bits(), 0.25f64.to_bits());
    client.batch_execute("ROLLBACK").unwrap();
    assert_eq!(value(&mut client).to_bits(), 0.05f64.to_bits());
    let both = client
        .prepare_typed("SELECT $2 || $1 || $2", &[Type::TEXT, Type::TEXT])
        .unwrap();
    let text: String = client.query_one(&both, &[&"1", &"2"]).unwrap().get(0);
    assert_eq!(text, "212");
}

#[test]
fn several_statements_of_one_message_are_cut_where_sqlite_cuts_them() {
    let (_server, mut client) = served();
    let messages = client
        .simple_query("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('a;b'), (NULL) -- ; no end\n; SELECT a FROM t;")
        .unwrap();
    let rows: Vec<Option<String>> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
            _ => None,
        })
        .collect();
    assert_eq!(rows, [Some("a;b".to_owned()), None]);
    assert!(client.simple_query("").is_ok());
}

#[test]
fn errors_have_codes_and_leave_the_session_alive() {
    let (_server, mut client) = served();
    let code = |error: postgres::Error| error.code().map(|code| code.code().to_owned());
    assert_eq!(
        code(client.batch_execute("SELEKT 1").unwrap_err()).as_deref(),
        Some("42601")
    );
    assert_eq!(
        code(client.prepare("SELECT no_such FROM model_field").unwrap_err()).as_deref(),
        Some("42601")
    );
    let twice = "INSERT INTO model_field VALUES ('growth_1', 1)";
    assert_eq!(code(client.batch_execute(twice).unwrap_err()).as_deref(), Some("23000"));
    let rows = client.query("SELECT name FROM model_field", &[]).unwrap();
    assert_eq!(rows.len(), 2 + 4 * 3);
}

#[test]
fn nonsense_is_answered_with_an_error_or_the_end() {
    let (server, mut client) = served();
    let start = start(Some(&server.target().dbname));
    for (is_started, nonsense) in [
        (false, b"GET / HTTP/1.1\r\n\r\n".as_slice()),
        (true, b"?\0\0\0\x04"),
        (true, b"Q\xff\xff\xff\xff"),
        (true, b"E\0\0\0\x0fnosuch\0\0\0\0\0S\0\0\0\x04"),
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.target().port)).unwrap();
        if is_started {
            stream.write_all(&start).unwrap();
        }
        stream.write_all(nonsense).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        // The end may come as a reset.
        let _ = stream.read_to_end(&mut heard);
    }
    // Others are served as before.
    assert!(client.batch_execute("SELECT 1").is_ok());
}
