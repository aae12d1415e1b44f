//! Which strategies there are on which engine: one line a strategy and engine.

use super::{Strategy, StrategyName, copy, rollback};
use crate::backend::BackendError;
use crate::backend::postgres::PostgresSession;
use crate::backend::sqlite::SqliteSession;
use crate::workload::Workload;

/// Opens a strategy on SQLite; the model's table must exist.
///
/// # Errors
/// What SQLite says while the strategy prepares itself.
pub fn on_sqlite(
    name: StrategyName,
    session: &mut SqliteSession,
    workload: &Workload,
) -> Result<Box<dyn Strategy<SqliteSession>>, BackendError> {
    Ok(match name {
        StrategyName::Rollback => Box::new(rollback::OnSqlite::open(workload)),
        StrategyName::Copy => Box::new(copy::Copy::open(workload, session.read_model(workload)?)),
    })
}

/// Opens a strategy on PostgreSQL; the model's table must exist.
///
/// # Errors
/// What the server says while the strategy prepares itself.
pub fn on_postgres(
    name: StrategyName,
    session: &mut PostgresSession,
    workload: &Workload,
) -> Result<Box<dyn Strategy<PostgresSession>>, BackendError> {
    Ok(match name {
        StrategyName::Rollback => Box::new(rollback::OnPostgres::open(session, workload)?),
        StrategyName::Copy => Box::new(copy::Copy::open(workload, session.read_model(workload)?)),
    })
}
