//! What stands in the archive about a run before its first fork: the resolved manifest, the program, the cells.

use crate::archive::{CellRow, EvidenceFile, Setting, Standing, claims_rows, registration_rows};
use crate::manifest::{Backend, Manifest, NamedBackend, Server, Socket, Storage};
use crate::plan::{Cell, Plan};

/// The resolved manifest with every default filled in, as a run archives it.
pub fn manifest_settings(manifest: &Manifest) -> Vec<Setting> {
    let mut rows = Rows::default();
    rows.add("manifest", "name", &manifest.name);
    rows.add("manifest", "title", &manifest.title);
    rows.add("manifest", "question", &manifest.question);
    rows.add("manifest", "analysis", &manifest.analysis);
    rows.add("manifest", "sha256", &manifest.source.sha256);
    for named in &manifest.backends {
        backend(&mut rows, named);
    }
    let grid = &manifest.grid;
    rows.add("grid", "plans", &join(grid.plans.iter()));
    if grid.names_schemas() {
        rows.add(
            "grid",
            "schemas",
            &join(grid.schemas.iter().map(|shape| shape.as_str())),
        );
    }
    if !grid.delays.is_empty() {
        rows.number("grid", "delays", &join(grid.delays.iter().map(|delay| delay.0)), "ns");
    }
    rows.add("grid", "subjects", &join(grid.subjects.iter()));
    rows.add("grid", "baseline", grid.baseline.as_str());
    rows.add("grid", "control", &grid.control.to_string());
    let measure = &manifest.measure;
    rows.number("measure", "months", &measure.months, "months");
    rows.number("measure", "previews", &measure.previews, "pairs");
    rows.number("measure", "warmup", &measure.warmup, "pairs");
    rows.number("measure", "forks", &measure.forks, "forks");
    rows.number("measure", "seed", &measure.seed.0, "");
    rows.add("measure", "order", measure.order.as_str());
    rows.add("measure", "steps", measure.steps.as_str());
    rows.add("measure", "processors", measure.processors.as_str());
    rows.number("measure", "timeout", &measure.timeout.0, "ns");
    let figures = &manifest.figures;
    rows.number("figures", "debounce", &figures.debounce.0, "ns");
    rows.number("figures", "resamples", &figures.resamples, "resamples");
    rows.number("figures", "margin", &figures.margin.0, "ns");
    rows.add("figures", "primary", &figures.primary);
    if !figures.distance_for.is_empty() {
        rows.add("figures", "distance_for", &join(figures.distance_for.iter()));
    }
    rows.0.extend(manifest.registration.iter().flat_map(registration_rows));
    rows.0.extend(claims_rows(&manifest.claims));
    rows.0
}

/// The resolved manifest, and what runs it.
pub(super) fn settings(
    manifest: &Manifest,
    plan: &Plan,
    run: &str,
    started: &str,
    schema: Option<&str>,
    standing: &Standing,
    evidence: &[EvidenceFile],
) -> Vec<Setting> {
    let mut rows = Rows(manifest_settings(manifest));
    rows.0.extend(standing.rows(evidence));
    rows.add("run", "id", run);
    rows.add("run", "started", started);
    if let Some(schema) = schema {
        rows.add("run", "schema", schema);
    }
    rows.number("run", "forks_planned", &plan.schedule().len(), "forks");
    rows.add("program", "name", env!("CARGO_PKG_NAME"));
    rows.add("program", "version", env!("CARGO_PKG_VERSION"));
    rows.0
}

#[derive(Default)]
struct Rows(Vec<Setting>);

impl Rows {
    fn add(&mut self, section: &str, key: &str, value: &str) {
        self.0.push(Setting {
            section: section.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
            unit: String::new(),
        });
    }

    fn number(&mut self, section: &str, key: &str, value: &impl ToString, unit: &str) {
        self.add(section, key, &value.to_string());
        if let Some(row) = self.0.last_mut() {
            unit.clone_into(&mut row.unit);
        }
    }
}

/// A backend under `backend`, or under `backend.NAME` where there are several.
fn backend(rows: &mut Rows, named: &NamedBackend) {
    let section = match &named.name {
        Some(name) => format!("backend.{name}"),
        None => "backend".to_owned(),
    };
    let mut add = |key: &str, value: &str| rows.add(&section, key, value);
    add("label", &named.backend.label());
    match &named.backend {
        Backend::Sqlite { storage, socket } => {
            add("engine", "sqlite");
            if let Storage::File {
                journal_mode,
                synchronous,
            } = storage
            {
                add("journal_mode", journal_mode.as_str());
                add("synchronous", synchronous.as_str());
            }
            if let Some(socket) = socket {
                add("socket", socket.as_str());
            }
        }
        Backend::Postgres { server, socket, .. } => {
            add("engine", "postgres");
            match server {
                Server::Ephemeral { settings } => {
                    add("provision", "ephemeral");
                    if *socket == Socket::Unix {
                        add("socket", socket.as_str());
                    }
                    for (name, value) in settings {
                        add(&format!("settings.{name}"), value);
                    }
                }
                Server::Container { image } => {
                    add("provision", "container");
                    add("image", image);
                }
                // The URL is not archived: what a variable holds may be a secret, and an address is private.
                Server::Url(_) => add("provision", "url"),
            }
        }
        Backend::H2 => add("engine", "h2"),
    }
}

fn join(items: impl Iterator<Item = impl ToString>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// The plan's cells as rows.
pub(super) fn cells(plan: &Plan, backends: &[NamedBackend]) -> Vec<CellRow> {
    let row = |cell: &Cell| row(cell, backends[cell.backend_place].backend.is_behind_a_socket());
    plan.cells().iter().map(row).collect()
}

fn row(cell: &Cell, at_a_distance: bool) -> CellRow {
    let trips = cell.subject.round_trips().zip(cell.baseline.round_trips());
    let trips = trips.map(|(subject, baseline)| i64::from(subject) - i64::from(baseline));
    CellRow {
        cell: cell.index,
        id: cell.id.clone(),
        kind: cell.kind,
        backend: cell.backend.clone(),
        plans: cell.plans,
        months: cell.months,
        fields: cell.fields(),
        subject: cell.subject.to_string(),
        baseline: cell.baseline.to_string(),
        schema_shape: cell.names_shape.then(|| cell.shape.as_str().to_owned()),
        round_trips: trips.filter(|_| at_a_distance),
        path_delay: cell.path_delay,
        backend_name: cell.backend_name.clone(),
    }
}
