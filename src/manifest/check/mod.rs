//! From what was written to what is meant: defaults, ranges and cross-checks, every fault at once.

mod backend;
mod grid;
mod registration;
mod values;

use super::fault::Fault;
use super::wire::{At, FiguresWire, MeasureWire, Reader, Wire};
use super::{
    FigureSettings, Grid, Manifest, ManifestSource, Measure, NamedBackend, PairOrder, Penalty, Processors, StepsWish,
};
use crate::units::{Nanos, Seed};
use backend::backends;
pub use grid::delay_in_ids;
use grid::grid;
use values::{integer, millis, named, one_of, required, whole};

/// The ranges that a manifest's numbers must lie in.
pub mod limits {
    use std::ops::RangeInclusive;

    /// `grid.delay_us`: what a proxy adds to each round trip, up to ten seconds.
    pub const DELAY_US: RangeInclusive<i128> = 0..=10_000_000;
    /// `grid.plans`
    pub const PLANS: RangeInclusive<i128> = 1..=1_000_000;
    /// `measure.months`
    pub const MONTHS: RangeInclusive<i128> = 1..=10_000;
    /// `measure.previews`
    pub const PREVIEWS: RangeInclusive<i128> = 1..=10_000_000;
    /// `measure.warmup`
    pub const WARMUP: RangeInclusive<i128> = 0..=10_000_000;
    /// `measure.forks`
    pub const FORKS: RangeInclusive<i128> = 1..=10_000;
    /// `measure.seed`: what an integer column of the archive holds without a sign.
    pub const SEED: RangeInclusive<i128> = 0..=i64::MAX as i128;
    /// `measure.timeout_ms`
    pub const TIMEOUT_MS: RangeInclusive<i128> = 1..=3_600_000;
    /// `figures.resamples`
    pub const RESAMPLES: RangeInclusive<i128> = 100..=10_000_000;
    /// Shortest time in milliseconds: a nanosecond, since times are whole ones.
    pub const MILLIS_MIN: f64 = 0.000_001;
    /// Longest time in milliseconds: a day.
    pub const MILLIS_MAX: f64 = 86_400_000.0;
}

/// Figures of a cell that can be the primary one: those with a headline interval.
const PRIMARY_FIGURES: [&str; 1] = ["difference.median"];

type Checked<T> = Option<T>;

/// Checks everything, even after the first fault.
pub(super) fn check(wire: Wire, mut reader: Reader<'_>) -> Result<Manifest, Vec<Fault>> {
    let name = name(wire.name, &mut reader);
    let title = text(wire.title, "title", &mut reader);
    let question = text(wire.question, "question", &mut reader);
    let backends = backends(&wire.backend, wire.backends, &mut reader);
    let grid = grid(wire.grid, backends.as_deref().unwrap_or_default(), &mut reader);
    let measure = measure(wire.measure, backends.as_deref().unwrap_or_default(), &mut reader);
    let figures = figures(wire.figures, grid.as_ref(), &mut reader);
    let registration = registration::registration(wire.registration, wire.claims.as_ref(), &mut reader);
    let claims = registration::claims(wire.claims, grid.as_ref(), &mut reader);
    let source = ManifestSource::new(reader.source);
    let stated = registration.zip(claims);
    match (name, title, question, backends, grid, measure, figures, stated) {
        (
            Some(name),
            Some(title),
            Some(question),
            Some(backends),
            Some(grid),
            Some(measure),
            Some(figures),
            Some(stated),
        ) if reader.faults.is_empty() => {
            let analysis = wire
                .analysis
                .map(|text| text.value.trim().to_owned())
                .unwrap_or_default();
            Ok(Manifest {
                name,
                title,
                question,
                analysis,
                backends,
                grid,
                measure,
                figures,
                registration: stated.0,
                claims: stated.1,
                source,
            })
        }
        _ => Err(reader.faults),
    }
}

fn name(wire: Option<At<String>>, reader: &mut Reader<'_>) -> Checked<String> {
    let At { value, span } = required(wire, "name", None, reader)?;
    if !is_short_name(&value) {
        reader.fault(
            &span,
            "name",
            "must be 1 to 64 lower-case letters, digits and hyphens, e.g. \"pg-local\"",
        );
        return None;
    }
    Some(value)
}

fn is_short_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn text(wire: Option<At<String>>, key: &str, reader: &mut Reader<'_>) -> Checked<String> {
    let At { value, span } = required(wire, key, None, reader)?;
    let value = value.trim().to_owned();
    if value.is_empty() {
        reader.fault(&span, key, "must not be empty");
        return None;
    }
    // It is printed as it is, and a terminal obeys control characters.
    if value.contains(char::is_control) {
        reader.fault(&span, key, "must be one line, without control characters");
        return None;
    }
    Some(value)
}

fn measure(wire: MeasureWire, backends: &[NamedBackend], reader: &mut Reader<'_>) -> Checked<Measure> {
    let months = whole(wire.months, "measure.months", &limits::MONTHS, 60, reader);
    let previews = whole(wire.previews, "measure.previews", &limits::PREVIEWS, 300, reader);
    let warmup = whole(wire.warmup, "measure.warmup", &limits::WARMUP, 80, reader);
    let forks = whole(wire.forks, "measure.forks", &limits::FORKS, 5, reader);
    let timeout_ms = whole(
        wire.timeout_ms,
        "measure.timeout_ms",
        &limits::TIMEOUT_MS,
        10_000,
        reader,
    );
    let seed = required(wire.seed, "measure.seed", wire.span.as_ref(), reader)
        .and_then(|seed| integer(&seed, "measure.seed", &limits::SEED, reader));
    let order = match &wire.order {
        Some(order) => {
            let all = [PairOrder::Balanced, PairOrder::Coin];
            named(order, "measure.order", &all, PairOrder::as_str, reader)
        }
        None => Some(PairOrder::Balanced),
    };
    let steps = match &wire.steps {
        Some(word) => named(word, "measure.steps", &StepsWish::ALL, StepsWish::as_str, reader),
        None => Some(StepsWish::Auto),
    };
    let processors = processors(wire.processors.as_ref(), backends, reader);
    Some(Measure {
        months: u32::try_from(months?).ok()?,
        previews: u32::try_from(previews?).ok()?,
        warmup: u32::try_from(warmup?).ok()?,
        forks: u32::try_from(forks?).ok()?,
        seed: Seed(u64::try_from(seed?).ok()?),
        order: order?,
        steps: steps?,
        processors: processors?,
        timeout: Nanos(i64::try_from(timeout_ms? * 1_000_000).ok()?),
    })
}

/// A server is kept to a processor only where its process is the run's own, and is the one that answers.
fn processors(word: Option<&At<String>>, backends: &[NamedBackend], reader: &mut Reader<'_>) -> Checked<Processors> {
    let key = "measure.processors";
    let Some(word) = word else {
        return Some(Processors::Free);
    };
    let processors = named(word, key, &Processors::ALL, Processors::as_str, reader)?;
    let foreign = backends.iter().find(|named| !named.backend.process_is_ours());
    if let Some(foreign) = foreign.filter(|_| processors == Processors::Apart) {
        let label = foreign.backend.label();
        reader.fault(
            &word.span,
            key,
            format!("is \"apart\", and where {label} runs is not this run's to say"),
        );
        return None;
    }
    Some(processors)
}

fn figures(wire: FiguresWire, grid: Option<&Grid>, reader: &mut Reader<'_>) -> Checked<FigureSettings> {
    let debounce = millis(wire.debounce_ms, "figures.debounce_ms", 400.0, reader);
    let resamples = whole(wire.resamples, "figures.resamples", &limits::RESAMPLES, 10_000, reader);
    let margin = required(wire.margin_ms, "figures.margin_ms", wire.span.as_ref(), reader)
        .and_then(|margin| millis(Some(margin), "figures.margin_ms", 0.0, reader));
    let distance_for = penalties(wire.distance_for, grid, reader);
    let primary = primary(wire.primary, grid?, reader);
    Some(FigureSettings {
        debounce: debounce?,
        resamples: u32::try_from(resamples?).ok()?,
        margin: margin?,
        distance_for: distance_for?,
        primary: primary?,
    })
}

/// Penalties whose distance is asked for; there is a line to ask only where the path has two delays at least.
fn penalties(wire: Option<At<Vec<At<String>>>>, grid: Option<&Grid>, reader: &mut Reader<'_>) -> Checked<Vec<Penalty>> {
    let key = "figures.distance_for";
    let Some(asked) = wire else { return Some(Vec::new()) };
    if grid.is_some_and(|grid| grid.delays.len() < 2) {
        let message = "asks how far away a penalty lies, which takes two delays at least in `grid.delay_us`";
        reader.fault(&asked.span, key, message);
        return None;
    }
    let mut penalties: Vec<Penalty> = Vec::new();
    for text in &asked.value {
        match Penalty::parse(&text.value) {
            Some(penalty) if penalties.contains(&penalty) => {
                reader.fault(&text.span, key, format!("names {penalty} twice"));
                return None;
            }
            Some(penalty) => penalties.push(penalty),
            None => {
                let message = format!(
                    "is {:?}, but must be a time or a share of the debounce budget, e.g. \"6.16ms\" or \"5%\"",
                    text.value
                );
                reader.fault(&text.span, key, message);
                return None;
            }
        }
    }
    Some(penalties)
}

/// The primary figure; by default the difference of the first subject at the middle size.
fn primary(wire: Option<At<String>>, grid: &Grid, reader: &mut Reader<'_>) -> Checked<String> {
    let ids: Vec<String> = (grid.points())
        .map(|point| grid.cell_id(&point))
        .flat_map(|cell| PRIMARY_FIGURES.map(|figure| format!("{cell}.{figure}")))
        .collect();
    let Some(primary) = wire else {
        let middle = grid.plans[(grid.plans.len() - 1) / 2];
        let point = grid.points().find(|point| point.plans == middle)?;
        return Some(format!("{}.{}", grid.cell_id(&point), PRIMARY_FIGURES[0]));
    };
    let known: Vec<&str> = ids.iter().map(String::as_str).collect();
    one_of(&primary, "figures.primary", &known, reader).map(str::to_owned)
}
