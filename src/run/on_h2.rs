//! One fork on H2 over its server for PostgreSQL's protocol: a fresh table, the pairs, the checks.
//!
//! The client acknowledges whatever it reads at once. Whether that worked is witnessed, not believed: see [`super::acks`].

use std::fmt::Write;
use std::time::Duration;

use super::over_wire::Site;
use super::protocol::ForkOrder;
use super::worker::{Conditions, Fork, Stage};
use crate::backend::BackendError;
use crate::backend::postgres::wire::WireSession;
use crate::backend::postgres::{Dialect, Target};
use crate::strategy::{self, Engine};
use crate::workload::Workload;

/// The schema that H2 has of itself; it is in lower case for clients of this protocol.
const SCHEMA: &str = "public";
/// Runs the fork that `order` describes, on `target`.
pub(super) fn run(order: &ForkOrder, target: &Target, fork: &mut Fork<'_>) -> Result<(), BackendError> {
    let workload = order.cell.workload();
    let timeout = Duration::from_nanos(order.timeout.0.unsigned_abs());
    let mut admin = WireSession::connect(target, timeout)?;
    admin.acknowledge_at_once();
    admin.simple(&created(&workload))?;
    let site = Site {
        target,
        schema: SCHEMA,
        dialect: Dialect::H2,
    };
    fork.watches_acks = true;
    site.measure(order, fork, &|session| session, &|name, session, workload| {
        strategy::on_wire(Engine::H2, name, session, workload)
    })?;
    let stored = site.connect(order, target)?.read_model(&workload);
    let unknown = Stage {
        table_bytes: 0,
        dead_tuples: None,
        autovacuums: None,
    };
    fork.conditions = Conditions {
        start: unknown,
        end: None,
        intact: Some(stored.is_ok_and(|stored| stored.same_bits(workload.stored()))),
    };
    admin.simple("DROP TABLE public.model_field")?;
    Ok(())
}

/// The model's table with its rows. Rust writes the shortest decimal that is read back as the same double.
fn created(workload: &Workload) -> String {
    let mut sql = String::from(
        "DROP TABLE IF EXISTS public.model_field; \
         CREATE TABLE public.model_field (name varchar(64) PRIMARY KEY, field_value double precision NOT NULL); ",
    );
    for (name, value) in workload.rows() {
        // Writing to a string does not fail.
        let _ = write!(sql, "INSERT INTO public.model_field VALUES ('{name}', {value}); ");
    }
    sql
}
