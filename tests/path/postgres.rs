//! With a real server at the other end.

use std::time::Duration;

use preview_cost::backend::postgres::target::{SslMode, Target};
use preview_cost::backend::postgres::wire::WireSession;
use preview_cost::path::child::PathProxy;
use preview_cost::path::{Apart, Delay, Endpoint, Passage, Way};
use tokio_postgres::NoTls;

use crate::support::{DEADLINE, TestServer, postgres};
use crate::{anywhere, apart, bytes, exe, loopback, micros, port_of, trips};

fn before(server: &TestServer, delay: Delay) -> (PathProxy, Target) {
    let proxy = PathProxy::start(exe(), &anywhere(), &loopback(server.target.port), delay).unwrap();
    let target = Target {
        port: port_of(&proxy),
        ..server.target.clone()
    };
    (proxy, target)
}

/// One flight of a statement that touches nothing.
fn flight(session: &mut WireSession, statements: usize) {
    let begin = session.prepare("SELECT 1", &[]).unwrap();
    let mut flight = session.flight();
    for _ in 0..statements {
        flight.execute(begin, &[]).unwrap();
    }
    flight.land(|_| Ok(())).unwrap();
}

#[test]
fn every_flight_of_ten_thousand_previews_is_one_round_trip() {
    const PREVIEWS: u32 = 10_000;
    let server = postgres();
    let (proxy, target) = before(&server, Delay::NONE);
    let mut session = WireSession::connect(&target, DEADLINE).unwrap();
    let one = session.prepare("SELECT 1", &[]).unwrap();
    // A rollback in three flights; the first holds five commands.
    for _ in 0..PREVIEWS {
        for commands in [5, 1, 1] {
            let mut flight = session.flight();
            for _ in 0..commands {
                flight.execute(one, &[]).unwrap();
            }
            flight.land(|_| Ok(())).unwrap();
        }
    }
    let traffic = session.traffic();
    drop(session);
    let passages = proxy.finish().unwrap();
    // One more prepares the statement.
    assert_eq!(trips(&passages), 3 * PREVIEWS + 1);
    assert_eq!(u64::from(trips(&passages)), traffic.flights);
    let start = passages.iter().filter(|passage| passage.apart == Some(Apart::Startup));
    let start: u64 = start
        .filter(|passage| passage.way == Way::ToServer)
        .map(|passage| u64::from(passage.bytes))
        .sum();
    // The goodbye of a session is not in its own count.
    assert!(bytes(&passages, Way::ToServer) - start - traffic.bytes_sent <= 5);
}

#[test]
fn nothing_is_held_shorter_than_it_should_and_the_client_waits_for_it() {
    let server = postgres();
    let (proxy, target) = before(&server, micros(4_000));
    let mut session = WireSession::connect(&target, DEADLINE).unwrap();
    let begun = std::time::Instant::now();
    for _ in 0..5 {
        session.empty_round_trip().unwrap();
    }
    // A wait is never shorter than what it waits for.
    assert!(begun.elapsed() >= Duration::from_millis(20));
    drop(session);
    for passage in proxy.finish().unwrap() {
        assert_eq!(passage.declared.0, 2_000_000);
        assert!(passage.held() >= passage.declared, "{passage:?}");
    }
}

#[test]
fn queries_that_leave_together_are_one_round_trip_with_a_sync_each() {
    let server = postgres();
    let (proxy, target) = before(&server, micros(2_000));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let syncs = runtime.block_on(async {
        let config = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", target.port);
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        let task = tokio::spawn(connection);
        let one = client.prepare("SELECT 1").await.unwrap();
        for _ in 0..20 {
            let rows = futures_util::future::try_join_all((0..4).map(|_| client.query(&one, &[]))).await;
            assert_eq!(rows.unwrap().len(), 4);
        }
        drop(client);
        task.await.unwrap().unwrap();
        20 * 4
    });
    let passages = proxy.finish().unwrap();
    let counted = passages.iter().filter(|passage| passage.apart.is_none());
    let sent: u32 = counted.map(|passage| passage.messages.of(b'S')).sum();
    // Preparing is a round trip and a Sync of its own, and so is closing the statement, if that leaves in time.
    assert!((syncs + 1..=syncs + 2).contains(&sent), "{sent} Syncs");
    assert!(
        (21..=22).contains(&trips(&passages)),
        "{} round trips",
        trips(&passages)
    );
}

#[test]
fn a_copy_is_told_apart() {
    let server = postgres();
    let (proxy, target) = before(&server, Delay::NONE);
    let config = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", target.port);
    let mut client = postgres::Client::connect(&config, postgres::NoTls).unwrap();
    client.batch_execute("CREATE TEMP TABLE t (a text)").unwrap();
    let mut writer = client.copy_in("COPY t FROM STDIN").unwrap();
    let line = format!("{}\n", "x".repeat(1_000));
    for _ in 0..2_000 {
        std::io::Write::write_all(&mut writer, line.as_bytes()).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 2_000);
    let rows = client.query_one("SELECT count(*), sum(length(a)) FROM t", &[]).unwrap();
    assert_eq!((rows.get::<_, i64>(0), rows.get::<_, i64>(1)), (2_000, 2_000_000));
    let mut copied = Vec::new();
    let mut reader = client.copy_out("COPY t TO STDOUT").unwrap();
    std::io::Read::read_to_end(&mut reader, &mut copied).unwrap();
    drop(reader);
    assert_eq!(copied.len(), 2_000 * line.len());
    // A copy of one line comes in one read.
    let one = client.copy_out("COPY (SELECT 1) TO STDOUT").unwrap();
    drop(one);
    for _ in 0..5 {
        client.batch_execute("SELECT 1").unwrap();
    }
    drop(client);
    let passages = proxy.finish().unwrap();
    // What came after a copy is counted as before it: of Query, those that are told apart began a COPY.
    let queries = passages.iter().filter(|passage| passage.messages.of(b'Q') > 0);
    assert_eq!(queries.map(|passage| passage.round_trips).collect::<Vec<_>>(), [1; 6]);
    let (to_server, to_client): (Vec<_>, Vec<_>) = passages.iter().partition(|passage| passage.way == Way::ToServer);
    let data = |passage: &&&Passage| passage.messages.of(b'd') > 0;
    assert!(
        to_server
            .iter()
            .filter(data)
            .all(|passage| passage.apart == Some(Apart::Copy))
    );
    assert!(
        to_client
            .iter()
            .filter(data)
            .all(|passage| passage.apart == Some(Apart::Copy))
    );
    assert!(apart(&passages, Apart::Copy) > 2, "the stream is no round trip");
    assert!(bytes(&passages, Way::ToServer) > 2_000_000);
}

#[test]
fn a_request_to_cancel_goes_through_and_ends_the_query() {
    let server = postgres();
    let (proxy, target) = before(&server, micros(500));
    let config = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", target.port);
    let mut client = postgres::Client::connect(&config, postgres::NoTls).unwrap();
    let token = client.cancel_token();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        token.cancel_query(postgres::NoTls).unwrap();
    });
    let error = client.batch_execute("SELECT pg_sleep(60)").unwrap_err();
    canceller.join().unwrap();
    assert_eq!(
        error.code().map(|code| code.code().to_owned()),
        Some("57014".to_owned())
    );
    // The session lives on, and the proxy still counts.
    client.batch_execute("SELECT 1").unwrap();
    drop(client);
    let passages = proxy.finish().unwrap();
    assert_eq!(passages.iter().map(|passage| passage.connection).max(), Some(1));
}

#[test]
fn a_client_that_insists_on_tls_is_told_and_one_that_prefers_it_goes_on() {
    let server = postgres();
    let (_proxy, target) = before(&server, Delay::NONE);
    let with = |sslmode| {
        let target = Target {
            sslmode,
            ..target.clone()
        };
        WireSession::connect(&target, DEADLINE)
    };
    let refused = with(SslMode::Require).unwrap_err().to_string();
    assert!(refused.contains("TLS"), "{refused}");
    let mut session = with(SslMode::Prefer).unwrap();
    flight(&mut session, 2);
}

#[test]
fn a_unix_socket_is_passed_on_as_one() {
    let server = postgres();
    let directory = tempfile::tempdir().unwrap();
    let listen = directory.path().join(".s.PGSQL.5432");
    let proxy = PathProxy::start(
        exe(),
        &Endpoint::Unix(listen.clone()),
        &loopback(server.target.port),
        Delay::NONE,
    );
    let proxy = proxy.unwrap();
    let target = Target {
        port: 5432,
        ..server.target.clone().by_socket(directory.path())
    };
    let mut session = WireSession::connect(&target, DEADLINE).unwrap();
    flight(&mut session, 1);
    drop(session);
    assert_eq!(trips(&proxy.finish().unwrap()), 2);
    assert!(!listen.exists(), "the socket's file is gone");
}
