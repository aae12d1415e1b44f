//! What is previewed: the study's financial model, the overrides of a drag, and the computation.
//!
//! Every strategy ends in [`Workload::project`] on the same kind of [`Inputs`]; strategies differ only in how the
//! inputs came about, so a pair prices that and nothing else. The answers of a pair are compared bit for bit.
//!
//! The model and its numbers are the study's (section 2.2); `tests/golden/projection.csv` holds its results.

mod model;
mod overrides;
mod projection;
mod shape;

pub use model::{COLUMNS, GLOBAL_ROW, Inputs, InputsReader, ReadError};
pub use overrides::{Override, Overrides, delta_of};
pub use projection::{Answer, AnswerDigest};
pub use shape::Shape;

use model::Layout;

/// One size of the study's model: its fields, their stored values, and the horizon of the projection.
#[derive(Debug, Clone)]
pub struct Workload {
    layout: Layout,
    stored: Inputs,
    plans: u32,
    months: u32,
    shape: Shape,
}

impl Workload {
    /// The model with `plans` plans, projected over `months` months. Both are at least 1.
    /// It lies in the study's shape.
    pub fn new(plans: u32, months: u32) -> Self {
        Self::shaped(plans, months, Shape::Kv)
    }

    /// The same model in a table of another shape.
    pub fn shaped(plans: u32, months: u32, shape: Shape) -> Self {
        let layout = Layout::new(plans);
        let stored = model::stored_values(plans);
        Self {
            layout,
            stored,
            plans,
            months,
            shape,
        }
    }

    /// How its table is laid out.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Rows of the model: `2 + 4 · plans`.
    pub fn field_count(&self) -> usize {
        self.layout.len()
    }

    /// Name and stored value of every row, in the order in which a fork inserts them.
    pub fn rows(&self) -> impl Iterator<Item = (&str, f64)> {
        self.layout.names().zip(self.stored.values().iter().copied())
    }

    /// What [`Shape::Wide`] stores: a plan's number (−1 for the global row) and its columns, in the order of [`COLUMNS`].
    pub fn wide_rows(&self) -> impl Iterator<Item = (i64, [Option<f64>; COLUMNS.len()])> {
        model::wide_rows(&self.stored, self.plans)
    }

    /// The stored values themselves.
    pub fn stored(&self) -> &Inputs {
        &self.stored
    }

    /// What a drag by `delta` writes: four rows, or fewer where there are fewer than three plans.
    pub fn overrides(&self, delta: f64) -> Overrides {
        overrides::drag(&self.layout, self.plans, delta)
    }

    /// Takes a model's rows in any order and says what is missing, doubled or foreign.
    pub fn reader(&self) -> InputsReader<'_> {
        InputsReader::new(&self.layout)
    }

    /// The computation itself, on complete inputs.
    pub fn project(&self, inputs: &Inputs) -> Answer {
        projection::project(inputs, self.plans, self.months)
    }
}
