//! One run for people: what it answers, the difference cell by cell, the two sides, and what to know about it.

use super::Dialect;
use super::format::{interval, milliseconds, percent, trips};
use super::grid::Grid;
use crate::analysis::{Analysis, CellSummary, Difference, Quantile, Side};

const NONE: &str = "–";

/// The whole report of a run, ending in a line break.
pub fn tables(analysis: &Analysis, dialect: Dialect) -> String {
    let facts = &analysis.facts;
    let mut blocks = vec![heading(analysis, dialect)];
    blocks.extend(analysis.notes.iter().map(|note| match dialect {
        Dialect::Terminal => note.clone(),
        Dialect::Markdown => format!("> {note}"),
    }));
    blocks.push(difference_grid(analysis).render(dialect));
    blocks.push(sides_grid(analysis).render(dialect));
    blocks.push(format!(
        "Times in ms; percentiles are nearest rank. The 95 % interval is Student's t on the forks' medians; \"within \
         session\" is the study's bootstrap over pooled pairs, which can't see what differs between forks. Noise floor: \
         the smallest difference that the control (the subject against itself) could have told from nothing. Distance: \
         an empty round trip. Budget: {} ms.",
        milliseconds(facts.debounce.0 as f64)
    ));
    blocks.join("\n\n") + "\n"
}

fn heading(analysis: &Analysis, dialect: Dialect) -> String {
    let facts = &analysis.facts;
    let title = match dialect {
        Dialect::Terminal => facts.title.clone(),
        Dialect::Markdown => format!("**{}**", facts.title),
    };
    let pairs: usize = analysis
        .cells
        .iter()
        .filter(|cell| !cell.cell.is_control)
        .map(|cell| cell.pairs)
        .sum();
    let controls: usize = analysis
        .cells
        .iter()
        .filter(|cell| cell.cell.is_control)
        .map(|cell| cell.pairs)
        .sum();
    format!(
        "{title}\n{}\nRun {} on {}: {pairs} pairs in {} forks, and {controls} control pairs.",
        facts.question,
        facts.run,
        facts.backend,
        analysis
            .cells
            .iter()
            .filter(|cell| !cell.cell.is_control)
            .map(|cell| cell.forks)
            .sum::<usize>(),
    )
}

fn comparisons(analysis: &Analysis) -> impl Iterator<Item = &CellSummary> {
    analysis.cells.iter().filter(|cell| !cell.cell.is_control)
}

/// Size and sides of a cell, in words.
pub(super) fn label(cell: &CellSummary) -> Vec<String> {
    vec![
        cell.cell.plans.to_string(),
        format!("{} − {}", cell.cell.subject, cell.cell.baseline),
    ]
}

fn difference_grid(analysis: &Analysis) -> Grid {
    let mut grid = Grid::new(
        &[
            "plans",
            "difference",
            "fields",
            "median",
            "95 % interval",
            "within session",
            "slower in",
            "noise floor",
            "distance",
            "round trips",
            "of budget",
        ],
        2,
    );
    for cell in comparisons(analysis) {
        let mut row = label(cell);
        row.push(cell.cell.fields.to_string());
        row.extend(difference_cells(cell.difference.as_ref()));
        row.push(maybe(cell.noise_floor.map(milliseconds)));
        row.push(
            cell.distance
                .map_or("in process".to_owned(), |distance| milliseconds(distance as f64)),
        );
        row.push(maybe(cell.trips.map(trips)));
        row.push(maybe(cell.budget_share.map(percent)));
        grid.row(row);
    }
    grid
}

fn difference_cells(difference: Option<&Difference>) -> Vec<String> {
    let Some(difference) = difference else {
        return vec![NONE.to_owned(); 4];
    };
    vec![
        milliseconds(difference.median as f64),
        maybe(
            difference
                .headline
                .map(|headline| interval(headline.low, headline.high)),
        ),
        interval(difference.pooled.low, difference.pooled.high),
        percent(difference.slower_share),
    ]
}

fn sides_grid(analysis: &Analysis) -> Grid {
    let mut grid = Grid::new(
        &["plans", "side", "p50", "p95", "p99", "fork medians", "forks", "pairs"],
        2,
    );
    for cell in comparisons(analysis) {
        for (name, side) in [
            (&cell.cell.subject, &cell.subject),
            (&cell.cell.baseline, &cell.baseline),
        ] {
            let mut row = vec![cell.cell.plans.to_string(), name.clone()];
            row.extend(side_cells(side));
            row.extend([cell.forks.to_string(), cell.pairs.to_string()]);
            grid.row(row);
        }
    }
    grid
}

fn side_cells(side: &Side) -> Vec<String> {
    let range = side.fork_medians.map(|(low, high)| interval(low as f64, high as f64));
    vec![quantile(side.p50), quantile(side.p95), quantile(side.p99), maybe(range)]
}

fn quantile(quantile: Quantile) -> String {
    match quantile {
        Quantile::Value(value) => milliseconds(value as f64),
        Quantile::TooFew { needed, .. } => format!("takes {needed} pairs"),
    }
}

fn maybe(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.to_owned())
}
