//! Runs against each other, for people: what differs around them first, then cell by cell.

use super::Dialect;
use super::format::{interval, milliseconds};
use super::grid::Grid;
use crate::analysis::{ComparedCell, ComparedEntry, Comparison, Mean};

/// Longest value of a fact that is told whole, in characters.
const FACT_CHARS_MAX: usize = 48;

/// The comparison, ending in a line break.
pub fn comparison(comparison: &Comparison, dialect: Dialect) -> String {
    let mut blocks = vec![runs(comparison)];
    if !comparison.different.is_empty() {
        blocks.push(format!(
            "Not the same in all runs:\n\n{}",
            facts(comparison).render(dialect)
        ));
    }
    blocks.push(cells(comparison).render(dialect));
    blocks.push(legend(comparison).to_owned());
    blocks.join("\n\n") + "\n"
}

fn letter(place: usize) -> String {
    u8::try_from(place).ok().filter(|place| *place < 26).map_or_else(
        || format!("R{}", place + 1),
        |place| char::from(b'A' + place).to_string(),
    )
}

fn runs(comparison: &Comparison) -> String {
    let mut lines: Vec<String> = comparison
        .runs
        .iter()
        .zip(&comparison.exploratory)
        .enumerate()
        .map(|(place, (run, is_exploratory))| {
            let stamp = if *is_exploratory { " (exploratory)" } else { "" };
            format!("{} is run {run}{stamp}.", letter(place))
        })
        .collect();
    lines.push(if comparison.same_manifest {
        "All are of one manifest.".to_owned()
    } else {
        "They are NOT of one manifest: cells are matched by size and sides.".to_owned()
    });
    lines.join("\n")
}

fn facts(comparison: &Comparison) -> Grid {
    let letters: Vec<String> = (0..comparison.runs.len()).map(letter).collect();
    let headings: Vec<&str> = ["fact"].into_iter().chain(letters.iter().map(String::as_str)).collect();
    let mut grid = Grid::new(&headings, headings.len());
    for fact in &comparison.different {
        let values = fact
            .values
            .iter()
            .map(|value| value.as_deref().map_or("–".to_owned(), shortened));
        grid.row([fact.name.clone()].into_iter().chain(values).collect());
    }
    grid
}

fn shortened(value: &str) -> String {
    let line = value.lines().next().unwrap_or_default();
    if value.chars().count() <= FACT_CHARS_MAX && line.len() == value.len() {
        return value.to_owned();
    }
    line.chars().take(FACT_CHARS_MAX - 1).chain(['…']).collect()
}

fn cells(comparison: &Comparison) -> Grid {
    let mut headings = vec!["plans".to_owned(), "difference".to_owned()];
    for place in 0..comparison.runs.len() {
        headings.push(letter(place));
        if place > 0 {
            headings.push(format!("{} − {}", letter(place), letter(0)));
        }
    }
    if comparison.same_manifest {
        headings.push("over runs".to_owned());
    }
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut grid = Grid::new(&headings, 2);
    for cell in &comparison.cells {
        grid.row(row(cell, comparison.same_manifest));
    }
    grid
}

fn row(cell: &ComparedCell, same_manifest: bool) -> Vec<String> {
    let line = &cell.line;
    let sides = format!("{} − {}{}", line.subject, line.baseline, line.further);
    let mut row = vec![cell.plans.to_string(), sides];
    for (place, entry) in cell.runs.iter().enumerate() {
        row.push(entry.as_ref().map_or("–".to_owned(), told));
        if place > 0 {
            let against = entry.as_ref().and_then(|entry| entry.against_first);
            row.push(against.map_or("–".to_owned(), |(value, within)| {
                format!("{} ({})", milliseconds(value), interval(within.low, within.high))
            }));
        }
    }
    if same_manifest {
        row.push(
            cell.over_runs
                .map_or("–".to_owned(), |mean| with_interval(mean.value, &mean)),
        );
    }
    row
}

fn told(entry: &ComparedEntry) -> String {
    let median = milliseconds(entry.median as f64);
    let within = entry.over_forks.map(|mean| {
        let over = mean.interval();
        format!(" ({})", interval(over.low, over.high))
    });
    let distance = entry
        .distance
        .map(|distance| format!(", at {}", milliseconds(distance as f64)));
    format!("{median}{}{}", within.unwrap_or_default(), distance.unwrap_or_default())
}

fn with_interval(value: f64, mean: &Mean) -> String {
    let over = mean.interval();
    format!("{} ({})", milliseconds(value), interval(over.low, over.high))
}

fn legend(comparison: &Comparison) -> &'static str {
    if comparison.same_manifest {
        "Median of subject minus baseline in ms, with Student's 95 % interval over forks, and the distance. Differences \
         of differences: of the means over forks, with Welch's 95 % interval. Over runs: the mean of the runs' means, \
         with Student's 95 % interval in which a run is one repetition."
    } else {
        "Median of subject minus baseline in ms, with Student's 95 % interval over forks, and the distance. Differences \
         of differences: of the means over forks, with Welch's 95 % interval."
    }
}
