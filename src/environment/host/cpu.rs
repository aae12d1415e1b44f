//! The processor: what it is, and everything that decides how fast it runs at this moment.

use sysinfo::{CpuRefreshKind, System};

use super::machine::{Machine, Reading, any_of};
use super::{FactStatus, SYSINFO, fact, portable, quantity};
use crate::environment::Fact;

const CPU_INFO: &str = "/proc/cpuinfo";
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const SMT: &str = "/sys/devices/system/cpu/smt/control";
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";
const OWN_STATUS: &str = "/proc/self/status";
const STAT: &str = "/proc/stat";
const THERMAL: &str = "/sys/class/thermal";

pub(super) fn facts(machine: &Machine) -> Vec<Fact> {
    let mut facts = identity_facts(machine).to_vec();
    facts.extend(speed_facts(machine));
    facts.extend([
        fact(
            "cpu.vulnerabilities",
            vulnerabilities(machine),
            &format!("{VULNERABILITIES}/*"),
        ),
        fact("cpu.isolated", isolated(machine), ISOLATED),
        fact(
            "cpu.affinity",
            machine.find(OWN_STATUS, |text| field(text, "Cpus_allowed_list")),
            OWN_STATUS,
        ),
        quantity("cpu.steal", machine.find(STAT, steal_ticks), "ticks", STAT),
        quantity(
            "temperature.max",
            temperature(machine),
            "millidegrees Celsius",
            &format!("{THERMAL}/thermal_zone*/temp"),
        ),
    ]);
    facts
}

fn identity_facts(machine: &Machine) -> [Fact; 5] {
    let system = processors(CpuRefreshKind::nothing());
    let model = system
        .as_ref()
        .and_then(|system| system.cpus().first())
        .map(|cpu| cpu.brand().trim().to_owned());
    let logical = system.as_ref().map_or(0, |system| system.cpus().len());
    [
        fact("cpu.architecture", Ok(std::env::consts::ARCH), "build target"),
        fact("cpu.model", portable(model.unwrap_or_default()), SYSINFO),
        fact("cpu.microcode", microcode(machine), CPU_INFO),
        fact("cpu.cores.logical", portable(logical), SYSINFO),
        fact(
            "cpu.cores.physical",
            portable(System::physical_core_count().unwrap_or_default()),
            SYSINFO,
        ),
    ]
}

fn speed_facts(machine: &Machine) -> [Fact; 6] {
    let policy = |file| machine.read_each(POLICIES, "policy", file).map(distinct);
    let source = |file| format!("{POLICIES}/policy*/{file}");
    let (boost, boost_source) = boost(machine);
    let (frequency, frequency_source) = frequency(machine);
    [
        fact("cpu.governor", policy("scaling_governor"), &source("scaling_governor")),
        fact("cpu.driver", policy("scaling_driver"), &source("scaling_driver")),
        fact("cpu.boost", boost, boost_source),
        fact("cpu.smt", machine.read(SMT), SMT),
        fact("cpu.idle_driver", machine.read(IDLE_DRIVER), IDLE_DRIVER),
        quantity("cpu.frequency_khz", frequency, "kHz", &frequency_source),
    ]
}

fn processors(what: CpuRefreshKind) -> Option<System> {
    let mut system = System::new().ok()?;
    system.refresh_cpu_list(what);
    Some(system)
}

/// The revision of the microcode. Hypervisors put a number of their own in its place.
fn microcode(machine: &Machine) -> Reading {
    let text = machine.read(CPU_INFO)?;
    let revision = field(&text, "microcode").ok_or(FactStatus::Absent)?;
    let made_up = matches!(revision.as_str(), "0x1" | "0xffffffff");
    if made_up && is_virtual(&text) {
        Err(FactStatus::Masked)
    } else {
        Ok(revision)
    }
}

/// Whether the processor itself says that a hypervisor runs it (x86 only).
pub(super) fn is_virtual(cpu_info: &str) -> bool {
    field(cpu_info, "flags").is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

/// `on` or `off`, and where it stands. Drivers disagree on where that is and on which way round.
fn boost(machine: &Machine) -> (Reading<&'static str>, &'static str) {
    let switch = |path, on| {
        machine.find(path, |text| match text {
            "0" | "1" => Some(if text == on { "on" } else { "off" }),
            _ => None,
        })
    };
    match switch(BOOST, "1") {
        Err(FactStatus::Absent) => (switch(NO_TURBO, "0"), NO_TURBO),
        reading => (reading, BOOST),
    }
}

/// The median over the processors, in kHz, and where it was read. `/proc/cpuinfo` comes first because it takes one
/// read for all processors; asking each for its own can take milliseconds apiece.
fn frequency(machine: &Machine) -> (Reading<u64>, String) {
    if let Ok(khz) = machine.find(CPU_INFO, |text| median(frequencies(text))) {
        return (Ok(khz), CPU_INFO.to_owned());
    }
    let scaling = machine.read_each(POLICIES, "policy", "scaling_cur_freq");
    if let Some(khz) = scaling
        .ok()
        .and_then(|texts| median(texts.iter().filter_map(|text| text.parse().ok()).collect()))
    {
        return (Ok(khz), format!("{POLICIES}/policy*/scaling_cur_freq"));
    }
    let system = processors(CpuRefreshKind::nothing().with_frequency());
    let khz = system.and_then(|system| median(system.cpus().iter().map(|cpu| cpu.frequency() * 1_000).collect()));
    (portable(khz.unwrap_or_default()), SYSINFO.to_owned())
}

/// The frequency of each processor in kHz, from the text of `/proc/cpuinfo`.
fn frequencies(cpu_info: &str) -> Vec<u64> {
    fields(cpu_info, "cpu MHz")
        .filter_map(|mhz| mhz.parse::<f64>().ok())
        .map(|mhz| (mhz * 1e3).round() as u64)
        .collect()
}

/// The median by nearest rank.
fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// The distinct texts, sorted and separated by commas.
fn distinct(mut texts: Vec<String>) -> String {
    texts.sort_unstable();
    texts.dedup();
    texts.join(",")
}

/// The processors kept free of other work, or `none`: the kernel says so with an empty file.
fn isolated(machine: &Machine) -> Reading {
    match machine.read(ISOLATED) {
        Err(FactStatus::Absent) if machine.has(ISOLATED) => Ok("none".to_owned()),
        reading => reading,
    }
}

/// The weaknesses that touch this processor, grouped by what is done about them.
fn vulnerabilities(machine: &Machine) -> Reading {
    let names = machine.names(VULNERABILITIES)?;
    let read = |name: String| {
        machine
            .read(&format!("{VULNERABILITIES}/{name}"))
            .map(|state| (name, state))
    };
    any_of(names.into_iter().map(read)).map(|states| summarize(&states))
}

fn summarize(states: &[(String, String)]) -> String {
    let group = |title: &str, begins: &dyn Fn(&str) -> bool| {
        let names: Vec<&str> = states
            .iter()
            .filter(|(_, state)| begins(state))
            .map(|(name, _)| name.as_str())
            .collect();
        (!names.is_empty()).then(|| format!("{title}: {}", names.join(" ")))
    };
    let handled = ["Mitigation", "Vulnerable", "Not affected"];
    let groups = [
        group("mitigated", &|state| state.starts_with("Mitigation")),
        group("vulnerable", &|state| state.starts_with("Vulnerable")),
        group("unclear", &|state| !handled.iter().any(|word| state.starts_with(word))),
    ];
    let told: Vec<String> = groups.into_iter().flatten().collect();
    if told.is_empty() {
        "none".to_owned()
    } else {
        told.join("; ")
    }
}

/// The time that the hypervisor gave to others since boot, over all processors.
fn steal_ticks(stat: &str) -> Option<u64> {
    let total = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    total.split_ascii_whitespace().nth(7)?.parse().ok()
}

/// The hottest zone. Which zone is the processor's differs from board to board.
fn temperature(machine: &Machine) -> Reading<i64> {
    let zones = machine.read_each(THERMAL, "thermal_zone", "temp")?;
    zones
        .iter()
        .filter_map(|text| text.parse().ok())
        .max()
        .ok_or(FactStatus::Absent)
}

/// The first value of `name: value`, as `/proc` writes it.
pub(super) fn field(text: &str, name: &str) -> Option<String> {
    fields(text, name).next().map(str::to_owned)
}

fn fields<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == name && !value.trim().is_empty()).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIRTUAL: &str = "\
processor\t: 0
model name\t: Intel(R) Xeon(R) Processor
microcode\t: 0x1
cpu MHz\t\t: 2300.000
flags\t\t: fpu vme hypervisor lahf_lm

processor\t: 1
microcode\t: 0x1
cpu MHz\t\t: 2400.4996
flags\t\t: fpu vme hypervisor lahf_lm
";
    const ARM: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n";

    #[test]
    fn cpuinfo_gives_its_fields() {
        assert_eq!(field(VIRTUAL, "microcode").as_deref(), Some("0x1"));
        assert!(is_virtual(VIRTUAL));
        assert!(!is_virtual("flags\t\t: fpu vme\nbugs\t: hypervisor\n"));
        assert_eq!(frequencies(VIRTUAL), [2_300_000, 2_400_500]);
        assert_eq!(field(ARM, "microcode"), None);
        assert!(frequencies(ARM).is_empty());
    }

    #[test]
    fn the_median_is_the_lower_of_two() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3, 1]), Some(1));
        assert_eq!(median(vec![9, 1, 5]), Some(5));
    }

    #[test]
    fn steal_is_the_eighth_number_of_the_first_line() {
        let stat = "cpu  34461 0 3970 59239 240 0 51 24 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1\n";
        assert_eq!(steal_ticks(stat), Some(24));
        assert_eq!(steal_ticks("cpu  1 2 3 4\n"), None);
        assert_eq!(steal_ticks(""), None);
    }

    #[test]
    fn vulnerabilities_are_grouped() {
        let states = [
            ("l1tf", "Not affected"),
            ("spectre_v1", "Mitigation: usercopy/swapgs barriers"),
            ("retbleed", "Vulnerable: no microcode"),
            ("spectre_v2", "Mitigation: IBRS"),
            ("srbds", "Unknown: Dependent on hypervisor status"),
        ]
        .map(|(name, state)| (name.to_owned(), state.to_owned()));
        assert_eq!(
            summarize(&states),
            "mitigated: spectre_v1 spectre_v2; vulnerable: retbleed; unclear: srbds"
        );
        assert_eq!(summarize(&states[..1]), "none");
    }
}
