//! The model's table: made anew, read back, and its state.

use postgres::types::ToSql;

use super::failure::command_error;
use super::shape;
use super::{Control, quoted};
use crate::backend::postgres::{ModelTable, PgError};
use crate::workload::{COLUMNS, Inputs, ReadError, Shape, Workload};

/// What the server knows about the model's table and what previews have done to it.
///
/// Sizes are exact. The other numbers are those of the statistics system: the tuple counts are estimates, and a
/// session's work shows in them only after it has flushed its own counters
/// ([`flush_statistics`](crate::backend::postgres::wire::WireSession::flush_statistics), or about a second of idling,
/// or its end).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableState {
    /// The table's main fork, in bytes.
    pub table_bytes: i64,
    /// All its indexes, in bytes.
    pub index_bytes: i64,
    /// Estimated live tuples.
    pub live_tuples: i64,
    /// Estimated dead tuples that no vacuum has removed; pruning lowers it too.
    pub dead_tuples: i64,
    /// Tuples updated so far, rolled back or not.
    pub updates: i64,
    /// Those of them that needed no new index entry.
    pub hot_updates: i64,
    /// Runs of autovacuum on the table so far.
    pub autovacuums: i64,
}

impl Control {
    /// Makes the table `model_field` anew in a schema of ours, with `rows` inserted in the order given, and analyzes it.
    ///
    /// # Errors
    ///
    /// [`PgError::SchemaForeign`] if the schema is not ours; [`PgError::Server`] (e.g. for a name given twice); or any
    /// error of the connection. After an error the former table, if any, is still there.
    pub fn create_model(&mut self, schema: &str, rows: &[(String, f64)]) -> Result<(), PgError> {
        self.require_own_schema(schema)?;
        let (names, values): (Vec<&str>, Vec<f64>) = rows.iter().map(|(name, value)| (name.as_str(), *value)).unzip();
        self.remake(schema, Shape::Kv, &[&names, &values])
    }

    /// Makes the table anew in a schema of ours, in the workload's shape, and analyzes it.
    ///
    /// # Errors
    /// As [`create_model`](Self::create_model).
    pub fn create_shaped(&mut self, schema: &str, workload: &Workload) -> Result<(), PgError> {
        self.require_own_schema(schema)?;
        if workload.shape() == Shape::Wide {
            let mut plans = Vec::new();
            let mut columns: [Vec<Option<f64>>; COLUMNS.len()] = Default::default();
            for (plan, values) in workload.wide_rows() {
                plans.push(plan);
                for (column, value) in columns.iter_mut().zip(values) {
                    column.push(value);
                }
            }
            let [cash, burn, price, growth, churn, subs] = &columns;
            self.remake(schema, Shape::Wide, &[&plans, cash, burn, price, growth, churn, subs])
        } else {
            let (names, values): (Vec<&str>, Vec<f64>) = workload.rows().unzip();
            self.remake(schema, workload.shape(), &[&names, &values])
        }
    }

    /// A schema with the model in it as text, for a server in single-user mode: each statement ends in an empty line.
    ///
    /// # Errors
    ///
    /// [`PgError::Name`].
    pub fn model_as_text(schema: &str, workload: &Workload) -> Result<String, PgError> {
        Ok(shape::as_text(&quoted(schema)?, workload))
    }

    fn remake(&mut self, schema: &str, shape: Shape, columns: &[&(dyn ToSql + Sync)]) -> Result<(), PgError> {
        let table = table_in(schema)?;
        self.fill(&quoted(schema)?, shape, columns)
            .map_err(|error| command_error(&error))?;
        // Otherwise the inserted rows are added to what ANALYZE counts, and appear twice.
        self.refresh_statistics()?;
        self.run(&format!("ANALYZE {table}"))
    }

    fn fill(&mut self, schema: &str, shape: Shape, columns: &[&(dyn ToSql + Sync)]) -> Result<(), postgres::Error> {
        let mut transaction = self.client.transaction()?;
        transaction.batch_execute(&shape::drop(schema))?;
        transaction.batch_execute(&shape::create(schema, shape))?;
        transaction.execute(&shape::insert(schema, shape), columns)?;
        transaction.batch_execute(&shape::after(schema, shape))?;
        transaction.commit()
    }

    /// Removes the table `model_field` from a schema of ours, if it is there.
    ///
    /// # Errors
    ///
    /// [`PgError::SchemaForeign`] if the schema is not ours, or any error of the connection.
    pub fn drop_model(&mut self, schema: &str) -> Result<(), PgError> {
        self.require_own_schema(schema)?;
        self.run(&shape::drop(&quoted(schema)?))
    }

    /// The stored model, ordered by the bytes of its names.
    ///
    /// # Errors
    ///
    /// [`PgError::Server`] if there is none, or any error of the connection.
    pub fn read_model(&mut self, schema: &str) -> Result<Vec<(String, f64)>, PgError> {
        let sql = format!(
            "SELECT name, field_value::float8 FROM {} ORDER BY name COLLATE \"C\"",
            table_in(schema)?
        );
        let rows = self.client.query(&sql, &[]).map_err(|error| command_error(&error))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// The stored model as inputs, or why it is none.
    ///
    /// # Errors
    ///
    /// As [`read_model`](Self::read_model).
    pub fn read_inputs(&mut self, schema: &str, workload: &Workload) -> Result<Result<Inputs, ReadError>, PgError> {
        let select = ModelTable::in_schema(schema, workload.shape()).select();
        let rows = self.client.query(&select, &[]).map_err(|error| command_error(&error))?;
        let mut reader = workload.reader();
        let complete = rows.iter().try_for_each(|row| {
            if workload.shape() != Shape::Wide {
                return reader.accept(row.get(0), row.get(1));
            }
            let columns =
                (0..COLUMNS.len()).filter_map(|column| Some((column, row.get::<_, Option<f64>>(column + 1)?)));
            columns
                .into_iter()
                .try_for_each(|(column, value)| reader.accept_wide(row.get(0), column, value))
        });
        Ok(complete.and_then(|()| reader.finish()))
    }

    /// The present state of the model's table.
    ///
    /// # Errors
    ///
    /// [`PgError::Server`] if there is no such table, or any error of the connection.
    pub fn table_state(&mut self, schema: &str) -> Result<TableState, PgError> {
        let table = table_in(schema)?;
        self.refresh_statistics()?;
        let sql = "SELECT pg_catalog.pg_relation_size(c.oid), pg_catalog.pg_indexes_size(c.oid), \
                   coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0), coalesce(s.n_tup_upd, 0), \
                   coalesce(s.n_tup_hot_upd, 0), coalesce(s.autovacuum_count, 0) \
                   FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid \
                   WHERE c.oid = ($1::text)::regclass";
        let row = self
            .client
            .query_one(sql, &[&table])
            .map_err(|error| command_error(&error))?;
        Ok(TableState {
            table_bytes: row.get(0),
            index_bytes: row.get(1),
            live_tuples: row.get(2),
            dead_tuples: row.get(3),
            updates: row.get(4),
            hot_updates: row.get(5),
            autovacuums: row.get(6),
        })
    }

    /// Flushes this session's own counters, where the server can, and forgets what was read of them before.
    fn refresh_statistics(&mut self) -> Result<(), PgError> {
        let sql = "SELECT 1 FROM pg_catalog.pg_proc WHERE proname = 'pg_stat_force_next_flush'";
        if !self.rows(sql)?.is_empty() {
            self.run("SELECT pg_catalog.pg_stat_force_next_flush()")?;
        }
        self.run("SELECT pg_catalog.pg_stat_clear_snapshot()")
    }
}

fn table_in(schema: &str) -> Result<String, PgError> {
    Ok(format!("{}.model_field", quoted(schema)?))
}
