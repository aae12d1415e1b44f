//! What the proxy holds longer than it is told to, and what it costs where it holds nothing.
//!
//! A server that answers each Sync at once stands in for a database, so that nothing but sockets and the proxy is in a trip.

mod echo;
mod kernel;
#[path = "../support/mod.rs"]
mod support;

use std::hint;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use preview_cost::path::child::PathProxy;
use preview_cost::path::{Delay, Endpoint};

use echo::Client;
use support::{Outcome, line, median, micros, verdict};

const DELAYS: [&str; 4] = ["250us", "500us", "1ms", "2ms"];
const OVERSHOOT_MEDIAN_US: f64 = 20.0;
const OVERSHOOT_P99_US: f64 = 100.0;
/// As the proxy has it, and a little for the slack of an ordinary thread's timers.
const SPUN: Duration = Duration::from_micros(110);
const TRIP_US: f64 = 60.0;

fn main() -> ExitCode {
    support::report("The proxy: what it holds too long, and what it costs", measure)
}

fn measure() -> Outcome {
    let server = echo::serve("127.0.0.1:0")?;
    let trips = if support::is_quick() { 50 } else { 2_000 };
    without_delay(&server, trips)?;
    for delay in DELAYS {
        with_delay(&server, delay, trips)?;
    }
    match kernel::compare(trips) {
        Ok(()) => {}
        Err(why) => line("the kernel's own delay", &format!("not compared: {why}")),
    }
    Ok(())
}

fn proxy(server: &Endpoint, delay: Delay) -> Outcome<PathProxy> {
    let exe = Path::new(env!("CARGO_BIN_EXE_preview-cost"));
    Ok(PathProxy::start(exe, &Endpoint::parse("127.0.0.1:0")?, server, delay)?)
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
    let most = worst_of_100(&mut overshoot);
    let each_way = Duration::from_nanos(Delay::parse(delay)?.round_trip().0 as u64 / 2);
    let mut bare: Vec<i64> = (0..2 * trips).map(|_| bare_wait(each_way)).collect();
    line(&format!("at {delay}, held too long, median"), &micros(typical));
    line(&format!("at {delay}, held too long, 99th percentile"), &micros(most));
    line(
        &format!("at {delay}, a bare thread's wait too long, 99th percentile"),
        &micros(worst_of_100(&mut bare)),
    );
    verdict("median / allowed", typical as f64 / 1e3 / OVERSHOOT_MEDIAN_US, 1.0);
    verdict("99th percentile / allowed", most as f64 / 1e3 / OVERSHOOT_P99_US, 1.0);
    Ok(())
}

/// The nearest-rank 99th percentile.
fn worst_of_100(values: &mut [i64]) -> i64 {
    values.sort_unstable();
    values[(values.len() * 99).div_ceil(100) - 1]
}

/// What this machine lets nobody do better: asleep until shortly before, then awake. How much too long it was, ns.
fn bare_wait(how_long: Duration) -> i64 {
    let begun = Instant::now();
    thread::sleep(how_long.saturating_sub(SPUN));
    while begun.elapsed() < how_long {
        hint::spin_loop();
    }
    begun.elapsed().saturating_sub(how_long).as_nanos() as i64
}
