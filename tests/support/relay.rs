//! A TCP relay that notes what a client sends: one entry a write, made of the message types in it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A relay to a server on the loopback address. It notes what its connections send in the order in which it comes.
pub struct Relay {
    /// Where to connect instead.
    pub port: u16,
    writes: Arc<Mutex<Vec<String>>>,
}

impl Relay {
    /// Starts a relay to `server_port`.
    pub fn to(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let writes = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&writes);
        thread::spawn(move || {
            for client in listener.incoming() {
                pass(client.unwrap(), server_port, Arc::clone(&noted));
            }
        });
        Self { port, writes }
    }
    /// What was sent since the last call: the message types of each client write, noted before it is passed on.
    pub fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut self.writes.lock().unwrap())
    }
}

fn pass(client: TcpStream, server_port: u16, noted: Arc<Mutex<Vec<String>>>) {
    let server = TcpStream::connect(("127.0.0.1", server_port)).unwrap();
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (answers, back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || pump(answers, back, |_| ()));
    thread::spawn(move || {
        let mut messages = Frontend::default();
        pump(client, server, |bytes| {
            noted.lock().unwrap().push(messages.types_in(bytes));
        });
    });
}

fn pump(mut from: TcpStream, mut to: TcpStream, mut note: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        note(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Cuts a client's bytes into messages.
#[derive(Default)]
struct Frontend {
    started: bool,
    pending: Vec<u8>,
}

impl Frontend {
    fn types_in(&mut self, bytes: &[u8]) -> String {
        self.pending.extend(bytes);
        let mut types = String::new();
        loop {
            // The startup message alone has no type.
            let tag_bytes = usize::from(self.started);
            let Some(length) = self.pending.get(tag_bytes..).and_then(|rest| rest.first_chunk::<4>()) else {
                break;
            };
            let total = tag_bytes + u32::from_be_bytes(*length) as usize;
            if self.pending.len() < total {
                break;
            }
            types.push(if self.started { char::from(self.pending[0]) } else { '-' });
            self.started = true;
            self.pending.drain(..total);
        }
        types
    }
}
