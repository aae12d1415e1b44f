//! The operating system, its kernel, and how busy it is.

use sysinfo::System;

use super::machine::{Machine, Reading};
use super::{FactStatus, SYSINFO, fact, quantity};
use crate::environment::{Fact, privacy};

const OS_RELEASE: &str = "/etc/os-release";
const COMMAND_LINE: &str = "/proc/cmdline";
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const ASLR: &str = "/proc/sys/kernel/randomize_va_space";

pub(super) fn facts(machine: &Machine) -> Vec<Fact> {
    let mut facts = os_facts(machine).to_vec();
    facts.extend([
        fact("kernel.release", absent_on_error(System::kernel_version()), SYSINFO),
        fact(
            "kernel.cmdline",
            machine.read(COMMAND_LINE).map(|line| privacy::mask_arguments(&line)),
            COMMAND_LINE,
        ),
        fact("kernel.clocksource", machine.read(CLOCK_SOURCE), CLOCK_SOURCE),
        fact("kernel.aslr", machine.read(ASLR), ASLR),
        quantity("uptime", absent_on_error(System::uptime()), "seconds", SYSINFO),
    ]);
    let load = absent_on_error(System::load_average());
    for (key, minutes) in [("load.1m", 0), ("load.5m", 1), ("load.15m", 2)] {
        let average = load.as_ref().map(|load| [load.one, load.five, load.fifteen][minutes]);
        facts.push(fact(key, average.map_err(|status| *status), SYSINFO));
    }
    facts
}

/// Linux says more of itself in `os-release` than `sysinfo` passes on, and a container's file is the container's.
fn os_facts(machine: &Machine) -> [Fact; 2] {
    match machine.read(OS_RELEASE) {
        Ok(text) => {
            let field = |name| os_release_field(&text, name).ok_or(FactStatus::Absent);
            [
                fact("os.name", field("NAME"), OS_RELEASE),
                fact("os.version", field("VERSION_ID"), OS_RELEASE),
            ]
        }
        Err(_) => [
            fact("os.name", absent_on_error(System::name()), SYSINFO),
            fact("os.version", absent_on_error(System::os_version()), SYSINFO),
        ],
    }
}

fn absent_on_error<T>(found: Result<T, sysinfo::Error>) -> Reading<T> {
    found.map_err(|_| FactStatus::Absent)
}

/// The value of one field of an `os-release` text, without its quotes.
fn os_release_field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let value = line.trim().strip_prefix(name)?.strip_prefix('=')?;
        let bare = value.trim_matches(['"', '\'']);
        (!bare.is_empty()).then(|| bare.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_release_is_read_with_any_quotes() {
        let text =
            "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME='Debian GNU/Linux'\nVERSION_ID=\"12\"\nID=debian\n";
        assert_eq!(os_release_field(text, "NAME").as_deref(), Some("Debian GNU/Linux"));
        assert_eq!(os_release_field(text, "VERSION_ID").as_deref(), Some("12"));
        assert_eq!(os_release_field(text, "ID").as_deref(), Some("debian"));
    }

    #[test]
    fn a_rolling_release_has_no_version() {
        assert_eq!(
            os_release_field("NAME=\"Arch Linux\"\nVERSION_ID=\"\"\n", "VERSION_ID"),
            None
        );
        assert_eq!(os_release_field("NAME=\"Arch Linux\"\n", "VERSION_ID"), None);
    }
}
