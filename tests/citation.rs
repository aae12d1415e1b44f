//! The citation, the changelog and the package must speak of the same version: a stale citation sends readers to the
//! wrong software.

use std::fs;
use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The raw values of a key at the top level of the citation, which is one `key: value` a line.
fn top_level<'a>(citation: &'a str, key: &str) -> Vec<&'a str> {
    let value_of = |line: &'a str| line.strip_prefix(key)?.strip_prefix(':').map(str::trim);
    citation.lines().filter_map(value_of).collect()
}

#[test]
fn the_citation_names_the_packages_version_in_quotes() {
    let citation = text_of("CITATION.cff");
    let expected = format!("\"{VERSION}\"");
    assert_eq!(
        top_level(&citation, "version"),
        [expected],
        "CITATION.cff: version must be that of Cargo.toml, quoted"
    );
}

#[test]
fn the_citation_names_the_packages_licence_as_one_word() {
    let citation = text_of("CITATION.cff");
    assert_eq!(top_level(&citation, "license"), [env!("CARGO_PKG_LICENSE")]);
    assert!(text_of("LICENSE").starts_with("MIT License"));
}

#[test]
fn the_citation_has_what_the_format_requires() {
    let citation = text_of("CITATION.cff");
    assert_eq!(top_level(&citation, "cff-version"), ["1.2.0"]);
    assert_eq!(top_level(&citation, "title"), [env!("CARGO_PKG_NAME")]);
    for key in ["message", "authors"] {
        assert_eq!(
            top_level(&citation, key).len(),
            1,
            "CITATION.cff: {key} must be there once"
        );
    }
}

#[test]
fn the_changelog_has_a_heading_for_the_version() {
    let changelog = text_of("CHANGELOG.md");
    for version in ["Unreleased", VERSION] {
        let heading = format!("## [{version}]");
        let headings = changelog.lines().filter(|line| line.starts_with(&heading));
        assert_eq!(headings.count(), 1, "CHANGELOG.md: needs one heading {heading}");
    }
}

#[test]
fn the_citation_passes_its_own_check() {
    let told: Vec<String> = preview_cost::publication::check(&text_of("CITATION.cff"))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(told, Vec::<String>::new());
}

#[test]
fn the_citation_and_the_package_name_the_same_repository() {
    let citation = preview_cost::publication::Citation::parse(&text_of("CITATION.cff")).expect("it has no faults");
    let package = Some(env!("CARGO_PKG_REPOSITORY")).filter(|repository| !repository.is_empty());
    assert_eq!(citation.repository.as_deref(), package);
}
