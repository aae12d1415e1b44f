//! The whole room on this machine and on made-up ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sysinfo::System;

use super::*;

/// Every key that the archive may count on.
const KEYS: &[&str] = &[
    "cgroup.cpu.limit",
    "cgroup.cpu.throttled",
    "cgroup.memory.limit",
    "cgroup.version",
    "container",
    "cpu.affinity",
    "cpu.architecture",
    "cpu.boost",
    "cpu.cores.logical",
    "cpu.cores.physical",
    "cpu.driver",
    "cpu.frequency_khz",
    "cpu.governor",
    "cpu.idle_driver",
    "cpu.isolated",
    "cpu.microcode",
    "cpu.model",
    "cpu.smt",
    "cpu.steal",
    "cpu.vulnerabilities",
    "kernel.aslr",
    "kernel.clocksource",
    "kernel.cmdline",
    "kernel.release",
    "load.15m",
    "load.1m",
    "load.5m",
    "memory.available",
    "memory.total",
    "memory.transparent_hugepages",
    "numa.balancing",
    "numa.nodes",
    "os.name",
    "os.version",
    "pressure.cpu.some_avg10",
    "pressure.io.some_avg10",
    "pressure.memory.some_avg10",
    "results.device.rotational",
    "results.filesystem",
    "results.mount_options",
    "swap.used",
    "temperature.max",
    "uptime",
    "virtualization.hypervisor",
    "virtualization.product",
    "virtualization.vendor",
];

fn keys(facts: &[Fact]) -> Vec<&str> {
    let mut keys: Vec<&str> = facts.iter().map(|fact| fact.key.as_str()).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn every_key_is_there_once_on_any_machine() {
    assert_eq!(keys(&host_facts(Path::new("."))), KEYS);
    let nowhere = tempfile::tempdir().unwrap();
    assert_eq!(
        keys(&facts_of(&Machine::under(nowhere.path()), Path::new("/no/such/place"))),
        KEYS
    );
}

#[test]
fn a_value_goes_with_a_known_status_only() {
    for fact in host_facts(Path::new(".")) {
        assert_eq!(fact.value.is_some(), fact.status == FactStatus::Ok, "{}", fact.key);
        assert!(
            fact.value.as_deref().is_none_or(|value| !value.trim().is_empty()),
            "{} is blank",
            fact.key
        );
        assert!(!fact.source.is_empty(), "{} has no source", fact.key);
        assert_eq!(fact.scope, "host");
    }
}

/// Words are compared whole: a host called `vm` must not be found in `kvm`.
#[test]
fn neither_the_host_nor_its_user_is_named() {
    let home = std::env::home_dir()
        .map(|home| home.to_string_lossy().into_owned())
        .filter(|home| home.len() > 1);
    let host = System::host_name().unwrap_or_default();
    for fact in host_facts(Path::new(".")) {
        let value = fact.value.as_deref().unwrap_or_default();
        let words: BTreeSet<&str> = value
            .split(|letter: char| !letter.is_alphanumeric() && letter != '-')
            .collect();
        assert!(!words.contains(host.as_str()), "{} names the host", fact.key);
        if let Some(place) = &home {
            assert!(
                !value.contains(place) && !fact.source.contains(place),
                "{} names the user's home",
                fact.key
            );
        }
    }
}

#[test]
fn a_made_up_machine_is_read_in_full() {
    let root = tempfile::tempdir().unwrap();
    let cpu = "sys/devices/system/cpu";
    for (path, text) in [
        ("etc/os-release".to_owned(), "NAME=\"Fedora Linux\"\nVERSION_ID=41\n"),
        (
            "proc/cpuinfo".to_owned(),
            "microcode\t: 0x2b000590\ncpu MHz\t: 800.001\nflags\t: fpu\n",
        ),
        ("proc/self/cgroup".to_owned(), "0::/a.slice/b.scope\n"),
        (
            "proc/self/mountinfo".to_owned(),
            "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /cg rw - cgroup2 c rw\n",
        ),
        ("cg/a.slice/cpu.max".to_owned(), "250000 100000\n"),
        ("cg/a.slice/cpu.stat".to_owned(), "nr_throttled 4\n"),
        ("cg/a.slice/b.scope/cpu.max".to_owned(), "max 100000\n"),
        ("cg/a.slice/b.scope/cpu.stat".to_owned(), "nr_throttled 1\n"),
        ("cg/a.slice/b.scope/memory.max".to_owned(), "max\n"),
        ("sys/dev/block/8:1/queue/rotational".to_owned(), "1\n"),
        ("sys/class/thermal/thermal_zone0/temp".to_owned(), "41000\n"),
        ("sys/class/thermal/thermal_zone12/temp".to_owned(), "52000\n"),
        (format!("{cpu}/cpufreq/policy0/scaling_governor"), "powersave\n"),
        (format!("{cpu}/cpufreq/policy1/scaling_governor"), "performance\n"),
        (format!("{cpu}/cpufreq/policy2/scaling_governor"), "powersave\n"),
        (format!("{cpu}/intel_pstate/no_turbo"), "1\n"),
        (format!("{cpu}/isolated"), "\n"),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let facts = facts_of(&Machine::under(root.path()), Path::new("/"));
    for (key, expected, unit) in [
        ("os.name", "Fedora Linux", None),
        ("os.version", "41", None),
        ("cpu.microcode", "0x2b000590", None),
        ("cpu.frequency_khz", "800001", Some("kHz")),
        ("cpu.governor", "performance,powersave", None),
        ("cpu.boost", "off", None),
        ("cpu.isolated", "none", None),
        ("cgroup.version", "v2", None),
        ("cgroup.cpu.limit", "2.5", Some("cpus")),
        ("cgroup.memory.limit", "unlimited", None),
        ("cgroup.cpu.throttled", "5", Some("periods")),
        ("results.filesystem", "ext4", None),
        ("results.device.rotational", "true", None),
        ("temperature.max", "52000", Some("millidegrees Celsius")),
        ("virtualization.hypervisor", "none seen", None),
    ] {
        let fact = facts.iter().find(|fact| fact.key == key).unwrap();
        assert_eq!(fact.value.as_deref(), Some(expected), "{key}");
        assert_eq!(fact.unit.as_deref(), unit, "{key}");
    }
}

#[test]
fn a_hypervisors_microcode_is_masked() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("proc")).unwrap();
    fs::write(
        root.path().join("proc/cpuinfo"),
        "microcode\t: 0xffffffff\nflags\t: fpu hypervisor\n",
    )
    .unwrap();
    let facts = facts_of(&Machine::under(root.path()), Path::new("/"));
    let microcode = facts.iter().find(|fact| fact.key == "cpu.microcode").unwrap();
    assert_eq!(
        (microcode.value.as_deref(), microcode.status),
        (None, FactStatus::Masked)
    );
}
