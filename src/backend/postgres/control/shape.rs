//! The model's table as it is made, in each schema shape. `schema` is quoted everywhere.

use crate::workload::{COLUMNS, Shape, Workload};

/// Removes whatever any shape makes.
pub(super) fn drop(schema: &str) -> String {
    format!(
        "DROP TABLE IF EXISTS {schema}.model_field;
         DROP FUNCTION IF EXISTS {schema}.model_logged();
         DROP TABLE IF EXISTS {schema}.model_log"
    )
}

pub(super) fn create(schema: &str, shape: Shape) -> String {
    let with = match shape {
        Shape::KvFillfactor70 => " WITH (fillfactor = 70)",
        _ => "",
    };
    let columns = match shape {
        Shape::Wide => {
            let columns: Vec<String> = COLUMNS
                .iter()
                .map(|column| format!("{column} double precision"))
                .collect();
            format!("plan bigint PRIMARY KEY, {}", columns.join(", "))
        }
        _ => "name varchar(64) PRIMARY KEY, field_value double precision NOT NULL".to_owned(),
    };
    format!("CREATE TABLE {schema}.model_field ({columns}){with}")
}

/// Inserts the rows in the order given: a parameter a column, each an array.
pub(super) fn insert(schema: &str, shape: Shape) -> String {
    let (columns, arrays) = match shape {
        Shape::Wide => {
            let arrays: Vec<String> = (2..COLUMNS.len() + 2)
                .map(|place| format!("${place}::float8[]"))
                .collect();
            (
                format!("plan, {}", COLUMNS.join(", ")),
                format!("$1::int8[], {}", arrays.join(", ")),
            )
        }
        _ => ("name, field_value".to_owned(), "$1::text[], $2::float8[]".to_owned()),
    };
    format!(
        "INSERT INTO {schema}.model_field ({columns}) SELECT {columns}
         FROM unnest({arrays}) WITH ORDINALITY AS given ({columns}, place)
         ORDER BY given.place"
    )
}

/// What is made when the rows are in.
pub(super) fn after(schema: &str, shape: Shape) -> String {
    match shape {
        Shape::KvIndexed => format!(
            "CREATE INDEX model_field_value ON {schema}.model_field (field_value);
             CREATE INDEX model_field_value_name ON {schema}.model_field (field_value, name)"
        ),
        Shape::KvTrigger => format!(
            "CREATE TABLE {schema}.model_log (name varchar(64), was double precision, became double precision);
             CREATE FUNCTION {schema}.model_logged() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN
                 INSERT INTO {schema}.model_log VALUES (OLD.name, OLD.field_value, NEW.field_value);
                 RETURN NULL;
             END $body$;
             CREATE TRIGGER model_logged AFTER UPDATE ON {schema}.model_field
                 FOR EACH ROW EXECUTE FUNCTION {schema}.model_logged()"
        ),
        Shape::Kv | Shape::KvFillfactor70 | Shape::Wide => String::new(),
    }
}

/// The schema and all of the model as text. Rust writes the shortest decimal that is read back as the same double.
pub(super) fn as_text(schema: &str, workload: &Workload) -> String {
    let shape = workload.shape();
    let rows: Vec<String> = if shape == Shape::Wide {
        let column = |value: Option<f64>| value.map_or_else(|| "NULL".to_owned(), |value| format!("'{value}'"));
        workload
            .wide_rows()
            .map(|(plan, values)| format!("({plan}, {})", values.map(column).join(", ")))
            .collect()
    } else {
        let row = |(name, value): (&str, f64)| format!("('{}', '{value}')", name.replace('\'', "''"));
        workload.rows().map(row).collect()
    };
    let statements = [
        format!("CREATE SCHEMA {schema}"),
        create(schema, shape),
        format!("INSERT INTO {schema}.model_field VALUES {}", rows.join(", ")),
        after(schema, shape),
        format!("ANALYZE {schema}.model_field"),
    ];
    let mut text = String::new();
    for statement in statements.iter().filter(|statement| !statement.is_empty()) {
        text.push_str(statement);
        text.push_str(";\n\n");
    }
    text
}
