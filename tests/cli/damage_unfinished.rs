//! Unfinished archives that are damaged: a seal can't protect them, so each part has sums of its own.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::remains::{analyze, copy, ends_in, files_under, parts_of, read};
use crate::samples;
use crate::support::ask;

/// A copy of an unfinished run, to be damaged.
fn damaged() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    copy(samples::unfinished(0), directory.path());
    directory
}

#[track_caller]
fn is_refused(run: &Path, file: &str) -> String {
    let said = ask(&mut analyze(run, "table")).exits(5);
    assert!(said.message().contains(file), "{file} is not named: {said:#?}");
    said.message().to_owned()
}

/// The files that a run has before and after its first two forks.
fn files() -> Vec<String> {
    let files = files_under(samples::unfinished(0)).into_iter();
    let (parts, head): (Vec<_>, Vec<_>) = files.partition(|name| name.starts_with("parts/"));
    let parts = parts
        .into_iter()
        .filter(|name| name.starts_with("parts/00000.") || name.starts_with("parts/00001."));
    head.into_iter().chain(parts).collect()
}

#[test]
fn a_file_that_was_truncated_is_named() {
    for file in files() {
        let whole = fs::read(samples::unfinished(0).join(&file)).unwrap();
        for length in [0, whole.len() / 2, whole.len() - 1] {
            if file == "chain.jsonl" && length + 1 == whole.len() {
                // As after a crash while it was written.
                continue;
            }
            let run = damaged();
            fs::write(run.path().join(&file), &whole[..length]).unwrap();
            // Without its lines, a file of sums leaves others without theirs.
            let name = file.rsplit('/').next().unwrap();
            is_refused(run.path(), name);
        }
    }
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let run = damaged();
    let mut unseen = Vec::new();
    for file in files() {
        let path = run.path().join(&file);
        let whole = fs::read(&path).unwrap();
        for place in (0..whole.len())
            .step_by(whole.len().div_ceil(60))
            .chain([whole.len() - 1])
            .filter(|&place| file != "chain.jsonl" || place < whole.len() - 1)
        {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            fs::write(&path, &bytes).unwrap();
            if read(run.path()).is_ok() {
                unseen.push((file.clone(), place));
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(unseen, []);
    read(run.path()).unwrap();
}

#[test]
fn a_torn_last_line_of_the_chain_is_as_after_a_crash() {
    let run = damaged();
    let path = run.path().join("chain.jsonl");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let (archive, _) = read(run.path()).unwrap();
    assert_eq!(archive.forks.len(), parts_of(samples::unfinished(0)));
}

#[test]
fn a_file_that_was_removed_is_named() {
    for file in files() {
        let run = damaged();
        fs::remove_file(run.path().join(&file)).unwrap();
        if file.starts_with("parts/") && ends_in(&file, "sums") {
            // As after a crash: the part does not count.
            let (archive, forks) = read(run.path()).unwrap();
            let left = parts_of(samples::unfinished(0)) - 1;
            assert_eq!((archive.forks.len(), forks.len()), (left, left));
        } else {
            is_refused(run.path(), &file);
        }
    }
    let run = damaged();
    fs::remove_dir_all(run.path().join("parts")).unwrap();
    is_refused(run.path(), "parts");
}

#[test]
fn a_part_of_another_run_is_found_by_its_sums_and_by_its_run() {
    for kind in ["pairs.parquet", "steps.parquet", "fork.parquet"] {
        let (run, file) = (damaged(), format!("parts/00001.{kind}"));
        fs::copy(samples::unfinished(1).join(&file), run.path().join(&file)).unwrap();
        is_refused(run.path(), &file);
        for file in [
            "parts/00001.pairs.parquet",
            "parts/00001.steps.parquet",
            "parts/00001.fork.parquet",
            "parts/00001.sums",
        ] {
            fs::copy(samples::unfinished(1).join(file), run.path().join(file)).unwrap();
        }
        assert!(is_refused(run.path(), "parts/00001.").contains("belongs to run "));
    }
    for table in ["cells", "environment", "manifest"] {
        let (run, file) = (damaged(), format!("{table}.parquet"));
        fs::copy(samples::unfinished(1).join(&file), run.path().join(&file)).unwrap();
        is_refused(run.path(), ".parquet");
    }
}

#[test]
fn a_part_under_the_name_of_another_is_found() {
    let run = damaged();
    for kind in ["pairs.parquet", "steps.parquet", "fork.parquet"] {
        let file = |place: u32| run.path().join(format!("parts/0000{place}.{kind}"));
        fs::copy(file(0), file(1)).unwrap();
    }
    let sums = fs::read_to_string(run.path().join("parts/00000.sums")).unwrap();
    fs::write(run.path().join("parts/00001.sums"), sums.replace("00000.", "00001.")).unwrap();
    assert!(is_refused(run.path(), "").contains("stands twice"));
}

#[test]
fn half_a_part_without_sums_is_what_a_crash_leaves_and_does_not_count() {
    let run = damaged();
    let forks = read(run.path()).unwrap().1.len();
    fs::write(run.path().join("parts/90000.pairs.parquet"), "PAR1 torn").unwrap();
    fs::write(run.path().join("parts/90000.pairs.tmp"), "torn").unwrap();
    assert_eq!(read(run.path()).unwrap().1.len(), forks);
}
