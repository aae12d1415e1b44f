//! Which strategies there are on which engine: one line a strategy and engine.

use super::sqlite_clone::Means;
use super::{
    Engine, Ground, Strategy, StrategyName, copy, copy_fresh, instance, overlay_temp, reenact, rollback,
    rollback_driver, rollback_one_message, rollback_pipelined, rollback_serial, rollback_set, savepoint, sqlite_clone,
    template, template_pool, undo_function,
};
use crate::backend::BackendError;
use crate::backend::postgres::{CloneBy, PostgresSession};
use crate::backend::provision::CopyBy;
use crate::backend::sqlite::SqliteSession;
use crate::workload::Workload;

/// Opens a strategy on SQLite; the model's table must exist.
///
/// # Errors
/// What SQLite says while the strategy prepares itself, or [`BackendError::Unable`] where it is none for SQLite.
pub fn on_sqlite(
    name: StrategyName,
    session: &mut SqliteSession,
    workload: &Workload,
) -> Result<Box<dyn Strategy<SqliteSession>>, BackendError> {
    let clone = |means, session: &SqliteSession| sqlite_clone::Clone::open(means, session, workload);
    Ok(match name {
        StrategyName::Rollback => Box::new(rollback::OnSqlite::open(workload)),
        StrategyName::Savepoint => Box::new(savepoint::OnSqlite::open(workload)),
        StrategyName::Reenact => Box::new(reenact::OnSqlite::open(session, workload)),
        StrategyName::OverlayTemp => Box::new(overlay_temp::OnSqlite::open(session, workload)?),
        StrategyName::Copy => Box::new(copy::Copy::open(workload, session.read_model(workload)?)),
        StrategyName::CopyFresh => Box::new(copy_fresh::CopyFresh::open(workload)),
        StrategyName::Backup => Box::new(clone(Means::Backup, session)?),
        StrategyName::Deserialize => Box::new(clone(Means::Deserialize, session)?),
        StrategyName::FileClone => Box::new(clone(Means::FileClone, session)?),
        _ => return Err(unable(name, Engine::Sqlite)),
    })
}

/// Opens a strategy on PostgreSQL; the model's table must exist.
///
/// # Errors
/// What the server says while the strategy prepares itself, or [`BackendError::Unable`] where it is none for
/// PostgreSQL.
pub fn on_postgres(
    name: StrategyName,
    session: &mut PostgresSession,
    workload: &Workload,
) -> Result<Box<dyn Strategy<PostgresSession>>, BackendError> {
    Ok(match name {
        StrategyName::Rollback => Box::new(rollback::OnPostgres::open(session, workload)?),
        StrategyName::RollbackSerial => Box::new(rollback_serial::OnPostgres::open(session, workload)?),
        StrategyName::RollbackSet => Box::new(rollback_set::OnPostgres::open(session, workload)?),
        StrategyName::RollbackPipelined => Box::new(rollback_pipelined::OnPostgres::open(session, workload)?),
        StrategyName::RollbackDriver => Box::new(rollback_driver::OnPostgres::open(session, workload)?),
        StrategyName::RollbackOneMessage => Box::new(rollback_one_message::OnPostgres::open(session, workload)?),
        StrategyName::Savepoint => Box::new(savepoint::OnPostgres::open(session, workload)?),
        StrategyName::UndoFunction => Box::new(undo_function::OnPostgres::open(session, workload)?),
        StrategyName::Reenact => Box::new(reenact::OnPostgres::open(session, workload)?),
        StrategyName::OverlayTemp => Box::new(overlay_temp::OnPostgres::open(session, workload)?),
        StrategyName::Copy => Box::new(copy::Copy::open(workload, session.read_model(workload)?)),
        StrategyName::CopyFresh => Box::new(copy_fresh::CopyFresh::open(workload)),
        StrategyName::Template => Box::new(template::OnPostgres::open(session, workload, CloneBy::WalLog)?),
        StrategyName::TemplateFileCopy => Box::new(template::OnPostgres::open(session, workload, CloneBy::FileCopy)?),
        StrategyName::TemplatePool => Box::new(template_pool::OnPostgres::open(session, workload)?),
        StrategyName::Instance => Box::new(instance::OnPostgres::open(session, workload, CopyBy::File)?),
        StrategyName::Branch => Box::new(instance::OnPostgres::open(session, workload, CopyBy::Reflink)?),
        _ => return Err(unable(name, Engine::Postgres)),
    })
}

/// Opens a strategy on another engine that speaks PostgreSQL's protocol; the model's table must exist.
///
/// # Errors
/// What the server says while the strategy prepares itself, or [`BackendError::Unable`] where it is none for that engine.
pub fn on_wire(
    engine: Engine,
    name: StrategyName,
    session: &mut PostgresSession,
    workload: &Workload,
) -> Result<Box<dyn Strategy<PostgresSession>>, BackendError> {
    let in_sqlite = engine == Engine::Sqlite;
    Ok(match name {
        StrategyName::Rollback => Box::new(rollback::OnPostgres::open(session, workload)?),
        StrategyName::RollbackSerial => Box::new(rollback_serial::OnPostgres::open(session, workload)?),
        StrategyName::RollbackPipelined => Box::new(rollback_pipelined::OnPostgres::open(session, workload)?),
        StrategyName::Copy => Box::new(copy::Copy::open(workload, session.read_model(workload)?)),
        StrategyName::CopyFresh => Box::new(copy_fresh::CopyFresh::open(workload)),
        StrategyName::RollbackOneMessage => Box::new(rollback_one_message::OnPostgres::open(session, workload)?),
        // SQLite has one writer: a transaction that stays open would keep the other side of the pair out.
        StrategyName::Savepoint if in_sqlite => Box::new(savepoint::OnServed::open(session, workload)?),
        StrategyName::Savepoint => Box::new(savepoint::OnPostgres::open(session, workload)?),
        StrategyName::Reenact => Box::new(reenact::OnServed::open(session, workload)?),
        StrategyName::OverlayTemp => Box::new(overlay_temp::OnServed::open(session, workload)?),
        _ => {
            let ground = if in_sqlite { Ground::SqliteServed } else { Ground::H2 };
            let why = name.facts().refusal(ground).unwrap_or_default();
            return Err(BackendError::Unable(format!(
                "{name} is none for {}: {why}",
                ground.as_str()
            )));
        }
    })
}

fn unable(name: StrategyName, engine: Engine) -> BackendError {
    BackendError::Unable(format!(
        "{name} is none for {}: {}",
        engine.as_str(),
        name.facts().why_not
    ))
}
