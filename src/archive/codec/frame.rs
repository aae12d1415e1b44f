//! Rows of a table as columns, between the typed rows and the bytes.

use crate::archive::schema::{Kind, Table};

/// One value of a row.
pub(in crate::archive) enum Value {
    Integer(Option<i64>),
    Float(f64),
    Boolean(Option<bool>),
    Text(Option<String>),
}

/// One value that is there, as it lies in a frame.
pub(in crate::archive) enum Cell<'f> {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Text(&'f str),
}

/// Some rows of a table, as columns.
#[derive(Debug)]
pub(in crate::archive) struct Frame {
    pub(super) table: &'static Table,
    pub(super) columns: Vec<Values>,
}

/// The values of a column.
#[derive(Debug)]
pub(in crate::archive) enum Values {
    Integer(Vec<Option<i64>>),
    Float(Vec<f64>),
    Boolean(Vec<Option<bool>>),
    Text(Vec<Option<String>>),
}

impl Values {
    /// So many nulls. A float is never null, so that a column of floats can't be made up.
    pub(super) fn nulls(kind: Kind, rows: usize) -> Option<Self> {
        match kind {
            Kind::Integer => Some(Self::Integer(vec![None; rows])),
            Kind::Float => None,
            Kind::Boolean => Some(Self::Boolean(vec![None; rows])),
            Kind::Text => Some(Self::Text(vec![None; rows])),
        }
    }

    /// The value of a row; `None` for a null.
    pub fn cell(&self, row: usize) -> Option<Cell<'_>> {
        match self {
            Self::Integer(values) => values[row].map(Cell::Integer),
            Self::Float(values) => Some(Cell::Float(values[row])),
            Self::Boolean(values) => values[row].map(Cell::Boolean),
            Self::Text(values) => values[row].as_deref().map(Cell::Text),
        }
    }

    pub(super) fn has_null(&self) -> bool {
        match self {
            Self::Integer(values) => values.iter().any(Option::is_none),
            Self::Float(_) => false,
            Self::Boolean(values) => values.iter().any(Option::is_none),
            Self::Text(values) => values.iter().any(Option::is_none),
        }
    }
}

impl Frame {
    pub fn empty(table: &'static Table) -> Self {
        let columns = table.columns.iter().map(|column| match column.kind {
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        });
        Self {
            table,
            columns: columns.collect(),
        }
    }

    /// Adds a row; the values stand in the schema's order.
    pub fn push<const N: usize>(&mut self, row: [Value; N]) {
        assert_eq!(
            N,
            self.columns.len(),
            "table {} has another number of columns",
            self.table.name
        );
        for (values, value) in self.columns.iter_mut().zip(row) {
            match (values, value) {
                (Values::Integer(values), Value::Integer(value)) => values.push(value),
                (Values::Float(values), Value::Float(value)) => values.push(value),
                (Values::Boolean(values), Value::Boolean(value)) => values.push(value),
                (Values::Text(values), Value::Text(value)) => values.push(value),
                _ => unreachable!("a row of table {} has a value of another type", self.table.name),
            }
        }
    }

    pub fn rows(&self) -> usize {
        match &self.columns[0] {
            Values::Integer(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Boolean(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    /// The columns with their names, in the order of the names.
    pub fn by_name(&self) -> Vec<(&'static str, &Values)> {
        let named = self.table.columns.iter().map(|column| column.name).zip(&self.columns);
        let mut named: Vec<_> = named.collect();
        named.sort_unstable_by_key(|(name, _)| *name);
        named
    }

    fn place(&self, name: &str) -> usize {
        let place = self.table.columns.iter().position(|column| column.name == name);
        place.unwrap_or_else(|| unreachable!("table {} has no column {name}", self.table.name))
    }

    /// Values of an integer column of the schema.
    pub fn integers(&self, name: &str) -> &[Option<i64>] {
        match &self.columns[self.place(name)] {
            Values::Integer(values) => values,
            _ => unreachable!("column {name} does not hold integers"),
        }
    }

    /// Values of a float column of the schema.
    pub fn floats(&self, name: &str) -> &[f64] {
        match &self.columns[self.place(name)] {
            Values::Float(values) => values,
            _ => unreachable!("column {name} does not hold floats"),
        }
    }

    /// Values of a boolean column of the schema.
    pub fn booleans(&self, name: &str) -> &[Option<bool>] {
        match &self.columns[self.place(name)] {
            Values::Boolean(values) => values,
            _ => unreachable!("column {name} does not hold booleans"),
        }
    }

    /// Values of a text column of the schema.
    pub fn texts(&self, name: &str) -> &[Option<String>] {
        match &self.columns[self.place(name)] {
            Values::Text(values) => values,
            _ => unreachable!("column {name} does not hold text"),
        }
    }

    /// Adds the rows of another frame of the same table.
    pub(super) fn extend(&mut self, more: Self) {
        for (values, more) in self.columns.iter_mut().zip(more.columns) {
            match (values, more) {
                (Values::Integer(values), Values::Integer(more)) => values.extend(more),
                (Values::Float(values), Values::Float(more)) => values.extend(more),
                (Values::Boolean(values), Values::Boolean(more)) => values.extend(more),
                (Values::Text(values), Values::Text(more)) => values.extend(more),
                _ => unreachable!("frames of one table have the same types"),
            }
        }
    }

    /// Keeps the first `rows` rows and gives those after them.
    pub(super) fn split_off(&mut self, rows: usize) -> Self {
        let columns = self.columns.iter_mut().map(|values| match values {
            Values::Integer(values) => Values::Integer(values.split_off(rows)),
            Values::Float(values) => Values::Float(values.split_off(rows)),
            Values::Boolean(values) => Values::Boolean(values.split_off(rows)),
            Values::Text(values) => Values::Text(values.split_off(rows)),
        });
        Self {
            table: self.table,
            columns: columns.collect(),
        }
    }
}
