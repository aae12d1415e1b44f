//! One fork on H2 over its server for PostgreSQL's protocol: a fresh table, the pairs, the checks.
//!
//! The client acknowledges whatever it reads at once. Whether that worked is counted, not believed: a fork in which the
//! kernel delayed acknowledgements is a failed one, since its times would be the kernel's.

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
/// Most delayed acknowledgements a preview: other connections of this machine may have some.
const DELAYED_MAX: f64 = 0.02;

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
    let previews = 2 * (i64::from(order.warmup) + i64::from(order.previews));
    if let Some(reason) = fork.delayed_acks.and_then(|delayed| held_up(delayed, previews)) {
        fork.broken_off(reason);
    }
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

/// Why times of this fork would be the kernel's; `None` where they are not.
fn held_up(delayed: i64, previews: i64) -> Option<String> {
    (delayed as f64 > DELAYED_MAX * previews as f64).then(|| {
        format!(
            "the kernel delayed {delayed} acknowledgements during {previews} previews, and each may be 40 ms that are not \
             the server's"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_delayed_acknowledgements_of_others_are_no_reason() {
        assert_eq!((held_up(0, 760), held_up(15, 760)), (None, None));
        assert!(held_up(16, 760).is_some() && held_up(1, 0).is_some());
    }
}
