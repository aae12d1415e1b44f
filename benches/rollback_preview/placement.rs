//! Which cores client and server run on; `taskset` puts them there.

use std::fmt;
use std::fs;
use std::process::{Command, Stdio};

use crate::support::Outcome;

/// A placement of the two sides.
pub struct Placement {
    name: &'static str,
    client: String,
    server: String,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, client, server } = self;
        write!(f, "{name} (client on {client}, server on {server})")
    }
}

impl Placement {
    /// The placements that this machine has.
    pub fn all() -> Outcome<Vec<Self>> {
        let allowed = allowed()?;
        let cores = spelt_out(&allowed);
        let at = |name, client: &str, server: &str| Self {
            name,
            client: client.to_owned(),
            server: server.to_owned(),
        };
        let mut all = vec![at("not pinned", &allowed, &allowed)];
        if Command::new("taskset")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_err()
        {
            println!("  taskset is not there: the pinned placements are left out");
            return Ok(all);
        }
        if let [first, rest @ ..] = cores.as_slice() {
            all.push(at("same core", first, first));
            all.extend(rest.first().map(|second| at("two cores", first, second)));
        }
        Ok(all)
    }

    /// Puts this process and what it will start on the client's cores, and what the postmaster will start on the
    /// server's.
    pub fn apply(&self, postmaster: u32) -> Outcome {
        if self.name != "not pinned" {
            pin(std::process::id(), &self.client)?;
            pin(postmaster, &self.server)?;
        }
        Ok(())
    }

    /// Puts another process on the server's cores.
    pub fn apply_to_server(&self, process: u32) -> Outcome {
        if self.name == "not pinned" {
            Ok(())
        } else {
            pin(process, &self.server)
        }
    }
}

fn pin(process: u32, cores: &str) -> Outcome {
    let output = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid", cores, &process.to_string()])
        .output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("taskset: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

/// The cores that this process may use, as the kernel lists them.
fn allowed() -> Outcome<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(list
        .ok_or("the kernel does not list the allowed cores")?
        .trim()
        .to_owned())
}

/// Spells out a list such as `0-2,5`.
fn spelt_out(cores: &str) -> Vec<String> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        Some(from..=to)
    };
    cores
        .split(',')
        .filter_map(range)
        .flatten()
        .map(|core| core.to_string())
        .collect()
}
