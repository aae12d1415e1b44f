//! What the distance adds, what passed the proxy, and what the proxy itself costs.

use super::Dialect;
use super::cell_grid::CellGrid;
use super::format::{interval, milliseconds, trips};
use super::grid::Grid;
use crate::analysis::{Analysis, Answered, CellSummary, CellWire, Distances, SideWire};
use crate::plan::CellKind;

const NONE: &str = "–";

/// The blocks about the path; none where no proxy stood in it.
pub(super) fn blocks(analysis: &Analysis, dialect: Dialect) -> Vec<String> {
    let mut blocks = Vec::new();
    if !analysis.distances.is_empty() {
        blocks.push(lines_grid(analysis).render(dialect));
        blocks.extend(listed(&sentences(analysis), dialect));
    }
    if are_there(analysis) {
        blocks.push(wire_grid(analysis).render(dialect));
        blocks.extend(listed(&proxy_costs(analysis), dialect));
        blocks.push(LEGEND.to_owned());
    }
    blocks
}

/// Whether a proxy stood in the way of any cell.
pub(super) fn are_there(analysis: &Analysis) -> bool {
    analysis.cells.iter().any(|cell| cell.wire.is_some())
}

/// How the tables are to be read.
pub(super) const LEGEND: &str = "Round trips by times: the slope of the difference over what each round trip was longer by, fork by \
                      fork, with Student's t. Counted: changes from nothing awaited to an answer awaited, as the proxy \
                      saw the protocol. At no delay: the line's value there; the proxy's own time is in it. Distance at \
                      no delay: an empty round trip through the proxy. Overshoot: how much longer than declared a burst of \
                      messages was held.";

/// The lines over the delays.
pub(super) fn lines_grid(analysis: &Analysis) -> Grid {
    let headings = [
        "plans",
        "difference",
        "round trips by times",
        "95 % interval",
        "counted",
        "agree",
        "at no delay",
        "95 % interval",
        "distance at no delay",
        "forks",
    ];
    let mut grid = Grid::new(&headings, 2);
    for line in &analysis.distances {
        let sides = format!("{} − {}{}", line.line.subject, line.line.baseline, line.line.further);
        let agrees = line.agrees().map(|agrees| if agrees { "yes" } else { "NO" });
        grid.row(vec![
            line.plans.to_string(),
            sides,
            trips(line.round_trips.0),
            maybe(line.round_trips.1.map(|over| trip_range(over.low, over.high))),
            maybe(line.counted.map(trips)),
            agrees.unwrap_or(NONE).to_owned(),
            milliseconds(line.at_no_delay.0),
            maybe(line.at_no_delay.1.map(|over| interval(over.low, over.high))),
            maybe(line.least_distance.map(|distance| milliseconds(distance as f64))),
            line.forks.to_string(),
        ]);
    }
    grid
}

fn trip_range(low: f64, high: f64) -> String {
    format!("{} to {}", trips(low), trips(high))
}

/// How far away each penalty lies that was asked about.
pub(super) fn sentences(analysis: &Analysis) -> Vec<String> {
    analysis
        .distances
        .iter()
        .flat_map(|line| line.answers.iter().map(move |answer| sentence(line, answer)))
        .collect()
}

fn sentence(line: &Distances, answer: &Answered) -> String {
    let of = format!(
        "{} − {} at {} plans{}",
        line.line.subject, line.line.baseline, line.plans, line.line.further
    );
    let penalty = answer.penalty;
    let Some((distance, over)) = answer.distance.filter(|(distance, _)| *distance > 0.0) else {
        return format!("{of}: no distance makes it {penalty}.");
    };
    let within = over.map(|over| format!(" ({})", interval(over.low, over.high)));
    let beyond = line.least_distance.is_some_and(|least| distance < least as f64);
    format!(
        "{of}: {penalty} is what it costs at a distance of {} ms a round trip{}{}.",
        milliseconds(distance),
        within.unwrap_or_default(),
        if beyond { ", nearer than was measured" } else { "" }
    )
}

/// What passed, cell by cell.
pub(super) fn wire_grid(analysis: &Analysis) -> Grid {
    let headings = [
        "plans",
        "cell",
        "subject's trips",
        "baseline's trips",
        "bytes to server",
        "bytes to client",
        "declared",
        "added",
        "overshoot p50",
        "p99",
    ];
    let mut grid = CellGrid::new(&headings, 2);
    for cell in &analysis.cells {
        if let Some(wire) = &cell.wire {
            grid.row(cell, wire_row(cell, wire));
        }
    }
    grid.grid()
}

fn wire_row(cell: &CellSummary, wire: &CellWire) -> Vec<String> {
    let sides = match cell.cell.kind {
        CellKind::Path => format!("{}, with and without the proxy", cell.cell.subject),
        CellKind::Comparison | CellKind::Control => cell.cell.sides(),
    };
    let overshoot = |place: usize| maybe(wire.overshoot.map(|told| milliseconds(told[place] as f64)));
    vec![
        cell.cell.plans.to_string(),
        sides,
        counted(&wire.subject),
        counted(&wire.baseline),
        format!("{:.0}", wire.subject.bytes[0]),
        format!("{:.0}", wire.subject.bytes[1]),
        maybe(cell.cell.path_delay.map(|delay| milliseconds(delay.0 as f64))),
        maybe(wire.added.map(|added| milliseconds(added as f64))),
        overshoot(0),
        overshoot(1),
    ]
}

/// Round trips a preview: one number where every preview took as many.
fn counted(side: &SideWire) -> String {
    let (least, most) = side.trips;
    if least == most {
        return least.to_string();
    }
    format!("{} ({least} to {most})", trips(side.mean_trips))
}

/// What the proxy adds to each round trip at no delay, from the cells that have it on one side alone.
pub(super) fn proxy_costs(analysis: &Analysis) -> Vec<String> {
    let cost = |cell: &CellSummary| {
        let (difference, wire) = (cell.difference.as_ref()?, cell.wire.as_ref()?);
        let trips = Some(wire.subject.mean_trips).filter(|trips| *trips > 0.0)?;
        let over = difference
            .headline()
            .map(|over| format!(" ({})", interval(over.low / trips, over.high / trips)));
        Some(format!(
            "The proxy itself, {} at {} plans{}: {} ms a round trip{}.",
            cell.cell.subject,
            cell.cell.plans,
            cell.cell.further(),
            milliseconds(difference.median as f64 / trips),
            over.unwrap_or_default()
        ))
    };
    let cells = analysis.cells.iter().filter(|cell| cell.cell.kind == CellKind::Path);
    cells.filter_map(cost).collect()
}

/// A block of lines; none where there are none.
fn listed(lines: &[String], dialect: Dialect) -> Option<String> {
    // In Markdown, lines of one paragraph would run together.
    let bullet = if dialect == Dialect::Markdown { "- " } else { "" };
    let lines: Vec<String> = lines.iter().map(|line| format!("{bullet}{line}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn maybe(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.to_owned())
}
