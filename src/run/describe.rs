//! What stands in the archive about a run before its first fork: the resolved manifest, the program, the cells.

use crate::archive::{CellRow, EvidenceFile, Setting, Standing, claims_rows, registration_rows};
use crate::manifest::{Backend, Manifest, Server};
use crate::plan::{Cell, Plan};

/// The resolved manifest with every default filled in, as a run archives it.
pub fn manifest_settings(manifest: &Manifest) -> Vec<Setting> {
    let mut rows = Rows::default();
    rows.add("manifest", "name", &manifest.name);
    rows.add("manifest", "title", &manifest.title);
    rows.add("manifest", "question", &manifest.question);
    rows.add("manifest", "analysis", &manifest.analysis);
    rows.add("manifest", "sha256", &manifest.source.sha256);
    backend(&mut rows, &manifest.backend);
    let grid = &manifest.grid;
    rows.add("grid", "plans", &join(grid.plans.iter()));
    if grid.names_schemas() {
        rows.add(
            "grid",
            "schemas",
            &join(grid.schemas.iter().map(|shape| shape.as_str())),
        );
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
    rows.number("measure", "timeout", &measure.timeout.0, "ns");
    let figures = &manifest.figures;
    rows.number("figures", "debounce", &figures.debounce.0, "ns");
    rows.number("figures", "resamples", &figures.resamples, "resamples");
    rows.number("figures", "margin", &figures.margin.0, "ns");
    rows.add("figures", "primary", &figures.primary);
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

fn backend(rows: &mut Rows, backend: &Backend) {
    rows.add("backend", "label", &backend.label());
    match backend {
        Backend::SqliteMemory => rows.add("backend", "engine", "sqlite"),
        Backend::SqliteFile {
            journal_mode,
            synchronous,
        } => {
            rows.add("backend", "engine", "sqlite");
            rows.add("backend", "journal_mode", journal_mode.as_str());
            rows.add("backend", "synchronous", synchronous.as_str());
        }
        Backend::Postgres { server, .. } => {
            rows.add("backend", "engine", "postgres");
            match server {
                Server::Ephemeral { settings } => {
                    rows.add("backend", "provision", "ephemeral");
                    for (name, value) in settings {
                        rows.add("backend", &format!("settings.{name}"), value);
                    }
                }
                Server::Container { image } => {
                    rows.add("backend", "provision", "container");
                    rows.add("backend", "image", image);
                }
                // The URL is not archived: what a variable holds may be a secret, and an address is private.
                Server::Url(_) => rows.add("backend", "provision", "url"),
            }
        }
    }
}

fn join(items: impl Iterator<Item = impl ToString>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// The plan's cells as rows.
pub(super) fn cells(plan: &Plan, backend: &Backend) -> Vec<CellRow> {
    let at_a_distance = matches!(backend, Backend::Postgres { .. });
    plan.cells().iter().map(|cell| row(cell, at_a_distance)).collect()
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
        path_delay: None,
    }
}
