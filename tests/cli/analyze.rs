//! `analyze`: figures from the archive alone, the same bytes every time and everywhere.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::remains::{analyze, copy, files_under, is_told_as_unfinished, parts_of};
use crate::samples;
use crate::support::{Bench, SMALL, ask, edited, program};

const FORMATS: [&str; 4] = ["table", "markdown", "json", "csv"];

fn told(run: &Path, format: &str) -> String {
    let said = ask(&mut analyze(run, format)).exits(0);
    assert_eq!(said.stderr, "");
    said.stdout
}

#[test]
fn the_same_archive_gives_the_same_bytes_wherever_it_lies() {
    for run in [samples::sealed(0), samples::unfinished(0)] {
        let elsewhere = tempfile::tempdir().unwrap();
        let moved = elsewhere.path().join("another name");
        copy(run, &moved);
        for file in files_under(&moved) {
            fs::set_permissions(moved.join(file), Permissions::from_mode(0o444)).unwrap();
        }
        fs::set_permissions(&moved, Permissions::from_mode(0o555)).unwrap();
        for format in FORMATS {
            let once = told(run, format);
            assert_eq!(once, told(run, format));
            assert_eq!(once, told(&moved, format));
        }
        assert_eq!(files_under(&moved), files_under(run));
        // So that it can be removed.
        fs::set_permissions(&moved, Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_run_prints_what_analyze_prints() {
    let bench = Bench::new(SMALL);
    let said = ask(&mut bench.run()).exits(0);
    let run = bench.only_run();
    assert_eq!(said.stdout, told(&run, "table"));
    let name = run.file_name().unwrap().to_str().unwrap();
    assert_eq!(said.stderr, format!("preview-cost: sealed results/{name}\n"));
    assert_eq!(
        files_under(&run),
        [
            "SHA256SUMS",
            "cells.parquet",
            "chain.jsonl",
            "environment.parquet",
            "forks.parquet",
            "manifest.parquet",
            "manifest.toml",
            "pairs.parquet",
            "steps.parquet",
            "wire.parquet"
        ]
    );
    assert_eq!(fs::read_to_string(run.join("manifest.toml")).unwrap(), SMALL);
}

#[test]
fn sums_are_those_that_sha256sum_understands() {
    let checked = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(samples::sealed(0))
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn csv_and_json_hold_the_same_figures() {
    let run = samples::sealed(0);
    let document: Value = serde_json::from_str(&told(run, "json")).unwrap();
    assert_eq!(document["runs"][0]["state"], "finished");
    let figures = document["runs"][0]["figures"].as_array().unwrap();
    let csv = told(run, "csv");
    assert_eq!(csv.lines().count(), figures.len() + 1);
    for (line, figure) in csv.lines().skip(1).zip(figures) {
        let id = figure["id"].as_str().unwrap();
        assert!(line.contains(id), "{line} is not of {id}");
        if !figure["value"].is_null() {
            assert!(
                line.contains(&figure["value"].to_string()),
                "{line} has another value than {figure}"
            );
        }
        assert_eq!(figure["provisional"], false);
    }
}

#[test]
fn several_runs_stand_side_by_side() {
    let other = Bench::new(edited(
        SMALL,
        &[("plans = [1, 3]", "plans = [3, 5]"), ("\"small\"", "\"other\"")],
    ));
    let run = other.measure();
    let mut command = analyze(samples::sealed(0), "markdown");
    let text = ask(command.arg(&run).arg(samples::unfinished(0))).exits(0).stdout;
    for heading in [
        "| small (exploratory)<br>",
        "| other (exploratory)<br>",
        "| small (UNFINISHED) (exploratory)<br>",
    ] {
        assert!(text.contains(heading), "{text}");
    }
    let sizes: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next())
        .collect();
    assert_eq!(sizes, ["plans", "1", "3", "5"]);
    let json = ask(analyze(samples::sealed(0), "json").arg(&run)).exits(0).stdout;
    let document: Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&Value> = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["name"])
        .collect();
    assert_eq!(names, ["small", "other"]);
}

#[test]
fn an_unfinished_run_is_told_as_such_everywhere() {
    let run = samples::unfinished(0);
    is_told_as_unfinished(run, parts_of(run));
}

#[test]
fn a_damaged_run_among_sound_ones_is_refused_and_nothing_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let said = ask(analyze(samples::sealed(0), "table").arg(directory.path())).exits(5);
    assert!(
        said.message().contains("is not a run: it has no manifest.parquet"),
        "{said:#?}"
    );
}

/// A pipe that nobody reads any more.
fn closed() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for format in FORMATS {
        let child = analyze(samples::sealed(0), format)
            .stdout(closed())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
    }
}

#[test]
fn messages_that_nobody_reads_change_no_exit_code() {
    let bench = Bench::new(SMALL);
    let cases: [(&[&str], i32); 3] = [
        (&["analyze", "nowhere"], 5),
        (&["run", "nowhere.toml"], 2),
        (&["run", "m.toml"], 0),
    ];
    for (arguments, code) in cases {
        let status = bench
            .command(arguments)
            .stdout(closed())
            .stderr(closed())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
    assert!(bench.only_run().join("SHA256SUMS").exists());
}

#[test]
fn hidden_subcommands_say_that_they_are_not_for_people() {
    let said = ask(program().arg("worker"));
    assert!(said.stderr.contains("for preview-cost itself"), "{said:#?}");
}
