//! How long a run takes, roughly.
//!
//! The costs are nominal, of the order that a small virtual machine shows; a plan measures nothing, and says so. They
//! serve to tell a minute from an hour.

use super::Cell;
use crate::manifest::{Backend, Manifest, Server, Storage};
use crate::strategy::StrategyName;
use crate::units::Nanos;

/// Nominal nanoseconds of one multiplication and sum of the projection.
const NANOS_PER_COHORT: f64 = 1.3;
/// Nominal nanoseconds that a row of the model takes to be read back.
const NANOS_PER_ROW: f64 = 500.0;

/// Round trips of a strategy that connects anew.
const UNKNOWN_TRIPS: u32 = 8;

struct BackendCosts {
    start: f64,
    fork: f64,
    trip: f64,
    write: f64,
}

fn costs(backend: &Backend) -> BackendCosts {
    match backend {
        Backend::Sqlite { storage, socket } => {
            let (fork, write) = match storage {
                Storage::Memory => (50e6, 20e3),
                Storage::File { .. } => (80e6, 60e3),
            };
            BackendCosts {
                start: 0.1e9,
                fork,
                trip: if socket.is_some() { 50e3 } else { 0.0 },
                write,
            }
        }
        Backend::Postgres { server, .. } => BackendCosts {
            start: match server {
                Server::Ephemeral { .. } => 2e9,
                Server::Container { .. } => 8e9,
                Server::Url(_) => 0.3e9,
            },
            fork: 250e6,
            trip: 100e3,
            write: 150e3,
        },
        Backend::H2 => BackendCosts {
            start: 1e9,
            fork: 300e6,
            trip: 150e3,
            write: 150e3,
        },
    }
}

/// Sum over all forks of all cells, with the start of the backends.
pub(super) fn run(manifest: &Manifest, cells: &[Cell]) -> Nanos {
    let costs: Vec<BackendCosts> = manifest.backends.iter().map(|named| costs(&named.backend)).collect();
    let pairs = f64::from(manifest.measure.previews) + f64::from(manifest.measure.warmup);
    let of_cell = |cell: &Cell| {
        let costs = &costs[cell.backend_place];
        let sides = preview(costs, cell, cell.subject) + preview(costs, cell, cell.baseline);
        costs.fork + pairs * sides
    };
    let forks: f64 = cells.iter().map(of_cell).sum();
    let starts: f64 = costs.iter().map(|costs| costs.start).sum();
    Nanos((starts + forks * f64::from(manifest.measure.forks)) as i64)
}

fn preview(costs: &BackendCosts, cell: &Cell, strategy: StrategyName) -> f64 {
    let cohorts = f64::from(cell.plans) * f64::from(cell.months).powi(2) / 2.0;
    let compute = cohorts * NANOS_PER_COHORT;
    let facts = strategy.facts();
    // In process there are no trips; what is not read is not written either.
    if strategy == StrategyName::Copy {
        return compute;
    }
    let delay = cell.path_delay.map_or(0.0, |delay| delay.0 as f64);
    let trips = f64::from(facts.round_trips.unwrap_or(UNKNOWN_TRIPS)) * (costs.trip + delay);
    compute + trips + costs.write.max(facts.nominal_ms * 1e6) + cell.fields() as f64 * NANOS_PER_ROW
}
