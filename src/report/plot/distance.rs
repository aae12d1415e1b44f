//! Distance and budget: where the difference lies between one round trip to the backend and what the interaction already
//! waits.

use super::axis::{Axis, Scale};
use super::frame::{Drawn, Frame, Sheet};
use super::ink::Ink;
use super::{Gallery, Plot, ReportError, Words, millis, plans, plot, sides};
use crate::analysis::{Analysis, CellSummary, Difference};
use crate::report::format::{milliseconds, percent, trips};

/// Pixels of a row, of the width of rows, and of what stands above and below them.
const ROW: u32 = 50;
const WIDTH: u32 = 780;
const AROUND: u32 = 70;

pub(super) fn gallery(analysis: &Analysis) -> Result<Gallery, ReportError> {
    let cells: Vec<(&CellSummary, &Difference)> = analysis
        .comparisons()
        .filter_map(|cell| Some((cell, cell.difference.as_ref()?)))
        .collect();
    let plots = if cells.is_empty() {
        Vec::new()
    } else {
        vec![ruler(analysis, &cells)?]
    };
    Ok(Gallery {
        name: "distance",
        heading: "Distance and budget",
        reading: reading(analysis, &cells),
        plots,
    })
}

fn reading(analysis: &Analysis, cells: &[(&CellSummary, &Difference)]) -> String {
    let budget = milliseconds(analysis.facts.debounce.0 as f64);
    let ruler = if cells.iter().any(|(cell, _)| cell.distance.is_some()) {
        "A bar reaches from one round trip to the backend as far as the difference; ticks are 1, 10 and 100 round trips."
    } else {
        "A bar reaches as far as the difference. The backend is in process, so there is no distance."
    };
    format!("{ruler} The line is the {budget} ms that the interaction already waits. The axis is logarithmic.")
}

fn ruler(analysis: &Analysis, cells: &[(&CellSummary, &Difference)]) -> Result<Plot, ReportError> {
    let told: Vec<String> = cells.iter().map(|(cell, _)| sentence(cell)).collect();
    let title = format!(
        "Of the {} ms budget, {}.",
        milliseconds(analysis.facts.debounce.0 as f64),
        told.join("; ")
    );
    let description =
        "Differences by size as bars on a logarithmic axis in ms, between the round trip to the backend and \
                       the budget."
            .to_owned();
    let size = (WIDTH, AROUND + ROW * cells.len() as u32);
    let budget = millis(analysis.facts.debounce.0 as f64);
    let rows = cells.len() as f64;
    let marks = (cells.iter().enumerate())
        .map(|(place, (cell, _))| (rows - place as f64 - 0.5, plans(cell)))
        .collect();
    let frame = Frame {
        size,
        x: span(cells, budget),
        y: Axis::marked("", 0.0, rows, marks),
        legend: legend(cells),
        y_width: 84,
    };
    let drawn = frame.draw(|sheet| {
        sheet.line(&[(budget, 0.0), (budget, rows)], 4, Ink::Text, 1.0)?;
        (cells.iter().enumerate())
            .try_for_each(|(place, (cell, difference))| row(sheet, rows - place as f64 - 0.5, cell, difference))
    });
    plot(
        "distance-and-budget".to_owned(),
        size,
        Words {
            title,
            description,
            ..Words::default()
        },
        drawn,
    )
}

fn legend(cells: &[(&CellSummary, &Difference)]) -> Vec<(Ink, String)> {
    let trips = (cells.iter().any(|(cell, _)| cell.distance.is_some()))
        .then(|| (Ink::Control, "1, 10 and 100 round trips".to_owned()));
    let mut legend = vec![(Ink::Difference, "difference".to_owned())];
    legend.extend(trips);
    legend.push((Ink::Text, "budget".to_owned()));
    legend
}

/// E.g. `rollback − copy takes 0.091 % at 40 plans, which is 21.19 round trips`.
fn sentence(cell: &CellSummary) -> String {
    let share = cell.budget_share.map(percent).unwrap_or_default();
    let worth = cell
        .trips
        .map(|worth| format!(", which is {} round trips", trips(worth)));
    format!(
        "{} takes {share} at {}{}",
        sides(cell),
        plans(cell),
        worth.unwrap_or_default()
    )
}

fn span(cells: &[(&CellSummary, &Difference)], budget: f64) -> Axis {
    let smallest = cells
        .iter()
        .flat_map(|(cell, difference)| [cell.distance, Some(difference.median.abs())]);
    let low = smallest.flatten().filter(|nanos| *nanos > 0).min().unwrap_or(1);
    let low = millis(low as f64) / 1.5;
    let largest = cells
        .iter()
        .map(|(_, difference)| millis(difference.median.abs() as f64));
    let high = largest.fold(budget, f64::max);
    Axis::over("ms", Scale::Logarithmic, low, high.max(low * 10.0), 6)
}

fn row(sheet: &mut Sheet<'_, '_>, y: f64, cell: &CellSummary, difference: &Difference) -> Drawn {
    let size = millis(difference.median.abs() as f64);
    let (start, _) = sheet.ends();
    let start = cell
        .distance
        .map_or(start, |distance| millis(distance as f64).min(size));
    sheet.field((start, y - 0.14), (size, y + 0.14), Ink::Difference, 0.9)?;
    if let Some(headline) = difference.headline() {
        let ends = [headline.low, headline.high].map(|end| millis(if difference.median < 0 { -end } else { end }));
        let ends = ends.map(|end| (end.max(start), y));
        sheet.line(&ends, 4, Ink::Text, 1.0)?;
    }
    for multiple in [1.0, 10.0, 100.0] {
        let Some(at) = cell.distance.map(|distance| millis(distance as f64) * multiple) else {
            continue;
        };
        if at <= sheet.ends().1 {
            sheet.line(&[(at, y - 0.2), (at, y + 0.2)], 4, Ink::Control, 1.0)?;
        }
    }
    sheet.words(words(cell, difference), (start, y), (2, -18))
}

fn words(cell: &CellSummary, difference: &Difference) -> String {
    let size = format!("{} ms", milliseconds(difference.median as f64));
    let worth = cell.trips.map(|worth| format!("{} trips", trips(worth)));
    let share = cell.budget_share.map(|share| format!("{} of budget", percent(share)));
    let words: Vec<String> = [Some(size), worth, share].into_iter().flatten().collect();
    words.join(", ")
}
