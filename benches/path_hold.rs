//! What the proxy holds longer than it is told to, and what it costs where it holds nothing.
//!
//! A server that answers each Sync at once stands in for a database, so that nothing but sockets and the proxy is in a trip.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use preview_cost::path::child::PathProxy;
use preview_cost::path::{Delay, Endpoint};
use support::{Outcome, line, median, micros, verdict};

const DELAYS: [&str; 4] = ["250us", "500us", "1ms", "2ms"];
const OVERSHOOT_MEDIAN_US: f64 = 20.0;
const OVERSHOOT_P99_US: f64 = 100.0;
const TRIP_US: f64 = 60.0;

/// Protocol 3.0, and nothing asked for.
const STARTUP: [u8; 8] = [0, 0, 0, 8, 0, 3, 0, 0];
const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
const READY: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];

fn main() -> ExitCode {
    support::report("The proxy: what it holds too long, and what it costs", measure)
}

fn measure() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let server = Endpoint::parse(&listener.local_addr()?.to_string())?;
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // A client that leaves ends its thread.
            thread::spawn(move || answer(client));
        }
    });
    let trips = if support::is_quick() { 50 } else { 2_000 };
    without_delay(&server, trips)?;
    for delay in DELAYS {
        with_delay(&server, delay, trips)?;
    }
    Ok(())
}

fn answer(mut client: TcpStream) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    client.read_exact(&mut [0; STARTUP.len()])?;
    client.write_all(&READY)?;
    loop {
        client.read_exact(&mut [0; SYNC.len()])?;
        client.write_all(&READY)?;
    }
}

fn proxy(server: &Endpoint, delay: Delay) -> Outcome<PathProxy> {
    let exe = Path::new(env!("CARGO_BIN_EXE_preview-cost"));
    Ok(PathProxy::start(exe, &Endpoint::parse("127.0.0.1:0")?, server, delay)?)
}

struct Client(TcpStream);

impl Client {
    fn connect(to: &Endpoint) -> Outcome<Self> {
        let mut stream = TcpStream::connect(to.to_string())?;
        stream.set_nodelay(true)?;
        stream.write_all(&STARTUP)?;
        stream.read_exact(&mut [0; READY.len()])?;
        Ok(Self(stream))
    }

    /// How long a round trip took, ns.
    fn trip(&mut self) -> Outcome<i64> {
        let begun = Instant::now();
        self.0.write_all(&SYNC)?;
        self.0.read_exact(&mut [0; READY.len()])?;
        Ok(begun.elapsed().as_nanos() as i64)
    }
}

fn without_delay(server: &Endpoint, trips: usize) -> Outcome {
    let proxy = proxy(server, Delay::NONE)?;
    let (mut direct, mut through) = (Client::connect(server)?, Client::connect(proxy.endpoint())?);
    let mut longer = Vec::with_capacity(trips);
    for _ in 0..trips {
        let without = direct.trip()?;
        longer.push(through.trip()? - without);
    }
    drop(through);
    let counted: u32 = proxy.finish()?.iter().map(|passage| passage.round_trips).sum();
    if counted as usize != trips {
        return Err(format!("{trips} round trips, and the proxy counted {counted}").into());
    }
    let cost = median(&longer)?;
    line(
        "at delay 0, a trip with the proxy less one without, median",
        &micros(cost),
    );
    verdict("cost of a trip / allowed", cost as f64 / 1e3 / TRIP_US, 1.0);
    Ok(())
}

fn with_delay(server: &Endpoint, delay: &str, trips: usize) -> Outcome {
    let proxy = proxy(server, Delay::parse(delay)?)?;
    let mut client = Client::connect(proxy.endpoint())?;
    for _ in 0..trips {
        client.trip()?;
    }
    drop(client);
    let passages = proxy.finish()?;
    let held = passages.iter().filter(|passage| passage.apart.is_none());
    let mut overshoot: Vec<i64> = held.map(|passage| passage.held().0 - passage.declared.0).collect();
    let typical = median(&overshoot)?;
    overshoot.sort_unstable();
    let most = overshoot[(overshoot.len() * 99).div_ceil(100) - 1];
    line(&format!("at {delay}, held too long, median"), &micros(typical));
    line(&format!("at {delay}, held too long, 99th percentile"), &micros(most));
    verdict("median / allowed", typical as f64 / 1e3 / OVERSHOOT_MEDIAN_US, 1.0);
    verdict("99th percentile / allowed", most as f64 / 1e3 / OVERSHOOT_P99_US, 1.0);
    Ok(())
}
