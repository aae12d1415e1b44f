//! README says nothing that the program and the archives don't.

use std::path::Path;
use std::process::Command;

use preview_cost::exit::Exit;

const README: &str = include_str!("../README.md");

#[test]
fn spliced_tables_are_what_their_archives_give() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let checked = Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .args(["analyze", "--check"])
        .arg(&readme)
        .output()
        .expect("the program starts");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    for name in ["sqlite-memory", "pg-local"] {
        let marker = README
            .lines()
            .find(|line| line.starts_with("<!-- preview-cost analyze") && line.contains(name));
        assert!(marker.is_some(), "README has a table of a committed run of {name}");
    }
}

#[test]
fn exit_codes_are_those_of_the_program() {
    let rows: Vec<&str> = README
        .lines()
        .filter(|line| line.starts_with("| ") && starts_with_code(line))
        .collect();
    let expected: Vec<String> = Exit::ALL
        .iter()
        .map(|(_, code, meaning)| format!("| {code} | {meaning} |"))
        .collect();
    assert_eq!(rows, expected);
}

fn starts_with_code(line: &str) -> bool {
    line[2..]
        .split(' ')
        .next()
        .is_some_and(|word| word.parse::<u8>().is_ok())
        && line.matches('|').count() == 3
}

/// The manifest's reader asks for its keys by name; each must stand in README's reference.
#[test]
fn every_key_of_the_manifest_is_in_the_reference() {
    let wires = [
        include_str!("../src/manifest/wire.rs"),
        include_str!("../src/manifest/wire/registration.rs"),
    ];
    let sections = [
        "backend",
        "grid",
        "measure",
        "figures",
        "registration",
        "novelty",
        "claims",
    ];
    let keys: Vec<&str> = (wires.iter())
        .flat_map(|wire| wire.split("reader, \"").skip(1))
        .filter_map(|rest| rest.split('"').next())
        .filter(|key| !sections.contains(key))
        .collect();
    assert!(keys.len() > 40, "the keys were found: {keys:?}");
    for key in keys {
        let mentioned = README.contains(&format!("`{key}`")) || README.contains(&format!(".{key}`"));
        assert!(mentioned, "README's manifest reference lacks {key}");
    }
}
