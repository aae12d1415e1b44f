//! `datacite.json`: the metadata in the words of `DataCite` 4, for repositories other than Zenodo. The identifier and the
//! publisher are the repository's to fill in, so the publisher is `DataCite`'s `:tba`.

use serde_json::{Value, json};

use super::citation::Author;
use super::subject::DataSet;
use super::zenodo::pretty;

pub(super) fn datacite(data: &DataSet<'_>) -> String {
    let citation = data.citation;
    let dates = match (data.first_date(), data.date()) {
        (first, last) if first == last => first.to_owned(),
        (first, last) => format!("{first}/{last}"),
    };
    let hashes = data.runs.iter().map(|run| {
        let (hash, of) = run.hash();
        json!({ "alternateIdentifier": format!("sha256:{hash}"), "alternateIdentifierType": format!("Run {}, {of}", run.id) })
    });
    let related = [("DOI", &citation.doi), ("URL", &citation.repository)];
    let related = related.into_iter().filter_map(|(kind, identifier)| {
        let identifier = identifier.as_ref()?;
        Some(json!({
            "relatedIdentifier": identifier, "relatedIdentifierType": kind,
            "relationType": "IsCompiledBy", "resourceTypeGeneral": "Software",
        }))
    });
    pretty(&json!({
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": { "resourceTypeGeneral": "Dataset", "resourceType": "Benchmark measurements" },
        "creators": citation.authors.iter().map(creator).collect::<Vec<_>>(),
        "titles": [{ "title": data.title(), "lang": "en" }],
        "publisher": { "name": ":tba" },
        "publicationYear": &data.date()[..4],
        "dates": [{ "date": dates, "dateType": "Collected" }],
        "language": "en",
        "version": data.version(),
        "subjects": data.keywords().iter().map(|word| json!({ "subject": word })).collect::<Vec<_>>(),
        "rightsList": [{
            "rights": data.licence.name(), "rightsUri": data.licence.url(),
            "rightsIdentifier": data.licence.spdx(), "rightsIdentifierScheme": "SPDX",
            "schemeUri": "https://spdx.org/licenses/",
        }],
        "descriptions": [{ "description": data.description().join("\n"), "descriptionType": "Abstract", "lang": "en" }],
        "formats": ["application/vnd.apache.parquet"],
        "alternateIdentifiers": hashes.collect::<Vec<_>>(),
        "relatedIdentifiers": related.collect::<Vec<_>>(),
    }))
}

fn creator(author: &Author) -> Value {
    let mut creator = match author {
        Author::Entity { .. } => json!({ "name": author.catalogued(), "nameType": "Organizational" }),
        Author::Person { family, given, .. } => json!({
            "name": author.catalogued(), "nameType": "Personal", "givenName": given, "familyName": family,
        }),
    };
    if let Some(orcid) = author.orcid() {
        creator["nameIdentifiers"] = json!([{
            "nameIdentifier": orcid.to_string(), "nameIdentifierScheme": "ORCID", "schemeUri": "https://orcid.org",
        }]);
    }
    if let Some(affiliation) = author.affiliation() {
        creator["affiliation"] = json!([{ "name": affiliation }]);
    }
    creator
}
