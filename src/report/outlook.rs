//! What a run says about a plan, for people.

use std::fmt::Write;

use super::Dialect;
use super::format::{duration, milliseconds};
use super::grid::Grid;
use crate::analysis::{CellOutlook, Needed, Outlook, SettingChange};
use crate::units::Nanos;

/// The forks that would be enough and the time that they take, ending in a line break. `same` says whether the run is
/// of the very manifest.
pub fn outlook(outlook: &Outlook, run: &str, margin: Nanos, same: bool, changes: &[SettingChange]) -> String {
    let mut cells = Grid::new(&["cell", "forks measured", "forks needed", "a fork takes"], 1);
    for cell in &outlook.cells {
        cells.row(vec![
            cell.id.clone(),
            cell.forks_measured.to_string(),
            needed(cell),
            cell.fork_time.map_or("unknown".to_owned(), seconds),
        ]);
    }
    let mut text = format!(
        "\nFrom the run {run}:\n\n{}{}\n",
        warning(same, changes),
        cells.render(Dialect::Terminal)
    );
    let half = milliseconds(margin.0 as f64 / 2.0);
    let _ = writeln!(
        text,
        "\nForks needed: for an interval of at most ± {half} ms, half the margin, at that run's spread between forks."
    );
    let took = |time: Option<Nanos>| {
        time.map_or("a time that the run can't tell".to_owned(), |time| {
            format!("about {}", duration(time))
        })
    };
    let _ = writeln!(
        text,
        "As planned, the forks take {} by that run's own; the start of the backend comes on top.",
        took(outlook.as_planned)
    );
    let _ = match outlook.enough {
        Some((forks, time)) => writeln!(
            text,
            "measure.forks = {forks} is enough for every comparison, and takes {}.",
            took(time)
        ),
        None => writeln!(
            text,
            "No number of forks can be named that is enough for every comparison."
        ),
    };
    text
}

fn needed(cell: &CellOutlook) -> String {
    match cell.needed {
        Needed::Forks(forks) => forks.to_string(),
        Needed::TooMany => "more than 100000".to_owned(),
        Needed::Unknown => "unknown: fewer than 2 measured".to_owned(),
    }
}

fn seconds(time: Nanos) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

fn warning(same: bool, changes: &[SettingChange]) -> String {
    if same && changes.is_empty() {
        return String::new();
    }
    if changes.is_empty() {
        return "That run is of a manifest that differs in comments or layout only.\n\n".to_owned();
    }
    let mut text =
        "WARNING: that run measured something else; what follows holds as far as this does not matter:\n".to_owned();
    let told = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    for change in changes {
        let _ = match change.name.as_str() {
            // Prose is too long to be repeated.
            name @ ("manifest.title" | "manifest.question" | "manifest.analysis") => writeln!(text, "  {name}"),
            name => writeln!(
                text,
                "  {name}: run {}; manifest {}",
                told(&change.run),
                told(&change.manifest)
            ),
        };
    }
    text + "\n"
}
