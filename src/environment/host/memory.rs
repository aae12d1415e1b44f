//! Memory, what presses on it, and how it is laid out.

use sysinfo::{MemoryRefreshKind, System};

use super::machine::Machine;
use super::{FactStatus, SYSINFO, fact, portable, quantity};
use crate::environment::Fact;

const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const NODES: &str = "/sys/devices/system/node/online";
const BALANCING: &str = "/proc/sys/kernel/numa_balancing";

pub(super) fn facts(machine: &Machine) -> Vec<Fact> {
    let mut facts = size_facts().to_vec();
    facts.extend([
        fact(
            "memory.transparent_hugepages",
            machine.find(HUGE_PAGES, chosen),
            HUGE_PAGES,
        ),
        fact("numa.nodes", machine.find(NODES, count_list), NODES),
        fact("numa.balancing", machine.read(BALANCING), BALANCING),
    ]);
    for resource in ["cpu", "memory", "io"] {
        let path = format!("/proc/pressure/{resource}");
        let reading = machine.find(&path, some_avg10);
        facts.push(quantity(
            &format!("pressure.{resource}.some_avg10"),
            reading,
            "percent",
            &path,
        ));
    }
    facts
}

fn size_facts() -> [Fact; 3] {
    let system = System::new().ok().map(|mut system| {
        system.refresh_memory_specifics(MemoryRefreshKind::everything());
        system
    });
    let total = system.as_ref().map_or(0, System::total_memory);
    let available = system.as_ref().map_or(0, System::available_memory);
    // None of it in use is the usual state, so a zero is a value here if the rest could be read.
    let swapped = system.as_ref().filter(|_| total > 0).map(System::used_swap);
    [
        quantity("memory.total", portable(total), "bytes", SYSINFO),
        quantity("memory.available", portable(available), "bytes", SYSINFO),
        quantity("swap.used", swapped.ok_or(FactStatus::Absent), "bytes", SYSINFO),
    ]
}

/// The choice in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(choice, _)| choice.to_owned())
}

/// How many numbers a kernel list such as `0-3,8` holds.
fn count_list(numbers: &str) -> Option<u64> {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        last.parse::<u64>()
            .ok()?
            .checked_sub(first.parse().ok()?)?
            .checked_add(1)
    };
    let mut parts = numbers.trim().split(',').map(count);
    parts.try_fold(0u64, |total, part| total.checked_add(part?))
}

/// The share of the last ten seconds in which some task waited for the resource.
fn some_avg10(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix("avg10="))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_texts_are_understood() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always madvise never"), None);
        assert_eq!(count_list("0"), Some(1));
        assert_eq!(count_list("0-3,8,10-11\n"), Some(7));
        assert_eq!(count_list("3-1"), None);
        assert_eq!(count_list("0-18446744073709551615"), None);
        assert_eq!(count_list("many"), None);
        let pressure = "some avg10=12.53 avg60=6.11 avg300=2.57 total=13909923\nfull avg10=0.00 avg60=0.00";
        assert_eq!(some_avg10(pressure).as_deref(), Some("12.53"));
        assert_eq!(some_avg10("full avg10=0.00"), None);
    }
}
