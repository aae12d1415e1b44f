//! The style of the house, as tests over its own source text.
//!
//! What the compiler and clippy can't see is checked here: which room may know which, which crate is known to one
//! room only, and that every file says why it exists. A violation names its file and line. The last tests plant
//! violations in a made-up house and see them found.

mod house;
mod planted;

use std::fs;
use std::path::Path;

use house::{House, lines_with};

/// Longest file in `src`, in lines.
const LONGEST_FILE: usize = 500;

/// Macros that mark unfinished work. They are split here so that this file doesn't hold them.
const UNFINISHED: [&str; 3] = [concat!("to", "do!"), concat!("unimple", "mented!"), concat!("d", "bg!")];

/// Figures follow from the archive alone, so the rooms that make them know no machine, no file and no clock.
const PURE: &[&str] = &[
    "crate::backend",
    "crate::run",
    "crate::strategy",
    "std::fs",
    "Instant",
    "SystemTime",
];

/// What a room must never mention.
const NEVER: &[(&str, &[&str])] = &[
    ("src/analysis", PURE),
    ("src/report", PURE),
    (
        "src/archive",
        &["crate::strategy", "crate::verification", "crate::publication"],
    ),
    (
        "src/verification",
        &["crate::run", "crate::report", "crate::publication"],
    ),
    ("src/publication", &["crate::run", "crate::command"]),
    ("src/strategy", &["std::fs"]),
    // It serves any client, so it knows the protocol's framing and nobody who speaks it.
    (
        "src/path",
        &[
            "crate::backend",
            "crate::strategy",
            "crate::workload",
            "crate::manifest",
            "crate::plan",
            "crate::run",
            "crate::archive",
        ],
    ),
];

/// What only the rooms named may mention.
const ONLY: &[(&str, &[&str])] = &[
    ("parquet::", &["src/archive"]),
    ("arrow_", &["src/archive"]),
    ("toml::", &["src/manifest"]),
    // Timed windows are measured by one clock; the other places only set deadlines.
    (
        "Instant::now",
        &[
            "src/run/clock",
            "src/run/supervisor",
            "src/backend/provision",
            // What it times is in no timed window, or is told of one.
            "src/backend/postgres/pool",
        ],
    ),
];

#[test]
fn nothing_is_left_unfinished() {
    let house = House::this();
    report(&unfinished(&house));
}

#[test]
fn files_are_short_and_say_why_they_exist() {
    let house = House::this();
    report(&[too_long(&house), without_story(&house)].concat());
}

#[test]
fn every_room_of_the_library_is_documented() {
    report(&undocumented_rooms(&House::this()));
}

#[test]
fn rooms_know_only_what_they_may() {
    let house = House::this();
    report(&[forbidden_mentions(&house), strayed_mentions(&house)].concat());
}

#[test]
fn every_experiment_asks_a_question() {
    report(&without_question(Path::new(env!("CARGO_MANIFEST_DIR"))));
}

fn report(violations: &[String]) {
    assert!(
        violations.is_empty(),
        "{} violations:\n{}",
        violations.len(),
        violations.join("\n")
    );
}

fn unfinished(house: &House) -> Vec<String> {
    let find = |word: &'static str| {
        house.files.iter().flat_map(move |file| {
            let lines = lines_with(&file.code, word);
            lines
                .into_iter()
                .map(move |line| file.violation(line, &format!("{word} is unfinished work")))
        })
    };
    UNFINISHED.into_iter().flat_map(find).collect()
}

fn too_long(house: &House) -> Vec<String> {
    let long = house.sources().filter(|file| file.code.len() > LONGEST_FILE);
    long.map(|file| {
        let length = file.code.len();
        file.violation(
            LONGEST_FILE + 1,
            &format!("{length} lines are more than {LONGEST_FILE}: split the file"),
        )
    })
    .collect()
}

fn without_story(house: &House) -> Vec<String> {
    let bare = house.sources().filter(|file| !file.text.starts_with("//! "));
    bare.map(|file| file.violation(1, "the file must open with //! on why it exists"))
        .collect()
}

/// A room is documented by `///` above its line in `lib.rs`, or by its own opening `//!`.
fn undocumented_rooms(house: &House) -> Vec<String> {
    let Some(library) = house.file("src/lib.rs") else {
        return Vec::new();
    };
    let lines: Vec<&str> = library.text.lines().collect();
    let room = |line: &str| {
        let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        line.strip_prefix("mod ")
            .map(|rest| rest.trim_end_matches([';', '{', ' ']).to_owned())
    };
    let documented = |index: usize, name: &str| {
        let above = lines[..index]
            .iter()
            .rev()
            .find(|line| !line.trim_start().starts_with("#["));
        let own = [format!("src/{name}.rs"), format!("src/{name}/mod.rs")];
        above.is_some_and(|line| line.starts_with("///"))
            || own
                .iter()
                .filter_map(|path| house.file(path))
                .any(|file| file.text.starts_with("//! "))
    };
    let rooms = library
        .code
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((index, room(line)?)));
    rooms
        .filter(|(index, name)| !documented(*index, name))
        .map(|(index, name)| library.violation(index + 1, &format!("the room {name} is not documented")))
        .collect()
}

fn forbidden_mentions(house: &House) -> Vec<String> {
    let mut violations = Vec::new();
    for (room, words) in NEVER {
        for file in house.sources().filter(|file| file.is_in(room)) {
            for word in *words {
                let lines = file.mentions(word).into_iter();
                violations.extend(lines.map(|line| file.violation(line, &format!("{room} must not mention {word}"))));
            }
        }
    }
    violations
}

fn strayed_mentions(house: &House) -> Vec<String> {
    let mut violations = Vec::new();
    for (word, rooms) in ONLY {
        for file in house
            .sources()
            .filter(|file| !rooms.iter().any(|room| file.is_in(room)))
        {
            let (lines, rooms) = (file.mentions(word).into_iter(), rooms.join(", "));
            violations.extend(lines.map(|line| file.violation(line, &format!("{word} belongs to {rooms} only"))));
        }
    }
    violations
}

fn without_question(root: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root.join("experiments")) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    for path in entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
    {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let asks = text.lines().zip(text.lines().skip(1).chain([""])).any(|(line, next)| {
            let value = line
                .trim()
                .strip_prefix("question")
                .and_then(|rest| rest.trim().strip_prefix('='));
            value.is_some_and(|value| match value.trim() {
                "\"\"\"" | "'''" => !next.trim().trim_matches(['"', '\'']).is_empty(),
                value => !value.trim_matches(['"', '\'']).trim().is_empty(),
            })
        });
        if !asks {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            violations.push(format!(
                "experiments/{name}:1: the experiment must have a line question = \"…\""
            ));
        }
    }
    violations
}
