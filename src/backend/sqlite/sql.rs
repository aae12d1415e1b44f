//! The model's table in SQLite's words, in each schema shape.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::workload::{COLUMNS, Override, Overrides, Shape};

const KV: &str = "CREATE TABLE model_field (name varchar(64) PRIMARY KEY, field_value double precision NOT NULL);";
const INDEXES: &str = "CREATE INDEX model_field_value ON model_field (field_value);
                       CREATE INDEX model_field_value_name ON model_field (field_value, name);";
const LOG: &str = "CREATE TABLE model_log (name varchar(64), was double precision, became double precision);
                   CREATE TRIGGER model_logged AFTER UPDATE ON model_field BEGIN
                       INSERT INTO model_log VALUES (old.name, old.field_value, new.field_value);
                   END;";

/// The statements that make the table, without its rows; [`after`] is to follow these.
pub(super) fn create(shape: Shape) -> String {
    match shape {
        Shape::Wide => {
            let columns: Vec<String> = COLUMNS
                .iter()
                .map(|column| format!("{column} double precision"))
                .collect();
            format!(
                "CREATE TABLE model_field (plan integer PRIMARY KEY, {});",
                columns.join(", ")
            )
        }
        _ => KV.to_owned(),
    }
}

/// What is made when the rows are in.
pub(super) fn after(shape: Shape) -> &'static str {
    match shape {
        Shape::KvIndexed => INDEXES,
        Shape::KvTrigger => LOG,
        Shape::Kv | Shape::KvFillfactor70 | Shape::Wide => "",
    }
}

pub(super) fn insert(shape: Shape) -> &'static str {
    match shape {
        Shape::Wide => "INSERT INTO model_field VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        _ => "INSERT INTO model_field (name, field_value) VALUES (?1, ?2)",
    }
}

pub(super) fn select(shape: Shape) -> &'static str {
    match shape {
        Shape::Wide => "SELECT plan, starting_cash, fixed_burn, price, growth, churn, subs FROM model_field",
        _ => "SELECT name, field_value FROM model_field",
    }
}

/// The update of one field: `?1` its key, `?2` its value.
pub(super) fn update(shape: Shape, field: &Override) -> &'static str {
    if shape != Shape::Wide {
        return "UPDATE model_field SET field_value = ?2 WHERE name = ?1";
    }
    match field.wide().1 {
        "starting_cash" => "UPDATE model_field SET starting_cash = ?2 WHERE plan = ?1",
        "fixed_burn" => "UPDATE model_field SET fixed_burn = ?2 WHERE plan = ?1",
        "price" => "UPDATE model_field SET price = ?2 WHERE plan = ?1",
        "growth" => "UPDATE model_field SET growth = ?2 WHERE plan = ?1",
        "churn" => "UPDATE model_field SET churn = ?2 WHERE plan = ?1",
        _ => "UPDATE model_field SET subs = ?2 WHERE plan = ?1",
    }
}

/// The read with the overrides as parameters: key and value of each, in their order.
pub(in crate::backend) fn reenacted(shape: Shape, overrides: &Overrides) -> String {
    let mut cases: BTreeMap<&str, String> = BTreeMap::new();
    for (place, field) in overrides.iter().enumerate() {
        let column = if shape == Shape::Wide {
            field.wide().1
        } else {
            "field_value"
        };
        let (key, value) = (2 * place + 1, 2 * place + 2);
        // Writing to a string does not fail.
        let _ = write!(cases.entry(column).or_default(), " WHEN ?{key} THEN ?{value}");
    }
    let key = if shape == Shape::Wide { "plan" } else { "name" };
    let over = |column: &str| match cases.get(column) {
        Some(whens) => format!("CASE {key}{whens} ELSE {column} END"),
        None => column.to_owned(),
    };
    format!("SELECT {key}, {} FROM model_field", columns(shape, over))
}

/// The table of overrides.
pub(in crate::backend) const OVERLAY: &str = "CREATE TEMP TABLE IF NOT EXISTS preview_override \
                                  (key PRIMARY KEY, field text NOT NULL, value double precision NOT NULL)";
pub(in crate::backend) const EMPTY_OVERLAY: &str = "DELETE FROM temp.preview_override";
pub(in crate::backend) const FILL_OVERLAY: &str = "INSERT INTO temp.preview_override VALUES (?1, ?2, ?3)";

/// The read with the table of overrides laid over the model.
pub(in crate::backend) fn overlaid(shape: Shape) -> String {
    let key = if shape == Shape::Wide { "plan" } else { "name" };
    let over = |column: &str| format!("CASE WHEN o.field = '{column}' THEN o.value ELSE m.{column} END");
    format!(
        "SELECT m.{key}, {} FROM model_field AS m LEFT JOIN temp.preview_override AS o ON o.key = m.{key}",
        columns(shape, over)
    )
}

fn columns(shape: Shape, over: impl Fn(&str) -> String) -> String {
    if shape == Shape::Wide {
        COLUMNS.map(over).join(", ")
    } else {
        over("field_value")
    }
}
