//! With peers that cut, stop, leave and talk nonsense.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use preview_cost::path::child::PathProxy;
use preview_cost::path::{Apart, Delay, Passage, Way};

use crate::{anywhere, exe, loopback, micros, port_of};

const STARTUP: &[u8] = b"\0\0\0\x08\0\x03\0\0";
const READY: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

/// A proxy before a server that is this function; it is given its one client, after the one that only looks.
fn proxy_before(
    delay: Delay,
    server: impl FnOnce(TcpStream) + Send + 'static,
) -> (PathProxy, TcpStream, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = thread::spawn(move || {
        let (looks, _) = listener.accept().unwrap();
        drop(looks);
        server(listener.accept().unwrap().0);
    });
    let proxy = PathProxy::start(exe(), &anywhere(), &loopback(port), delay).unwrap();
    let client = TcpStream::connect(("127.0.0.1", port_of(&proxy))).unwrap();
    client.set_nodelay(true).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    (proxy, client, served)
}

fn take(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// Messages found in one way, whatever reads they came in.
fn messages(passages: &[Passage], way: Way, kind: u8) -> u32 {
    let of_way = passages.iter().filter(|passage| passage.way == way);
    of_way.map(|passage| passage.messages.of(kind)).sum()
}

#[test]
fn bytes_arrive_as_they_were_however_they_were_cut() {
    let query: Vec<u8> = (0..200u32)
        .flat_map(|place| {
            let body = vec![b'a' + (place % 26) as u8; 1 + (place as usize * 37) % 90];
            let mut message = vec![b'B'];
            message.extend((body.len() as u32 + 4).to_be_bytes());
            message.extend(body);
            message
        })
        .chain(*b"S\0\0\0\x04")
        .collect();
    let (expected, length) = (query.clone(), query.len());
    let (proxy, mut client, served) = proxy_before(micros(1_000), move |mut stream| {
        assert_eq!(take(&mut stream, STARTUP.len()), STARTUP);
        stream.write_all(READY).unwrap();
        assert_eq!(take(&mut stream, length), expected);
        // The answer comes a byte at a time, and then all at once.
        for byte in b"2\0\0\0\x04C\0\0\0\x04" {
            stream.write_all(&[*byte]).unwrap();
            thread::sleep(Duration::from_micros(300));
        }
        stream.write_all(b"Z\0\0\0\x05I").unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
    client.write_all(STARTUP).unwrap();
    assert_eq!(take(&mut client, READY.len()), READY);
    for (place, piece) in query.chunks(173).enumerate() {
        client.write_all(piece).unwrap();
        if place % 3 == 0 {
            thread::sleep(Duration::from_micros(700));
        }
    }
    assert_eq!(take(&mut client, 16), b"2\0\0\0\x04C\0\0\0\x04Z\0\0\0\x05I");
    drop(client);
    served.join().unwrap();
    let passages = proxy.finish().unwrap();
    assert_eq!(messages(&passages, Way::ToServer, b'B'), 200);
    assert_eq!(messages(&passages, Way::ToClient, b'2'), 1);
    assert_eq!(passages.iter().map(|passage| passage.round_trips).sum::<u32>(), 1);
    // What came later left later, and none of it before its time.
    for way in [Way::ToServer, Way::ToClient] {
        let of_way: Vec<&Passage> = passages.iter().filter(|passage| passage.way == way).collect();
        assert!(of_way.windows(2).all(|pair| pair[0].released <= pair[1].released));
        assert!(of_way.iter().all(|passage| passage.held() >= passage.declared));
    }
}

#[test]
fn an_end_is_passed_on_and_the_other_way_goes_on() {
    let (proxy, mut client, served) = proxy_before(micros(2_000), |mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), STARTUP.len() + 5);
        // The client has ended; it still hears.
        stream.write_all(READY).unwrap();
        thread::sleep(Duration::from_millis(20));
        stream.write_all(b"Z\0\0\0\x05I").unwrap();
    });
    client.write_all(STARTUP).unwrap();
    client.write_all(b"S\0\0\0\x04").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).unwrap();
    assert_eq!(heard.len(), READY.len() + 6);
    served.join().unwrap();
    proxy.finish().unwrap();
}

/// Bytes of memory that a process holds.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn a_receiver_that_stops_makes_the_sender_wait_and_not_the_proxy_grow() {
    const SENT: usize = 64 << 20;
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (proxy, mut client, served) = proxy_before(Delay::NONE, move |mut stream| {
        wait.recv().unwrap();
        let mut all = 0;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => break,
                read => all += read,
            }
        }
        assert_eq!(all, STARTUP.len() + SENT);
    });
    client.write_all(STARTUP).unwrap();
    client.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let piece = vec![b'd'; 1 << 20];
    let mut sent = 0;
    // Sends until nobody takes more.
    while let Ok(written) = client.write(&piece[..piece.len().min(SENT - sent)]) {
        sent += written;
        assert!(sent < SENT, "the sender was made to wait");
    }
    let held = resident(proxy.process());
    assert!(held < 48 << 20, "the proxy holds {} MiB", held >> 20);
    go.send(()).unwrap();
    client.set_write_timeout(None).unwrap();
    while sent < SENT {
        sent += client.write(&piece[..piece.len().min(SENT - sent)]).unwrap();
    }
    client.shutdown(Shutdown::Write).unwrap();
    served.join().unwrap();
    drop(proxy);
}

#[test]
fn nonsense_passes_and_is_told_as_such() {
    let (proxy, mut client, served) = proxy_before(Delay::NONE, |mut stream| {
        take(&mut stream, STARTUP.len());
        stream.write_all(READY).unwrap();
        assert_eq!(take(&mut stream, 9), b"Q\0\0\0\0junk");
    });
    client.write_all(STARTUP).unwrap();
    take(&mut client, READY.len());
    client.write_all(b"Q\0\0\0\0junk").unwrap();
    served.join().unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    let passages = proxy.finish().unwrap();
    assert!(
        passages.iter().any(|passage| passage.apart == Some(Apart::Lost)),
        "{passages:?}"
    );
}

#[test]
fn a_client_that_speaks_something_else_is_let_go() {
    let (proxy, mut client, _served) = proxy_before(Delay::NONE, |_| ());
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    // The end, or a reset since not all was read.
    let _ = client.read_to_end(&mut rest);
    assert!(rest.is_empty());
    drop(TcpStream::connect(("127.0.0.1", port_of(&proxy))));
    proxy.finish().unwrap();
}

#[test]
fn a_server_that_breaks_off_ends_its_client_and_only_after_what_it_said() {
    let (proxy, mut client, served) = proxy_before(micros(2_000), |mut stream| {
        take(&mut stream, STARTUP.len());
        stream.write_all(READY).unwrap();
        // What is not read when it leaves makes the end a reset.
        while stream.peek(&mut [0; 5]).unwrap() < 5 {
            thread::yield_now();
        }
    });
    client.write_all(STARTUP).unwrap();
    assert_eq!(take(&mut client, READY.len()), READY);
    client.write_all(b"S\0\0\0\x04").unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    served.join().unwrap();
    // Its listener went with it; the next client is let go without an answer.
    let mut next = TcpStream::connect(("127.0.0.1", port_of(&proxy))).unwrap();
    next.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    next.write_all(STARTUP).unwrap();
    assert_eq!(next.read(&mut [0]).unwrap(), 0);
    let passages = proxy.finish().unwrap();
    assert_eq!(passages.iter().map(|passage| passage.round_trips).sum::<u32>(), 1);
}

#[test]
fn an_answer_that_arrived_is_told_however_soon_it_is_over() {
    for _ in 0..60 {
        let (proxy, mut client, served) = proxy_before(Delay::NONE, |mut stream| {
            take(&mut stream, STARTUP.len());
            stream.write_all(READY).unwrap();
            take(&mut stream, 5);
            stream.write_all(b"Z\0\0\0\x05I").unwrap();
            // Until the proxy leaves, by a reset where it was killed.
            let _ = stream.read(&mut [0]);
        });
        client.write_all(STARTUP).unwrap();
        take(&mut client, READY.len());
        client.write_all(b"S\0\0\0\x04").unwrap();
        take(&mut client, 6);
        let passages = proxy.finish().unwrap();
        assert_eq!(messages(&passages, Way::ToClient, b'Z'), 2, "{passages:?}");
        served.join().unwrap();
    }
}
