//! Parts of a run's report that stand alone in a document: its claims, or its strategies in the order of their price.

use super::Dialect;
use super::cell_grid::CellGrid;
use super::claims;
use super::distance;
use super::format::{factor, interval, milliseconds};
use super::grid::Grid;
use super::run::{measured, tables, title};
use super::steps;
use crate::analysis::{Analysis, CellSummary, Difference};

/// How much of a run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// What was claimed, and what came of it.
    Claims,
    /// The comparisons, the cheapest first.
    Ranking,
    /// Where the time of previews goes.
    Steps,
    /// What the distance adds, and what passed the proxy.
    Distance,
}

/// What is known of a strategy, by its name, beyond a run's archive: what it gives up.
pub type GivesUp<'a> = &'a dyn Fn(&str) -> String;

/// A part of a run's report, ending in a line break.
pub fn part(analysis: &Analysis, part: Part, dialect: Dialect, gives_up: GivesUp<'_>) -> String {
    let mut blocks = vec![[title(analysis, dialect), measured(analysis)].join(line_break(dialect))];
    match part {
        Part::Whole => return tables(analysis, dialect),
        Part::Claims => {
            blocks.push(claims::standing(analysis));
            let nothing = || "The manifest claims nothing.".to_owned();
            blocks.push(claims::grid(analysis).map_or_else(nothing, |grid| grid.render(dialect)));
        }
        Part::Steps => {
            blocks.push(claims::standing(analysis));
            blocks.extend(or_none(steps::blocks(analysis, dialect), "No steps were recorded."));
        }
        Part::Distance => {
            blocks.push(claims::standing(analysis));
            blocks.extend(or_none(
                distance::blocks(analysis, dialect),
                "No proxy stood in the path.",
            ));
        }
        Part::Ranking => {
            blocks.push(claims::standing(analysis));
            blocks.push(ranking(analysis, gives_up).render(dialect));
            blocks.push(
                "Times in ms. Penalty: median of the paired difference to the baseline, with Student's t on the forks' \
                 medians. Trips: round trips of the subject beyond the baseline's, by its construction."
                    .to_owned(),
            );
        }
    }
    blocks.join("\n\n") + "\n"
}

fn or_none(blocks: Vec<String>, nothing: &str) -> Vec<String> {
    if blocks.is_empty() {
        return vec![nothing.to_owned()];
    }
    blocks
}

fn line_break(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Terminal => "\n",
        Dialect::Markdown => "  \n",
    }
}

fn ranking(analysis: &Analysis, gives_up: GivesUp<'_>) -> Grid {
    let headings = [
        "strategy",
        "plans",
        "gives up",
        "penalty",
        "95 % interval",
        "ratio",
        "trips",
    ];
    let mut grid = CellGrid::new(&headings, 3);
    let mut cells: Vec<(&CellSummary, &Difference)> = analysis
        .cells
        .iter()
        .filter(|cell| cell.cell.is_comparison())
        .filter_map(|cell| Some((cell, cell.difference.as_ref()?)))
        .collect();
    cells.sort_by_key(|(_, difference)| difference.median);
    for (cell, difference) in cells {
        let row = &cell.cell;
        let none = || "–".to_owned();
        let cells = vec![
            format!("{}{}", row.subject, row.further()),
            row.plans.to_string(),
            gives_up(&row.subject),
            milliseconds(difference.median as f64),
            difference
                .headline()
                .map_or_else(none, |over| interval(over.low, over.high)),
            difference.ratio.map_or_else(none, factor),
            row.round_trips.map_or_else(none, |trips| trips.to_string()),
        ];
        grid.row(cell, cells);
    }
    grid.grid()
}
