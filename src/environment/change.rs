//! What changed on the machine between the start and the end of a run.
//!
//! A governor that was switched, a memory limit that was set or a server setting that was edited in mid-run makes
//! the pairs before and after it two populations. Such a change must be seen, so the facts that move all the
//! time are left out of the comparison.

use std::collections::BTreeMap;

use super::fact::Fact;

/// Facts that move by nature, by scope and key: they are archived, and never reported as a change.
const MOVES_BY_NATURE: &[(&str, &str)] = &[
    ("host", "cpu.frequency_khz"),
    ("host", "cpu.steal"),
    ("host", "load.1m"),
    ("host", "load.5m"),
    ("host", "load.15m"),
    ("host", "memory.available"),
    ("host", "pressure.cpu.some_avg10"),
    ("host", "pressure.io.some_avg10"),
    ("host", "pressure.memory.some_avg10"),
    ("host", "swap.used"),
    ("host", "temperature.max"),
    ("host", "uptime"),
    ("server", "uptime"),
];

/// A fact that isn't the same at the end of a run as at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// The fact at the start; `None` if only the end has it.
    pub start: Option<&'a Fact>,
    /// The fact at the end; `None` if only the start has it.
    pub end: Option<&'a Fact>,
}

/// Whether a fact moves all the time, like the load, so that a difference in it says nothing.
pub fn moves_by_nature(scope: &str, key: &str) -> bool {
    MOVES_BY_NATURE.contains(&(scope, key))
}

/// The facts that changed between `start` and `end`, ordered by scope and key.
///
/// A change is another value or another status, or a fact that only one of the two has. Facts that move by nature
/// are left out, see [`moves_by_nature`].
pub fn differences<'a>(start: &'a [Fact], end: &'a [Fact]) -> Vec<Change<'a>> {
    let mut both: BTreeMap<(&str, &str), Change<'a>> = BTreeMap::new();
    for fact in start {
        both.entry(name(fact)).or_insert(NOTHING).start = Some(fact);
    }
    for fact in end {
        both.entry(name(fact)).or_insert(NOTHING).end = Some(fact);
    }
    both.into_iter()
        .filter(|((scope, key), change)| !moves_by_nature(scope, key) && change.is_real())
        .map(|(_, change)| change)
        .collect()
}

const NOTHING: Change<'static> = Change { start: None, end: None };

fn name(fact: &Fact) -> (&str, &str) {
    (&fact.scope, &fact.key)
}

impl Change<'_> {
    fn is_real(&self) -> bool {
        match (self.start, self.end) {
            (Some(start), Some(end)) => start.value != end.value || start.status != end.status,
            (start, end) => start.is_some() || end.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{FactStatus, host_facts};
    use super::*;

    #[test]
    fn only_what_changed_is_told() {
        let start = [
            Fact::known("host", "cpu.governor", "performance", "/sys"),
            Fact::known("host", "cpu.model", "Z80", "/proc"),
            Fact::known("host", "load.1m", "0.1", "/proc"),
            Fact::known("server", "shared_buffers", "16384", "pg_settings"),
        ];
        let end = [
            Fact::known("host", "cpu.governor", "powersave", "/sys"),
            Fact::known("host", "cpu.model", "Z80", "elsewhere"),
            Fact::known("host", "load.1m", "3.0", "/proc"),
            Fact::unknown("server", "shared_buffers", FactStatus::Denied, "pg_settings"),
            Fact::known("server", "late", "1", "pg_settings"),
        ];
        let told = differences(&start, &end);
        let expected = [
            Change {
                start: Some(&start[0]),
                end: Some(&end[0]),
            },
            Change {
                start: None,
                end: Some(&end[4]),
            },
            Change {
                start: Some(&start[3]),
                end: Some(&end[3]),
            },
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn equal_readings_tell_nothing() {
        let facts = [Fact::unknown("host", "cpu.boost", FactStatus::Absent, "/sys")];
        assert_eq!(differences(&facts, &facts), []);
        assert_eq!(differences(&[], &[]), []);
    }

    #[test]
    fn every_key_of_the_table_is_one_that_the_host_has() {
        let facts = host_facts(Path::new("."));
        for (scope, key) in MOVES_BY_NATURE.iter().filter(|(scope, _)| *scope == "host") {
            assert!(
                facts.iter().any(|fact| fact.scope == *scope && fact.key == *key),
                "{scope} {key} is never read"
            );
        }
    }
}
