//! The other client: `pgbench` with the same statements in the same flights.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use preview_cost::backend::postgres::Target;
use preview_cost::backend::provision::ServerBinaries;
use preview_cost::workload::Overrides;

use crate::server::SCHEMA;
use crate::support::Outcome;

/// Where the third word of a line of its log is the latency in microseconds.
const LATENCY: usize = 2;

/// A script and the program that runs it.
pub struct Pgbench {
    program: PathBuf,
    place: PathBuf,
    definitions: Vec<String>,
}

impl Pgbench {
    /// Writes the script for these overrides below `place`.
    pub fn new(place: &Path, overrides: &Overrides) -> Outcome<Self> {
        let program = ServerBinaries::find()?.bindir.join("pgbench");
        if !program.is_file() {
            return Err(format!(
                "{} is not there; install PostgreSQL's client programs",
                program.display()
            )
            .into());
        }
        let mut writes = String::new();
        let mut definitions = Vec::new();
        for (index, field) in overrides.iter().enumerate() {
            writeln!(
                writes,
                "UPDATE {SCHEMA}.model_field SET field_value = :v{index} WHERE name = :n{index};"
            )?;
            definitions.push(format!("n{index}={}", field.name));
            definitions.push(format!("v{index}={}", field.value));
        }
        let read = format!("SELECT name, field_value FROM {SCHEMA}.model_field;\n");
        let flights = [format!("BEGIN;\n{writes}"), read, "ROLLBACK;\n".to_owned()];
        let mut script = String::new();
        for flight in flights {
            write!(script, "\\startpipeline\n{flight}\\endpipeline\n")?;
        }
        fs::write(place.join("preview.sql"), script)?;
        Ok(Self {
            program,
            place: place.to_owned(),
            definitions,
        })
    }

    /// Latencies of `count` transactions, in nanoseconds.
    pub fn run(&self, target: &Target, count: usize) -> Outcome<Vec<i64>> {
        let logs = self.place.join("logs");
        fs::create_dir_all(&logs)?;
        let output = Command::new(&self.program)
            .args(["--no-vacuum", "--protocol=prepared", "--client=1", "--jobs=1", "--log"])
            .arg(format!("--transactions={count}"))
            .arg(format!("--log-prefix={}", logs.join("log").display()))
            .arg(format!("--file={}", self.place.join("preview.sql").display()))
            .args(
                self.definitions
                    .iter()
                    .map(|definition| format!("--define={definition}")),
            )
            .args(["--host=127.0.0.1", &format!("--port={}", target.port)])
            .arg(format!("--username={}", target.user))
            .arg(&target.dbname)
            .env("PGSSLMODE", "disable")
            .env("PGGSSENCMODE", "disable")
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            return Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let mut latencies = Vec::with_capacity(count);
        for entry in fs::read_dir(&logs)? {
            for line in fs::read_to_string(entry?.path())?.lines() {
                let micros = line.split(' ').nth(LATENCY).ok_or("pgbench's log has a short line")?;
                latencies.push(micros.parse::<i64>()? * 1_000);
            }
        }
        fs::remove_dir_all(&logs)?;
        if latencies.len() == count {
            Ok(latencies)
        } else {
            Err(format!("pgbench logged {} of {count} transactions", latencies.len()).into())
        }
    }
}
