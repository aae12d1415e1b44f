//! README.md of the data: what lies there, how to check it, how to compute it again, and what to quote.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use super::dictionary::dictionary;
use super::error::PublicationError;
use super::package::Piece;
use super::subject::DataSet;
use super::{Author, bibliography};
use crate::archive::SCHEMA_VERSION;

#[derive(Serialize)]
struct Readme {
    title: String,
    authors: String,
    licence: &'static str,
    licence_url: &'static str,
    is_one: bool,
    has_ledger: bool,
    runs: Vec<Run>,
    citation: String,
    schema: &'static str,
    dictionary: String,
}

#[derive(Serialize)]
struct Run {
    id: String,
    title: String,
    question: String,
    backend: String,
    started: String,
    ended: String,
    program_version: String,
    prefix: String,
    hash: String,
    hash_of: &'static str,
}

pub(super) fn readme(data: &DataSet<'_>, pieces: &[Piece]) -> Result<String, PublicationError> {
    let authors: Vec<String> = data.citation.authors.iter().map(Author::said).collect();
    let filled = Readme {
        title: data.title(),
        authors: authors.join(", "),
        licence: data.licence.spdx(),
        licence_url: data.licence.url(),
        is_one: data.runs.len() == 1,
        has_ledger: pieces.iter().any(|piece| piece.name == "LEDGER.jsonl"),
        runs: data.runs.iter().map(|run| of_run(data, run)).collect(),
        citation: bibliography::data_text(data),
        schema: SCHEMA_VERSION,
        dictionary: dictionary(),
    };
    let mut engine = Environment::new();
    engine.set_syntax(SyntaxConfig::builder().trim_blocks(true).build()?);
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.add_template("README.md", include_str!("readme.md"))?;
    Ok(engine.get_template("README.md")?.render(Serde(filled))? + "\n")
}

fn of_run(data: &DataSet<'_>, run: &super::PublishedRun) -> Run {
    let (hash, hash_of) = run.hash();
    Run {
        id: run.id.clone(),
        title: run.title.clone(),
        question: run.question.clone(),
        backend: run.backend.clone(),
        started: run.started.clone(),
        ended: run.ended.clone(),
        program_version: run.program_version.clone(),
        prefix: data.prefix(run),
        hash: hash.to_owned(),
        hash_of,
    }
}
