//! A line a cell with the shape of its differences, for a terminal.

use super::format::milliseconds;
use crate::analysis::{Analysis, CellSummary, Portrait};

/// Fewest columns of a terminal in which the lines stand unbroken.
pub const COLUMNS_MIN: usize = 80;
/// Heights of a bar, from nothing to all.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Longest label, in characters.
const LABEL: usize = 22;

/// A small histogram of each cell's differences, ending in a line break; nothing where no pair counts. `portraits` are
/// the cells'.
pub fn histograms(analysis: &Analysis, portraits: &[Option<Portrait>]) -> String {
    let lines: Vec<String> = (analysis.cells.iter().zip(portraits))
        .filter_map(|(cell, portrait)| Some(line(cell, portrait.as_ref()?)))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "\nThe bulk of each cell's differences, in ms; + counts the pairs beyond it:\n{}\n",
        lines.join("\n")
    )
}

fn line(cell: &CellSummary, portrait: &Portrait) -> String {
    let sides = cell.cell.sides();
    let label: String = format!("{:>5} {sides}", cell.cell.plans).chars().take(LABEL).collect();
    let low = milliseconds(portrait.window.low as f64);
    let high = milliseconds(portrait.window.high as f64);
    let beyond = match portrait.window.below + portrait.window.above {
        0 => String::new(),
        beyond => format!(" +{beyond}"),
    };
    format!("{label:<LABEL$} {low:>9} {} {high}{beyond}", bars(&portrait.histogram))
}

/// Bars as high as their counts; what is there at all is seen.
fn bars(counts: &[usize]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: &usize| BARS[(count * (BARS.len() - 1)).div_ceil(most)];
    counts.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_with_counts_and_few_are_not_none() {
        assert_eq!(bars(&[0, 1, 50, 100]), " ▁▄█");
        assert_eq!(bars(&[0, 0]), "  ");
        assert_eq!(bars(&[usize::MAX / 16]), "█", "counts of any run fit");
    }
}
