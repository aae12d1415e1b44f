//! `ro-crate-metadata.json`: an RO-Crate 1.1 with the profile Process Run Crate 0.5.
//!
//! RO-Crate 1.1 has no word for a hash, so the context adds `sha256`. Two files have none: this one, and the sums, which
//! hold this one's. `datePublished`, which the format requires, is the day of the last run: the day of publication is
//! not known when the bytes are made.

use std::path::Path;

use serde_json::{Value, json};

use super::citation::Author;
use super::package::{CRATE, Piece, Role};
use super::subject::{DataSet, PublishedRun};
use super::zenodo::pretty;

const FORMAT: &str = "https://w3id.org/ro/crate/1.1";
const PROFILE: &str = "https://w3id.org/ro/wfrun/process/0.5";
const SUMS: &str = "SHA256SUMS";

pub(super) fn ro_crate(data: &DataSet<'_>, pieces: &[Piece]) -> String {
    let mut graph = vec![descriptor(), root(data, pieces), profile(), licence(data)];
    graph.extend((data.citation.authors.iter().enumerate()).map(|(place, author)| person(place, author)));
    graph.extend(applications(data));
    graph.extend((data.runs.iter().enumerate()).map(|(place, run)| action(data, place, run, pieces)));
    graph.extend(pieces.iter().map(file));
    graph.push(json!({
        "@id": SUMS, "@type": "File", "name": SUMS, "encodingFormat": "text/plain",
        "description": "SHA-256 of every other file",
    }));
    pretty(&json!({
        "@context": [format!("{FORMAT}/context"), { "sha256": "https://w3id.org/ro/terms/workflow-run#sha256" }],
        "@graph": graph,
    }))
}

fn id(id: &str) -> Value {
    json!({ "@id": id })
}

fn ids<'a>(pieces: impl Iterator<Item = &'a Piece>) -> Vec<Value> {
    pieces.map(|piece| id(&piece.name)).collect()
}

/// One value as it is, several as a list: the format's compact form.
fn compact(mut values: Vec<Value>) -> Value {
    match values.len() {
        1 => values.remove(0),
        _ => Value::Array(values),
    }
}

fn descriptor() -> Value {
    json!({
        "@id": CRATE, "@type": "CreativeWork", "about": id("./"), "conformsTo": id(FORMAT),
    })
}

fn root(data: &DataSet<'_>, pieces: &[Piece]) -> Value {
    let mut parts = ids(pieces.iter());
    parts.push(id(SUMS));
    let authors = data.citation.authors.iter().enumerate();
    let authors: Vec<Value> = authors.map(|(place, author)| id(&person_id(place, author))).collect();
    let actions: Vec<Value> = data.runs.iter().map(|run| id(&action_id(run))).collect();
    json!({
        "@id": "./", "@type": "Dataset",
        "name": data.title(),
        "description": data.description().join("\n"),
        "datePublished": data.date(),
        "version": data.version(),
        "license": id(data.licence.url()),
        "author": compact(authors),
        "keywords": data.keywords(),
        "conformsTo": id(PROFILE),
        "hasPart": parts,
        "mentions": compact(actions),
    })
}

fn profile() -> Value {
    json!({ "@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5" })
}

fn licence(data: &DataSet<'_>) -> Value {
    let licence = data.licence;
    json!({
        "@id": licence.url(), "@type": "CreativeWork", "name": licence.name(), "description": licence.spdx(),
        "identifier": licence.spdx(),
    })
}

fn person_id(place: usize, author: &Author) -> String {
    author
        .orcid()
        .map_or_else(|| format!("#author-{}", place + 1), ToString::to_string)
}

fn person(place: usize, author: &Author) -> Value {
    let mut person = match author {
        Author::Entity { name } => json!({ "@type": "Organization", "name": name }),
        Author::Person { family, given, .. } => json!({
            "@type": "Person", "name": author.said(), "givenName": given, "familyName": family,
        }),
    };
    person["@id"] = json!(person_id(place, author));
    if let Some(affiliation) = author.affiliation() {
        person["affiliation"] = json!(affiliation);
    }
    person
}

fn application_id(data: &DataSet<'_>, run: &PublishedRun) -> String {
    let build = run.executable_sha256.as_deref().unwrap_or("unknown");
    let place = data.citation.repository.as_deref().unwrap_or_default();
    format!("{place}#preview-cost-{}-{build}", run.program_version)
}

/// Each build that measured a run, once.
fn applications(data: &DataSet<'_>) -> Vec<Value> {
    let mut applications: Vec<Value> = Vec::new();
    for run in data.runs {
        let name = application_id(data, run);
        if applications.iter().any(|known| known["@id"] == json!(name)) {
            continue;
        }
        let mut application = json!({
            "@id": name, "@type": "SoftwareApplication", "name": data.citation.title,
            "softwareVersion": run.program_version,
        });
        if let Some(sha256) = &run.executable_sha256 {
            application["sha256"] = json!(sha256);
        }
        if let Some(url) = &data.citation.repository {
            application["url"] = json!(url);
        }
        applications.push(application);
    }
    applications
}

fn action_id(run: &PublishedRun) -> String {
    format!("#run-{}", run.id)
}

fn action(data: &DataSet<'_>, place: usize, run: &PublishedRun, pieces: &[Piece]) -> Value {
    let with = |role| pieces.iter().filter(move |piece| piece.of_run == Some((place, role)));
    let (hash, of) = run.hash();
    json!({
        "@id": action_id(run), "@type": "CreateAction",
        "name": format!("Run {}", run.id),
        "description": format!("{} Backend: {}. {hash} ({of})", run.question, run.backend),
        "identifier": format!("sha256:{hash}"),
        "instrument": id(&application_id(data, run)),
        "object": compact(ids(with(Role::Manifest))),
        "result": compact(ids(with(Role::Table))),
        "agent": data.citation.authors.first().map(|author| id(&person_id(0, author))),
        "startTime": with_offset(&run.started),
        "endTime": with_offset(&run.ended),
        "actionStatus": "http://schema.org/CompletedActionStatus",
    })
}

/// UTC as an offset in numbers, which the profile asks for.
fn with_offset(time: &str) -> String {
    time.replace('Z', "+00:00")
}

fn file(piece: &Piece) -> Value {
    json!({
        "@id": piece.name, "@type": "File", "name": piece.name,
        "contentSize": piece.bytes.to_string(),
        "sha256": piece.sha256,
        "encodingFormat": media_type(&piece.name),
    })
}

fn media_type(name: &str) -> &'static str {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    match ending {
        Some("parquet") => "application/vnd.apache.parquet",
        Some("toml") => "application/toml",
        Some("json") => "application/json",
        Some("jsonl") => "application/jsonl",
        Some("html") => "text/html",
        Some("md") => "text/markdown",
        Some("sql") => "application/sql",
        Some("py") => "text/x-python",
        Some("cff") => "application/yaml",
        Some("tsr") => "application/timestamp-reply",
        Some("ots") => "application/octet-stream",
        _ => "text/plain",
    }
}
