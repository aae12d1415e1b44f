//! The proxy in the path: what it passes, counts, holds and refuses, against a real PostgreSQL and against peers that
//! misbehave.

#[path = "../support/mod.rs"]
mod support;

mod peers;
mod postgres;
mod process;

use std::path::Path;

use preview_cost::path::child::PathProxy;
use preview_cost::path::{Apart, Delay, Endpoint, Passage, Way};
use preview_cost::units::Nanos;

/// This program.
fn exe() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_preview-cost"))
}

/// Any free port of the loopback address.
fn anywhere() -> Endpoint {
    loopback(0)
}

fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".to_owned(),
        port,
    }
}

fn port_of(proxy: &PathProxy) -> u16 {
    match proxy.endpoint() {
        Endpoint::Tcp { port, .. } => *port,
        Endpoint::Unix(path) => panic!("{} is no port", path.display()),
    }
}

fn micros(delay: i64) -> Delay {
    Delay::of_round_trip(Nanos(1_000 * delay))
}

/// Round trips of what is not counted apart.
fn trips(passages: &[Passage]) -> u32 {
    let counted = passages.iter().filter(|passage| passage.apart.is_none());
    counted.map(|passage| passage.round_trips).sum()
}

fn apart(passages: &[Passage], as_what: Apart) -> usize {
    passages.iter().filter(|passage| passage.apart == Some(as_what)).count()
}

fn bytes(passages: &[Passage], way: Way) -> u64 {
    let of_way = passages.iter().filter(|passage| passage.way == way);
    of_way.map(|passage| u64::from(passage.bytes)).sum()
}
