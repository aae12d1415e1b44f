//! The rules of the Citation File Format 1.2.0 that a file like ours can break, and the narrower ones of readers.
//!
//! Rules marked "narrower" pass the format's schema and yet fail or mislead at a data repository: a list of licences,
//! an identifier with a wrong check digit, a title of less than three characters, and the type `dataset`, which is
//! taken for software.

use chrono::NaiveDate;
use yaml_serde::{Mapping, Value};

use super::fault::Fault;
use crate::publication::orcid::Orcid;

const KEYS: &[&str] = &[
    "abstract",
    "authors",
    "cff-version",
    "commit",
    "contact",
    "date-released",
    "doi",
    "identifiers",
    "keywords",
    "license",
    "license-url",
    "message",
    "preferred-citation",
    "references",
    "repository",
    "repository-artifact",
    "repository-code",
    "title",
    "type",
    "url",
    "version",
];

const AUTHOR_KEYS: &[&str] = &[
    "address",
    "affiliation",
    "alias",
    "city",
    "country",
    "date-end",
    "date-start",
    "email",
    "family-names",
    "fax",
    "given-names",
    "location",
    "name",
    "name-particle",
    "name-suffix",
    "orcid",
    "post-code",
    "region",
    "tel",
    "website",
];

/// Licences that are told apart from misspelt ones. The format knows those of the SPDX list of 2021.
const LICENCES: &[&str] = &[
    "0BSD",
    "AGPL-3.0-only",
    "AGPL-3.0-or-later",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC-BY-4.0",
    "CC-BY-SA-4.0",
    "CC0-1.0",
    "EUPL-1.2",
    "GPL-2.0-only",
    "GPL-2.0-or-later",
    "GPL-3.0-only",
    "GPL-3.0-or-later",
    "ISC",
    "LGPL-2.1-only",
    "LGPL-2.1-or-later",
    "LGPL-3.0-only",
    "LGPL-3.0-or-later",
    "MIT",
    "MPL-2.0",
    "Unlicense",
    "Zlib",
];

const NARROWER_TITLE_MIN: usize = 3;

/// Every fault of a citation, in the order of the rules. A file that can be used has none of severity error.
pub fn check(text: &str) -> Vec<Fault> {
    let file = match yaml_serde::from_str::<Value>(text) {
        Ok(Value::Mapping(file)) => file,
        Ok(_) => {
            return vec![Fault::error(
                "the file",
                "must be `key: value` lines; it is something else",
            )];
        }
        Err(error) => return vec![Fault::error("the file", format!("is not YAML: {error}"))],
    };
    let mut faults = unknown_keys("", &file, KEYS);
    version_of_format(&file, &mut faults);
    for key in ["message", "title"] {
        required_text(&file, key, &mut faults);
    }
    title(&file, &mut faults);
    people(file.get("authors"), "authors", &mut faults);
    licence(&file, &mut faults);
    version(&file, &mut faults);
    date(&file, &mut faults);
    doi(&file, &mut faults);
    keywords(&file, &mut faults);
    kind(&file, &mut faults);
    for key in [
        "url",
        "license-url",
        "repository",
        "repository-artifact",
        "repository-code",
    ] {
        address(&file, key, &mut faults);
    }
    references(&file, &mut faults);
    faults
}

fn unknown_keys(before: &str, mapping: &Mapping, known: &[&str]) -> Vec<Fault> {
    let keys = mapping.keys().map(|key| key.as_str().unwrap_or("(not a text)"));
    let unknown = keys.filter(|key| !known.contains(key));
    unknown
        .map(|key| {
            let nearest = known.iter().min_by_key(|candidate| strsim::levenshtein(candidate, key));
            let nearest = nearest.copied().unwrap_or_default();
            Fault::error(
                format!("{before}{key}"),
                format!("the format has no such key; the nearest is {nearest}"),
            )
        })
        .collect()
}

fn version_of_format(file: &Mapping, faults: &mut Vec<Fault>) {
    match file.get("cff-version") {
        Some(Value::String(version)) if version == "1.2.0" => {}
        None => faults.push(Fault::error("cff-version", "is missing; write cff-version: 1.2.0")),
        Some(_) => faults.push(Fault::error("cff-version", "must be 1.2.0, which readers know")),
    }
}

fn required_text(mapping: &Mapping, key: &str, faults: &mut Vec<Fault>) {
    match mapping.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => {}
        None => faults.push(Fault::error(key, "is missing; the format requires it")),
        Some(_) => faults.push(Fault::error(key, "must be a text that says something")),
    }
}

fn title(file: &Mapping, faults: &mut Vec<Fault>) {
    let title = file.get("title").and_then(Value::as_str).unwrap_or("absent");
    if !title.trim().is_empty() && title.trim().chars().count() < NARROWER_TITLE_MIN {
        faults.push(Fault::error(
            "title",
            "is shorter than three characters, which data repositories refuse",
        ));
    }
}

fn people(people: Option<&Value>, at: &str, faults: &mut Vec<Fault>) {
    let people = match people {
        Some(Value::Sequence(people)) if !people.is_empty() => people,
        None => return faults.push(Fault::error(at, "is missing; name at least one author")),
        Some(_) => return faults.push(Fault::error(at, "must be a list with at least one author")),
    };
    for (place, person) in people.iter().enumerate() {
        let at = format!("{at}[{place}]");
        let Value::Mapping(person) = person else {
            faults.push(Fault::error(at, "must have keys, such as family-names and given-names"));
            continue;
        };
        faults.extend(unknown_keys(&format!("{at}."), person, AUTHOR_KEYS));
        let names = ["name", "family-names", "given-names", "alias"];
        let named = names.iter().filter_map(|key| person.get(*key)?.as_str());
        if named.into_iter().all(|name| name.trim().is_empty()) {
            faults.push(Fault::error(
                at.as_str(),
                "has no name; give family-names, or name for a group",
            ));
        }
        match person.get("orcid").map(Value::as_str) {
            None => {}
            Some(None) => faults.push(Fault::error(format!("{at}.orcid"), "must be an address")),
            Some(Some(url)) => {
                if let Err(problem) = Orcid::from_url(url) {
                    faults.push(Fault::error(format!("{at}.orcid"), problem));
                }
            }
        }
    }
}

fn licence(file: &Mapping, faults: &mut Vec<Fault>) {
    let problem = match file.get("license") {
        None => {
            return faults.push(Fault::warning(
                "license",
                "is missing, and a repository then takes a licence of its own choice",
            ));
        }
        Some(Value::String(licence)) if LICENCES.contains(&licence.as_str()) => return,
        Some(Value::String(licence)) => {
            let spelt = LICENCES.iter().find(|known| known.eq_ignore_ascii_case(licence));
            match spelt {
                Some(spelt) => format!("is spelt {spelt}"),
                None if licence.contains(char::is_whitespace) => {
                    "must be one licence of the SPDX list, not an expression".to_owned()
                }
                None => {
                    let text = "is none that this check knows; hold it against the SPDX list of 2021";
                    return faults.push(Fault::warning("license", text));
                }
            }
        }
        Some(_) => "must be one licence as a text: data repositories do not read a list".to_owned(),
    };
    faults.push(Fault::error("license", problem));
}

fn version(file: &Mapping, faults: &mut Vec<Fault>) {
    if file.get("version").is_some_and(|version| !version.is_string()) {
        faults.push(Fault::error(
            "version",
            "is read as a number, so that 1.10 would become 1.1; put it in quotes",
        ));
    }
}

fn date(file: &Mapping, faults: &mut Vec<Fault>) {
    let Some(date) = file.get("date-released") else { return };
    let is_date = |text: &str| text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok();
    if !date.as_str().is_some_and(is_date) {
        faults.push(Fault::error("date-released", "must be a day as YYYY-MM-DD"));
    }
}

fn doi(file: &Mapping, faults: &mut Vec<Fault>) {
    let Some(doi) = file.get("doi") else { return };
    let is_bare = |text: &str| text.starts_with("10.") && text.contains('/');
    if !doi.as_str().is_some_and(is_bare) {
        faults.push(Fault::error("doi", "must be bare, 10.…/…, and not an address"));
    }
}

fn keywords(file: &Mapping, faults: &mut Vec<Fault>) {
    let Some(keywords) = file.get("keywords") else { return };
    let words: Option<Vec<&str>> = keywords
        .as_sequence()
        .and_then(|list| list.iter().map(Value::as_str).collect());
    match words {
        Some(words) if !words.is_empty() => {
            let mut unique = words.clone();
            unique.sort_unstable();
            unique.dedup();
            if unique.len() < words.len() {
                faults.push(Fault::error("keywords", "names one twice"));
            }
        }
        _ => faults.push(Fault::error(
            "keywords",
            "must be a list of texts, one a line after a hyphen",
        )),
    }
}

fn kind(file: &Mapping, faults: &mut Vec<Fault>) {
    match file.get("type").map(Value::as_str) {
        None | Some(Some("software")) => {}
        Some(Some("dataset")) => faults.push(Fault::warning(
            "type",
            "dataset is not heeded by data repositories, which make a software record of it; .zenodo.json says it there",
        )),
        Some(_) => faults.push(Fault::error("type", "must be software or dataset")),
    }
}

fn address(file: &Mapping, key: &str, faults: &mut Vec<Fault>) {
    let Some(address) = file.get(key) else { return };
    let is_address = |text: &str| ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
    if !address.as_str().is_some_and(is_address) {
        faults.push(Fault::error(key, "must be an address that begins with https://"));
    }
}

fn references(file: &Mapping, faults: &mut Vec<Fault>) {
    let listed = match file.get("references") {
        None => &Vec::new(),
        Some(Value::Sequence(listed)) => listed,
        Some(_) => return faults.push(Fault::error("references", "must be a list")),
    };
    let preferred = file
        .get("preferred-citation")
        .map(|work| ("preferred-citation".to_owned(), work));
    let listed = listed
        .iter()
        .enumerate()
        .map(|(place, work)| (format!("references[{place}]"), work));
    for (at, work) in listed.chain(preferred) {
        for key in ["authors", "title", "type"] {
            if work.get(key).is_none() {
                faults.push(Fault::error(
                    format!("{at}.{key}"),
                    "is missing; the format requires it",
                ));
            }
        }
        if work.get("authors").is_some() {
            people(work.get("authors"), &format!("{at}.authors"), faults);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publication::citation::{Citation, Severity};

    const RIGHT: &str = "cff-version: 1.2.0\nmessage: Cite it.\ntitle: preview-cost\nversion: \"1.10\"\nlicense: MIT\n\
                         keywords:\n  - benchmark\nauthors:\n  - family-names: Doe\n    given-names: Jane\n    \
                         orcid: https://orcid.org/0000-0002-1825-0097\n  - name: A group\n";

    #[test]
    fn a_right_file_has_no_fault() {
        assert_eq!(check(RIGHT), []);
        let citation = Citation::parse(RIGHT).unwrap();
        assert_eq!(citation.version.as_deref(), Some("1.10"));
        assert_eq!(citation.authors[0].catalogued(), "Doe, Jane");
        assert_eq!(citation.authors[0].orcid().unwrap().bare(), "0000-0002-1825-0097");
        assert_eq!(citation.authors[1].said(), "A group");
    }

    /// Each change breaks one rule; what is told names the key.
    #[test]
    fn each_rule_is_held() {
        for (from, to, at) in [
            ("cff-version: 1.2.0\n", "", "cff-version"),
            ("1.2.0", "1.3.0", "cff-version"),
            ("message: Cite it.\n", "", "message"),
            ("title: preview-cost\n", "", "title"),
            ("title: preview-cost", "title: ab", "title"),
            ("\"1.10\"", "1.10", "version"),
            ("license: MIT", "license: mit", "license"),
            ("license: MIT", "license: MIT OR Apache-2.0", "license"),
            ("license: MIT", "license: [MIT, Apache-2.0]", "license"),
            ("license: MIT", "licence: MIT", "licence"),
            ("keywords:\n  - benchmark", "keywords: benchmark", "keywords"),
            ("https://orcid.org/0000", "0000", "authors[0].orcid"),
            ("0097", "0098", "authors[0].orcid"),
            ("  - name: A group", "  - {}", "authors[1]"),
            ("  - name: A group", "  - nam: A group", "authors[1].nam"),
            ("license", "doi: https://doi.org/10.1/x\nlicense", "doi"),
            ("license", "date-released: 2026-13-01\nlicense", "date-released"),
            ("license", "date-released: 2026-1-1\nlicense", "date-released"),
            ("license", "type: book\nlicense", "type"),
            ("license", "url: example.org\nlicense", "url"),
            ("license", "references:\n  - title: x\nlicense", "references[0].authors"),
        ] {
            assert!(RIGHT.contains(from), "{from}");
            let faults = Citation::parse(&RIGHT.replacen(from, to, 1)).unwrap_err();
            assert!(faults.iter().any(|fault| fault.at == at), "{to}: {faults:?}");
        }
    }

    #[test]
    fn what_only_misleads_is_a_warning() {
        let told = check(&RIGHT.replace("license: MIT", "type: dataset"));
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().all(|fault| fault.severity == Severity::Warning));
    }

    #[test]
    fn what_is_no_mapping_is_told() {
        for text in ["", "- a", "a: [", "a: b: c"] {
            let faults = Citation::parse(text).unwrap_err();
            assert_eq!(faults[0].at, "the file", "{text}");
        }
    }
}
