//! How data and software are cited: BibTeX, CFF and plain text. The hash stands in each, so that a reader knows that
//! the bytes are the ones that were meant.

use std::fmt::Write;

use super::citation::{Author, Citation};
use super::subject::DataSet;

/// BibTeX: an entry for the data, and one for each version of the software that measured them.
pub fn bibtex(data: &DataSet<'_>) -> String {
    let mut text = entry(
        &format!("preview-cost-data:{}", data.version()),
        &[
            ("author", authors_bibtex(data.citation)),
            ("title", format!("{{{}}}", escaped(&data.title()))),
            ("year", data.date()[..4].to_owned()),
            ("version", escaped(data.version())),
            ("howpublished", "Data set".to_owned()),
            ("note", escaped(&hashes(data, "; "))),
        ],
    );
    for version in versions(data) {
        let mut fields = vec![
            ("author", authors_bibtex(data.citation)),
            ("title", format!("{{{}}}", escaped(&data.citation.title))),
            ("version", escaped(version)),
            ("howpublished", "Computer software".to_owned()),
        ];
        fields.extend(data.citation.repository.as_ref().map(|url| ("url", url.clone())));
        fields.extend(data.citation.doi.as_ref().map(|doi| ("doi", doi.clone())));
        text.push('\n');
        text.push_str(&entry(&format!("preview-cost:{version}"), &fields));
    }
    text
}

fn entry(key: &str, fields: &[(&str, String)]) -> String {
    let mut text = format!("@misc{{{key},\n");
    for (name, value) in fields {
        let _ = writeln!(text, "  {name} = {{{value}}},");
    }
    text + "}\n"
}

fn authors_bibtex(citation: &Citation) -> String {
    let names = citation.authors.iter().map(|author| match author {
        Author::Entity { name } => format!("{{{}}}", escaped(name)),
        author @ Author::Person { .. } => escaped(&author.catalogued()),
    });
    names.collect::<Vec<_>>().join(" and ")
}

/// Letters that mean something else in TeX.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', letter]),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Plain text: a line for the data, and one for the software.
pub fn text(data: &DataSet<'_>) -> String {
    let mut text = data_text(data) + "\n";
    for version in versions(data) {
        let place = (data.citation.doi.as_ref().map(|doi| format!(" https://doi.org/{doi}.")))
            .or_else(|| data.citation.repository.as_ref().map(|url| format!(" {url}.")));
        let _ = writeln!(
            text,
            "{}. {} (version {version}) [Computer software].{}",
            authors_text(data.citation),
            data.citation.title,
            place.unwrap_or_default()
        );
    }
    text
}

pub(super) fn data_text(data: &DataSet<'_>) -> String {
    format!(
        "{} ({}). {} [Data set]. {}. Measured by {} {}.",
        authors_text(data.citation),
        &data.date()[..4],
        data.title(),
        hashes(data, "; "),
        data.citation.title,
        versions(data).join(", ")
    )
}

fn authors_text(citation: &Citation) -> String {
    citation
        .authors
        .iter()
        .map(Author::catalogued)
        .collect::<Vec<_>>()
        .join("; ")
}

fn hashes(data: &DataSet<'_>, between: &str) -> String {
    let told = data.runs.iter().map(|run| {
        let (hash, of) = run.hash();
        format!("Run {}, {hash} ({of})", run.id)
    });
    told.collect::<Vec<_>>().join(between)
}

/// Versions of the software that measured the runs, each once.
fn versions<'a>(data: &DataSet<'a>) -> Vec<&'a str> {
    let mut versions: Vec<&str> = data.runs.iter().map(|run| run.program_version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

/// CITATION.cff of the data, which names the software among its references.
pub fn cff(data: &DataSet<'_>) -> String {
    let mut text = String::from("cff-version: 1.2.0\n");
    let mut line = |indent: &str, key: &str, value: &str| {
        let _ = writeln!(text, "{indent}{key}: {}", quoted(value));
    };
    line(
        "",
        "message",
        "If you use these data, please cite them and the software that measured them.",
    );
    line("", "type", "dataset");
    line("", "title", &data.title());
    line("", "abstract", &data.description().join("\n"));
    line("", "version", data.version());
    line("", "date-released", data.date());
    line("", "license", data.licence.spdx());
    text.push_str("authors:\n");
    text.push_str(&authors_cff(data.citation, ""));
    text.push_str("keywords:\n");
    for word in data.keywords() {
        let _ = writeln!(text, "  - {}", quoted(word));
    }
    text.push_str("identifiers:\n");
    for run in data.runs {
        let (hash, of) = run.hash();
        let _ = writeln!(
            text,
            "  - type: other\n    value: {}\n    description: {}",
            quoted(&format!("sha256:{hash}")),
            quoted(&format!("Run {}, {of}", run.id))
        );
    }
    text.push_str("references:\n");
    for version in versions(data) {
        let _ = writeln!(
            text,
            "  - type: software\n    title: {}\n    version: {}",
            quoted(&data.citation.title),
            quoted(version)
        );
        for (key, value) in [
            ("repository-code", &data.citation.repository),
            ("doi", &data.citation.doi),
        ] {
            if let Some(value) = value {
                let _ = writeln!(text, "    {key}: {}", quoted(value));
            }
        }
        text.push_str("    authors:\n");
        text.push_str(&authors_cff(data.citation, "    "));
    }
    text
}

fn authors_cff(citation: &Citation, indent: &str) -> String {
    let mut text = String::new();
    for author in &citation.authors {
        let orcid = author.orcid().map(ToString::to_string);
        let fields: Vec<(&str, Option<&str>)> = match author {
            Author::Entity { name } => vec![("name", Some(name))],
            Author::Person {
                family,
                given,
                affiliation,
                ..
            } => vec![
                ("family-names", Some(family)),
                ("given-names", Some(given.as_str()).filter(|given| !given.is_empty())),
                ("orcid", orcid.as_deref()),
                ("affiliation", affiliation.as_deref()),
            ],
        };
        let mut mark = "- ";
        for (key, value) in fields {
            if let Some(value) = value {
                let _ = writeln!(text, "{indent}  {mark}{key}: {}", quoted(value));
                mark = "  ";
            }
        }
    }
    text
}

/// A text as YAML's double quotes hold it, which is as JSON writes it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
