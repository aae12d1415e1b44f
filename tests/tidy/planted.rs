//! Each rule, on a made-up house with one fault in it.

use std::fs;

use super::house::{File, House};
use super::*;

fn house(files: &[(&str, &str)]) -> House {
    let mut files: Vec<File> = files
        .iter()
        .map(|(path, text)| File::new(path, (*text).to_owned()))
        .collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    House { files }
}

#[test]
fn unfinished_work_is_found_and_talk_of_it_is_not() {
    let code = format!("//! x\n// {0}()\nlet a = \"//\"; {0}()\n", UNFINISHED[0]);
    let found = unfinished(&house(&[
        ("src/a.rs", &code),
        ("tests/b.rs", &format!("{}(1)", UNFINISHED[2])),
    ]));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("src/a.rs:3: "), "{found:?}");
    assert!(found[1].starts_with("tests/b.rs:1: "), "{found:?}");
}

#[test]
fn long_and_silent_files_are_found() {
    let long = format!("//! x\n{}", "\n".repeat(LONGEST_FILE));
    assert_eq!(too_long(&house(&[("src/a.rs", &long), ("tests/a.rs", &long)])).len(), 1);
    assert_eq!(
        without_story(&house(&[("src/a.rs", "use std::io;\n"), ("src/b.rs", "//! x\n")])).len(),
        1
    );
}

#[test]
fn an_undocumented_room_is_found() {
    let library = "//! x\n\n/// Told here.\n#[cfg(unix)]\npub mod a;\npub mod b;\nmod c;\npub mod gone;\n";
    let rooms = [
        ("src/lib.rs", library),
        ("src/a.rs", ""),
        ("src/b/mod.rs", "//! x\n"),
        ("src/c.rs", ""),
    ];
    let found = undocumented_rooms(&house(&rooms));
    assert_eq!(
        found,
        [
            "src/lib.rs:7: the room c is not documented",
            "src/lib.rs:8: the room gone is not documented"
        ]
    );
}

#[test]
fn a_room_that_knows_too_much_is_found_however_it_asks() {
    for (path, code) in [
        ("src/analysis/mod.rs", "use crate::backend::Session;"),
        (
            "src/analysis/pairs.rs",
            "use crate::{\n    units,\n    run::{clock, worker},\n};",
        ),
        ("src/analysis/pairs.rs", "let x = super::super::run::go();"),
        ("src/report/mod.rs", "use super::strategy;"),
        ("src/report.rs", "use std::{io, fs};"),
        ("src/report/html.rs", "std::fs::write(path)"),
        ("src/analysis/deep/er.rs", "fn at(when: std::time::SystemTime) {}"),
        ("src/archive/write.rs", "use crate::strategy::registry;"),
        ("src/strategy/copy.rs", "use std::fs::File;"),
    ] {
        let found = forbidden_mentions(&house(&[(path, code)]));
        assert_eq!(found.len(), 1, "{path} {code} {found:?}");
        assert!(found[0].starts_with(&format!("{path}:1: ")), "{found:?}");
    }
}

#[test]
fn what_a_room_may_know_is_let_be() {
    for (path, code) in [
        (
            "src/analysis/pairs.rs",
            "//! Knows no crate::backend and no Instant.\nuse crate::{archive::run, units};",
        ),
        (
            "src/report/table.rs",
            "use super::run;\nuse crate::runs;\nstruct Instantly;",
        ),
        (
            "src/report/table.rs",
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}",
        ),
        ("src/report/tests.rs", "use std::fs;"),
        ("src/run/worker.rs", "use crate::backend::Session;\nuse std::fs;"),
        ("src/analysis.rs", "use crate::units::Nanos;"),
        ("src/analytics/mod.rs", "use crate::run;"),
    ] {
        assert_eq!(
            forbidden_mentions(&house(&[(path, code)])),
            Vec::<String>::new(),
            "{path} {code}"
        );
    }
}

#[test]
fn a_crate_or_a_clock_in_the_wrong_room_is_found() {
    for (path, code, count) in [
        ("src/command/run.rs", "use parquet::file::writer;", 1),
        ("src/analysis/mod.rs", "use arrow_array::Int64Array;", 1),
        ("src/plan/mod.rs", "toml::from_str(text)", 1),
        ("src/run/worker.rs", "let start = Instant::now();", 1),
        (
            "src/archive/schema.rs",
            "use parquet::schema;\nuse arrow_schema::Field;",
            0,
        ),
        ("src/manifest/wire.rs", "toml::from_str(text)", 0),
        ("src/run/clock.rs", "Instant::now()", 0),
        ("src/run/supervisor.rs", "Instant::now()", 0),
        ("src/backend/provision/ephemeral.rs", "Instant::now()", 0),
        ("src/backend/mod.rs", "let narrow_gauge = my_toml::x();", 0),
    ] {
        assert_eq!(strayed_mentions(&house(&[(path, code)])).len(), count, "{path} {code}");
    }
}

#[test]
fn an_experiment_without_a_question_is_found() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(without_question(root.path()), Vec::<String>::new());
    let experiments = root.path().join("experiments");
    fs::create_dir(&experiments).unwrap();
    for (name, text) in [
        ("a.toml", "name = \"a\"\nquestion = \"what?\"\n"),
        ("b.toml", "question = \"\"\"\nwhat?\n\"\"\"\n"),
        ("c.toml", "question = \"\"\n"),
        ("d.txt", ""),
    ] {
        fs::write(experiments.join(name), text).unwrap();
    }
    assert_eq!(
        without_question(root.path()),
        ["experiments/c.toml:1: the experiment must have a line question = \"…\""]
    );
}
