//! What a row of `pairs.parquet` costs on disk, column by column.
//!
//! The bound speaks of the measured phase without the answers' digests, at 4 500 pairs. The file also holds warm-up
//! rows and its own description, so two figures are told: all bytes but the digests' over all rows, and the same bytes
//! over the measured rows alone, as if the warm-up had cost nothing to keep. The second can't be met with 80 warm-up
//! rows to 300 unless a row takes 9.5 bytes.

mod support;

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use parquet::file::reader::{FileReader, SerializedFileReader};
use preview_cost::archive::{Archive, Phase};
use support::{Outcome, line, verdict};

const BOUND_BYTES: f64 = 12.0;
const DIGESTS: [&str; 2] = ["subject_answer", "baseline_answer"];

fn main() -> ExitCode {
    for (name, backend) in [("sqlite-memory", "SQLite in memory"), ("pg-local", "local PostgreSQL")] {
        let title = format!("pairs.parquet: bytes a row, 4 500 pairs without controls, {backend}");
        support::report(&title, || measure(name));
    }
    ExitCode::SUCCESS
}

fn measure(name: &str) -> Outcome {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let manifest = support::without_controls(&support::experiment(name)?);
    let run = support::run(&manifest, place.path())?;
    let measured = measured_rows(&run)?;

    let path = run.join("pairs.parquet");
    let whole = std::fs::metadata(&path)?.len() as f64;
    let reader = SerializedFileReader::new(File::open(&path)?)?;
    let rows = reader.metadata().file_metadata().num_rows() as f64;
    let (mut columns, mut digests) = (0.0, 0.0);
    for group in reader.metadata().row_groups() {
        for column in group.columns() {
            let name = column.column_path().string();
            let bytes = column.compressed_size() as f64;
            columns += bytes;
            if DIGESTS.contains(&name.as_str()) {
                digests += bytes;
            }
            let encodings: Vec<String> = column.encodings().map(|encoding| encoding.to_string()).collect();
            line(&format!("{name} ({})", encodings.join(", ")), &format!("{bytes} B"));
        }
    }
    let kept = whole - digests;
    line("row groups", &reader.metadata().num_row_groups().to_string());
    line("the file's own description", &format!("{} B", whole - columns));
    line("whole file", &format!("{whole} B"));
    line("digests, over all rows", &format!("{:.2} B", digests / rows));
    let (any, each) = (kept / rows, kept / measured);
    line(
        &format!("all but digests, over all {rows} rows"),
        &format!("{any:.2} B"),
    );
    line(
        &format!("all but digests, over {measured} measured rows"),
        &format!("{each:.2} B"),
    );
    verdict("bytes a row / 12", any / BOUND_BYTES, 1.0);
    verdict(
        "bytes a measured row, warm-up charged to it / 12",
        each / BOUND_BYTES,
        1.0,
    );
    Ok(())
}

fn measured_rows(run: &Path) -> Outcome<f64> {
    let mut rows = 0;
    Archive::open(run)?.for_each_fork(|fork| {
        rows += fork.pairs.iter().filter(|pair| pair.phase == Phase::Measured).count();
    })?;
    Ok(rows as f64)
}
