//! What the benchmarks share: how a ratio is told, and how the program is run.
//!
//! A benchmark reports and asserts nothing: it ends with exit code 0 whatever it finds. Numbers of two runs do not
//! compare (separate runs moved by up to 25 % on the machine that they were written on), so each verdict is a ratio of
//! two things that were measured in one run.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use preview_cost::nearest_rank;

/// The release executable that cargo built for the benchmark.
#[allow(dead_code)]
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_preview-cost");

/// What a benchmark gives when it could not measure.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Runs a benchmark; where it can't measure, it says why.
pub fn report(title: &str, body: impl FnOnce() -> Outcome) -> ExitCode {
    println!("\n{title}");
    if let Err(error) = body() {
        println!("  not measured: {error}");
    }
    ExitCode::SUCCESS
}

/// Whether only the benchmark itself is tried out: `cargo bench -- --quick`.
#[allow(dead_code)]
pub fn is_quick() -> bool {
    std::env::args().any(|argument| argument == "--quick")
}

/// Prints a line of what was measured.
pub fn line(what: &str, value: &str) {
    println!("  {what:<58} {value:>14}");
}

/// Prints a ratio beside its bound.
pub fn verdict(what: &str, ratio: f64, bound: f64) {
    let word = if ratio <= bound { "met" } else { "NOT MET" };
    println!("  {what:<58} {ratio:>10.3}     bound {bound:.2}: {word}");
}

/// Nanoseconds as microseconds.
#[allow(dead_code)]
pub fn micros(nanos: i64) -> String {
    format!("{:.1} µs", nanos as f64 / 1e3)
}

/// Nearest-rank median of what was measured.
#[allow(dead_code)]
pub fn median(values: &[i64]) -> Outcome<i64> {
    nearest_rank::median(&mut values.to_vec()).ok_or_else(|| "nothing was measured".into())
}

/// A shipped experiment's manifest.
#[allow(dead_code)]
pub fn experiment(name: &str) -> Outcome<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("experiments/{name}.toml"));
    fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()).into())
}

/// The same manifest without the controls.
#[allow(dead_code)]
pub fn without_controls(manifest: &str) -> String {
    manifest.replace("[grid]\n", "[grid]\ncontrol = false\n")
}

/// The same manifest with few pairs, for trying a benchmark out.
#[allow(dead_code)]
pub fn shortened(manifest: &str) -> String {
    manifest.replace("[measure]\n", "[measure]\nforks = 2\npreviews = 100\n")
}

/// Runs a manifest with the program, storing below `place`; gives the run's directory.
#[allow(dead_code)]
pub fn run(manifest: &str, place: &Path) -> Outcome<PathBuf> {
    fs::create_dir_all(place)?;
    let (file, results) = (place.join("manifest.toml"), place.join("results"));
    fs::write(&file, manifest)?;
    let output = Command::new(PROGRAM)
        .arg("run")
        .arg(&file)
        .arg("--results")
        .arg(&results)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(format!("preview-cost run: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    fs::read_dir(&results)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.is_dir())
        .ok_or_else(|| "the run left no directory".into())
}
