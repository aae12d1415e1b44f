//! What each figure is: the key, unit, estimator and inputs, once. Claims, figures, explanations and recomputation all read
//! here.

/// What a figure is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// Nanoseconds a plan.
    NanosPerPlan,
    /// A plain number: a share, a ratio, a correlation, a probability.
    One,
    /// Round trips.
    Trips,
    /// Pairs.
    Pairs,
    /// Forks.
    Forks,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// The word in JSON and CSV.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::NanosPerPlan => "ns/plan",
            Self::One => "1",
            Self::Trips => "round trips",
            Self::Pairs => "pairs",
            Self::Forks => "forks",
            Self::Bytes => "bytes",
        }
    }
}

/// A kind of figure; a cell has one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// What follows the cell in the figure's id, e.g. `difference.median`.
    pub key: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// How it is computed.
    pub estimator: &'static str,
    /// Columns of the archive that it is computed from.
    pub inputs: &'static str,
}

const fn define(key: &'static str, unit: Unit, estimator: &'static str, inputs: &'static str) -> Definition {
    Definition {
        key,
        unit,
        estimator,
        inputs,
    }
}

const PAIRS: &str = "pairs.subject_ns, pairs.baseline_ns where phase is measured and status is ok";
const SUBJECT: &str = "pairs.subject_ns where phase is measured and status is ok";
const BASELINE: &str = "pairs.baseline_ns where phase is measured and status is ok";
const MEDIANS: &str = "forks.subject_median_ns, forks.baseline_median_ns, forks.difference_median_ns";

/// Figures of a cell.
pub const CELL_FIGURES: &[Definition] = &[
    define("forks", Unit::Forks, "forks that are there", "forks"),
    define(
        "pairs.ok",
        Unit::Pairs,
        "measured pairs with status ok",
        "pairs.phase, pairs.status",
    ),
    define(
        "pairs.uncounted",
        Unit::Pairs,
        "measured pairs with another status",
        "pairs.phase, pairs.status",
    ),
    define(
        "subject.p50",
        Unit::Nanos,
        "nearest-rank median; interval: order statistics, within session",
        SUBJECT,
    ),
    define(
        "subject.p95",
        Unit::Nanos,
        "nearest-rank 95th percentile; interval: order statistics, within session",
        SUBJECT,
    ),
    define(
        "subject.p99",
        Unit::Nanos,
        "nearest-rank 99th percentile; interval: order statistics, within session",
        SUBJECT,
    ),
    define(
        "subject.fork_median.min",
        Unit::Nanos,
        "smallest of the forks' nearest-rank medians",
        MEDIANS,
    ),
    define(
        "subject.fork_median.max",
        Unit::Nanos,
        "largest of the forks' nearest-rank medians",
        MEDIANS,
    ),
    define(
        "baseline.p50",
        Unit::Nanos,
        "nearest-rank median; interval: order statistics, within session",
        BASELINE,
    ),
    define(
        "baseline.p95",
        Unit::Nanos,
        "nearest-rank 95th percentile; interval: order statistics, within session",
        BASELINE,
    ),
    define(
        "baseline.p99",
        Unit::Nanos,
        "nearest-rank 99th percentile; interval: order statistics, within session",
        BASELINE,
    ),
    define(
        "baseline.fork_median.min",
        Unit::Nanos,
        "smallest of the forks' nearest-rank medians",
        MEDIANS,
    ),
    define(
        "baseline.fork_median.max",
        Unit::Nanos,
        "largest of the forks' nearest-rank medians",
        MEDIANS,
    ),
    define(
        "difference.median",
        Unit::Nanos,
        "nearest-rank median of subject minus baseline; interval: Student t on the forks' medians, 95 %",
        PAIRS,
    ),
    define(
        "difference.median.within_session",
        Unit::Nanos,
        "nearest-rank median of subject minus baseline; interval: percentile bootstrap over pooled pairs, 95 %",
        PAIRS,
    ),
    define(
        "difference.of_medians",
        Unit::Nanos,
        "subject's nearest-rank median minus baseline's: not the median of the differences",
        PAIRS,
    ),
    define(
        "difference.fork_mean",
        Unit::Nanos,
        "mean of the forks' nearest-rank medians of subject minus baseline; interval: two-level bootstrap, 95 %",
        PAIRS,
    ),
    define(
        "difference.slower_share",
        Unit::One,
        "share of pairs in which subject minus baseline is above zero; interval: Student t on the forks' shares, 95 %",
        PAIRS,
    ),
    define(
        "difference.ratio",
        Unit::One,
        "subject's nearest-rank median over baseline's; interval: Student t on the logarithms of the forks' ratios, 95 %",
        MEDIANS,
    ),
    define(
        "difference.order_effect",
        Unit::Nanos,
        "mean over forks of the median difference with the subject first less that with the baseline first; interval: \
         Student t, 95 %",
        "pairs.subject_first, pairs.subject_ns, pairs.baseline_ns where phase is measured and status is ok",
    ),
    define(
        "difference.autocorrelation",
        Unit::One,
        "mean over forks of the lag-1 rank correlation of subject minus baseline",
        PAIRS,
    ),
    define(
        "pairs.effective",
        Unit::Pairs,
        "pairs.ok · (1 − r) / (1 + r), with r the autocorrelation where it is above zero",
        PAIRS,
    ),
    define(
        "distance.median",
        Unit::Nanos,
        "nearest-rank median over forks of the distance before and after the pairs; of the subject's own connection, where \
         it has one",
        "forks.distance_before_ns, forks.distance_after_ns, forks.subject_distance_ns",
    ),
    define(
        "difference.trips",
        Unit::Trips,
        "difference.median over distance.median",
        "figures",
    ),
    define(
        "difference.budget_share",
        Unit::One,
        "difference.median over the debounce budget",
        "figures, manifest",
    ),
    define(
        "noise_floor",
        Unit::Nanos,
        "largest absolute value in the control's interval for difference.median",
        "forks.difference_median_ns of the control",
    ),
    define(
        "noise_factor",
        Unit::One,
        "largest factor, either way, in the control's interval for difference.ratio",
        "forks.subject_median_ns, forks.baseline_median_ns of the control",
    ),
    define(
        "verdict.p",
        Unit::One,
        "smallest level at which the interval for difference.median lies wholly beyond or wholly within the margin, \
         adjusted by Holm over the cells",
        MEDIANS,
    ),
    define(
        "forks_needed",
        Unit::Forks,
        "smallest number of forks whose Student t interval is at most half the margin wide either way, at this spread",
        MEDIANS,
    ),
];

const STEPS: &str = "steps where phase is measured, of pairs with status ok";

/// The figures of each step, and the whole that they are parts of.
macro_rules! step_figures {
    ($($step:literal),+) => {
        &[
            $(
                define(
                    concat!("steps.subject.", $step, ".p50"),
                    Unit::Nanos,
                    "nearest-rank median of the step over the previews that have it, each with its sum",
                    STEPS,
                ),
                define(
                    concat!("steps.subject.", $step, ".share"),
                    Unit::One,
                    "the step's time in all previews over all steps' time",
                    STEPS,
                ),
                define(
                    concat!("steps.baseline.", $step, ".p50"),
                    Unit::Nanos,
                    "nearest-rank median of the step over the previews that have it, each with its sum",
                    STEPS,
                ),
                define(
                    concat!("steps.baseline.", $step, ".share"),
                    Unit::One,
                    "the step's time in all previews over all steps' time",
                    STEPS,
                ),
                define(
                    concat!("steps.difference.", $step),
                    Unit::Nanos,
                    "mean of the subject's step less the baseline's over the middle half of the pairs, by their difference",
                    STEPS,
                ),
            )+
            define(
                "steps.difference.whole",
                Unit::Nanos,
                "mean of the difference over the middle half of the pairs: the sum of its steps",
                STEPS,
            ),
        ]
    };
}

/// Figures of a cell whose previews' steps were recorded.
pub const STEP_FIGURES: &[Definition] = step_figures!("write", "read", "compute", "discard", "exchange");

const WIRE: &str = "wire where phase is measured and apart is null; forks, pairs";

/// Figures of a cell with a proxy in its path.
pub const WIRE_FIGURES: &[Definition] = &[
    define(
        "wire.subject.trips",
        Unit::Trips,
        "round trips a preview, counted from the protocol: mean over measured previews",
        WIRE,
    ),
    define(
        "wire.subject.trips.min",
        Unit::Trips,
        "the fewest that any measured preview took",
        WIRE,
    ),
    define(
        "wire.subject.trips.max",
        Unit::Trips,
        "the most that any measured preview took",
        WIRE,
    ),
    define(
        "wire.subject.bytes.to_server",
        Unit::Bytes,
        "bytes a preview to the server: mean over measured previews",
        WIRE,
    ),
    define(
        "wire.subject.bytes.to_client",
        Unit::Bytes,
        "bytes a preview to the client: mean over measured previews",
        WIRE,
    ),
    define(
        "wire.baseline.trips",
        Unit::Trips,
        "round trips a preview, counted from the protocol: mean over measured previews",
        WIRE,
    ),
    define(
        "wire.added",
        Unit::Nanos,
        "median over forks of the median hold to the server plus the median hold to the client",
        WIRE,
    ),
    define(
        "wire.overshoot.p50",
        Unit::Nanos,
        "nearest-rank median of how much longer than declared what was to be held was held",
        WIRE,
    ),
    define(
        "wire.overshoot.p99",
        Unit::Nanos,
        "nearest-rank 99th percentile of how much longer than declared what was to be held was held",
        WIRE,
    ),
];

/// Figures of a difference over the delays of the path.
pub const DISTANCE_FIGURES: &[Definition] = &[
    define(
        "round_trips",
        Unit::Trips,
        "slope of the least-squares line of the forks' median differences over what a round trip was longer by; interval: \
         Student t over forks, 95 %",
        "forks.difference_median_ns, wire.held_ns",
    ),
    define(
        "at_no_delay",
        Unit::Nanos,
        "the same line at no delay; interval: Student t over forks, 95 %",
        "forks.difference_median_ns, wire.held_ns",
    ),
    define(
        "counted",
        Unit::Trips,
        "subject's counted round trips less the baseline's: mean over the cells of their means over previews",
        WIRE,
    ),
];

/// The round-trip time at which a difference has a given size; its key goes on with what was asked, e.g. `for[6.16ms]`.
pub const DISTANCE_FOR: Definition = define(
    "for",
    Unit::Nanos,
    "distance at the least delay plus the delay at which the line of `round_trips` has this penalty; interval: Fieller, 95 %",
    "forks.difference_median_ns, forks.distance_before_ns, forks.distance_after_ns, wire.held_ns",
);

/// Figures of a pair of sides over the sizes.
pub const SCALING_FIGURES: &[Definition] = &[
    define(
        "fixed",
        Unit::Nanos,
        "mean over rounds of the least-squares line's value at no plans; interval: Student t, 95 %",
        "forks.difference_median_ns, cells.plans",
    ),
    define(
        "per_plan",
        Unit::NanosPerPlan,
        "mean over rounds of the least-squares line's slope; interval: Student t, 95 %",
        "forks.difference_median_ns, cells.plans",
    ),
];

/// The definition that an id ends in, whatever stands before.
pub fn definition_of(id: &str) -> Option<&'static Definition> {
    let (_, key) = id.split_once("].")?;
    if key.starts_with("for[") {
        return Some(&DISTANCE_FOR);
    }
    CELL_FIGURES
        .iter()
        .chain(SCALING_FIGURES)
        .chain(STEP_FIGURES)
        .chain(WIRE_FIGURES)
        .chain(DISTANCE_FIGURES)
        .find(|definition| definition.key == key)
}
