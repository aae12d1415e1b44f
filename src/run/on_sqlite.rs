//! One fork on SQLite: a fresh database, the pairs, the checks.

use std::time::Duration;

use super::measure::Sessions;
use super::on_served;
use super::placement;
use super::protocol::{ForkOrder, Place};
use super::worker::{Conditions, Fork, Stage};
use crate::backend::BackendError;
use crate::backend::sqlite::{SqliteSession, SqliteState};
use crate::strategy;

/// Runs the fork that `order` describes, on the place that it names.
pub(super) fn run(order: &ForkOrder, fork: &mut Fork<'_>) -> Result<(), BackendError> {
    let workload = order.cell.workload();
    placement::of_worker(order.processors)?;
    let mut session = open(order)?;
    session.create_model(&workload)?;
    let before = session.state()?;
    let subject = strategy::on_sqlite(order.cell.subject, &mut session, &workload)?;
    let baseline = strategy::on_sqlite(order.cell.baseline, &mut session, &workload)?;
    let sessions = Sessions {
        shared: &mut session,
        of_baseline: None,
    };
    fork.measure(&workload, sessions, subject, baseline);
    let intact = session
        .read_model(&workload)
        .is_ok_and(|stored| stored.same_bits(workload.stored()));
    fork.conditions = Conditions {
        start: stage(&before),
        end: Some(stage(&session.state()?)),
        intact: Some(intact),
    };
    drop(session);
    if let Place::SqliteFile { path, .. } = &order.place {
        on_served::remove(path);
    }
    Ok(())
}

fn open(order: &ForkOrder) -> Result<SqliteSession, BackendError> {
    match &order.place {
        Place::SqliteFile {
            path,
            journal_mode,
            synchronous,
        } => {
            let timeout = Duration::from_nanos(order.timeout.0.unsigned_abs());
            SqliteSession::on_file(path, journal_mode, synchronous, timeout)
        }
        Place::SqliteMemory | Place::Served { .. } | Place::Postgres { .. } | Place::H2 { .. } => {
            SqliteSession::in_memory()
        }
    }
}

fn stage(state: &SqliteState) -> Stage {
    Stage {
        table_bytes: state.database_bytes,
        dead_tuples: None,
        autovacuums: None,
    }
}
