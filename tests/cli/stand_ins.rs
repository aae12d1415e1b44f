//! Listeners that are no PostgreSQL, or an old one.

use std::io::{Read, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Lets `answer` deal with every connection to a fresh port of the loopback address.
pub fn listener(answer: impl Fn(TcpStream) -> std::io::Result<()> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // The other side may hang up whenever it likes.
            let _ = stream.and_then(&answer);
        }
    });
    port
}

/// A port on which nobody listens.
pub fn nobody() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Hangs up as soon as it has heard something.
pub fn hangs_up() -> u16 {
    listener(|mut stream| stream.read(&mut [0; 8]).map(drop))
}

/// Speaks HTTP.
pub fn speaks_http() -> u16 {
    listener(|mut stream| {
        let _ = stream.read(&mut [0; 1024])?;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    })
}

/// A PostgreSQL 9.6, as far as the program asks.
pub fn is_old() -> u16 {
    listener(old_server)
}

const READY: (u8, &[u8]) = (b'Z', b"I");

fn old_server(mut stream: TcpStream) -> std::io::Result<()> {
    receive(&mut stream)?;
    say(
        &mut stream,
        &[(b'R', &[0; 4]), (b'S', b"server_version\x009.6.0\0"), READY],
    )?;
    loop {
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        receive(&mut stream)?;
        match kind[0] {
            b'Q' => say(&mut stream, &[(b'C', b"SET\0"), READY])?,
            b'P' => say(&mut stream, &[(b'1', b"")])?,
            b'D' => say(&mut stream, &[(b't', &[0; 2]), (b'T', &three_columns())])?,
            b'B' => say(&mut stream, &[(b'2', b"")])?,
            b'E' => say(&mut stream, &[(b'D', &version_and_two_no()), (b'C', b"SELECT 1\0")])?,
            b'C' => say(&mut stream, &[(b'3', b"")])?,
            b'S' => say(&mut stream, &[READY])?,
            _ => return Ok(()),
        }
    }
}

/// The rest of a message after its kind.
fn receive(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4)];
    stream.read_exact(&mut body)
}

fn say(stream: &mut TcpStream, messages: &[(u8, &[u8])]) -> std::io::Result<()> {
    for (kind, body) in messages {
        stream.write_all(&[*kind])?;
        stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
        stream.write_all(body)?;
    }
    Ok(())
}

/// An `int4` and two `bool`.
fn three_columns() -> Vec<u8> {
    let mut body = vec![0, 3];
    for (oid, width) in [(23u32, 4u16), (16, 1), (16, 1)] {
        body.extend(b"c\0");
        body.extend([0; 6]);
        body.extend(oid.to_be_bytes());
        body.extend(width.to_be_bytes());
        body.extend([0xff; 4]);
        body.extend([0; 2]);
    }
    body
}

fn version_and_two_no() -> Vec<u8> {
    let mut body = vec![0, 3];
    for value in [&90_600i32.to_be_bytes()[..], &[0], &[0]] {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value);
    }
    body
}

/// A way to a real server on which everything can be made to stop, as when a machine hangs: connections stay open and
/// new ones are taken, but nothing comes through any more.
pub struct Way {
    /// Where it begins.
    pub port: u16,
    frozen: Arc<AtomicBool>,
}

impl Way {
    pub fn to(server: u16) -> Self {
        let frozen = Arc::new(AtomicBool::new(false));
        let ice = Arc::clone(&frozen);
        let port = listener(move |client| {
            let server = TcpStream::connect(("127.0.0.1", server))?;
            let back = (server.try_clone()?, client.try_clone()?);
            for (from, to) in [(client, server), back] {
                let ice = Arc::clone(&ice);
                thread::spawn(move || pass(from, to, &ice));
            }
            Ok(())
        });
        Self { port, frozen }
    }

    pub fn freeze(&self) {
        self.frozen.store(true, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, frozen: &AtomicBool) {
    let mut buffer = [0; 1 << 14];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        while frozen.load(Ordering::SeqCst) {
            thread::park();
        }
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
