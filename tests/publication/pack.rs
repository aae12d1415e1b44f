//! `pack`: which files, which bytes, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use preview_cost::digest;
use serde_json::Value;

use super::{FIXTURE, committed, copy, program, refusal, root, told};

/// Every file of a directory, with its bytes.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

#[track_caller]
fn pack(runs: &[&str], out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut arguments = vec!["pack", "--out", out.to_str().unwrap()];
    arguments.extend(runs);
    told(&arguments);
    files(out)
}

/// Every file but the sums is named in the sums, and every file but the two that can't be is described with its hash.
#[track_caller]
fn is_described(packed: &BTreeMap<String, Vec<u8>>) {
    let sums = String::from_utf8(packed["SHA256SUMS"].clone()).unwrap();
    let lines: BTreeMap<&str, &str> = sums
        .lines()
        .map(|line| line.split_once("  ").unwrap())
        .map(|(sum, name)| (name, sum))
        .collect();
    let crate_: Value = serde_json::from_slice(&packed["ro-crate-metadata.json"]).unwrap();
    let graph = crate_["@graph"].as_array().unwrap();
    let entity = |id: &str| {
        graph
            .iter()
            .find(|entity| entity["@id"] == id)
            .unwrap_or_else(|| panic!("{id}"))
    };
    let parts: Vec<&str> = entity("./")["hasPart"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["@id"].as_str().unwrap())
        .collect();
    for (name, bytes) in packed {
        let sum = digest::of_bytes(bytes);
        if name != "SHA256SUMS" {
            assert_eq!(lines.get(name.as_str()), Some(&sum.as_str()), "{name}");
        }
        if name == "ro-crate-metadata.json" {
            continue;
        }
        assert!(parts.contains(&name.as_str()), "{name} is part of the crate");
        if name != "SHA256SUMS" {
            assert_eq!(entity(name)["sha256"], sum.as_str(), "{name}");
            assert_eq!(entity(name)["contentSize"], bytes.len().to_string(), "{name}");
        }
    }
    assert_eq!(
        (lines.len(), parts.len()),
        (packed.len() - 1, packed.len() - 1),
        "nothing else is named"
    );
    // Whatever is referred to is there.
    for entity_ in graph {
        for value in entity_.as_object().unwrap().values() {
            let ids = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            for id in ids.iter().filter_map(|value| value["@id"].as_str()) {
                let outside = id.starts_with("https://w3id.org/ro/crate/") || id.starts_with("http://schema.org/");
                assert!(outside || graph.iter().any(|entity| entity["@id"] == id), "{id}");
            }
        }
    }
}

#[test]
fn one_run_keeps_its_names_and_can_be_analysed_where_it_lies() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("new/data");
    let packed = pack(&[FIXTURE], &out);
    is_described(&packed);
    let names: Vec<&String> = packed.keys().collect();
    insta::assert_debug_snapshot!("names_of_one", names);
    assert_eq!(told(&["analyze", out.to_str().unwrap()]), told(&["analyze", FIXTURE]));
    insta::assert_snapshot!("readme", String::from_utf8(packed["README.md"].clone()).unwrap());
    let zenodo: Value = serde_json::from_slice(&packed[".zenodo.json"]).unwrap();
    assert_eq!(
        (&zenodo["license"], &zenodo["upload_type"]),
        (&"cc-by-4.0".into(), &"dataset".into())
    );
    let datacite: Value = serde_json::from_slice(&packed["datacite.json"]).unwrap();
    for key in ["types", "creators", "titles", "publisher", "publicationYear"] {
        assert!(!datacite[key].is_null(), "{key}");
    }
    assert_eq!(datacite["publicationYear"], "2025");
}

#[test]
fn several_runs_carry_their_ids_and_their_scripts_read_them() {
    let directory = tempfile::tempdir().unwrap();
    let runs: Vec<String> = committed()
        .iter()
        .take(2)
        .map(|run| run.display().to_string())
        .collect();
    let packed = pack(&[&runs[0], &runs[1]], directory.path());
    is_described(&packed);
    assert!(packed.contains_key("LEDGER.jsonl"));
    for run in &runs {
        let id = Path::new(run).file_name().unwrap().to_str().unwrap();
        for name in [
            "SHA256SUMS",
            "pairs.parquet",
            "manifest.toml",
            "report.html",
            "recompute.sql",
            "recompute.py",
        ] {
            assert!(packed.contains_key(&format!("{id}.{name}")), "{id}.{name}");
        }
        for script in ["recompute.sql", "recompute.py"] {
            let text = String::from_utf8(packed[&format!("{id}.{script}")].clone()).unwrap();
            for table in ["cells", "manifest", "forks", "pairs"] {
                let quoted: Vec<&str> = text.matches(&format!("{table}.parquet")).collect();
                let prefixed = text.matches(&format!("{id}.{table}.parquet")).count();
                assert!(
                    prefixed > 0 && prefixed == quoted.len(),
                    "{script} reads {table} by its own name only"
                );
            }
        }
    }
}

#[test]
fn the_same_runs_give_the_same_bytes_from_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let one = pack(&[FIXTURE], &directory.path().join("one"));
    let elsewhere = directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .current_dir(&elsewhere)
        .arg("pack")
        .arg(root().join(FIXTURE))
        .args(["--out", "two", "--citation"])
        .arg(root().join("CITATION.cff"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let two = files(&elsewhere.join("two"));
    assert!(one == two);
    let here = root().to_str().unwrap();
    for (name, bytes) in &one {
        assert!(
            !String::from_utf8_lossy(bytes).contains(here),
            "{name} names a place of this machine"
        );
    }
}

#[test]
fn what_lies_there_is_not_touched_unless_it_was_packed() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    assert!(refusal(&["pack", FIXTURE, "--out", out], 7).contains("holds notes.txt already"));
    assert!(refusal(&["pack", FIXTURE, "--out", out, "--force"], 7).contains("is no part of what is packed"));
    assert_eq!(files(directory.path()).len(), 1);
    fs::remove_file(directory.path().join("notes.txt")).unwrap();
    let packed = pack(&[FIXTURE], directory.path());
    refusal(&["pack", FIXTURE, "--out", out], 7);
    told(&["pack", FIXTURE, "--out", out, "--force"]);
    assert!(files(directory.path()) == packed);
}

#[test]
fn a_run_is_never_written_into() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    copy(&root().join(FIXTURE), &run);
    let before = files(&run);
    for out in [run.clone(), run.join("data")] {
        let said = refusal(
            &["pack", run.to_str().unwrap(), "--force", "--out", out.to_str().unwrap()],
            2,
        );
        assert!(said.contains("is within the run's directory"), "{said}");
    }
    assert!(files(&run) == before);
}

#[test]
fn runs_that_can_not_be_published_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let out = out.to_str().unwrap();
    assert!(refusal(&["pack", FIXTURE, FIXTURE, "--out", out], 2).contains("was named twice"));
    let run = directory.path().join("run");
    copy(&root().join(FIXTURE), &run);
    let sums = fs::read_to_string(run.join("SHA256SUMS")).unwrap();
    let announced: Vec<&str> = sums
        .lines()
        .filter(|line| !line.ends_with("pairs.parquet") && !line.ends_with("forks.parquet"))
        .collect();
    fs::write(run.join("announced.sums"), announced.join("\n") + "\n").unwrap();
    fs::remove_file(run.join("SHA256SUMS")).unwrap();
    fs::create_dir(run.join("parts")).unwrap();
    let run = run.to_str().unwrap();
    assert!(refusal(&["pack", run, "--out", out], 5).contains("is not a whole run"));
    assert!(refusal(&["cite", run], 5).contains("is not a whole run"));
    assert!(refusal(&["pack", "tests", "--out", out], 5).contains("manifest.parquet"));
    assert!(refusal(&["pack", FIXTURE, "--out", out, "--license", "MIT"], 2).contains("CC-BY-4.0 or CC0-1.0"));
    assert!(refusal(&["pack", FIXTURE, "--out", out, "--citation", "none.cff"], 2).contains("cff-version: 1.2.0"));
    assert!(!Path::new(out).exists());
}

#[test]
fn more_files_than_a_record_takes_are_refused() {
    use preview_cost::publication::{Citation, DataSet, Licence, Material, PublishedRun, Told, package};
    let citation = Citation::parse(include_str!("../../CITATION.cff")).unwrap();
    let run = |place: u32| PublishedRun {
        id: format!("run-{place}"),
        name: "n".to_owned(),
        title: "t".to_owned(),
        question: "q".to_owned(),
        backend: "b".to_owned(),
        started: "2026-11-30T12:00:00Z".to_owned(),
        ended: "2026-11-30T12:00:01Z".to_owned(),
        manifest_sha256: "m".to_owned(),
        seal: "s".to_owned(),
        root: None,
        program_version: "0.1.0".to_owned(),
        executable_sha256: None,
    };
    let runs: Vec<PublishedRun> = (0..10).map(run).collect();
    let told = Told {
        directory: root().join(FIXTURE),
        page: String::new(),
        sql: String::new(),
        python: String::new(),
    };
    let of = |count: usize| {
        let data = DataSet {
            runs: &runs[..count],
            citation: &citation,
            licence: Licence::Cc0,
        };
        package(&Material {
            data,
            told: vec![told.clone(); count],
        })
    };
    assert_eq!(of(9).unwrap().pieces.len(), 97);
    let refused = of(10).unwrap_err().to_string();
    assert_eq!(
        refused,
        "these 10 runs make 107 files, and a data record takes 100; pack fewer runs at a time"
    );
}

#[test]
fn the_other_licence_dedicates() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let output = program(&["pack", FIXTURE, "--license", "CC0-1.0", "--out", out.to_str().unwrap()]);
    assert!(output.status.success());
    let packed = files(&out);
    assert!(String::from_utf8_lossy(&packed["LICENSE-DATA"]).contains("waived all copyright"));
    assert!(String::from_utf8_lossy(&packed[".zenodo.json"]).contains("\"cc0-1.0\""));
}
