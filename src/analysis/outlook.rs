//! What a run says about the next one: how many forks would be enough, and how long they take.

use super::planning::forks_for;
use super::summary::{Analysis, CellSummary};
use crate::archive::{ForkRow, ForkStatus, Setting};
use crate::plan::{Cell, CellKind, Plan};
use crate::units::Nanos;

/// What is known about the next measurement of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellOutlook {
    /// Id of the cell.
    pub id: String,
    /// What it is there for.
    pub kind: CellKind,
    /// Forks that the run has of it; 0 where it has no such cell.
    pub forks_measured: usize,
    /// Forks whose headline interval would be at most half the margin wide either way.
    pub needed: Needed,
    /// Mean time of its forks that came to their end.
    pub fork_time: Option<Nanos>,
}

/// How many forks are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// This many.
    Forks(u32),
    /// So many that it can't be had by more forks.
    TooMany,
    /// The run has fewer than two forks of the cell.
    Unknown,
}

/// What a run says about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// Cell by cell, in the order of the plan.
    pub cells: Vec<CellOutlook>,
    /// Time of the plan's forks; `None` where a cell's are unknown.
    pub as_planned: Option<Nanos>,
    /// Forks that are enough for every comparison, and the time of as many of every cell.
    pub enough: Option<(u32, Option<Nanos>)>,
}

/// Holds a plan of `forks` forks a cell against what a run measured. Cells are the same where size and sides are.
pub fn outlook(plan: &Plan, forks: u32, margin: Nanos, analysis: &Analysis, measured: &[ForkRow]) -> Outlook {
    let cells: Vec<CellOutlook> = (plan.cells().iter())
        .map(|cell| of_cell(cell, margin, find(analysis, cell), measured))
        .collect();
    let time = |forks: u32| -> Option<Nanos> {
        let times: Option<i64> = cells.iter().map(|cell| cell.fork_time.map(|time| time.0)).sum();
        Some(Nanos(times?.saturating_mul(i64::from(forks))))
    };
    let comparisons = cells.iter().filter(|cell| cell.kind == CellKind::Comparison);
    let needed: Option<Vec<u32>> = comparisons
        .map(|cell| match cell.needed {
            Needed::Forks(forks) => Some(forks),
            Needed::TooMany | Needed::Unknown => None,
        })
        .collect();
    let enough = needed.and_then(|needed| needed.into_iter().max());
    Outlook {
        as_planned: time(forks),
        enough: enough.map(|forks| (forks, time(forks))),
        cells,
    }
}

fn find<'a>(analysis: &'a Analysis, cell: &Cell) -> Option<&'a CellSummary> {
    analysis.cells.iter().find(|summary| {
        let other = &summary.cell;
        other.kind == cell.kind
            && other.backend_name == cell.backend_name
            && other.path_delay == cell.path_delay
            && other.plans == cell.plans
            && other.schema_shape.as_deref().unwrap_or("kv") == cell.shape.as_str()
            && other.subject == cell.subject.as_str()
            && other.baseline == cell.baseline.as_str()
    })
}

fn of_cell(cell: &Cell, margin: Nanos, summary: Option<&CellSummary>, measured: &[ForkRow]) -> CellOutlook {
    let over_forks = summary.and_then(|summary| summary.difference.as_ref()?.over_forks);
    let needed = over_forks.map_or(Needed::Unknown, |mean| {
        forks_for(&mean, margin.0 as f64 / 2.0).map_or(Needed::TooMany, Needed::Forks)
    });
    let whole = |fork: &&ForkRow| {
        fork.status == ForkStatus::Ok && summary.is_some_and(|summary| summary.cell.cell == fork.cell)
    };
    let times: Vec<i64> = (measured.iter().filter(whole))
        .map(|fork| fork.ended_unix_ns.saturating_sub(fork.started_unix_ns).max(0))
        .collect();
    let mean = times.iter().sum::<i64>().checked_div(times.len() as i64);
    CellOutlook {
        id: cell.id.clone(),
        kind: cell.kind,
        forks_measured: summary.map_or(0, |summary| summary.forks),
        needed,
        fork_time: mean.map(Nanos),
    }
}

/// A setting that is not the same in a run and in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// Section and key, e.g. `measure.forks`.
    pub name: String,
    /// What the run was measured with; `None` where it has no such setting.
    pub run: Option<String>,
    /// What the manifest says.
    pub manifest: Option<String>,
}

/// What differs between a run's settings and a manifest's, by name, in the order of the manifest's. What only says who
/// ran it, and the digest, are left out.
pub fn setting_changes(run: &[Setting], manifest: &[Setting]) -> Vec<SettingChange> {
    let asked = |setting: &&Setting| {
        !["run", "program", "standing"].contains(&setting.section.as_str()) && setting.key != "sha256"
    };
    let value = |of: &[Setting], like: &Setting| {
        let same = of.iter().find(|s| s.section == like.section && s.key == like.key);
        same.map(|setting| setting.value.clone())
    };
    let gone = run
        .iter()
        .filter(asked)
        .filter(|setting| value(manifest, setting).is_none());
    (manifest.iter().filter(asked).chain(gone))
        .map(|setting| SettingChange {
            name: format!("{}.{}", setting.section, setting.key),
            run: value(run, setting),
            manifest: value(manifest, setting),
        })
        .filter(|change| change.run != change.manifest)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(section: &str, key: &str, value: &str) -> Setting {
        Setting {
            section: section.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
            unit: String::new(),
        }
    }

    #[test]
    fn settings_that_differ_are_named_whichever_side_lacks_them() {
        let run = [
            setting("manifest", "sha256", "a"),
            setting("measure", "forks", "5"),
            setting("measure", "seed", "1"),
            setting("backend", "image", "postgres:16"),
            setting("run", "id", "x"),
        ];
        let manifest = [
            setting("manifest", "sha256", "b"),
            setting("measure", "forks", "7"),
            setting("measure", "seed", "1"),
            setting("backend", "journal_mode", "wal"),
        ];
        let change = |name: &str, run: Option<&str>, manifest: Option<&str>| SettingChange {
            name: name.to_owned(),
            run: run.map(str::to_owned),
            manifest: manifest.map(str::to_owned),
        };
        let expected = [
            change("measure.forks", Some("5"), Some("7")),
            change("backend.journal_mode", None, Some("wal")),
            change("backend.image", Some("postgres:16"), None),
        ];
        assert_eq!(setting_changes(&run, &manifest), expected);
        assert_eq!(setting_changes(&run, &run), []);
    }
}
