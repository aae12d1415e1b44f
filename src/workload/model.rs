//! The model's fields: their names, stored values and places.
//!
//! Inputs are a dense vector in the layout's order, so that the computation needs no look-up. A strategy that reads
//! the model back resolves each row's name through [`InputsReader`], which also proves that the read was complete.

use std::collections::HashMap;

use thiserror::Error;

/// Global fields that stand before the plans'.
pub(super) const GLOBAL_FIELDS: usize = 2;
/// Fields of each plan.
pub(super) const FIELDS_PER_PLAN: usize = 4;
/// Places of the global fields.
pub(super) const STARTING_CASH: usize = 0;
pub(super) const FIXED_BURN: usize = 1;

/// Columns of the wide shape: the global fields, then a plan's.
pub const COLUMNS: [&str; 6] = ["starting_cash", "fixed_burn", "price", "growth", "churn", "subs"];
/// The plan's number of the wide shape's row that holds the global fields.
pub const GLOBAL_ROW: i64 = -1;

/// Row and column of a field in the wide shape.
pub(super) fn wide_place(place: usize) -> (i64, usize) {
    match place.checked_sub(GLOBAL_FIELDS) {
        None => (GLOBAL_ROW, place),
        Some(own) => ((own / FIELDS_PER_PLAN) as i64, GLOBAL_FIELDS + own % FIELDS_PER_PLAN),
    }
}

/// The rows of the wide shape; a column that does not belong to its row is empty.
pub(super) fn wide_rows(inputs: &Inputs, plans: u32) -> impl Iterator<Item = (i64, [Option<f64>; COLUMNS.len()])> {
    let values = &inputs.0;
    let global = [
        Some(values[STARTING_CASH]),
        Some(values[FIXED_BURN]),
        None,
        None,
        None,
        None,
    ];
    let of_plan = |plan: u32| {
        let base = plan_base(plan as usize);
        let [price, growth, churn, subs] = [0, 1, 2, 3].map(|field| Some(values[base + field]));
        (i64::from(plan), [None, None, price, growth, churn, subs])
    };
    std::iter::once((GLOBAL_ROW, global)).chain((0..plans).map(of_plan))
}

/// Place of a plan's first field; price, growth, churn and subs follow each other.
pub(super) const fn plan_base(plan: usize) -> usize {
    GLOBAL_FIELDS + FIELDS_PER_PLAN * plan
}

/// Stored growth rate of a plan.
pub(super) fn stored_growth(plan: u32) -> f64 {
    0.04 + 0.01 * f64::from(plan % 5)
}

/// Stored fixed burn, currency units a month.
pub(super) const STORED_FIXED_BURN: f64 = 65_000.0;

/// The value of every field, in the layout's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs(Vec<f64>);

impl Inputs {
    /// The values, `2 + 4 · plans` of them.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    pub(super) fn set(&mut self, place: usize, value: f64) {
        self.0[place] = value;
    }

    /// Whether both hold the same bits in every field.
    pub fn same_bits(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.to_bits() == b.to_bits())
    }
}

/// The study's stored values (its section 2.2), in the layout's order.
pub(super) fn stored_values(plans: u32) -> Inputs {
    let mut values = vec![900_000.0, STORED_FIXED_BURN];
    for plan in 0..plans {
        values.push(29.0 + 17.0 * f64::from(plan));
        values.push(stored_growth(plan));
        values.push(0.012 + 0.006 * f64::from(plan % 4));
        values.push(120.0 + 9.0 * f64::from(plan));
    }
    Inputs(values)
}

/// Names of the fields and their places.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl Layout {
    pub(super) fn new(plans: u32) -> Self {
        let mut names = vec!["starting_cash".to_owned(), "fixed_burn".to_owned()];
        for plan in 0..plans {
            names.extend(["price", "growth", "churn", "subs"].map(|field| format!("{field}_{plan}")));
        }
        let places = names
            .iter()
            .cloned()
            .enumerate()
            .map(|(place, name)| (name, place))
            .collect();
        Self { names, places }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(super) fn name(&self, place: usize) -> &str {
        &self.names[place]
    }
}

/// Why rows that were read are not the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// A row that the model does not have.
    #[error("the read returned a row named {0:?}, which the model does not have")]
    Foreign(String),
    /// The same row came twice.
    #[error("the read returned row {0:?} twice")]
    Doubled(String),
    /// Rows are missing; the first of them is named.
    #[error("the read returned {got} of {expected} rows; {first:?} is missing")]
    Missing {
        /// Rows that came.
        got: usize,
        /// Rows that the model has.
        expected: usize,
        /// Name of the first missing row, in the layout's order.
        first: String,
    },
}

/// Collects a model's rows, in any order, into [`Inputs`].
pub struct InputsReader<'a> {
    layout: &'a Layout,
    values: Vec<f64>,
    seen: Vec<bool>,
    count: usize,
}

impl<'a> InputsReader<'a> {
    pub(super) fn new(layout: &'a Layout) -> Self {
        let fields = layout.len();
        Self {
            layout,
            values: vec![0.0; fields],
            seen: vec![false; fields],
            count: 0,
        }
    }

    /// Takes one row.
    ///
    /// # Errors
    /// [`ReadError::Foreign`] or [`ReadError::Doubled`].
    pub fn accept(&mut self, name: &str, value: f64) -> Result<(), ReadError> {
        let Some(&place) = self.layout.places.get(name) else {
            return Err(ReadError::Foreign(name.to_owned()));
        };
        self.put(place, value)
    }

    /// Takes one field of a row of the wide shape.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn accept_wide(&mut self, plan: i64, column: usize, value: f64) -> Result<(), ReadError> {
        let place = if plan == GLOBAL_ROW && column < GLOBAL_FIELDS {
            Some(column)
        } else {
            let own = column.checked_sub(GLOBAL_FIELDS);
            usize::try_from(plan)
                .ok()
                .zip(own)
                .map(|(plan, own)| plan_base(plan) + own)
        };
        let Some(place) = place.filter(|place| *place < self.values.len()) else {
            let column = COLUMNS.get(column).copied().unwrap_or("?");
            return Err(ReadError::Foreign(format!("{column} of plan {plan}")));
        };
        self.put(place, value)
    }

    fn put(&mut self, place: usize, value: f64) -> Result<(), ReadError> {
        if std::mem::replace(&mut self.seen[place], true) {
            return Err(ReadError::Doubled(self.layout.name(place).to_owned()));
        }
        self.values[place] = value;
        self.count += 1;
        Ok(())
    }

    /// The inputs, when every row has come.
    ///
    /// # Errors
    /// [`ReadError::Missing`].
    pub fn finish(self) -> Result<Inputs, ReadError> {
        match self.seen.iter().position(|seen| !seen) {
            None => Ok(Inputs(self.values)),
            Some(place) => Err(ReadError::Missing {
                got: self.count,
                expected: self.layout.len(),
                first: self.layout.name(place).to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_has_two_fields_and_four_a_plan() {
        for (plans, fields) in [(1, 6), (10, 42), (40, 162), (120, 482)] {
            assert_eq!(Layout::new(plans).len(), fields);
            assert_eq!(stored_values(plans).values().len(), fields);
        }
    }

    #[test]
    fn reader_takes_rows_in_any_order_and_names_what_is_wrong() {
        let layout = Layout::new(1);
        let stored = stored_values(1);
        let mut reader = InputsReader::new(&layout);
        for place in (0..layout.len()).rev() {
            reader.accept(layout.name(place), stored.values()[place]).unwrap();
        }
        assert_eq!(reader.accept("price_0", 1.0), Err(ReadError::Doubled("price_0".into())));
        assert_eq!(reader.accept("price_1", 1.0), Err(ReadError::Foreign("price_1".into())));
        assert!(reader.finish().unwrap().same_bits(&stored));

        let mut partial = InputsReader::new(&layout);
        partial.accept("starting_cash", 1.0).unwrap();
        let missing = ReadError::Missing {
            got: 1,
            expected: 6,
            first: "fixed_burn".into(),
        };
        assert_eq!(partial.finish(), Err(missing));
    }
}
