//! How long `analyze` takes, as a process, on a run of 4 500 pairs.
//!
//! The same run with its controls has twice the pairs and is told beside it. A process has a price of its own, so
//! `--version` is timed in the same rounds.

mod support;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use support::{Outcome, line, median, verdict};

const ROUNDS: usize = 30;
const BOUND_NS: f64 = 50e6;

fn main() -> ExitCode {
    support::report("analyze: process wall time, median of 30", measure)
}

fn measure() -> Outcome {
    let manifest = support::experiment("sqlite-memory")?;
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let bare = support::run(&support::without_controls(&manifest), &place.path().join("bare"))?;
    let controlled = support::run(&manifest, &place.path().join("controlled"))?;
    let (mut start, mut analyze, mut both) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        start.push(timed(&["--version".as_ref()])?);
        analyze.push(timed(&["analyze".as_ref(), &bare])?);
        both.push(timed(&["analyze".as_ref(), &controlled])?);
    }
    let (start, analyze, both) = (median(&start)?, median(&analyze)?, median(&both)?);
    line("preview-cost --version", &millis(start));
    line("analyze, 4 500 pairs", &millis(analyze));
    line("analyze, 4 500 pairs and as many of controls", &millis(both));
    line("analyze / --version", &format!("{:.2}", analyze as f64 / start as f64));
    verdict("analyze, 4 500 pairs / 50 ms", analyze as f64 / BOUND_NS, 1.0);
    verdict("analyze, with controls / 50 ms", both as f64 / BOUND_NS, 1.0);
    Ok(())
}

/// Nanoseconds from before the process is made until it is reaped.
fn timed(arguments: &[&Path]) -> Outcome<i64> {
    let mut command = Command::new(support::PROGRAM);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status()?;
    let wall = begun.elapsed().as_nanos() as i64;
    if status.success() {
        Ok(wall)
    } else {
        Err(format!("preview-cost {arguments:?}: {status}").into())
    }
}

fn millis(nanos: i64) -> String {
    format!("{:.2} ms", nanos as f64 / 1e6)
}
