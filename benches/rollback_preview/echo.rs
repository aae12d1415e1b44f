//! Bare ping-pongs: a process of its own that reads so many bytes and answers with so many.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use crate::placement::Placement;
use crate::support::Outcome;

const FLAG: &str = "--echo";

/// Bytes of one exchange.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// From the client.
    pub request: usize,
    /// From the server.
    pub reply: usize,
}

/// The sizes that this process was started to answer, if it was.
pub fn sizes_from(arguments: &[String]) -> Option<Vec<Exchange>> {
    let flag = arguments.iter().position(|argument| argument == FLAG)?;
    let numbers: Vec<usize> = arguments[flag + 1..]
        .iter()
        .filter_map(|number| number.parse().ok())
        .collect();
    let exchange = |pair: &[usize]| Exchange {
        request: pair[0],
        reply: pair[1],
    };
    Some(numbers.chunks_exact(2).map(exchange).collect())
}

/// Answers one client after the other, until it is killed.
pub fn serve(exchanges: &[Exchange]) -> ExitCode {
    let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) else {
        return ExitCode::FAILURE;
    };
    println!("{}", listener.local_addr().map_or(0, |address| address.port()));
    for stream in listener.incoming().flatten() {
        // The client has gone: that is how each round ends.
        let _ = answer(stream, exchanges);
    }
    ExitCode::SUCCESS
}

fn answer(mut stream: TcpStream, exchanges: &[Exchange]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = buffer(exchanges);
    loop {
        for exchange in exchanges {
            stream.read_exact(&mut buffer[..exchange.request])?;
            stream.write_all(&buffer[..exchange.reply])?;
        }
    }
}

fn buffer(exchanges: &[Exchange]) -> Vec<u8> {
    let longest = exchanges
        .iter()
        .map(|exchange| exchange.request.max(exchange.reply))
        .max();
    vec![0; longest.unwrap_or(0)]
}

/// The other process; it goes with this value.
pub struct Echo {
    child: Child,
    port: u16,
    exchanges: Vec<Exchange>,
}

impl Echo {
    /// Starts it under a placement.
    pub fn start(exchanges: Vec<Exchange>, placement: &Placement) -> Outcome<Self> {
        let sizes = exchanges.iter().flat_map(|exchange| [exchange.request, exchange.reply]);
        let mut child = Command::new(std::env::current_exe()?)
            .arg(FLAG)
            .args(sizes.map(|size| size.to_string()))
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let echo = Self {
            port: line.trim().parse()?,
            child,
            exchanges,
        };
        placement.apply_to_server(echo.child.id())?;
        Ok(echo)
    }

    /// Nanoseconds of `count` times all exchanges.
    pub fn ping(&self, count: usize) -> Outcome<Vec<i64>> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        let mut buffer = buffer(&self.exchanges);
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let begun = Instant::now();
            for exchange in &self.exchanges {
                stream.write_all(&buffer[..exchange.request])?;
                stream.read_exact(&mut buffer[..exchange.reply])?;
            }
            times.push(begun.elapsed().as_nanos() as i64);
        }
        Ok(times)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
