//! `.zenodo.json`: the metadata of the deposit, in Zenodo's own words.
//!
//! Zenodo wants identifiers of persons bare and licences in lower case. Where this file is there, it does not read
//! CITATION.cff at all, so both are made from the same source.

use serde::Serialize;

use super::subject::DataSet;

#[derive(Serialize)]
struct Deposit<'a> {
    upload_type: &'static str,
    title: String,
    description: String,
    creators: Vec<Creator<'a>>,
    access_right: &'static str,
    license: String,
    keywords: Vec<&'a str>,
    publication_date: &'a str,
    version: &'a str,
    language: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_identifiers: Vec<Related<'a>>,
}

#[derive(Serialize)]
struct Creator<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    orcid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    affiliation: Option<&'a str>,
}

#[derive(Serialize)]
struct Related<'a> {
    identifier: &'a str,
    relation: &'static str,
    resource_type: &'static str,
}

pub(super) fn zenodo(data: &DataSet<'_>) -> String {
    let citation = data.citation;
    let deposit = Deposit {
        upload_type: "dataset",
        title: data.title(),
        description: format!(
            "<p>{}</p>",
            escaped(&data.description().join("\n")).replace('\n', "</p><p>")
        ),
        creators: (citation.authors.iter())
            .map(|author| Creator {
                name: author.catalogued(),
                orcid: author.orcid().map(super::Orcid::bare),
                affiliation: author.affiliation(),
            })
            .collect(),
        access_right: "open",
        license: data.licence.spdx().to_lowercase(),
        keywords: data.keywords(),
        publication_date: data.date(),
        version: data.version(),
        language: "eng",
        related_identifiers: ([&citation.doi, &citation.repository].into_iter().flatten())
            .map(|identifier| Related {
                identifier,
                relation: "isCompiledBy",
                resource_type: "software",
            })
            .collect(),
    };
    pretty(&deposit)
}

/// JSON with a line a value. These types hold texts and lists only, which can't fail.
pub(super) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
