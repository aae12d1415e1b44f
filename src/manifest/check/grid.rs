//! The table `[grid]`: sizes, schemas and strategies, and the ids of the cells that they make.

use super::values::{integer, named, required};
use super::{Checked, limits};
use crate::manifest::wire::{At, GridWire, Number, Reader};
use crate::manifest::{Grid, NamedBackend, Point};
use crate::strategy::{Engine, Ground, StrategyName};
use crate::units::Nanos;
use crate::workload::Shape;

/// `backends` are those without a fault; a strategy must be possible on each.
pub(super) fn grid(wire: GridWire, backends: &[NamedBackend], reader: &mut Reader<'_>) -> Checked<Grid> {
    if wire.span.is_none() {
        reader.fault(
            &(0..0),
            "grid",
            "is missing; add a table `[grid]` with plans, subjects and baseline",
        );
        return None;
    }
    let grounds: Vec<Ground> = backends.iter().map(|named| named.backend.ground()).collect();
    let plans =
        required(wire.plans, "grid.plans", wire.span.as_ref(), reader).and_then(|plans| plan_sizes(&plans, reader));
    let schemas = match &wire.schemas {
        Some(schemas) => shapes(schemas, &grounds, reader),
        None => Some(vec![Shape::Kv]),
    };
    let subjects = required(wire.subjects, "grid.subjects", wire.span.as_ref(), reader)
        .and_then(|subjects| strategies(&subjects, &grounds, reader));
    let baseline = required(wire.baseline, "grid.baseline", wire.span.as_ref(), reader)
        .and_then(|baseline| strategy(&baseline, "grid.baseline", &grounds, reader));
    let delays = match &wire.delay_us {
        Some(delays) => path_delays(delays, backends, reader),
        None => Some(Vec::new()),
    };
    let control = wire.control.is_none_or(|control| control.value);
    Some(Grid {
        plans: plans?,
        backends: backends.iter().filter_map(|named| named.name.clone()).collect(),
        schemas: schemas?,
        delays: delays?,
        subjects: subjects?,
        baseline: baseline?,
        control,
    })
}

fn plan_sizes(plans: &At<Vec<At<Number>>>, reader: &mut Reader<'_>) -> Checked<Vec<u32>> {
    if plans.value.is_empty() {
        reader.fault(&plans.span, "grid.plans", "must name at least one size");
        return None;
    }
    let mut sizes = Vec::new();
    for size in &plans.value {
        let value = u32::try_from(integer(size, "grid.plans", &limits::PLANS, reader)?).ok()?;
        if sizes.contains(&value) {
            reader.fault(&size.span, "grid.plans", format!("names {value} twice"));
            return None;
        }
        sizes.push(value);
    }
    sizes.sort_unstable();
    Some(sizes)
}

fn path_delays(
    delays: &At<Vec<At<Number>>>,
    backends: &[NamedBackend],
    reader: &mut Reader<'_>,
) -> Checked<Vec<Nanos>> {
    let key = "grid.delay_us";
    if delays.value.is_empty() {
        reader.fault(
            &delays.span,
            key,
            "must name at least one delay; leave it out for no proxy",
        );
        return None;
    }
    if let Some(near) = backends.iter().find(|named| !named.backend.is_behind_a_socket()) {
        let message = format!(
            "asks for a proxy in the path, and to {} there is no path: it is in the worker's process",
            near.backend.label()
        );
        reader.fault(&delays.span, key, message);
        return None;
    }
    let mut held = Vec::new();
    for delay in &delays.value {
        let value = Nanos(1_000 * i64::try_from(integer(delay, key, &limits::DELAY_US, reader)?).ok()?);
        if held.contains(&value) {
            reader.fault(&delay.span, key, format!("names {} twice", value.0 / 1_000));
            return None;
        }
        held.push(value);
    }
    held.sort_unstable();
    Some(held)
}

fn shapes(schemas: &At<Vec<At<String>>>, grounds: &[Ground], reader: &mut Reader<'_>) -> Checked<Vec<Shape>> {
    let key = "grid.schemas";
    if schemas.value.is_empty() {
        reader.fault(&schemas.span, key, "must name at least one shape");
        return None;
    }
    let mut shapes = Vec::new();
    for word in &schemas.value {
        let shape = named(word, key, &Shape::ALL, Shape::as_str, reader)?;
        if shapes.contains(&shape) {
            reader.fault(&word.span, key, format!("names {} twice", shape.as_str()));
            return None;
        }
        if shape == Shape::KvFillfactor70 && grounds.iter().any(|ground| ground.engine() != Engine::Postgres) {
            reader.fault(
                &word.span,
                key,
                "is kv-fillfactor70, and only postgres has a fill factor",
            );
            return None;
        }
        if shape != Shape::Kv && grounds.contains(&Ground::H2) {
            reader.fault(
                &word.span,
                key,
                format!("is {}, and on h2 there is kv alone", shape.as_str()),
            );
            return None;
        }
        shapes.push(shape);
    }
    Some(shapes)
}

fn strategies(
    subjects: &At<Vec<At<String>>>,
    grounds: &[Ground],
    reader: &mut Reader<'_>,
) -> Checked<Vec<StrategyName>> {
    if subjects.value.is_empty() {
        reader.fault(&subjects.span, "grid.subjects", "must name at least one strategy");
        return None;
    }
    let mut names = Vec::new();
    for subject in &subjects.value {
        if let Some(name) = strategy(subject, "grid.subjects", grounds, reader) {
            if names.contains(&name) {
                reader.fault(&subject.span, "grid.subjects", format!("names {} twice", name.as_str()));
            }
            names.push(name);
        }
    }
    (names.len() == subjects.value.len()).then_some(names)
}

fn strategy(name: &At<String>, key: &str, grounds: &[Ground], reader: &mut Reader<'_>) -> Checked<StrategyName> {
    let found = named(name, key, StrategyName::ALL, StrategyName::as_str, reader)?;
    let mut refusals = grounds
        .iter()
        .filter_map(|&ground| Some((ground, found.facts().refusal(ground)?)));
    if let Some((ground, why)) = refusals.next() {
        let message = format!("is {found}, which {} cannot do: {why}", ground.as_str());
        reader.fault(&name.span, key, message);
        return None;
    }
    Some(found)
}

impl Grid {
    /// Every point, in the order of sizes, backends, schemas, delays and subjects.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        let mut points = Vec::new();
        for &plans in &self.plans {
            for backend in 0..self.backends.len().max(1) {
                for &shape in &self.schemas {
                    for delay in self.path_delays() {
                        points.extend(self.subjects.iter().map(|&subject| Point {
                            plans,
                            backend,
                            shape,
                            delay,
                            subject,
                        }));
                    }
                }
            }
        }
        points.into_iter()
    }

    /// The points at which the subject is also measured against itself.
    pub fn controls(&self) -> impl Iterator<Item = Point> {
        self.points()
            .filter(|point| self.control && point.subject != self.baseline)
    }

    /// The points at which the subject through the proxy is measured against itself without: those at the least delay,
    /// if that is none.
    pub fn path_controls(&self) -> impl Iterator<Item = Point> {
        self.points()
            .filter(|point| point.delay == Some(Nanos(0)) && point.subject != self.baseline)
    }

    fn path_delays(&self) -> Vec<Option<Nanos>> {
        if self.delays.is_empty() {
            vec![None]
        } else {
            self.delays.iter().copied().map(Some).collect()
        }
    }

    /// Whether the manifest asks for other schemas than the study's.
    pub fn names_schemas(&self) -> bool {
        self.schemas != [Shape::Kv]
    }

    /// The name of a point's backend, where the manifest has several.
    pub fn backend_name(&self, point: &Point) -> Option<&str> {
        self.backends.get(point.backend).map(String::as_str)
    }

    /// Id of a cell, e.g. `cell[plans=40]`; subject and backend are named where there are several, the
    /// schema where it is not the study's everywhere, and the delay where a proxy stands in the path.
    pub fn cell_id(&self, point: &Point) -> String {
        format!("cell[{}]", self.coordinates(point))
    }

    /// Id of a control cell, e.g. `control[plans=40]`.
    pub fn control_id(&self, point: &Point) -> String {
        format!("control[{}]", self.coordinates(point))
    }

    /// Id of a cell that prices the proxy, e.g. `path[plans=40]`.
    pub fn path_id(&self, point: &Point) -> String {
        format!("path[{}]", self.coordinates(point))
    }

    /// What names a line over the sizes in ids, e.g. `subject=rollback,baseline=copy`.
    pub fn line(&self, point: &Point) -> String {
        let mut line = format!("subject={},baseline={}", point.subject, self.baseline);
        if let Some(name) = self.backend_name(point) {
            line.extend([",backend=", name]);
        }
        if self.names_schemas() {
            line.extend([",schema=", point.shape.as_str()]);
        }
        if let Some(delay) = point.delay {
            line.extend([",delay=", &delay_in_ids(delay)]);
        }
        line
    }

    fn coordinates(&self, point: &Point) -> String {
        let mut coordinates = format!("plans={}", point.plans);
        let mut add = |key: &str, value: &str| {
            coordinates.extend([",", key, "=", value]);
        };
        if let Some(name) = self.backend_name(point) {
            add("backend", name);
        }
        if self.names_schemas() {
            add("schema", point.shape.as_str());
        }
        if let Some(delay) = point.delay {
            add("delay", &delay_in_ids(delay));
        }
        if self.subjects.len() > 1 {
            add("subject", point.subject.as_str());
        }
        coordinates
    }
}

/// A delay as ids have it: `250us`.
pub fn delay_in_ids(delay: Nanos) -> String {
    format!("{}us", delay.0 / 1_000)
}
