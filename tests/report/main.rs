//! The page of a run: what it holds, what it must never hold, and where it is written.

mod markup;
#[path = "../figures/synthetic.rs"]
mod synthetic;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use markup::Markup;
use synthetic::{FORKS, MANIFEST, Synthetic};

const FIXTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/schema-1.0/20261130T120000Z-synthetic-7c76d6b7"
);

/// A run whose archive has the steps of its previews.
const WITH_STEPS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/schema-1.2/20261130T120000Z-synthetic-7c76d6b7"
);

/// A published run behind a proxy, at five delays.
const WITH_PATH: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/results/20261201T043915Z-delay-pg-a3bdd670"
);

/// A small experiment whose words would like to be markup.
const HOSTILE: &str = r#"name = "hostile"
title = "</title><script>alert('x')</script> & \"more\""
question = "<img src=x onerror=alert(1)>?"
analysis = "</pre></details><b>bold</b> {{ 7777 * 7 }}"

[backend]
engine = "sqlite"
storage = "memory"

[grid]
plans = [1, 3]
subjects = ["rollback"]
baseline = "copy"

[measure]
months = 2
previews = 30
warmup = 4
forks = 2
seed = 7

[figures]
margin_ms = 0.05

[registration]
disproof = "</ul><script>alert(2)</script>"
estimand = "<img src=x>"
exclusions = "{{ 7777 * 7 }}"
novelty = { date = 2026-11-30, sources = ["<b>bold</b>"], queries = ["<script>"], finding = "</section>" }

[[claims]]
id = "hostile"
figure = "cell[plans=1].subject.p50"
comparison = "at-least"
value = 1
because = "<script>alert(3)</script>"
"#;

fn program(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_preview-cost"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the program starts")
}

fn succeeds(directory: &Path, arguments: &[&str]) -> String {
    let output = program(directory, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the program writes UTF-8")
}

fn page_of(run: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    succeeds(directory.path(), &["report", run, "--out", "page.html"]);
    fs::read_to_string(directory.path().join("page.html")).unwrap()
}

/// A run of the hostile experiment in a directory.
fn hostile_run(directory: &Path) -> String {
    fs::write(directory.join("hostile.toml"), HOSTILE).unwrap();
    succeeds(directory, &["run", "hostile.toml"]);
    let runs = fs::read_dir(directory.join("results"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let run = runs.into_iter().find(|path| path.is_dir()).unwrap();
    run.to_str().unwrap().to_owned()
}

fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn a_page_is_whole_and_its_anchors_lead_somewhere() {
    let markup = Markup::parse(&page_of(FIXTURE)).expect("every tag is closed");
    let ids = markup.values("id");
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len(), "an id stands once: {ids:?}");
    let anchors = markup.values("href");
    assert!(anchors.len() > 8, "{anchors:?}");
    for anchor in anchors {
        let target = anchor.strip_prefix('#').expect("a page leads only to itself");
        assert!(ids.contains(&target.to_owned()), "{anchor} leads nowhere");
    }
    for label in markup
        .values("aria-labelledby")
        .iter()
        .flat_map(|label| label.split(' '))
    {
        assert!(ids.contains(&label.to_owned()), "nothing is called {label}");
    }
    let plots = markup.count("svg");
    assert_eq!(
        plots,
        4 * 2 + 2 + 1,
        "four plots a cell, two over the sizes, one of distances"
    );
    assert_eq!((markup.count("desc"), markup.count("figcaption")), (plots, plots));
}

#[test]
fn a_page_says_where_the_time_goes_if_the_run_knows() {
    let page = page_of(WITH_STEPS);
    let markup = Markup::parse(&page).expect("every tag is closed");
    assert!(markup.values("id").contains(&"steps".to_owned()), "a section");
    assert!(markup.values("href").contains(&"#steps".to_owned()), "a way to it");
    let row = "<td>write</td><td class=\"number\">";
    assert!(page.contains(row), "a row a step");
    assert!(
        !page_of(FIXTURE).contains("Where the time goes"),
        "an older run does not"
    );
}

#[test]
fn a_page_says_what_the_distance_adds_if_a_proxy_stood_there() {
    let page = page_of(WITH_PATH);
    let markup = Markup::parse(&page).expect("every tag is closed");
    assert!(markup.values("id").contains(&"path".to_owned()), "a section");
    assert!(markup.values("href").contains(&"#path".to_owned()), "a way to it");
    for told in [
        "round trips by times",
        "is what it costs at a distance of",
        "overshoot p50",
        "The proxy itself",
    ] {
        assert!(page.contains(told), "{told}");
    }
    assert!(
        !page_of(FIXTURE).contains("What the distance adds"),
        "an older run does not"
    );
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let page = page_of(FIXTURE);
    for never in [
        "<script",
        "<link",
        "<img",
        "<iframe",
        "src=",
        "url(",
        "@import",
        "http:",
        "https:",
        "javascript:",
    ] {
        assert!(!page.contains(never), "the page holds {never}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_page_has_every_cell_of_the_tables() {
    let page = page_of(FIXTURE);
    let markdown = succeeds(Path::new("."), &["analyze", FIXTURE, "--format", "markdown"]);
    let rows = markdown.lines().filter(|line| line.starts_with("| "));
    let cells: Vec<&str> = rows
        .flat_map(|row| row.trim_matches('|').split('|'))
        .map(str::trim)
        .collect();
    assert!(cells.len() > 80, "{cells:?}");
    for cell in cells {
        assert!(page.contains(&format!(">{cell}</t")), "the page lacks {cell}");
    }
    for line in markdown.lines().filter(|line| line.starts_with("> cell[")) {
        let (_, message) = line.split_once(": ").unwrap();
        assert!(page.contains(message), "the page lacks the warning {message}");
    }
    assert!(page.contains("SHA256SUMS") && page.contains("quantile_disc"));
    let directory = tempfile::tempdir().unwrap();
    let again = Synthetic::start(directory.path()).forks(FORKS).seal();
    let (before, elsewhere) = (page_of(again.to_str().unwrap()), directory.path().join("elsewhere"));
    fs::rename(&again, &elsewhere).unwrap();
    assert!(
        page_of(elsewhere.to_str().unwrap()) == before,
        "what a run is called on disk does not matter"
    );
    let manifest = MANIFEST.replace('"', "&quot;");
    assert!(page.contains(&manifest), "the manifest stands there word for word");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for name in ["one", "other"] {
        let page = format!("{name}.html");
        succeeds(at, &["report", FIXTURE, "--out", &page, "--svg", name]);
    }
    let bytes = |name: &str| fs::read(at.join(name)).unwrap();
    assert!(bytes("one.html") == bytes("other.html"));
    let plots = |name: &str| files(&at.join(name)).into_iter().map(|file| file.1).collect::<Vec<_>>();
    assert_eq!(plots("one").len(), 11);
    assert!(plots("one") == plots("other"));
}

#[test]
fn plots_are_files_that_stand_alone() {
    let directory = tempfile::tempdir().unwrap();
    succeeds(directory.path(), &["report", FIXTURE, "--svg", "plots"]);
    for (path, bytes) in files(&directory.path().join("plots")) {
        let text = String::from_utf8(bytes).unwrap();
        let (declaration, drawing) = text.split_once('\n').unwrap();
        assert_eq!(declaration, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
        let markup = Markup::parse(drawing).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        assert_eq!(
            (markup.count("svg"), markup.count("title"), markup.count("desc")),
            (1, 1, 1)
        );
        assert!(
            drawing.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""),
            "{}",
            path.display()
        );
        assert!(markup.count("text") > 5, "{} has axes in words", path.display());
    }
}

#[test]
fn words_of_a_manifest_are_never_markup() {
    let directory = tempfile::tempdir().unwrap();
    let page = page_of(&hostile_run(directory.path()));
    let markup = Markup::parse(&page).expect("every tag is closed");
    assert_eq!(
        (markup.count("script"), markup.count("img"), markup.count("title")),
        (0, 0, 1 + 11)
    );
    assert!(page.contains("&lt;script&gt;alert(2)") && page.contains("&lt;script&gt;alert(3)"));
    assert!(page.contains("&lt;script&gt;alert") && page.contains("{{ 7777 * 7 }}"));
    assert!(
        !page.contains("<b>bold") && !page.contains("54439"),
        "nothing is evaluated"
    );
}

#[test]
fn an_unfinished_run_says_so_before_anything_else() {
    let directory = tempfile::tempdir().unwrap();
    let run = Synthetic::start(directory.path()).forks(2).directory();
    let page = page_of(run.to_str().unwrap());
    let (said, title) = (page.find("UNFINISHED RUN").unwrap(), page.find("<h1>").unwrap());
    assert!(said < title && page.contains("(unfinished)") && !page.contains("sha256sum --check"));
    Markup::parse(&page).expect("every tag is closed");
}

#[test]
fn a_run_with_few_forks_or_none_has_a_page_too() {
    for forks in 0..2 {
        let directory = tempfile::tempdir().unwrap();
        let run = Synthetic::start(directory.path()).forks(forks).directory();
        let page = page_of(run.to_str().unwrap());
        let markup = Markup::parse(&page).expect("every tag is closed");
        assert_eq!(markup.count("svg") > 0, forks > 0, "{forks} forks");
        assert_eq!(page.contains("There is no answer yet"), forks == 0);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{forks} forks");
    }
}

#[test]
fn a_page_is_never_written_over_nor_into_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let run = hostile_run(at);
    let before = files(Path::new(&run));
    let told = |arguments: &[&str], code: i32| {
        let output = program(at, &[&["report", run.as_str()], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    told(&[], 0);
    let name = format!("{}.html", Path::new(&run).file_name().unwrap().to_str().unwrap());
    let page = fs::read(at.join(&name)).unwrap();
    assert!(told(&[], 7).contains("exists already"));
    fs::write(at.join(&name), "old").unwrap();
    told(&["--force"], 0);
    assert!(fs::read(at.join(&name)).unwrap() == page);
    for place in ["page.html", "new/page.html"] {
        let place = format!("{run}/{place}");
        assert!(told(&["--out", &place, "--force"], 2).contains("within the run's directory"));
    }
    let plots = format!("{run}/plots");
    told(&["--out", "other.html", "--svg", &plots], 2);
    assert!(!at.join("other.html").exists(), "all files are written or none");
    assert!(files(Path::new(&run)) == before);
}
