//! One fork on SQLite behind a socket: a server of the fork's own, a fresh database, the pairs, the checks.

use std::path::Path;

use tempfile::TempDir;

use super::over_wire::Site;
use super::protocol::ForkOrder;
use super::worker::{Conditions, Fork, Stage};
use crate::backend::BackendError;
use crate::backend::postgres::{Dialect, PostgresSession};
use crate::backend::sqlite::served::{SCHEMA, Served, ServedAt, ServedFile, ServedModel};
use crate::manifest::Socket;
use crate::strategy::{self, Engine};

/// Runs the fork that `order` describes, over this kind of socket, in memory or on a file.
pub(super) fn run(
    order: &ForkOrder,
    socket: Socket,
    file: Option<&ServedFile>,
    fork: &mut Fork<'_>,
) -> Result<(), BackendError> {
    let (cell, exe) = (&order.cell, std::env::current_exe().map_err(unable)?);
    let directory = directory_of(socket)?;
    let model = ServedModel {
        file: file.cloned(),
        plans: cell.plans,
        months: cell.months,
        shape: cell.shape,
        busy_timeout_ms: order.timeout.0.unsigned_abs() / 1_000_000,
    };
    let at = directory
        .as_ref()
        .map_or(ServedAt::Tcp, |directory| ServedAt::Unix(directory.path().to_owned()));
    let served = Served::start(&exe, &model, &at)?;
    let site = Site {
        target: served.target(),
        schema: SCHEMA,
        dialect: Dialect::Sqlite,
    };
    let start = stage(&mut site.connect(order, site.target)?)?;
    site.measure(order, fork, &|session| session, &|name, session, workload| {
        strategy::on_wire(Engine::Sqlite, name, session, workload)
    })?;
    look_back(order, &site, start, fork)?;
    drop(served);
    if let Some(file) = file {
        remove(&file.path);
    }
    Ok(())
}

/// A directory for a Unix socket: a run's own may have too long a path.
fn directory_of(socket: Socket) -> Result<Option<TempDir>, BackendError> {
    match socket {
        Socket::Tcp => Ok(None),
        Socket::Unix => {
            let directory = tempfile::Builder::new().prefix("preview-cost-served-").tempdir();
            directory.map(Some).map_err(unable)
        }
    }
}

fn look_back(order: &ForkOrder, site: &Site<'_>, start: Stage, fork: &mut Fork<'_>) -> Result<(), BackendError> {
    let workload = order.cell.workload();
    let mut session = site.connect(order, site.target)?;
    let stored = session.read_model(&workload);
    fork.conditions = Conditions {
        start,
        end: Some(stage(&mut session)?),
        intact: Some(stored.is_ok_and(|stored| stored.same_bits(workload.stored()))),
    };
    Ok(())
}

fn stage(session: &mut PostgresSession) -> Result<Stage, BackendError> {
    let size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    Ok(Stage {
        table_bytes: session.number(size)?,
        dead_tuples: None,
        autovacuums: None,
    })
}

/// Removes the database's files; the run's scratch directory goes as a whole at the end, whatever is left here.
pub(super) fn remove(path: &Path) {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unable(error: std::io::Error) -> BackendError {
    BackendError::Unable(error.to_string())
}
