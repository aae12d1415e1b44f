//! The table `[grid]`: sizes, schemas and strategies, and the ids of the cells that they make.

use super::values::{integer, named, required};
use super::{Checked, limits};
use crate::manifest::Grid;
use crate::manifest::wire::{At, GridWire, Number, Reader};
use crate::strategy::{Engine, Ground, StrategyName};
use crate::workload::Shape;

pub(super) fn grid(wire: GridWire, ground: Option<Ground>, reader: &mut Reader<'_>) -> Checked<Grid> {
    if wire.span.is_none() {
        reader.fault(
            &(0..0),
            "grid",
            "is missing; add a table `[grid]` with plans, subjects and baseline",
        );
        return None;
    }
    let plans =
        required(wire.plans, "grid.plans", wire.span.as_ref(), reader).and_then(|plans| plan_sizes(&plans, reader));
    let schemas = match &wire.schemas {
        Some(schemas) => shapes(schemas, ground, reader),
        None => Some(vec![Shape::Kv]),
    };
    let subjects = required(wire.subjects, "grid.subjects", wire.span.as_ref(), reader)
        .and_then(|subjects| strategies(&subjects, ground, reader));
    let baseline = required(wire.baseline, "grid.baseline", wire.span.as_ref(), reader)
        .and_then(|baseline| strategy(&baseline, "grid.baseline", ground, reader));
    let control = wire.control.is_none_or(|control| control.value);
    Some(Grid {
        plans: plans?,
        schemas: schemas?,
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

fn shapes(schemas: &At<Vec<At<String>>>, ground: Option<Ground>, reader: &mut Reader<'_>) -> Checked<Vec<Shape>> {
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
        if shape == Shape::KvFillfactor70 && ground.is_some_and(|ground| ground.engine() == Engine::Sqlite) {
            reader.fault(&word.span, key, "is kv-fillfactor70, and sqlite has no fill factor");
            return None;
        }
        shapes.push(shape);
    }
    Some(shapes)
}

fn strategies(
    subjects: &At<Vec<At<String>>>,
    ground: Option<Ground>,
    reader: &mut Reader<'_>,
) -> Checked<Vec<StrategyName>> {
    if subjects.value.is_empty() {
        reader.fault(&subjects.span, "grid.subjects", "must name at least one strategy");
        return None;
    }
    let mut names = Vec::new();
    for subject in &subjects.value {
        if let Some(name) = strategy(subject, "grid.subjects", ground, reader) {
            if names.contains(&name) {
                reader.fault(&subject.span, "grid.subjects", format!("names {} twice", name.as_str()));
            }
            names.push(name);
        }
    }
    (names.len() == subjects.value.len()).then_some(names)
}

fn strategy(name: &At<String>, key: &str, ground: Option<Ground>, reader: &mut Reader<'_>) -> Checked<StrategyName> {
    let found = named(name, key, StrategyName::ALL, StrategyName::as_str, reader)?;
    if let Some(ground) = ground
        && let Some(why) = found.facts().refusal(ground)
    {
        let message = format!("is {found}, which {} cannot do: {why}", ground.as_str());
        reader.fault(&name.span, key, message);
        return None;
    }
    Some(found)
}

impl Grid {
    /// Every size with every schema and every subject, in the order of the grid.
    pub fn points(&self) -> impl Iterator<Item = (u32, Shape, StrategyName)> {
        self.plans.iter().flat_map(move |&plans| {
            (self.schemas.iter())
                .flat_map(move |&shape| self.subjects.iter().map(move |&subject| (plans, shape, subject)))
        })
    }

    /// Whether the manifest asks for other schemas than the study's.
    pub fn names_schemas(&self) -> bool {
        self.schemas != [Shape::Kv]
    }

    /// Id of a cell, e.g. `cell[plans=40]`; the subject is named where there are several, and the schema where it is
    /// not the study's everywhere.
    pub fn cell_id(&self, plans: u32, shape: Shape, subject: StrategyName) -> String {
        format!("cell[{}]", self.coordinates(plans, shape, subject))
    }

    /// Id of a control cell, e.g. `control[plans=40]`.
    pub fn control_id(&self, plans: u32, shape: Shape, subject: StrategyName) -> String {
        format!("control[{}]", self.coordinates(plans, shape, subject))
    }

    fn coordinates(&self, plans: u32, shape: Shape, subject: StrategyName) -> String {
        let mut coordinates = format!("plans={plans}");
        if self.names_schemas() {
            coordinates.push_str(",schema=");
            coordinates.push_str(shape.as_str());
        }
        if self.subjects.len() > 1 {
            coordinates.push_str(",subject=");
            coordinates.push_str(subject.as_str());
        }
        coordinates
    }
}
