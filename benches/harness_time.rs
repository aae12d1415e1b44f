//! What the harness costs around the previews: wall time of a whole run against the time of its previews.
//!
//! Wall time covers starting the program, 30 worker processes, making 30 models, storing and syncing each fork's part,
//! sealing, and printing the figures.

mod support;

use std::process::ExitCode;
use std::time::Instant;

use preview_cost::archive::Archive;
use support::{Outcome, line, verdict};

const PREVIEWS_SHARE: f64 = 1.5;
const ALLOWANCE_S: f64 = 1.0;

fn main() -> ExitCode {
    support::report("Harness wall time: sqlite-memory, default run with controls", measure)
}

fn measure() -> Outcome {
    let manifest = support::experiment("sqlite-memory")?;
    let manifest = if support::is_quick() {
        support::shortened(&manifest)
    } else {
        manifest
    };
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let begun = Instant::now();
    let run = support::run(&manifest, place.path())?;
    let wall = begun.elapsed().as_secs_f64();

    let archive = Archive::open(&run)?;
    let (mut pairs, mut previews_ns) = (0, 0);
    archive.for_each_fork(|fork| {
        pairs += fork.pairs.len();
        let times = fork
            .pairs
            .iter()
            .flat_map(|pair| [pair.subject.time, pair.baseline.time]);
        previews_ns += times.flatten().map(|time| time.0).sum::<i64>();
    })?;
    let forks_ns: i64 = archive
        .forks
        .iter()
        .map(|fork| fork.ended_unix_ns - fork.started_unix_ns)
        .sum();
    let (previews, forks) = (previews_ns as f64 / 1e9, forks_ns as f64 / 1e9);
    line(
        &format!(
            "timed previews of {pairs} pairs in {} forks, warm-up included",
            archive.forks.len()
        ),
        &format!("{previews:.3} s"),
    );
    line(
        "forks, from a worker's first word to its last",
        &format!("{forks:.3} s"),
    );
    line("wall time", &format!("{wall:.3} s"));
    let bound = PREVIEWS_SHARE * previews + ALLOWANCE_S;
    line("allowed: 1.5 x previews + 1 s", &format!("{bound:.3} s"));
    verdict("wall time / allowed", wall / bound, 1.0);
    Ok(())
}
