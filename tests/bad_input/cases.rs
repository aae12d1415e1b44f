//! One kind of bad input a test, each with the words that a reader gets.

use std::fs;
use std::path::Path;

use preview_cost::analysis::Quantile;
use preview_cost::archive::{PairStatus, Phase, SCHEMA_VERSION, TABLES};
use preview_cost::units::Nanos;

use crate::made::{Made, by_columns, by_rows, cell, told};
use crate::sealing::seal_again;

/// What is said of a run, the same by rows and by columns.
#[track_caller]
fn refused(made: &Made) -> String {
    let directory = tempfile::tempdir().unwrap();
    let run = made.seal(directory.path());
    let words = by_columns(&run, 2).expect_err("it is refused");
    assert_eq!(by_rows(&run).unwrap_err(), words);
    words.replace(&format!("{}/", run.display()), "")
}

/// The figures of a run, the same by rows and by columns, and all that is told of them.
#[track_caller]
fn accepted(made: &Made) -> (preview_cost::analysis::Analysis, String) {
    let directory = tempfile::tempdir().unwrap();
    let run = made.seal(directory.path());
    let analysis = by_columns(&run, 2).expect("it is read");
    let words = told(&analysis);
    assert_eq!(format!("{:?}", by_rows(&run).unwrap()), format!("{analysis:?}"));
    (analysis, words)
}

#[test]
fn a_negative_time_is_refused_with_its_row() {
    for time in [-1, i64::MIN] {
        let mut made = Made::plain(3, 20);
        made.forks[1].1[5].baseline.time = Some(Nanos(time));
        // Forks lie in the order of their cells: the second fork that was measured is the fourth in the file.
        let expected = format!("pairs.parquet, row 71: baseline_ns is {time}, and no time is negative");
        assert_eq!(refused(&made), expected);
    }
}

#[test]
fn the_largest_time_is_a_time() {
    let mut made = Made::plain(3, 20);
    for pair in &mut made.forks[0].1 {
        pair.subject.time = Some(Nanos(i64::MAX));
    }
    for pair in &mut made.forks[1].1 {
        (pair.subject.time, pair.baseline.time) = (Some(Nanos(0)), Some(Nanos(i64::MAX)));
    }
    made.settle();
    let (analysis, _) = accepted(&made);
    let spread = analysis.cells[0].subject.fork_medians.unwrap();
    assert_eq!(spread.1, i64::MAX);
    assert!(analysis.warnings.iter().any(|warning| warning.code == "fork-spread"));
}

#[test]
fn extreme_facts_about_forks_do_no_harm() {
    for extreme in [i64::MIN, i64::MAX] {
        let mut made = Made::plain(3, 20);
        for (fork, _) in &mut made.forks {
            (fork.clock_resolution, fork.clock_overhead) = (Nanos(extreme), Nanos(extreme));
            (fork.distance_before, fork.distance_after) = (Some(Nanos(extreme)), Some(Nanos(extreme)));
            (fork.table_bytes_start, fork.started_unix_ns, fork.ended_unix_ns) = (extreme, extreme, extreme);
        }
        accepted(&made);
    }
}

#[test]
fn a_cell_without_a_fork_has_no_figures_but_a_place() {
    let mut made = Made::plain(3, 20);
    made.cells.push(cell(3, 120, false));
    let (analysis, words) = accepted(&made);
    assert_eq!((analysis.cells[3].forks, analysis.cells[3].pairs), (0, 0));
    assert_eq!(analysis.cells[3].difference, None);
    assert!(words.contains("plans=120"), "{words}");
}

#[test]
fn a_fork_of_a_cell_that_is_not_there_is_refused() {
    let mut made = Made::plain(3, 20);
    made.cells.remove(1);
    assert_eq!(
        refused(&made),
        "forks.parquet, row 3: fork 0 belongs to cell 1, which cells.parquet does not have"
    );
}

#[test]
fn empty_forks_are_counted_as_forks_and_nothing_else() {
    let mut made = Made::plain(3, 20);
    made.forks[0].1.clear();
    made.settle();
    let (analysis, _) = accepted(&made);
    assert_eq!((analysis.cells[0].forks, analysis.cells[0].pairs), (3, 40));
    made.forks.iter_mut().for_each(|(_, pairs)| pairs.clear());
    made.settle();
    let (analysis, _) = accepted(&made);
    assert_eq!(analysis.cells[0].subject.p50, Quantile::TooFew { pairs: 0 });
}

#[test]
fn where_all_pairs_failed_their_number_is_said() {
    let mut made = Made::plain(3, 20);
    for pair in made.pairs() {
        (pair.status, pair.subject.time, pair.baseline.time) = (PairStatus::Failed, None, None);
    }
    made.settle();
    let (analysis, words) = accepted(&made);
    assert_eq!((analysis.cells[0].pairs, analysis.cells[0].uncounted), (0, 60));
    assert!(words.contains("180 measured pairs failed"), "{words}");
}

#[test]
fn one_pair_gives_a_median_and_no_tails() {
    let mut made = Made::plain(1, 1);
    let (analysis, _) = accepted(&made);
    assert!(matches!(
        analysis.cells[0].subject.p50,
        Quantile::Value { interval: None, .. }
    ));
    assert_eq!(analysis.cells[0].subject.p99, Quantile::TooFew { pairs: 1 });
    made.pairs().for_each(|pair| pair.phase = Phase::Warmup);
    made.settle();
    let (analysis, _) = accepted(&made);
    assert_eq!((analysis.cells[0].pairs, analysis.cells[0].uncounted), (0, 0));
}

#[test]
fn medians_and_numbers_of_rows_must_be_those_of_the_pairs() {
    let mut made = Made::plain(3, 20);
    made.forks[0].0.medians = Some([Nanos(1), Nanos(1), Nanos(0)]);
    assert_eq!(
        refused(&made),
        "fork 0 of cell[plans=10] was archived with other medians than its pairs give; fetch the run again"
    );
    let mut made = Made::plain(3, 20);
    made.forks[0].0.pairs_recorded += 1;
    assert_eq!(
        refused(&made),
        "pairs.parquet, row 22: a row of fork 1 of cell 0, which forks.parquet does not expect here"
    );
    let last = made.forks.len() - 1;
    let mut made = Made::plain(3, 20);
    made.forks[last].0.pairs_recorded += 1;
    assert_eq!(
        refused(&made),
        "pairs.parquet, row 198: fork 2 of cell 2 has 22 rows where forks.parquet says 23"
    );
}

#[test]
fn an_unusable_value_of_the_manifest_is_named() {
    for (section, key, value) in [
        ("figures", "resamples", "0"),
        ("figures", "resamples", "4294967295"),
        ("figures", "margin", "-1"),
        ("figures", "debounce", "99999999999999999999"),
    ] {
        let mut made = Made::plain(1, 2);
        made.set(section, key, value);
        assert_eq!(
            refused(&made),
            format!("the archived manifest has no usable {section}.{key}")
        );
    }
}

/// Replaces a text by another as long in every table of a run, and seals it again.
fn rewritten(run: &Path, from: &[u8], to: &[u8]) {
    for table in TABLES {
        let path = run.join(table.file_name());
        let mut bytes = fs::read(&path).unwrap();
        for place in 0..bytes.len().saturating_sub(from.len()) {
            if bytes[place..].starts_with(from) {
                bytes[place..place + to.len()].copy_from_slice(to);
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    seal_again(run);
}

#[test]
fn another_schema_version_is_refused_with_the_program_that_reads_it() {
    for (version, words) in [
        (
            "2.0",
            "has schema version 2.0, and this program reads 1.x; use preview-cost 0.1.0, which wrote it",
        ),
        (
            "0.9",
            "has schema version 0.9, and this program reads 1.x; use preview-cost 0.1.0, which wrote it",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let run = Made::plain(1, 2).seal(directory.path());
        let stored = |version: &str| [b"schema_version\x18\x03", version.as_bytes()].concat();
        rewritten(&run, &stored(SCHEMA_VERSION), &stored(version));
        let said = by_columns(&run, 1).unwrap_err();
        assert!(said.ends_with(words), "{said}");
    }
}

#[test]
fn a_missing_table_is_named() {
    for table in ["cells", "environment", "forks", "pairs"] {
        let directory = tempfile::tempdir().unwrap();
        let run = Made::plain(1, 2).seal(directory.path());
        fs::remove_file(run.join(format!("{table}.parquet"))).unwrap();
        let said = by_columns(&run, 1).unwrap_err();
        let expected = format!("{table}.parquet is missing, and is named in SHA256SUMS; fetch the run again");
        assert!(said.ends_with(&expected), "{said}");
    }
}

/// Several row groups and forks that end within them, with gaps, so that threads have something to put in order.
#[test]
fn figures_are_the_same_at_any_number_of_threads_and_by_rows() {
    let mut made = Made::plain(2, 25_000);
    for (place, pair) in made.pairs().enumerate() {
        if place % 1_009 == 0 {
            (pair.status, pair.subject.time) = (PairStatus::Timeout, None);
        }
        if place % 2_003 == 0 {
            (pair.status, pair.baseline.time) = (PairStatus::Failed, None);
        }
    }
    made.settle();
    let directory = tempfile::tempdir().unwrap();
    let run = made.seal(directory.path());
    let expected = format!("{:?}", by_rows(&run).unwrap());
    for threads in [1, 2, 16, 2] {
        assert_eq!(
            format!("{:?}", by_columns(&run, threads).unwrap()),
            expected,
            "{threads} threads"
        );
    }
}
