//! One fork on PostgreSQL: a fresh table in the run's schema, the pairs over one connection, the checks.
//!
//! The control connection that makes the table and reads the server's counters is closed while pairs are measured.

use std::path::Path;
use std::time::Duration;

use super::detour::Detour;
use super::measure::Sessions;
use super::protocol::ForkOrder;
use super::worker::{Conditions, Fork, Stage};
use crate::backend::postgres::{Control, PostgresSession, TableState, Target};
use crate::backend::{BackendError, Creations};
use crate::plan::CellKind;
use crate::strategy;
use crate::workload::Workload;

/// Runs the fork that `order` describes, on `target`, in `schema`.
pub(super) fn run(
    order: &ForkOrder,
    target: &Target,
    schema: &str,
    creations: &Path,
    fork: &mut Fork<'_>,
) -> Result<(), BackendError> {
    let workload = order.cell.workload();
    let before = set_up(target, schema, &workload)?;
    let connect = |target: &Target| {
        let timeout = Duration::from_nanos(order.timeout.0.unsigned_abs());
        let session = PostgresSession::connect(target, schema, &workload, timeout)?;
        Ok::<_, BackendError>(session.noting(Creations::at(creations)))
    };
    let detour = order
        .cell
        .path_delay
        .map(|delay| Detour::to(target, delay))
        .transpose()?;
    let mut session = connect(detour.as_ref().map_or(target, |detour| &detour.target))?;
    let direct = (order.cell.kind == CellKind::Path).then(|| connect(target));
    let mut direct = direct.transpose()?;
    let subject = strategy::on_postgres(order.cell.subject, &mut session, &workload)?;
    let of_baseline = direct.as_mut().unwrap_or(&mut session);
    let baseline = strategy::on_postgres(order.cell.baseline, of_baseline, &workload)?;
    let sessions = Sessions {
        shared: &mut session,
        of_baseline: direct.as_mut(),
    };
    fork.measure(&workload, sessions, subject, baseline);
    session.close();
    if let Some(direct) = direct {
        direct.close();
    }
    if let Some(detour) = detour {
        fork.passed(detour);
    }
    // A server that went away mid-fork can't be asked: the fork's row says what broke off, and these stay unknown.
    fork.conditions = match look_back(target, schema, &workload) {
        Ok((end, intact)) => Conditions {
            start: stage(&before),
            end: Some(stage(&end)),
            intact: Some(intact),
        },
        Err(error) => {
            fork.broken_off(format!("the stored model could not be read back: {error}"));
            Conditions {
                start: stage(&before),
                end: None,
                intact: None,
            }
        }
    };
    Ok(())
}

fn set_up(target: &Target, schema: &str, workload: &Workload) -> Result<TableState, BackendError> {
    let mut control = Control::connect(target)?;
    control.create_shaped(schema, workload)?;
    Ok(control.table_state(schema)?)
}

fn look_back(target: &Target, schema: &str, workload: &Workload) -> Result<(TableState, bool), BackendError> {
    let mut control = Control::connect(target)?;
    let state = control.table_state(schema)?;
    let stored = control.read_inputs(schema, workload)?;
    let intact = stored.is_ok_and(|stored| stored.same_bits(workload.stored()));
    control.drop_model(schema)?;
    Ok((state, intact))
}

fn stage(state: &TableState) -> Stage {
    Stage {
        table_bytes: state.table_bytes,
        dead_tuples: Some(state.dead_tuples),
        autovacuums: Some(state.autovacuums),
    }
}
