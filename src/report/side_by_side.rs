//! Several runs in one table, a column a run, as in the study's follow-up.

use super::Dialect;
use super::claims;
use super::format::{interval, milliseconds};
use super::grid::Grid;
use super::run::label;
use crate::analysis::{Analysis, CellSummary, State};

/// The median differences of several runs, ending in a line break.
pub fn side_by_side(runs: &[Analysis], dialect: Dialect) -> String {
    let mut headings = vec!["plans".to_owned(), "difference".to_owned()];
    headings.extend(runs.iter().map(heading));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut grid = Grid::new(&headings, 2);
    for label in labels(runs) {
        let mut row = label.clone();
        row.extend(runs.iter().map(|run| entry(find(run, &label))));
        grid.row(row);
    }
    let mut blocks: Vec<String> = Vec::new();
    for run in runs {
        blocks.push(format!("{}: {}", run.facts.run, claims::standing(run)));
        let of_run = run.warnings.iter().filter(|warning| warning.scope == "run");
        blocks.extend(of_run.map(|warning| format!("{}: {}", run.facts.run, warning.message)));
    }
    blocks.push(grid.render(dialect));
    for run in runs {
        blocks.extend(claims::block(run, dialect).map(|block| format!("Claims of {}:\n\n{block}", run.facts.run)));
    }
    blocks.push(
        "Median of subject minus baseline in ms, with the 95 % interval over forks; distance in ms where there is one."
            .to_owned(),
    );
    blocks.join("\n\n") + "\n"
}

fn heading(run: &Analysis) -> String {
    let state = match run.facts.state {
        State::Finished => "",
        State::Incomplete => " (INCOMPLETE)",
        State::Unfinished => " (UNFINISHED)",
    };
    format!("{}{state}{}\n{}", run.facts.name, claims::stamp(run), run.facts.run)
}

/// Every size and pair of sides that any run has, by size, then in the order of the runs.
fn labels(runs: &[Analysis]) -> Vec<Vec<String>> {
    let mut labels: Vec<(u32, Vec<String>)> = Vec::new();
    for cell in runs
        .iter()
        .flat_map(|run| &run.cells)
        .filter(|cell| cell.cell.is_comparison())
    {
        let entry = (cell.cell.plans, label(cell));
        if !labels.contains(&entry) {
            labels.push(entry);
        }
    }
    labels.sort_by_key(|(plans, _)| *plans);
    labels.into_iter().map(|(_, label)| label).collect()
}

fn find<'a>(run: &'a Analysis, wanted: &[String]) -> Option<&'a CellSummary> {
    run.cells
        .iter()
        .find(|cell| cell.cell.is_comparison() && label(cell) == wanted)
}

fn entry(cell: Option<&CellSummary>) -> String {
    let Some(difference) = cell.and_then(|cell| cell.difference.as_ref()) else {
        return "–".to_owned();
    };
    let median = milliseconds(difference.median as f64);
    let over_forks = difference
        .headline()
        .map(|headline| format!(" ({})", interval(headline.low, headline.high)));
    let distance = cell
        .and_then(|cell| cell.distance)
        .map(|distance| format!(", at {}", milliseconds(distance as f64)));
    format!(
        "{median}{}{}",
        over_forks.unwrap_or_default(),
        distance.unwrap_or_default()
    )
}
