//! The rollback preview at 40 plans on a local PostgreSQL, against `pgbench` and against the floor that nothing can
//! beat: three bare ping-pongs of the same sizes plus the server's own time.
//!
//! All arms of a round work on the same server and the same fresh table, in an order that rotates from round to round,
//! with a VACUUM before each. Each arm of a round has a new connection and 50 transactions that are not counted.
//!
//! * **preview**: the strategy itself, as a run measures it, computation included.
//! * **flights**: its statements, flights and checks without the computation, which `pgbench` has not.
//! * **pgbench**: `-M prepared`, a `\startpipeline … \endpipeline` for each flight; latencies from its log, in whole
//!   microseconds. It sends and gets numbers as text, and asks for a description of each result; we do neither.
//! * **ping-pongs**: another process that reads as many bytes as each flight has and answers with as many.
//! * **server**: what `log_duration` says of a preview: Bind and Execute of its seven statements, from a message's
//!   arrival until its answer is in the buffer; the planner, the rows' output and the abort are inside. Left out are
//!   reading from the socket, Sync and the last send, which the ping-pongs stand for, and waiting for the other side.
//!
//! Which core a process runs on matters by a factor of two, so everything is measured in three placements. A server
//! process started under a placement stays in it.

#[path = "../support/mod.rs"]
mod support;

mod arms;
mod echo;
mod pgbench;
mod placement;
mod server;

use std::process::ExitCode;

use arms::{Arm, Sample};
use placement::Placement;
use server::Server;
use support::{Outcome, line, median, micros, verdict};

const PLANS: u32 = 40;
const MONTHS: u32 = 60;
const ROUNDS: usize = 20;
const PREVIEWS: usize = 500;
/// Transactions of each arm and round that are not counted.
const WARMUP: usize = 50;

const PGBENCH_BOUND: f64 = 1.0;
const FLOOR_BOUND: f64 = 1.3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(sizes) = echo::sizes_from(&arguments) {
        return echo::serve(&sizes);
    }
    support::report("Rollback preview, 40 plans, local PostgreSQL over TCP", measure)
}

fn measure() -> Outcome {
    let mut server = Server::start()?;
    let rounds = if support::is_quick() { 3 } else { ROUNDS };
    for placement in Placement::all()? {
        placement.apply(server.postmaster())?;
        let samples = arms::interleave(&mut server, &placement, rounds)?;
        println!("\n  {placement}; median of {rounds} rounds of {PREVIEWS}");
        tell(&samples)?;
    }
    Ok(())
}

fn tell(samples: &[Sample]) -> Outcome {
    let of = |arm: Arm| {
        samples
            .iter()
            .find(|sample| sample.arm == arm)
            .ok_or("an arm is missing")
    };
    for sample in samples {
        line(sample.arm.name(), &micros(median(&sample.nanos)?));
    }
    let cpu = of(Arm::Flights)?.server_cpu_ns;
    line("(server's processor time in `flights`, sockets included)", &micros(cpu));
    for arm in [Arm::Flights, Arm::Preview] {
        let (ours, pgbench) = (of(arm)?, of(Arm::Pgbench)?);
        let ratio = median(&ours.nanos)? as f64 / median(&pgbench.nanos)? as f64;
        verdict(&format!("{} / pgbench", arm.short()), ratio, PGBENCH_BOUND);
        line("  in single rounds", &spread(ours, pgbench)?);
    }
    let floor = median(&of(Arm::PingPongs)?.nanos)? + median(&of(Arm::Server)?.nanos)?;
    for arm in [Arm::Flights, Arm::Preview] {
        let ratio = median(&of(arm)?.nanos)? as f64 / floor as f64;
        verdict(&format!("{} / (ping-pongs + server)", arm.short()), ratio, FLOOR_BOUND);
    }
    Ok(())
}

/// Smallest and largest ratio of two arms' medians in a round.
fn spread(ours: &Sample, theirs: &Sample) -> Outcome<String> {
    let mut ratios = Vec::new();
    for (ours, theirs) in ours.nanos.chunks(PREVIEWS).zip(theirs.nanos.chunks(PREVIEWS)) {
        ratios.push(median(ours)? as f64 / median(theirs)? as f64);
    }
    ratios.sort_by(f64::total_cmp);
    match (ratios.first(), ratios.last()) {
        (Some(least), Some(most)) => Ok(format!("{least:.2} to {most:.2}")),
        _ => Err("no round was measured".into()),
    }
}
