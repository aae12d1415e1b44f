//! `cite`: snapshots of every format, and the check.

use std::fs;

use preview_cost::publication::check;

use super::{FIXTURE, refusal, told};

#[test]
fn a_run_is_cited_in_three_formats() {
    insta::assert_snapshot!("bibtex", told(&["cite", FIXTURE, "--format", "bibtex"]));
    insta::assert_snapshot!("text", told(&["cite", FIXTURE, "--format", "text"]));
    let cff = told(&["cite", FIXTURE, "--format", "cff"]);
    insta::assert_snapshot!("cff", cff);
    let all = told(&["cite", FIXTURE]);
    assert!(all.ends_with(&cff) && all.contains("@misc{") && all.contains("[Data set]"));
    // What is written passes our own check; that its type is not heeded is a warning.
    let told: Vec<String> = check(&cff).iter().map(|fault| fault.at.clone()).collect();
    assert_eq!(told, ["type"]);
}

#[test]
fn people_are_cited_with_names_and_identifiers() {
    let directory = tempfile::tempdir().unwrap();
    let citation = directory.path().join("c.cff");
    let text = "cff-version: 1.2.0\nmessage: m\ntitle: preview-cost\nlicense: MIT\nrepository-code: https://example.org/p\n\
                authors:\n  - family-names: Müller & Söhne\n    given-names: Jane_1\n    \
                orcid: https://orcid.org/0000-0002-1825-0097\n    affiliation: Some \"place\"\n";
    fs::write(&citation, text).unwrap();
    let citation = citation.to_str().unwrap();
    let bibtex = told(&["cite", FIXTURE, "--format", "bibtex", "--citation", citation]);
    assert!(bibtex.contains("author = {Müller \\& Söhne, Jane\\_1},"), "{bibtex}");
    assert!(bibtex.contains("url = {https://example.org/p},"), "{bibtex}");
    let cff = told(&["cite", FIXTURE, "--format", "cff", "--citation", citation]);
    assert!(
        cff.contains("orcid: \"https://orcid.org/0000-0002-1825-0097\""),
        "{cff}"
    );
    let out = directory.path().join("out");
    told(&["pack", FIXTURE, "--citation", citation, "--out", out.to_str().unwrap()]);
    let zenodo = fs::read_to_string(out.join(".zenodo.json")).unwrap();
    assert!(zenodo.contains("\"orcid\": \"0000-0002-1825-0097\""), "{zenodo}");
    assert!(zenodo.contains("\"isCompiledBy\""), "{zenodo}");
}

#[test]
fn a_citation_with_faults_is_told_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.cff");
    fs::write(
        &file,
        "cff-version: 1.3.0\ntitle: ab\nlicence: MIT\nversion: 1.10\nauthors: [{}]\n",
    )
    .unwrap();
    let said = refusal(&["cite", "--check", file.to_str().unwrap()], 2);
    let said = said.replace(file.to_str().unwrap(), "c.cff");
    insta::assert_snapshot!("faults", said);
    assert!(refusal(&["cite", FIXTURE, "--citation", file.to_str().unwrap()], 2).contains("cff-version"));
    assert_eq!(told(&["cite", "--check"]), "CITATION.cff: no faults\n");
    refusal(&["cite"], 2);
}
