//! Machine, build and server: the facts that matter most first, then all of them.

use std::collections::BTreeSet;

use crate::archive::{FactRow, When};
use crate::report::grid::Grid;

/// Facts that decide over times more than others, as `scope.key`.
const CHOSEN: &[&str] = &[
    "build.git.commit",
    "build.git.dirty",
    "build.profile",
    "build.rustc.version",
    "host.cgroup.cpu.limit",
    "host.cgroup.memory.limit",
    "host.cpu.boost",
    "host.cpu.cores.logical",
    "host.cpu.governor",
    "host.cpu.model",
    "host.kernel.release",
    "host.load.1m",
    "host.memory.total",
    "host.os.name",
    "host.os.version",
    "host.results.filesystem",
    "host.virtualization.hypervisor",
    "server.version",
    "server.setting.fsync",
    "server.setting.shared_buffers",
    "server.setting.synchronous_commit",
];
/// Longest value that stands on one line, in characters.
const CHARS_MAX: usize = 90;

/// The chosen facts and those that changed, at start and end.
pub(super) fn chosen(facts: &[FactRow], changed: &[String]) -> Grid {
    grid(facts, |name| {
        CHOSEN.contains(&name) || changed.iter().any(|other| other == name)
    })
}

/// Every fact, at start and end, with where it was read.
pub(super) fn all(facts: &[FactRow]) -> Grid {
    let mut grid = Grid::new(&["fact", "start", "end", "source"], 4);
    for name in names(facts) {
        let row = at(facts, &name, When::Start).or_else(|| at(facts, &name, When::End));
        let source = row.map(|row| row.fact.source.clone()).unwrap_or_default();
        grid.row(vec![
            name.clone(),
            value(facts, &name, When::Start, usize::MAX),
            value(facts, &name, When::End, usize::MAX),
            source,
        ]);
    }
    grid
}

fn grid(facts: &[FactRow], is_wanted: impl Fn(&str) -> bool) -> Grid {
    let mut grid = Grid::new(&["fact", "start", "end"], 3);
    for name in names(facts).into_iter().filter(|name| is_wanted(name)) {
        let [start, end] = [When::Start, When::End].map(|when| value(facts, &name, when, CHARS_MAX));
        let end = if end == start { "the same".to_owned() } else { end };
        grid.row(vec![name, start, end]);
    }
    grid
}

fn name(row: &FactRow) -> String {
    format!("{}.{}", row.fact.scope, row.fact.key)
}

fn names(facts: &[FactRow]) -> Vec<String> {
    let names: BTreeSet<String> = facts.iter().map(name).collect();
    names.into_iter().collect()
}

fn at<'a>(facts: &'a [FactRow], wanted: &str, when: When) -> Option<&'a FactRow> {
    // A run that was resumed may have several ends; the last one counts.
    facts.iter().rfind(|row| row.when == when && name(row) == wanted)
}

/// The value with its unit, or why there is none; a dash where nobody looked.
fn value(facts: &[FactRow], name: &str, when: When, longest: usize) -> String {
    let Some(FactRow { fact, .. }) = at(facts, name, when) else {
        return "–".to_owned();
    };
    let Some(value) = &fact.value else {
        return format!("({})", fact.status.as_str());
    };
    let told = match fact.unit.as_deref() {
        None => value.clone(),
        // PostgreSQL counts some settings in units such as 8kB.
        Some(unit) if unit.starts_with(|letter: char| letter.is_ascii_digit()) => format!("{value} × {unit}"),
        Some(unit) => format!("{value} {unit}"),
    };
    if told.chars().count() <= longest {
        return told;
    }
    told.chars().take(longest - 1).chain(['…']).collect()
}
