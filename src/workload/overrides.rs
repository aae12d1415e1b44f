//! What one drag of the slider writes.

use super::model::{self, Inputs, Layout};

/// Plans whose growth a drag changes.
const DRAGGED_PLANS: u32 = 3;

/// The delta of iteration `i`, in growth a month: `0.001 · i`. Warm-up and measured iterations both count from 0, and
/// the sequence is the same in every fork.
pub fn delta_of(iteration: u32) -> f64 {
    0.001 * f64::from(iteration)
}

/// One overridden field.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    place: usize,
    /// The row's name.
    pub name: String,
    /// Its what-if value.
    pub value: f64,
}

impl Override {
    /// Where it stands in the wide shape: the plan's number and the column.
    pub fn wide(&self) -> (i64, &'static str) {
        let (plan, column) = model::wide_place(self.place);
        (plan, model::COLUMNS[column])
    }
}

/// The fields of one drag, in the fixed order in which every strategy writes them.
#[derive(Debug, Clone, PartialEq)]
pub struct Overrides(Vec<Override>);

impl Overrides {
    /// The overridden fields.
    pub fn iter(&self) -> std::slice::Iter<'_, Override> {
        self.0.iter()
    }

    /// How many rows are overridden.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is overridden; never so for a drag.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts the what-if values into inputs of the same model.
    pub fn apply_to(&self, inputs: &mut Inputs) {
        for field in &self.0 {
            inputs.set(field.place, field.value);
        }
    }
}

impl<'a> IntoIterator for &'a Overrides {
    type Item = &'a Override;
    type IntoIter = std::slice::Iter<'a, Override>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// `growth_0..2` become their stored value plus `delta`, and the fixed burn `65 000 + 100 000 · delta`.
pub(super) fn drag(layout: &Layout, plans: u32, delta: f64) -> Overrides {
    let field = |place: usize, value| Override {
        place,
        name: layout.name(place).to_owned(),
        value,
    };
    let mut fields: Vec<_> = (0..plans.min(DRAGGED_PLANS))
        .map(|plan| field(model::plan_base(plan as usize) + 1, model::stored_growth(plan) + delta))
        .collect();
    fields.push(field(model::FIXED_BURN, model::STORED_FIXED_BURN + 100_000.0 * delta));
    Overrides(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drag_writes_four_rows_whatever_the_size() {
        let names = |plans| {
            let layout = Layout::new(plans);
            drag(&layout, plans, 0.02)
                .iter()
                .map(|field| field.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(1), ["growth_0", "fixed_burn"]);
        assert_eq!(names(2), ["growth_0", "growth_1", "fixed_burn"]);
        assert_eq!(names(120), ["growth_0", "growth_1", "growth_2", "fixed_burn"]);
    }

    #[test]
    fn iterations_step_by_a_thousandth() {
        assert_eq!(delta_of(0).to_bits(), 0.0f64.to_bits());
        assert_eq!(delta_of(299).to_bits(), (0.001 * 299.0f64).to_bits());
    }
}
