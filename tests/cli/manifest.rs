//! Manifests that are missing, broken or beyond reason: told whole, with line and column, before anything is started.

use std::fmt::Write as _;

use preview_cost::manifest::Manifest;
use preview_cost::plan::Plan;
use proptest::prelude::*;

use crate::support::{Bench, SMALL, ask, edited};

/// The message of a manifest that is refused, the same for `run` and `plan`; nothing is created.
#[track_caller]
fn refused(manifest: impl AsRef<[u8]>) -> String {
    let bench = Bench::new(manifest);
    let run = ask(&mut bench.run()).exits(2);
    let plan = ask(&mut bench.command(&["plan", "m.toml"])).exits(2);
    assert_eq!(run.message(), plan.message());
    assert_eq!(bench.files(), ["m.toml"]);
    run.message().to_owned()
}

const POSTGRES: (&str, &str) = ("engine = \"sqlite\"\nstorage = \"memory\"", "engine = \"postgres\"");

/// Each with what is changed in a manifest without fault.
const FAULTS: &[(&str, &[(&str, &str)])] = &[
    (
        "not TOML",
        &[("plans = [1, 3]", "plans = [1, 3"), ("title = ", "title ")],
    ),
    ("a key twice", &[("seed = 7", "seed = 7\nseed = 8")]),
    (
        "unknown keys",
        &[
            ("previews = 21", "preview = 21"),
            ("[grid]", "[gird]"),
            ("seed = 7", "seed = 7\nzzz = 1"),
        ],
    ),
    (
        "several faults",
        &[
            ("name = \"small\"", "name = \"Small one\""),
            ("plans = [1, 3]", "plans = [0, 3]"),
            ("forks = 2", "forks = 0"),
            ("baseline = \"copy\"", "baseline = \"cpoy\""),
            ("seed = 7", "sede = 7"),
        ],
    ),
    ("no plans", &[("plans = [1, 3]", "plans = 0")]),
    ("an empty list of plans", &[("plans = [1, 3]", "plans = []")]),
    ("the same plans twice", &[("plans = [1, 3]", "plans = [3, 3]")]),
    ("no forks", &[("forks = 2", "forks = 0")]),
    ("no previews", &[("previews = 21", "previews = 0")]),
    (
        "negative numbers",
        &[
            ("plans = [1, 3]", "plans = [-1]"),
            ("warmup = 4", "warmup = -4"),
            ("seed = 7", "seed = -7"),
        ],
    ),
    (
        "absurd sizes",
        &[
            ("plans = [1, 3]", "plans = [4000000000]"),
            ("previews = 21", "previews = 99999999999999999999999999"),
            ("forks = 2", "forks = 1000000"),
            ("seed = 7", "seed = 9223372036854775808"),
            ("warmup = 4", "warmup = 170141183460469231731687303715884105728"),
        ],
    ),
    (
        "wrong types",
        &[
            ("name = \"small\"", "name = 7"),
            ("plans = [1, 3]", "plans = [\"one\", 2.5]"),
            ("subjects = [\"rollback\"]", "subjects = { a = 1 }"),
            ("forks = 2", "forks = 2.5"),
            ("seed = 7", "seed = 1979-05-27"),
            ("[figures]\nmargin_ms = 0.05", "[figures]\nmargin_ms = true"),
        ],
    ),
    (
        "a section that is a value",
        &[
            ("[figures]\nmargin_ms = 0.05\n", ""),
            ("name = ", "figures = 3\nname = "),
        ],
    ),
    ("an unknown strategy", &[("\"rollback\"", "\"rolback\"")]),
    ("a strategy unlike any", &[("\"rollback\"", "\"telepathy\"")]),
    ("a margin of nothing", &[("margin_ms = 0.05", "margin_ms = 0.0")]),
    ("a margin below the clock", &[("margin_ms = 0.05", "margin_ms = 1e-9")]),
    ("a margin that is no number", &[("margin_ms = 0.05", "margin_ms = nan")]),
    (
        "an unknown primary figure",
        &[(
            "margin_ms = 0.05",
            "margin_ms = 0.05\nprimary = \"cell[plans=4].difference.median\"",
        )],
    ),
    (
        "a journal that cannot roll back",
        &[("\"memory\"", "\"file\"\njournal_mode = \"off\"")],
    ),
    ("a file without a journal mode", &[("\"memory\"", "\"file\"")]),
    (
        "keys of PostgreSQL on SQLite",
        &[(
            "\"memory\"",
            "\"memory\"\nprovision = \"ephemeral\"\nschema = \"s\"\nsettings = { work_mem = \"1MB\" }",
        )],
    ),
    (
        "keys of files in memory",
        &[(
            "\"memory\"",
            "\"memory\"\njournal_mode = \"wal\"\nsynchronous = \"off\"",
        )],
    ),
    (
        "keys of SQLite on PostgreSQL",
        &[(
            "engine = \"sqlite\"",
            "engine = \"postgres\"\nprovision = \"ephemeral\"\njournal_mode = \"wal\"",
        )],
    ),
    ("PostgreSQL from nowhere", &[POSTGRES]),
    ("an unknown engine", &[("\"sqlite\"", "\"sqllite\"")]),
    (
        "a schema of the system's",
        &[
            POSTGRES,
            ("[grid]", "provision = \"ephemeral\"\nschema = \"pg_mine\"\n[grid]"),
        ],
    ),
    ("nothing at all", &[(SMALL, "")]),
];

#[test]
fn every_fault_is_told_with_its_place_and_nothing_is_created() {
    let mut told = String::new();
    for (what, changes) in FAULTS {
        let _ = write!(told, "## {what}\n{}\n", refused(edited(SMALL, changes)));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_password_in_a_manifest_is_refused_and_not_repeated() {
    for url in [
        "postgres://me:hunter2@localhost/db",
        "postgres://localhost/db?user=me&password=hunter2",
        "host=localhost user=me password=hunter2",
        "host=localhost user=me password = 'hunter2'",
        "postgres://localhost/db?user=me&pass%77ord=hunter2",
        "postgres://me:hunter2${NAME}@localhost/db",
    ] {
        let url = format!("engine = \"postgres\"\nurl = \"{url}\"");
        let message = refused(edited(SMALL, &[(POSTGRES.0, &url)]));
        assert!(
            message.contains("m.toml:7:7: backend.url: holds a password"),
            "{message}"
        );
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn a_manifest_that_cannot_be_read_is_named() {
    let bench = Bench::new(SMALL);
    for path in ["nowhere.toml", "."] {
        for subcommand in ["run", "plan"] {
            let said = ask(&mut bench.command(&[subcommand, path])).exits(2);
            let message = said.message();
            assert!(
                message.starts_with(&format!("preview-cost: cannot read the manifest {path}: ")),
                "{message}"
            );
        }
    }
    assert_eq!(bench.files(), ["m.toml"]);
    assert!(refused(b"name = \"\xff\"").contains("not UTF-8"));
}

#[test]
fn more_memory_than_allowed_is_refused_before_anything_starts() {
    for change in [
        ("previews = 21", "previews = 10000000"),
        ("warmup = 4", "warmup = 9000000"),
    ] {
        let message = refused(edited(SMALL, &[change]));
        assert!(
            message.contains("a fork of cell[plans=1] would need about "),
            "{message}"
        );
        assert!(
            message.contains("the bound is 2048 MiB; lower measure.previews"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused() {
    let bench = Bench::new(SMALL);
    for arguments in [
        &["run"][..],
        &["analyse", "x"],
        &["run", "m.toml", "--forks", "3"],
        &["analyze"],
    ] {
        let said = ask(&mut bench.command(arguments)).exits(2);
        assert!(
            said.stderr.starts_with("error: ") && said.stdout.is_empty(),
            "{said:#?}"
        );
    }
    let said = ask(&mut bench.command(&["run", "m.toml", "--url", "postgres://localhost/x"])).exits(2);
    assert!(
        said.message()
            .contains("--url names a PostgreSQL server, but m.toml does not measure one PostgreSQL alone"),
        "{said:#?}"
    );
    assert_eq!(bench.files(), ["m.toml"]);
}

/// Reads a text; what is accepted must also be planned, or refused for its size, without a panic.
fn parse(text: &str) {
    if let Ok(manifest) = Manifest::parse(text, "m.toml") {
        let _ = Plan::of(&manifest);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_toml_like_text_makes_the_reader_panic(text in "[\\[\\]{}=\"'.,#a-z0-9_\\n \\\\+eé-]{0,200}") {
        parse(&text);
    }

    #[test]
    fn one_mangled_line_never_makes_the_reader_panic(
        line in 0usize..30,
        column in 0usize..40,
        insert in "\\PC{0,12}|[\\[\\]{}=\"'.,#0-9_e+-]{1,6}",
        cut in 0usize..40,
    ) {
        let mut lines: Vec<String> = SMALL.lines().map(str::to_owned).collect();
        let place = line % lines.len();
        let letters: Vec<char> = lines[place].chars().collect();
        let column = column.min(letters.len());
        let rest = letters[column..].iter().skip(cut);
        lines[place] = letters[..column].iter().copied().chain(insert.chars()).chain(rest.copied()).collect();
        parse(&lines.join("\n"));
    }

    #[test]
    fn no_value_makes_the_reader_panic(
        key in prop::sample::select(vec!["previews = 21", "warmup = 4", "forks = 2", "seed = 7", "margin_ms = 0.05"]),
        value in "-?[0-9]{1,45}|-?[0-9]{1,3}\\.[0-9]{1,3}e-?[0-9]{1,3}|0x[0-9a-f]{1,40}|[+-]?(inf|nan)",
    ) {
        let name = key.split(' ').next().unwrap();
        parse(&edited(SMALL, &[(key, &format!("{name} = {value}"))]));
    }
}
