//! One fork on PostgreSQL: a fresh table in the run's schema, the pairs over one connection, the checks.
//!
//! The control connection that makes the table and reads the server's counters is closed while pairs are measured.

use std::path::Path;

use super::over_wire::Site;
use super::protocol::ForkOrder;
use super::worker::{Conditions, Fork, Stage};
use crate::backend::postgres::{Control, Dialect, PostgresSession, TableState, Target};
use crate::backend::{BackendError, Creations};
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
    let site = Site {
        target,
        schema,
        dialect: Dialect::Postgres,
    };
    let noting = |session: PostgresSession| session.noting(Creations::at(creations));
    site.measure(order, fork, &noting, &strategy::on_postgres)?;
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
