//! The tables `[registration]` and `[[claims]]`: what belongs together, and figures that the run will have.

use std::collections::BTreeSet;
use std::ops::Range;

use chrono::NaiveDate;

use super::values::{named, required};
use super::{Checked, is_short_name};
use crate::definition::{CELL_FIGURES, DISTANCE_FIGURES, SCALING_FIGURES, STEP_FIGURES, WIRE_FIGURES, definition_of};
use crate::manifest::wire::{At, ClaimWire, NoveltyWire, Number, Reader, RegistrationWire};
use crate::manifest::{Claim, Comparison, Grid, Novelty, Point, Registration, Threshold};

/// `None` where there is a fault; a manifest without either table registers nothing.
pub(super) fn registration(
    wire: RegistrationWire,
    claims: Option<&At<Vec<ClaimWire>>>,
    reader: &mut Reader<'_>,
) -> Checked<Option<Registration>> {
    let Some(span) = wire.span else {
        let Some(claims) = claims else { return Some(None) };
        let message = "stand without a table `[registration]`, which says what would disprove them";
        reader.fault(&claims.span, "claims", message);
        return None;
    };
    let mut told = |text, key| paragraph(text, key, &span, reader);
    let disproof = told(wire.disproof, "registration.disproof");
    let estimand = told(wire.estimand, "registration.estimand");
    let exclusions = told(wire.exclusions, "registration.exclusions");
    let novelty = novelty(wire.novelty, &span, reader);
    Some(Some(Registration {
        disproof: disproof?,
        estimand: estimand?,
        exclusions: exclusions?,
        novelty: novelty?,
    }))
}

fn novelty(wire: NoveltyWire, within: &Range<usize>, reader: &mut Reader<'_>) -> Checked<Novelty> {
    let Some(span) = wire.span else {
        required::<()>(None, "registration.novelty", Some(within), reader);
        return None;
    };
    let date = required(wire.date, "registration.novelty.date", Some(&span), reader).and_then(|at| date(&at, reader));
    let sources = texts(wire.sources, "registration.novelty.sources", &span, reader);
    let queries = texts(wire.queries, "registration.novelty.queries", &span, reader);
    let finding = paragraph(wire.finding, "registration.novelty.finding", &span, reader);
    Some(Novelty {
        date: date?,
        sources: sources?,
        queries: queries?,
        finding: finding?,
    })
}

fn date(written: &At<String>, reader: &mut Reader<'_>) -> Checked<NaiveDate> {
    let parsed = NaiveDate::parse_from_str(&written.value, "%Y-%m-%d").ok();
    let date = parsed.filter(|date| date.to_string() == written.value);
    if date.is_none() {
        let message = format!(
            "is {:?}, but must be a day of the calendar, e.g. 2026-11-30",
            written.value
        );
        reader.fault(&written.span, "registration.novelty.date", message);
    }
    date
}

fn texts(
    wire: Option<At<Vec<At<String>>>>,
    key: &str,
    within: &Range<usize>,
    reader: &mut Reader<'_>,
) -> Checked<Vec<String>> {
    let At { value, span } = required(wire, key, Some(within), reader)?;
    if value.is_empty() {
        reader.fault(&span, key, "must name at least one");
        return None;
    }
    let texts: Vec<Checked<String>> = value.into_iter().map(|text| folded(&text, key, reader)).collect();
    texts.into_iter().collect()
}

fn paragraph(wire: Option<At<String>>, key: &str, within: &Range<usize>, reader: &mut Reader<'_>) -> Checked<String> {
    let text = required(wire, key, Some(within), reader)?;
    folded(&text, key, reader)
}

/// A text on one line, whatever its line breaks.
fn folded(text: &At<String>, key: &str, reader: &mut Reader<'_>) -> Checked<String> {
    let value = text.value.split_whitespace().collect::<Vec<_>>().join(" ");
    let fault = if value.is_empty() {
        "must not be empty"
    } else if value.contains(char::is_control) {
        "must not hold control characters"
    } else {
        return Some(value);
    };
    reader.fault(&text.span, key, fault);
    None
}

/// Every claim, or `None` where one has a fault.
pub(super) fn claims(
    wire: Option<At<Vec<ClaimWire>>>,
    grid: Option<&Grid>,
    reader: &mut Reader<'_>,
) -> Checked<Vec<Claim>> {
    let wires = wire.map(|wire| wire.value).unwrap_or_default();
    let figures = grid.map(figures_of);
    let mut taken = BTreeSet::new();
    let mut claims = Vec::new();
    for (place, wire) in wires.into_iter().enumerate() {
        if let Some(id) = &wire.id
            && !taken.insert(id.value.clone())
        {
            let message = format!("is {:?}, which another claim is called already", id.value);
            reader.fault(&id.span, &format!("claims[{place}].id"), message);
        }
        let asked = Asked {
            section: format!("claims[{place}]"),
            span: wire.span.clone(),
            figures: figures.as_deref(),
        };
        claims.push(asked.claim(wire, reader));
    }
    claims.into_iter().collect()
}

/// Ids of every figure that a run of this grid has.
fn figures_of(grid: &Grid) -> Vec<String> {
    let cells = grid.points().map(|point| grid.cell_id(&point));
    let controls = grid.controls().map(|point| grid.control_id(&point));
    let proxys = grid.path_controls().map(|point| grid.path_id(&point));
    let of_cells = cells.chain(controls).chain(proxys).flat_map(|cell| {
        let of_cell = CELL_FIGURES.iter().chain(STEP_FIGURES);
        of_cell.map(move |figure| format!("{cell}.{}", figure.key))
    });
    let grown = (grid.points()).filter(|point| grid.plans.len() > 1 && point.plans == grid.plans[0]);
    let of_sizes = grown.flat_map(|point| {
        let sides = format!("scaling[{}]", grid.line(&point));
        SCALING_FIGURES
            .iter()
            .map(move |figure| format!("{sides}.{}", figure.key))
    });
    of_cells.chain(of_sizes).chain(of_path(grid)).collect()
}

/// Ids of the figures that a proxy in the path brings. What is asked with `figures.distance_for` is not among them: a
/// claim is about a size, and these are answers to one.
fn of_path(grid: &Grid) -> Vec<String> {
    if grid.delays.is_empty() {
        return Vec::new();
    }
    let cells = grid.points().map(|point| grid.cell_id(&point));
    let controls = grid.controls().map(|point| grid.control_id(&point));
    let proxys = grid.path_controls().map(|point| grid.path_id(&point));
    let of_cells = cells
        .chain(controls)
        .chain(proxys)
        .flat_map(|cell| WIRE_FIGURES.iter().map(move |figure| format!("{cell}.{}", figure.key)));
    let lines = grid
        .points()
        .filter(|point| grid.delays.len() > 1 && point.delay == Some(grid.delays[0]));
    let of_lines = lines.flat_map(|point| {
        let without = Point { delay: None, ..point };
        let line = format!("distance[plans={},{}]", point.plans, grid.line(&without));
        DISTANCE_FIGURES
            .iter()
            .map(move |figure| format!("{line}.{}", figure.key))
    });
    of_cells.chain(of_lines).collect()
}

/// One claim, and what it may name.
struct Asked<'f> {
    section: String,
    span: Range<usize>,
    /// `None` where the grid itself has a fault.
    figures: Option<&'f [String]>,
}

impl Asked<'_> {
    fn claim(&self, wire: ClaimWire, reader: &mut Reader<'_>) -> Checked<Claim> {
        let id = self.needed(wire.id, "id", reader).and_then(|id| self.id(id, reader));
        let figure = self.needed(wire.figure, "figure", reader);
        let figure = figure.and_then(|figure| self.figure(&figure, "figure", reader));
        let comparison = self.needed(wire.comparison, "comparison", reader);
        let comparison = comparison.and_then(|word| {
            named(
                &word,
                &self.key("comparison"),
                &Comparison::ALL,
                Comparison::as_str,
                reader,
            )
        });
        let unit = figure.as_deref().map_or("", unit_of);
        let threshold = match (wire.value, wire.factor, wire.of) {
            (value, None, None) => self.value(value, unit, reader),
            (None, factor, of) => self.times(factor, of, figure.as_deref(), reader),
            (Some(value), _, _) => {
                let message = "stands beside `factor` and `of`; a claim has either the one or the two others";
                reader.fault(&value.span, &self.key("value"), message);
                None
            }
        };
        let margin = self.margin(wire.margin, comparison, unit, reader);
        let because = match wire.because {
            Some(text) => folded(&text, &self.key("because"), reader).map(Some),
            None => Some(None),
        };
        Some(Claim {
            id: id?,
            unit: unit.to_owned(),
            figure: figure?,
            comparison: comparison?,
            threshold: threshold?,
            margin: margin?,
            because: because?,
        })
    }

    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.section)
    }

    fn needed<T>(&self, wire: Option<At<T>>, key: &str, reader: &mut Reader<'_>) -> Checked<At<T>> {
        required(wire, &self.key(key), Some(&self.span), reader)
    }

    fn id(&self, id: At<String>, reader: &mut Reader<'_>) -> Checked<String> {
        if is_short_name(&id.value) {
            return Some(id.value);
        }
        let message = "must be 1 to 64 lower-case letters, digits and hyphens, e.g. \"always-slower\"";
        reader.fault(&id.span, &self.key("id"), message);
        None
    }

    fn figure(&self, id: &At<String>, key: &str, reader: &mut Reader<'_>) -> Checked<String> {
        let known: Vec<&str> = self.figures?.iter().map(String::as_str).collect();
        if known.contains(&id.value.as_str()) {
            return Some(id.value.clone());
        }
        // All of them would fill the screen.
        let likeness = |id: &At<String>, other: &str| strsim::jaro_winkler(&id.value, other);
        let nearest = known.iter().max_by(|a, b| likeness(id, a).total_cmp(&likeness(id, b)));
        let message = format!(
            "is {:?}, which no run of this manifest has; the nearest is {:?}",
            id.value,
            nearest.unwrap_or(&"")
        );
        reader.fault(&id.span, &self.key(key), message);
        None
    }

    fn value(&self, value: Option<At<Number>>, unit: &str, reader: &mut Reader<'_>) -> Checked<Threshold> {
        let key = self.key("value");
        let Some(value) = value else {
            if !reader.faults.iter().any(|fault| fault.key == key) {
                let unit = if unit.is_empty() { "the figure's unit" } else { unit };
                let message = format!("is missing; give it in {unit}, or `factor` and `of` in its place");
                reader.fault(&self.span, &key, message);
            }
            return None;
        };
        finite(&value, &key, reader).map(Threshold::Value)
    }

    fn times(
        &self,
        factor: Option<At<Number>>,
        of: Option<At<String>>,
        figure: Option<&str>,
        reader: &mut Reader<'_>,
    ) -> Checked<Threshold> {
        let factor = self.needed(factor, "factor", reader).and_then(|at| {
            let value = finite(&at, &self.key("factor"), reader)?;
            if value <= 0.0 {
                reader.fault(
                    &at.span,
                    &self.key("factor"),
                    format!("is {value}, but must be above 0"),
                );
                return None;
            }
            Some(value)
        });
        let of = self.needed(of, "of", reader)?;
        let other = self.figure(&of, "of", reader)?;
        let figure = figure?;
        let fault = if unit_of(&other) != unit_of(figure) {
            format!(
                "is counted in {:?}, and the figure in {:?}",
                unit_of(&other),
                unit_of(figure)
            )
        } else if !are_independent(&other, figure) {
            "comes from forks that the figure comes from too, and the interval of their difference would be wrong; name \
             one of another cell"
                .to_owned()
        } else {
            return Some(Threshold::Times {
                factor: factor?,
                of: other,
            });
        };
        reader.fault(&of.span, &self.key("of"), fault);
        None
    }

    fn margin(
        &self,
        wire: Option<At<Number>>,
        comparison: Option<Comparison>,
        unit: &str,
        reader: &mut Reader<'_>,
    ) -> Checked<f64> {
        let key = self.key("margin");
        let is_width = comparison == Some(Comparison::Within);
        let Some(at) = wire else {
            if reader.faults.iter().any(|fault| fault.key == key) {
                return None;
            }
            if is_width {
                let message = format!("is missing; `within` needs how far the figure may lie either way, in {unit}");
                reader.fault(&self.span, &key, message);
                return None;
            }
            return Some(0.0);
        };
        let margin = finite(&at, &key, reader)?;
        if margin < 0.0 || (is_width && margin == 0.0) {
            let least = if is_width { "above 0" } else { "0 or more" };
            reader.fault(&at.span, &key, format!("is {margin} {unit}, but must be {least}"));
            return None;
        }
        Some(margin)
    }
}

fn finite(number: &At<Number>, key: &str, reader: &mut Reader<'_>) -> Checked<f64> {
    let value = match number.value {
        Number::Integer(value) => value as f64,
        Number::Float(value) => value,
    };
    if value.is_finite() {
        return Some(value);
    }
    reader.fault(&number.span, key, format!("is {value}, but must be a finite number"));
    None
}

fn unit_of(figure: &str) -> &'static str {
    definition_of(figure).map_or("", |definition| definition.unit.as_str())
}

/// Whether two figures come from different forks, as far as their ids tell: those of two cells do.
fn are_independent(one: &str, other: &str) -> bool {
    let cell = |id: &str| id.split_once("].").map(|(cell, _)| cell.to_owned());
    let is_of_cell = |id: &str| !id.starts_with("scaling[") && !id.starts_with("distance[");
    cell(one) != cell(other) && is_of_cell(one) && is_of_cell(other)
}
