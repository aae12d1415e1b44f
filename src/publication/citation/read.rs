//! From the file's own types to a citation. Runs after the check, which tells faults better.

use serde::Deserialize;

use super::{Author, Citation, Fault};
use crate::publication::orcid::Orcid;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Wire {
    title: String,
    authors: Vec<WireAuthor>,
    version: Option<String>,
    license: Option<String>,
    repository_code: Option<String>,
    url: Option<String>,
    doi: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct WireAuthor {
    name: Option<String>,
    family_names: Option<String>,
    given_names: Option<String>,
    name_particle: Option<String>,
    alias: Option<String>,
    orcid: Option<String>,
    affiliation: Option<String>,
}

pub(super) fn read(text: &str) -> Result<Citation, Fault> {
    let wire: Wire = yaml_serde::from_str(text).map_err(|error| Fault::error("the file", error.to_string()))?;
    Ok(Citation {
        title: wire.title,
        authors: wire.authors.into_iter().map(author).collect(),
        version: wire.version,
        licence: wire.license,
        repository: wire.repository_code.or(wire.url),
        doi: wire.doi,
        keywords: wire.keywords,
    })
}

fn author(wire: WireAuthor) -> Author {
    if let Some(name) = wire.name {
        return Author::Entity { name };
    }
    let family = [wire.name_particle, wire.family_names].into_iter().flatten();
    let family = family.collect::<Vec<_>>().join(" ");
    let (family, given) = match (family.is_empty(), wire.given_names) {
        (false, given) => (family, given.unwrap_or_default()),
        (true, given) => (given.or(wire.alias).unwrap_or_default(), String::new()),
    };
    Author::Person {
        family,
        given,
        orcid: wire.orcid.and_then(|url| Orcid::from_url(&url).ok()),
        affiliation: wire.affiliation,
    }
}
