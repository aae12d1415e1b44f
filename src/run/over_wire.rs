//! One fork over PostgreSQL's protocol, whatever engine speaks it: the way there, the sessions, the strategies, the pairs.

use std::time::Duration;

use super::detour::Detour;
use super::measure::Sessions;
use super::placement;
use super::protocol::ForkOrder;
use super::worker::Fork;
use crate::backend::BackendError;
use crate::backend::postgres::{Dialect, PostgresSession, Target};
use crate::plan::CellKind;
use crate::strategy::{Strategy, StrategyName};
use crate::workload::Workload;

/// Where the model's table is, and how it is talked about.
pub(super) struct Site<'a> {
    pub target: &'a Target,
    pub schema: &'a str,
    pub dialect: Dialect,
}

/// Opens a strategy on a session.
pub(super) type Open<'a> = &'a dyn Fn(
    StrategyName,
    &mut PostgresSession,
    &Workload,
) -> Result<Box<dyn Strategy<PostgresSession>>, BackendError>;

impl Site<'_> {
    /// A session with the model's table.
    pub fn connect(&self, order: &ForkOrder, target: &Target) -> Result<PostgresSession, BackendError> {
        let timeout = Duration::from_nanos(order.timeout.0.unsigned_abs());
        let workload = order.cell.workload();
        let session = PostgresSession::connect_to(self.dialect, target, self.schema, &workload, timeout)?;
        Ok(session)
    }

    /// Measures the fork. `prepare` is given each session before a strategy is opened on it.
    pub fn measure(
        &self,
        order: &ForkOrder,
        fork: &mut Fork<'_>,
        prepare: &dyn Fn(PostgresSession) -> PostgresSession,
        open: Open<'_>,
    ) -> Result<(), BackendError> {
        let workload = order.cell.workload();
        let detour = order
            .cell
            .path_delay
            .map(|delay| Detour::to(self.target, self.dialect, delay))
            .transpose()?;
        let way = detour.as_ref().map_or(self.target, |detour| &detour.target);
        let mut session = prepare(self.connect(order, way)?);
        let mut direct = match order.cell.kind {
            CellKind::Path => Some(prepare(self.connect(order, self.target)?)),
            CellKind::Comparison | CellKind::Control => None,
        };
        placement::of_worker(order.processors)?;
        for session in [Some(&session), direct.as_ref()].into_iter().flatten() {
            placement::of_server(order.processors, session.process())?;
        }
        let subject = open(order.cell.subject, &mut session, &workload)?;
        let of_baseline = direct.as_mut().unwrap_or(&mut session);
        let baseline = open(order.cell.baseline, of_baseline, &workload)?;
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
        Ok(())
    }
}
