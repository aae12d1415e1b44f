//! Numbers in documents: what stands between markers is what the archive gives, and every number of a table is a figure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use preview_cost::analysis::{self, Figure};
use preview_cost::command::load::figures_of;
use preview_cost::report::{Dialect, figure_text, milliseconds, tables};
use tempfile::TempDir;

const RUN: &str = "tests/fixtures/schema-1.0/20261130T120000Z-synthetic-7c76d6b7";

/// A document beside a copy of the fixture, `results/run`.
struct Document {
    directory: TempDir,
}

impl Document {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("results/run");
        fs::create_dir_all(&run).unwrap();
        for entry in fs::read_dir(RUN).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, run.join(path.file_name().unwrap())).unwrap();
        }
        fs::write(directory.path().join("README.md"), text).unwrap();
        Self { directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("README.md")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn analyze(&self, option: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_preview-cost"))
            .args(["analyze", option])
            .arg(self.path())
            .output()
            .expect("the program starts")
    }

    /// What `--check` says against it.
    fn fault(&self) -> String {
        let output = self.analyze("--check");
        assert_eq!(output.status.code(), Some(5), "{}", self.text());
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn assert_true(&self) {
        let output = self.analyze("--check");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn marked(id: &str, number: &str) -> String {
    format!("<!-- fig:results/run {id} -->{number}<!-- /fig -->")
}

const MEDIAN: &str = "cell[plans=10].difference.median";

#[test]
fn single_numbers_are_rewritten_and_then_hold() {
    let ids = [
        (MEDIAN, "0.743 ms"),
        ("cell[plans=40].difference.ratio", "20.2 ×"),
        ("cell[plans=40].difference.slower_share", "100 %"),
        ("cell[plans=40].pairs.ok", "359 pairs"),
        ("cell[plans=40].forks", "3 forks"),
    ];
    let lines: Vec<String> = ids
        .iter()
        .map(|(id, _)| format!("It is {}, they say.", marked(id, "?")))
        .collect();
    let document = Document::new(&lines.join("\n"));
    assert!(
        document
            .fault()
            .contains("README.md:1: cell[plans=10].difference.median: ")
    );
    assert!(document.analyze("--splice").status.success());
    document.assert_true();
    for (id, number) in ids {
        assert!(document.text().contains(&marked(id, number)), "{}", document.text());
    }
}

#[test]
fn a_stale_number_is_named_by_file_line_and_figure() {
    let table = "<!-- preview-cost analyze results/run -->\n<!-- /preview-cost -->\n";
    let document = Document::new(&format!("{table}\nIt is {}.\n", marked(MEDIAN, "?")));
    assert!(document.analyze("--splice").status.success());
    document.assert_true();
    let (line, _) = (1..)
        .zip(document.text().lines().map(str::to_owned))
        .find(|(_, line)| line.starts_with("It is"))
        .unwrap();
    let edited = document.text().replace("0.743 ms<", "0.742 ms<");
    fs::write(document.path(), edited).unwrap();
    let fault = document.fault();
    assert!(
        fault.contains(&format!("README.md:{line}: {MEDIAN}: the text says \"0.742 ms\"")),
        "{fault}"
    );
    assert!(fault.contains("the archive gives \"0.743 ms\""), "{fault}");
}

#[test]
fn a_number_typed_into_a_table_by_hand_is_found() {
    let document = Document::new("<!-- preview-cost analyze results/run -->\n<!-- /preview-cost -->\n");
    assert!(document.analyze("--splice").status.success());
    fs::write(document.path(), document.text().replacen("0.743", "0.742", 1)).unwrap();
    assert!(document.fault().contains("this table is not what its archive gives"));
}

#[test]
fn what_is_no_figure_can_not_be_cited() {
    let fault = Document::new(&format!("\n{}", marked("cell[plans=10].difference.medain", "1"))).fault();
    assert!(
        fault.contains("README.md:2: cell[plans=10].difference.medain: the run"),
        "{fault}"
    );
    assert!(
        fault.contains("the nearest are cell[plans=10].difference.median, "),
        "{fault}"
    );
    let fault = Document::new(&marked("cell[plans=10].subject.p99", "1")).fault();
    assert!(
        fault.contains("has no value in the run") && fault.contains("withheld"),
        "{fault}"
    );
    let fault = Document::new("1 <!-- fig:results/run -->1<!-- /fig -->").fault();
    assert!(fault.contains("README.md:1: the marker must read"), "{fault}");
    let fault = Document::new("no marker\n").fault();
    assert!(fault.contains("and no `<!-- fig:"), "{fault}");
}

/// A table is generated whole, so that a number without a figure could come from the program only. None does.
#[test]
fn every_number_of_a_table_is_a_figure() {
    let analysis = figures_of(Path::new(RUN), false).unwrap();
    let figures = analysis::figures(&analysis);
    let text = tables(&analysis, Dialect::Markdown);
    let mut numbers = 0;
    for row in text
        .lines()
        .filter(|line| line.starts_with("| 10 ") || line.starts_with("| 40 "))
    {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let known = known(&figures, cells[0]);
        // Sizes, sides and fields are the grid's, and the last column of the first table is a word.
        let skipped = if row.contains("rollback − copy") { 2 } else { 3 };
        let numeric = |text: &&str| text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '−');
        for cell in cells.iter().skip(skipped).filter(|text| numeric(text)) {
            for number in cell.split(['–']).flat_map(|part| part.split(" to ")) {
                assert!(
                    known.contains(&number.to_owned()),
                    "{number} in {row} is no figure: {known:?}"
                );
                numbers += 1;
            }
        }
    }
    assert!(numbers > 40, "{numbers} numbers were found");
}

/// The figures of the cell of this size as tables tell them, without units, and the ends of their intervals.
fn known(figures: &[Figure], plans: &str) -> Vec<String> {
    let of_cell = figures
        .iter()
        .filter(|figure| figure.id.starts_with(&format!("cell[plans={plans}].")));
    let told = |figure: &Figure| {
        let text = figure_text(figure).unwrap_or_default();
        let bare = [" ms", " pairs", " forks", " round trips"]
            .iter()
            .find_map(|unit| text.strip_suffix(unit));
        let ends = figure
            .interval
            .map(|interval| [interval.low, interval.high].map(milliseconds));
        [bare.unwrap_or(&text).to_owned()]
            .into_iter()
            .chain(ends.into_iter().flatten())
            .collect::<Vec<_>>()
    };
    of_cell.flat_map(told).collect()
}
