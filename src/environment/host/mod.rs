//! What the machine is and how it stands at this moment.
//!
//! `sysinfo` reads what every system has; the rest comes from `/proc` and `/sys`, and on a system without them it
//! is a row with the status absent. The set of keys is therefore the same on every machine. Each file of this
//! room holds one part of the machine: pure functions that read a text, and one function that turns what they
//! find into facts.

mod cgroup;
mod cpu;
mod machine;
mod memory;
mod mounts;
mod storage;
mod system;
mod virtualization;

use std::path::Path;

use super::fact::{Fact, FactStatus};
use machine::{Machine, Reading};

/// The scope of all facts in this room.
const SCOPE: &str = "host";

/// Reads every fact about the machine; takes milliseconds and never fails.
///
/// `results_dir` is where the archive will lie: its file system is a fact, since each fork's part is made durable
/// there. It need not exist yet. The keys are the same on every machine and at every call.
pub fn host_facts(results_dir: &Path) -> Vec<Fact> {
    facts_of(&Machine::here(), results_dir)
}

fn facts_of(machine: &Machine, results_dir: &Path) -> Vec<Fact> {
    let mut facts = system::facts(machine);
    facts.extend(cpu::facts(machine));
    facts.extend(memory::facts(machine));
    facts.extend(cgroup::facts(machine));
    facts.extend(virtualization::facts(machine));
    facts.extend(storage::facts(machine, results_dir));
    facts
}

/// A reading as a fact without a unit.
fn fact(key: &str, reading: Reading<impl ToString>, source: &str) -> Fact {
    match reading {
        Ok(value) => Fact::known(SCOPE, key, value.to_string(), source),
        Err(status) => Fact::unknown(SCOPE, key, status, source),
    }
}

/// A reading as a fact with a unit.
fn quantity(key: &str, reading: Reading<impl ToString>, unit: &str, source: &str) -> Fact {
    fact(key, reading, source).in_unit(unit)
}

/// What `sysinfo` found. It answers with zero or an empty text where it found nothing.
fn portable<T: Default + PartialEq>(found: T) -> Reading<T> {
    if found == T::default() {
        Err(FactStatus::Absent)
    } else {
        Ok(found)
    }
}

/// The source of a fact that `sysinfo` read.
const SYSINFO: &str = "sysinfo";

#[cfg(test)]
mod tests;
