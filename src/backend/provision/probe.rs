//! Whether a PostgreSQL server really answers at an address.
//!
//! An accepted connection proves nothing: a container engine's proxy accepts before anything listens behind it,
//! and the official image runs a first server during its initialisation. So a knock sends a real start-up message
//! and reads what comes back.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The protocol's version 3.0.
const PROTOCOL: u32 = 196_608;
/// No message before the session is open is longer than this, in bytes.
const LONGEST_MESSAGE: usize = 64 * 1024;

/// What a server said to a start-up message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It takes sessions, and wants a password for this one.
    AsksPassword,
    /// The session was opened.
    Open,
    /// It refused, for instance because it is still starting.
    Refused(String),
}

/// Opens a session as `user` in `dbname`, and leaves at the first answer that tells the server's state.
/// `patience` bounds the connection and each read.
pub(super) fn knock(address: SocketAddr, user: &str, dbname: &str, patience: Duration) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(&startup_message(user, dbname))?;
    loop {
        let (kind, body) = read_message(&mut stream)?;
        match kind {
            b'R' if body.starts_with(&[0, 0, 0, 0]) => {}
            b'R' => return Ok(Answer::AsksPassword),
            b'E' => return Ok(Answer::Refused(error_text(&body))),
            b'Z' => {
                let _ = stream.write_all(&[b'X', 0, 0, 0, 4]);
                return Ok(Answer::Open);
            }
            b'S' | b'K' | b'N' | b'v' => {}
            other => {
                return Err(io::Error::other(format!(
                    "no PostgreSQL server: it sent the byte {other:#04x}"
                )));
            }
        }
    }
}

fn startup_message(user: &str, dbname: &str) -> Vec<u8> {
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    for part in ["user", user, "database", dbname, "application_name", "preview-cost", ""] {
        body.extend_from_slice(part.as_bytes());
        body.push(0);
    }
    let mut message = (body.len() as u32 + 4).to_be_bytes().to_vec();
    message.extend_from_slice(&body);
    message
}

fn read_message(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if !(4..=LONGEST_MESSAGE).contains(&length) {
        return Err(io::Error::other(format!(
            "no PostgreSQL server: it announced a message of {length} bytes"
        )));
    }
    let mut body = vec![0; length - 4];
    stream.read_exact(&mut body)?;
    Ok((head[0], body))
}

/// The human-readable field of an error message: fields are a letter and a zero-terminated text.
fn error_text(body: &[u8]) -> String {
    let message = body.split(|b| *b == 0).find(|field| field.first() == Some(&b'M'));
    message.map_or_else(
        || "no reason given".to_owned(),
        |m| String::from_utf8_lossy(&m[1..]).into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    /// Knocks at a server that reads the start-up message and sends `reply`.
    fn knock_at(reply: &'static [u8]) -> io::Result<Answer> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut length = [0; 4];
            stream.read_exact(&mut length).unwrap();
            let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
            stream.read_exact(&mut body).unwrap();
            assert!(body.starts_with(b"\0\x03\0\0user\0postgres\0database\0d\0") && body.ends_with(b"\0\0"));
            stream.write_all(reply).unwrap();
        });
        let answer = knock(address, "postgres", "d", PATIENCE);
        server.join().unwrap();
        answer
    }

    #[test]
    fn the_answers_are_told_apart() {
        assert_eq!(knock_at(b"R\0\0\0\x08\0\0\0\x0a").unwrap(), Answer::AsksPassword);
        let open = b"R\0\0\0\x08\0\0\0\0S\0\0\0\x08a\0b\0Z\0\0\0\x05I";
        assert_eq!(knock_at(open).unwrap(), Answer::Open);
        let refused = knock_at(b"E\0\0\0\x17SFATAL\0Mtoo early\0\0").unwrap();
        assert_eq!(refused, Answer::Refused("too early".to_owned()));
    }

    #[test]
    fn what_is_no_server_is_an_error() {
        assert!(knock_at(b"").is_err());
        assert!(knock_at(b"HTTP/1.1 400 Bad Request\r\n").is_err());
        assert!(knock_at(b"Q\0\0\0\x04").is_err());
    }
}
