//! One run for people: what it answers, the difference cell by cell, the two sides, and what to know about it.

use super::Dialect;
use super::cell_grid::CellGrid;
use super::claims;
use super::distance;
use super::format::{factor, interval, milliseconds, percent, trips};
use super::grid::Grid;
use super::steps;
use crate::analysis::{Analysis, CellSummary, Difference, Interval, Quantile, Scaling, Side, Verdict, Warning};

const NONE: &str = "–";

/// The whole report of a run, ending in a line break.
pub fn tables(analysis: &Analysis, dialect: Dialect) -> String {
    let (of_run, of_cells): (Vec<&Warning>, Vec<&Warning>) =
        analysis.warnings.iter().partition(|warning| warning.scope == "run");
    let mut blocks = vec![quoted(&claims::standing(analysis), dialect), heading(analysis, dialect)];
    blocks.extend(of_run.into_iter().map(|warning| quoted(&warning.message, dialect)));
    blocks.extend(claims::block(analysis, dialect));
    blocks.push(difference_grid(analysis).render(dialect));
    blocks.push(sides_grid(analysis).render(dialect));
    if !analysis.scaling.is_empty() {
        blocks.push(analysis.scaling.iter().map(growth).collect::<Vec<_>>().join("\n"));
    }
    blocks.extend(steps::blocks(analysis, dialect));
    blocks.extend(distance::blocks(analysis, dialect));
    if !of_cells.is_empty() {
        // In Markdown, lines of one paragraph would run together.
        let bullet = if dialect == Dialect::Markdown { "- " } else { "" };
        let lines = of_cells
            .iter()
            .map(|warning| format!("{bullet}{}: {}", warning.scope, warning.message));
        blocks.push(lines.collect::<Vec<_>>().join("\n"));
    }
    blocks.push(legend(analysis));
    blocks.join("\n\n") + "\n"
}

fn quoted(message: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Terminal => message.to_owned(),
        Dialect::Markdown => format!("> {message}"),
    }
}

fn heading(analysis: &Analysis, dialect: Dialect) -> String {
    let mut lines = vec![title(analysis, dialect), analysis.facts.question.clone()];
    lines.extend(answer(analysis));
    lines.push(measured(analysis));
    lines.join(if dialect == Dialect::Markdown { "  \n" } else { "\n" })
}

/// What the run is called.
pub(super) fn title(analysis: &Analysis, dialect: Dialect) -> String {
    let title = &analysis.facts.title;
    match dialect {
        Dialect::Terminal => title.clone(),
        Dialect::Markdown => format!("**{title}**"),
    }
}

/// What was measured, in one sentence.
pub(super) fn measured(analysis: &Analysis) -> String {
    let facts = &analysis.facts;
    let count = |is_comparison: bool| {
        let cells = analysis
            .cells
            .iter()
            .filter(move |cell| cell.cell.is_comparison() == is_comparison);
        cells.fold((0, 0), |(pairs, forks), cell| (pairs + cell.pairs, forks + cell.forks))
    };
    let ((pairs, forks), (controls, _)) = (count(true), count(false));
    let root = facts
        .root
        .as_ref()
        .map(|root| format!(" Root {root}."))
        .unwrap_or_default();
    format!(
        "Run {} on {}: {pairs} pairs in {forks} forks, and {controls} control pairs.{root}",
        facts.run, facts.backend
    )
}

/// The primary figure in one sentence.
pub(super) fn answer(analysis: &Analysis) -> Option<String> {
    let facts = &analysis.facts;
    let cell = analysis.primary()?;
    let difference = cell.difference.as_ref()?;
    let (subject, baseline, plans) = (&cell.cell.subject, &cell.cell.baseline, cell.cell.plans);
    let further = cell.cell.further();
    let margin = milliseconds(facts.margin.0 as f64);
    let median = milliseconds((difference.median as f64).abs());
    let comparison = if difference.median < 0 { "less" } else { "longer" };
    let judged = match cell.verdict?.0 {
        Verdict::Slower => format!("slower, by more than the margin of {margin} ms"),
        Verdict::Faster => format!("faster, by more than the margin of {margin} ms"),
        Verdict::Equivalent => format!("equivalent within the margin of {margin} ms"),
        Verdict::Unsure => format!("this run can't tell, at a margin of {margin} ms"),
    };
    let headline = difference
        .headline()
        .map(|headline| format!(" (95 % {} over {} forks)", range(headline), cell.forks));
    Some(format!(
        "At {plans} plans{further}, {subject} takes {median} ms {comparison} than {baseline}{}: {judged}{}.",
        headline.unwrap_or_default(),
        if facts.standing.is_exploratory() {
            "; exploratory"
        } else {
            ""
        }
    ))
}

fn range(interval: Interval) -> String {
    self::interval(interval.low, interval.high)
}

/// Size and sides of a cell, in words.
pub(super) fn label(cell: &CellSummary) -> Vec<String> {
    vec![cell.cell.plans.to_string(), cell.cell.sides()]
}

pub(super) fn difference_grid(analysis: &Analysis) -> Grid {
    let headings = [
        "plans",
        "difference",
        "median",
        "95 % interval",
        "within session",
        "ratio",
        "slower in",
        "noise floor",
        "round trips",
        "of budget",
        "verdict",
    ];
    let mut grid = CellGrid::new(&headings, 2);
    for cell in analysis.comparisons() {
        let mut row = label(cell);
        row.extend(difference_cells(cell.difference.as_ref()));
        row.push(maybe(cell.noise_floor.map(|floor| milliseconds(floor.difference))));
        row.push(maybe(cell.trips.map(trips)));
        row.push(maybe(cell.budget_share.map(percent)));
        row.push(maybe(cell.verdict.map(|(verdict, _)| verdict.as_str().to_owned())));
        grid.row(cell, row);
    }
    grid.grid()
}

fn difference_cells(difference: Option<&Difference>) -> Vec<String> {
    let Some(difference) = difference else {
        return vec![NONE.to_owned(); 5];
    };
    vec![
        milliseconds(difference.median as f64),
        maybe(difference.headline().map(range)),
        range(difference.pooled),
        maybe(difference.ratio.map(factor)),
        percent(difference.slower_share),
    ]
}

pub(super) fn sides_grid(analysis: &Analysis) -> Grid {
    let headings = [
        "plans",
        "side",
        "fields",
        "p50",
        "p95",
        "p99",
        "fork medians",
        "forks",
        "pairs",
    ];
    let mut grid = CellGrid::new(&headings, 2);
    for cell in analysis.comparisons() {
        for (name, side) in [
            (&cell.cell.subject, &cell.subject),
            (&cell.cell.baseline, &cell.baseline),
        ] {
            let name = format!("{name}{}", cell.cell.further());
            let mut row = vec![cell.cell.plans.to_string(), name, cell.cell.fields.to_string()];
            row.extend(side_cells(side));
            row.extend([cell.forks.to_string(), cell.pairs.to_string()]);
            grid.row(cell, row);
        }
    }
    grid.grid()
}

fn side_cells(side: &Side) -> Vec<String> {
    let forks = side.fork_medians.map(|(low, high)| interval(low as f64, high as f64));
    vec![quantile(side.p50), quantile(side.p95), quantile(side.p99), maybe(forks)]
}

fn quantile(quantile: Quantile) -> String {
    match quantile {
        Quantile::Value { value, .. } => milliseconds(value as f64),
        Quantile::TooFew { .. } => "too few pairs".to_owned(),
    }
}

/// How a difference grows over the sizes, in one sentence.
pub(super) fn growth(scaling: &Scaling) -> String {
    let line = &scaling.line;
    let sides = format!("{} − {}{}", line.subject, line.baseline, line.further);
    let sizes: Vec<String> = scaling.plans.iter().map(ToString::to_string).collect();
    let told = |(value, interval): (f64, Option<Interval>)| {
        let within = interval.map(|interval| format!(" ({})", range(interval)));
        format!("{} ms{}", milliseconds(value), within.unwrap_or_default())
    };
    format!(
        "Over {} plans, {sides} {}. Fitted line: {} fixed and {} a plan.",
        sizes.join(", "),
        scaling.trend.statement(),
        told(scaling.fixed),
        told(scaling.per_plan)
    )
}

pub(super) fn legend(analysis: &Analysis) -> String {
    format!(
        "Times in ms; percentiles are nearest rank. The 95 % interval is Student's t on the forks' medians; \"within \
         session\" is the study's bootstrap over pooled pairs, which can't see what differs between forks. Ratio: of the \
         two medians. Noise floor: the smallest difference that the control (the subject against itself) could have told \
         from nothing. Distance: an empty round trip. Budget: {} ms. Verdict: against a margin of {} ms, Holm-adjusted \
         over the cells.",
        milliseconds(analysis.facts.debounce.0 as f64),
        milliseconds(analysis.facts.margin.0 as f64)
    )
}

fn maybe(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.to_owned())
}
