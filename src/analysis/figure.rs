//! Every figure with its id, unit and estimator: what can be cited, compared and checked.

use super::evidence::State;
use super::interval::Interval;
use super::summary::{Analysis, CellSummary, Difference, Quantile, Side};

/// What a figure is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// A share, from 0 to 1; of a budget it may be more.
    Share,
    /// Round trips.
    Trips,
    /// Pairs.
    Pairs,
    /// Forks.
    Forks,
}

impl Unit {
    /// The word in JSON and CSV.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Share => "1",
            Self::Trips => "round trips",
            Self::Pairs => "pairs",
            Self::Forks => "forks",
        }
    }
}

/// A number that is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// E.g. `cell[plans=40].difference.median`.
    pub id: String,
    /// What it is counted in.
    pub unit: Unit,
    /// How it is computed from `pairs` and `forks`.
    pub estimator: &'static str,
    /// The number; `None` where it is withheld or does not exist.
    pub value: Option<f64>,
    /// Its interval, where it has one.
    pub interval: Option<Interval>,
    /// Why there is no number.
    pub withheld: Option<String>,
    /// Whether it comes from an unfinished run.
    pub provisional: bool,
}

const P50: &str = "nearest-rank median over measured ok pairs";
const P95: &str = "nearest-rank 95th percentile over measured ok pairs";
const P99: &str = "nearest-rank 99th percentile over measured ok pairs";
const FORK_MIN: &str = "smallest of the forks' nearest-rank medians";
const FORK_MAX: &str = "largest of the forks' nearest-rank medians";
const DIFFERENCE: &str = "nearest-rank median of subject minus baseline over measured ok pairs; interval: Student t on the forks' medians, 95 %";
const FORK_MEAN: &str = "mean of the forks' nearest-rank medians of subject minus baseline";
const POOLED: &str = "nearest-rank median of subject minus baseline; interval: percentile bootstrap over pooled pairs, 95 %, within session";
const SLOWER: &str = "share of measured ok pairs in which subject minus baseline is above zero";
const DISTANCE: &str = "nearest-rank median over forks of the distance before and after the pairs";
const TRIPS: &str = "difference.median over distance.median";
const BUDGET: &str = "difference.median over the debounce budget";
const FLOOR: &str = "largest absolute value in the Student t interval of the control at this cell, 95 %";

/// Every figure of a run, cell by cell.
pub fn figures(analysis: &Analysis) -> Vec<Figure> {
    let provisional = analysis.facts.state == State::Unfinished;
    let mut figures: Vec<Figure> = analysis.cells.iter().flat_map(of_cell).collect();
    for figure in &mut figures {
        figure.provisional = provisional;
    }
    figures
}

fn of_cell(cell: &CellSummary) -> Vec<Figure> {
    let id = &cell.cell.id;
    let mut figures = vec![
        number(
            id,
            "forks",
            Unit::Forks,
            "forks that are there",
            Some(cell.forks as f64),
        ),
        number(
            id,
            "pairs.ok",
            Unit::Pairs,
            "measured pairs with status ok",
            Some(cell.pairs as f64),
        ),
        number(
            id,
            "pairs.uncounted",
            Unit::Pairs,
            "measured pairs with another status",
            Some(cell.uncounted as f64),
        ),
    ];
    figures.extend(of_side(id, "subject", &cell.subject));
    figures.extend(of_side(id, "baseline", &cell.baseline));
    figures.extend(of_difference(id, cell.difference.as_ref()));
    figures.extend([
        number(
            id,
            "distance.median",
            Unit::Nanos,
            DISTANCE,
            cell.distance.map(|distance| distance as f64),
        ),
        number(id, "difference.trips", Unit::Trips, TRIPS, cell.trips),
        number(id, "difference.budget_share", Unit::Share, BUDGET, cell.budget_share),
        number(id, "noise_floor", Unit::Nanos, FLOOR, cell.noise_floor),
    ]);
    figures
}

fn of_side(id: &str, name: &str, side: &Side) -> Vec<Figure> {
    let percentile = |key: &str, estimator, quantile: Quantile| {
        let mut figure = number(id, &format!("{name}.{key}"), Unit::Nanos, estimator, None);
        match quantile {
            Quantile::Value(value) => figure.value = Some(value as f64),
            Quantile::TooFew { pairs, needed } => {
                figure.withheld = Some(format!("withheld: {pairs} pairs, and it takes {needed}"));
            }
        }
        figure
    };
    let fork = |key: &str, estimator, value: Option<i64>| {
        number(
            id,
            &format!("{name}.{key}"),
            Unit::Nanos,
            estimator,
            value.map(|value| value as f64),
        )
    };
    vec![
        percentile("p50", P50, side.p50),
        percentile("p95", P95, side.p95),
        percentile("p99", P99, side.p99),
        fork("fork_median.min", FORK_MIN, side.fork_medians.map(|range| range.0)),
        fork("fork_median.max", FORK_MAX, side.fork_medians.map(|range| range.1)),
    ]
}

fn of_difference(id: &str, difference: Option<&Difference>) -> Vec<Figure> {
    let get = |value: fn(&Difference) -> f64| difference.map(value);
    let mut median = number(
        id,
        "difference.median",
        Unit::Nanos,
        DIFFERENCE,
        get(|difference| difference.median as f64),
    );
    median.interval = difference.and_then(|difference| difference.headline);
    let mut pooled = number(
        id,
        "difference.median.within_session",
        Unit::Nanos,
        POOLED,
        get(|difference| difference.median as f64),
    );
    pooled.interval = difference.map(|difference| difference.pooled);
    vec![
        median,
        pooled,
        number(
            id,
            "difference.fork_mean",
            Unit::Nanos,
            FORK_MEAN,
            get(|difference| difference.fork_mean),
        ),
        number(
            id,
            "difference.slower_share",
            Unit::Share,
            SLOWER,
            get(|difference| difference.slower_share),
        ),
    ]
}

fn number(id: &str, key: &str, unit: Unit, estimator: &'static str, value: Option<f64>) -> Figure {
    Figure {
        id: format!("{id}.{key}"),
        unit,
        estimator,
        value,
        interval: None,
        withheld: None,
        provisional: false,
    }
}
