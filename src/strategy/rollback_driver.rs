//! The rollback as a user of `tokio-postgres` writes it: a transaction, the updates' futures joined, a query, a
//! rollback that is awaited. Joined futures leave together, each with a Sync of its own.
//!
//! It has a connection of its own, opened with the strategy: the measured session speaks the protocol itself.

use futures_util::future::try_join_all;
use tokio_postgres::Statement;
use tokio_postgres::types::{ToSql, Type};

use super::facts::{Facts, POSTGRES, WRITTEN};
use super::{PreviewError, Strategy, all_written};
use crate::backend::BackendError;
use crate::backend::postgres::{Driver, PostgresSession};
use crate::step::{Step, Steps};
use crate::workload::{Answer, COLUMNS, Inputs, Override, Overrides, Shape, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "The rollback as tokio-postgres users write it: transaction, joined updates, query, rollback.",
    stands_for: "what a Rust service gets today",
    on: POSTGRES,
    why_not: "it is a driver for postgres",
    round_trips: Some(4),
    writes: "4 dead rows, about 1 kB of log",
    honours: WRITTEN,
    caveat: "holds row locks over its trips; uses a connection of its own",
    needs: &[],
    nominal_ms: 0.3,
};

pub(super) struct OnPostgres {
    workload: Workload,
    driver: Driver,
    /// By column.
    updates: Vec<(&'static str, Statement)>,
    select: Statement,
}

impl OnPostgres {
    pub(super) fn open(session: &PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        let driver = session.driver()?;
        let table = session.table();
        let select = driver.wait(driver.client.prepare(&table.select()))?;
        let mut updates: Vec<(&'static str, Statement)> = Vec::new();
        for field in &workload.overrides(0.0) {
            let column = column(workload, field);
            if updates.iter().all(|(known, _)| *known != column) {
                let key = if is_wide(workload) { Type::INT8 } else { Type::TEXT };
                let sql = table.update(column);
                let types = [key, Type::FLOAT8];
                let statement = driver.wait(driver.client.prepare_typed(&sql, &types))?;
                updates.push((column, statement));
            }
        }
        Ok(Self {
            workload: workload.clone(),
            driver,
            updates,
            select,
        })
    }
}

impl Strategy<PostgresSession> for OnPostgres {
    fn preview(
        &mut self,
        _session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Write);
        let keys: Vec<Key<'_>> = overrides.iter().map(|field| key(&self.workload, field)).collect();
        let (updates, select, workload) = (&self.updates, &self.select, &self.workload);
        let (touched, rows) = self.driver.with_client(async |client| {
            let transaction = client.transaction().await?;
            let parameters: Vec<[&(dyn ToSql + Sync); 2]> = overrides
                .iter()
                .zip(&keys)
                .map(|(field, key)| [key.as_sql(), &field.value as &(dyn ToSql + Sync)])
                .collect();
            let writes = overrides.iter().zip(&parameters).filter_map(|(field, parameters)| {
                let column = column(workload, field);
                let (_, update) = updates.iter().find(|(known, _)| *known == column)?;
                Some(transaction.execute(update, parameters))
            });
            let touched: u64 = try_join_all(writes).await?.into_iter().sum();
            steps.enter(Step::Read);
            let rows = transaction.query(select, &[]).await?;
            steps.enter(Step::Discard);
            transaction.rollback().await?;
            Ok((touched, rows))
        })?;
        all_written(touched, overrides)?;
        // The other strategies decode while rows come in, which is reading too.
        steps.enter(Step::Read);
        let inputs = inputs(&self.workload, &rows)?;
        steps.enter(Step::Compute);
        Ok(self.workload.project(&inputs))
    }

    fn own_round_trip(&mut self) -> Result<bool, PreviewError> {
        self.driver.with_client(async |client| client.batch_execute("").await)?;
        Ok(true)
    }
}

fn is_wide(workload: &Workload) -> bool {
    workload.shape() == Shape::Wide
}

fn column(workload: &Workload, field: &Override) -> &'static str {
    if is_wide(workload) {
        field.wide().1
    } else {
        "field_value"
    }
}

enum Key<'a> {
    Name(&'a str),
    Plan(i64),
}

impl Key<'_> {
    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Name(name) => name,
            Self::Plan(plan) => plan,
        }
    }
}

fn key<'a>(workload: &Workload, field: &'a Override) -> Key<'a> {
    if is_wide(workload) {
        Key::Plan(field.wide().0)
    } else {
        Key::Name(&field.name)
    }
}

fn inputs(workload: &Workload, rows: &[tokio_postgres::Row]) -> Result<Inputs, PreviewError> {
    let mut reader = workload.reader();
    for row in rows {
        if is_wide(workload) {
            for column in 0..COLUMNS.len() {
                if let Some(value) = row.get(column + 1) {
                    reader.accept_wide(row.get(0), column, value)?;
                }
            }
        } else {
            reader.accept(row.get(0), row.get(1))?;
        }
    }
    Ok(reader.finish()?)
}
