//! A server that answers each Sync at once, and its client.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use preview_cost::path::Endpoint;

use crate::support::Outcome;

/// Protocol 3.0, and nothing asked for.
const STARTUP: [u8; 8] = [0, 0, 0, 8, 0, 3, 0, 0];
const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
const READY: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];

/// Listens at `address`, in the network of the calling thread, for as long as the process lives.
pub fn serve(address: &str) -> Outcome<Endpoint> {
    let listener = TcpListener::bind(address)?;
    let listens_on = Endpoint::parse(&listener.local_addr()?.to_string())?;
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // A client that leaves ends its thread.
            thread::spawn(move || answer(client));
        }
    });
    Ok(listens_on)
}

fn answer(mut client: TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    client.read_exact(&mut [0; STARTUP.len()])?;
    client.write_all(&READY)?;
    loop {
        client.read_exact(&mut [0; SYNC.len()])?;
        client.write_all(&READY)?;
    }
}

/// A connection that has started up.
pub struct Client(TcpStream);

impl Client {
    pub fn connect(to: &Endpoint) -> Outcome<Self> {
        let mut stream = TcpStream::connect(to.to_string())?;
        stream.set_nodelay(true)?;
        stream.write_all(&STARTUP)?;
        stream.read_exact(&mut [0; READY.len()])?;
        Ok(Self(stream))
    }

    /// How long a round trip took, ns.
    pub fn trip(&mut self) -> Outcome<i64> {
        let begun = Instant::now();
        self.0.write_all(&SYNC)?;
        self.0.read_exact(&mut [0; READY.len()])?;
        Ok(begun.elapsed().as_nanos() as i64)
    }
}
