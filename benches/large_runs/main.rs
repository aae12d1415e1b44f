//! How long `analyze` takes on 10 million pairs, and how much memory, against DuckDB with the same quantiles from the same
//! file on the same processors.
//!
//! `analyze` also hashes the file, checks every row, and computes intervals, diagnostics and verdicts; DuckDB computes nine
//! quantiles a cell and three medians a fork. Both are timed as processes, in turn, and the faster of three rounds counts.
//! DuckDB comes from `PyPI` into a virtual environment under target/. `LARGE_PAIRS` sets another number of pairs, such as
//! 100000000.

#[path = "../support/mod.rs"]
mod support;
mod synthetic;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use support::{Outcome, line, verdict};

const PAIRS: u64 = 10_000_000;
const ROUNDS: usize = 3;
/// 1 GiB, the most that `analyze` may hold at 100 million pairs.
const MEMORY_KIB: f64 = 1_048_576.0;
const DUCKDB: &str = "duckdb==2.0.1";
const QUERY: &str = include_str!("figures.py");

fn main() -> ExitCode {
    let asked = std::env::var("LARGE_PAIRS").map_or(Ok(PAIRS), |pairs| pairs.parse());
    support::report("analyze on a large run: process wall time and peak memory", || {
        measure(asked?)
    })
}

fn measure(pairs: u64) -> Outcome {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let begun = Instant::now();
    let run = synthetic::run(target, pairs)?;
    line("pairs", &pairs.to_string());
    line("made, or found, in", &format!("{:.0} s", begun.elapsed().as_secs_f64()));
    let bytes = fs::metadata(run.join("pairs.parquet"))?.len();
    line("pairs.parquet", &format!("{:.0} MB", bytes as f64 / 1e6));
    let python = duckdb(target);
    if let Err(error) = &python {
        println!("  DuckDB can't be had, so that there is no ratio: {error}");
    }
    let (mut analyze, mut other) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut command = Command::new(support::PROGRAM);
        analyze.push(watched(command.arg("analyze").arg(&run))?);
        if let Ok(python) = &python {
            let mut command = Command::new(python);
            other.push(watched(command.args(["-c", QUERY]).arg(run.join("pairs.parquet")))?);
        }
    }
    let (time, memory) = (fastest(&analyze)?, largest(&analyze));
    line("analyze", &seconds(time));
    line("analyze, peak memory", &format!("{:.0} MiB", memory as f64 / 1024.0));
    if !other.is_empty() {
        let time_of_other = fastest(&other)?;
        line("DuckDB", &seconds(time_of_other));
        line(
            "DuckDB, peak memory",
            &format!("{:.0} MiB", largest(&other) as f64 / 1024.0),
        );
        verdict(
            "analyze / DuckDB",
            time.as_secs_f64() / time_of_other.as_secs_f64(),
            1.0,
        );
    }
    verdict("peak memory / 1 GiB", memory as f64 / MEMORY_KIB, 1.0);
    Ok(())
}

fn fastest(runs: &[(Duration, u64)]) -> Outcome<Duration> {
    Ok(runs.iter().map(|run| run.0).min().ok_or("nothing was measured")?)
}

fn largest(runs: &[(Duration, u64)]) -> u64 {
    runs.iter().map(|run| run.1).max().unwrap_or(0)
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// Wall time, and peak memory in KiB: the system's high-water mark of the process, read until it is gone.
fn watched(command: &mut Command) -> Outcome<(Duration, u64)> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        peak = peak.max(high_water(&status).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    };
    if ended.success() {
        Ok((begun.elapsed(), peak))
    } else {
        Err(format!("{command:?}: {ended}").into())
    }
}

fn high_water(status: &Path) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// A Python that has DuckDB.
fn duckdb(target: &Path) -> Outcome<PathBuf> {
    let place = target.join("duckdb");
    let python = place.join("bin/python");
    let succeeds = |command: &mut Command| -> Outcome {
        let output = command.stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into())
    };
    if succeeds(Command::new(&python).args(["-c", "import duckdb"])).is_err() {
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet", DUCKDB]))?;
    }
    Ok(python)
}
