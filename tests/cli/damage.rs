//! Sealed archives that are damaged, incomplete or mixed up: refused, with the file named.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::remains::{analyze, copy, files_under, read};
use crate::samples;
use crate::sealing::seal_again;
use crate::support::ask;

const TABLES: [&str; 5] = ["cells", "environment", "forks", "manifest", "pairs"];

/// A copy of a sealed run, to be damaged.
struct Copy(TempDir);

impl Copy {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        copy(samples::sealed(0), directory.path());
        Self(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Holds that `analyze` refuses it with one message that names the file.
    #[track_caller]
    fn is_refused(&self, file: &str) -> String {
        let said = ask(&mut analyze(self.path(), "table")).exits(5);
        assert!(said.message().contains(file), "{file} is not named: {said:#?}");
        said.message().to_owned()
    }
}

#[test]
fn a_file_that_was_truncated_or_removed_is_named() {
    for file in files_under(samples::sealed(0)) {
        let whole = fs::read(samples::sealed(0).join(&file)).unwrap();
        for length in [0, whole.len() / 2, whole.len() - 1] {
            let copy = Copy::new();
            fs::write(copy.path().join(&file), &whole[..length]).unwrap();
            copy.is_refused(&file);
        }
        let copy = Copy::new();
        fs::remove_file(copy.path().join(&file)).unwrap();
        copy.is_refused(&file);
    }
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let copy = Copy::new();
    for file in files_under(copy.path()) {
        let path = copy.path().join(&file);
        let whole = fs::read(&path).unwrap();
        for place in (0..whole.len())
            .step_by(whole.len().div_ceil(150))
            .chain([whole.len() - 1])
        {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            fs::write(&path, &bytes).unwrap();
            let error = read(copy.path()).expect_err("a flipped bit").to_string();
            assert!(
                file == "SHA256SUMS" || error.contains(&file),
                "{file}, byte {place}: {error}"
            );
        }
        copy.is_refused(if file == "SHA256SUMS" { "" } else { &file });
        fs::write(&path, &whole).unwrap();
    }
    read(copy.path()).unwrap();
}

#[test]
fn a_table_of_another_run_is_found_by_its_sum_and_by_its_run() {
    for table in TABLES {
        let file = format!("{table}.parquet");
        let copy = Copy::new();
        fs::copy(samples::sealed(1).join(&file), copy.path().join(&file)).unwrap();
        copy.is_refused(&file);
        seal_again(copy.path());
        // Where the foreign file is the one that says which run this is, the next one is the one that disagrees.
        let named = if table == "manifest" { "cells.parquet" } else { &file };
        assert!(copy.is_refused(named).contains("belongs to run "));
    }
}

#[test]
fn a_table_in_the_place_of_another_is_found() {
    let copy = Copy::new();
    fs::copy(copy.path().join("cells.parquet"), copy.path().join("forks.parquet")).unwrap();
    seal_again(copy.path());
    assert!(
        copy.is_refused("forks.parquet")
            .contains("it holds table cells where forks is expected")
    );
}

#[test]
fn an_edited_manifest_is_found_by_its_sum_and_by_its_digest() {
    let copy = Copy::new();
    let path = copy.path().join("manifest.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("margin_ms = 0.05", "margin_ms = 0.5")).unwrap();
    copy.is_refused("manifest.toml");
    seal_again(copy.path());
    assert!(
        copy.is_refused("manifest.toml")
            .contains("not the manifest that this run was measured under")
    );
}

#[test]
fn edited_sums_are_refused() {
    let whole = fs::read_to_string(samples::sealed(0).join("SHA256SUMS")).unwrap();
    let first = whole.lines().next().unwrap();
    for (edited, named) in [
        (
            whole.replacen(first, &format!("{}  cells.parquet", "0".repeat(64)), 1),
            "cells.parquet",
        ),
        (
            whole.replacen(&format!("{first}\n"), "", 1),
            "cells.parquet is not named in SHA256SUMS",
        ),
        (whole.replacen(first, "nonsense", 1), "SHA256SUMS:1: "),
        (format!("{whole}{}  ../outside\n", "0".repeat(64)), "SHA256SUMS:10: "),
        (
            format!("{whole}{}  gone.parquet\n", "0".repeat(64)),
            "gone.parquet is missing, and is named in SHA256SUMS",
        ),
        (String::new(), "is not named in SHA256SUMS"),
    ] {
        let copy = Copy::new();
        fs::write(copy.path().join("SHA256SUMS"), edited).unwrap();
        copy.is_refused(named);
    }
    let copy = Copy::new();
    fs::write(copy.path().join("SHA256SUMS"), b"\xff\xfe").unwrap();
    copy.is_refused("SHA256SUMS");
}

#[test]
fn what_is_no_run_is_told_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "x").unwrap();
    for path in [directory.path(), &file, Path::new("/nonexistent")] {
        let said = ask(&mut analyze(path, "table")).exits(5);
        assert!(
            said.message().contains("is not a run: it has no manifest.parquet"),
            "{said:#?}"
        );
    }
    // A results directory is the likely mistake.
    let results = samples::sealed(0).parent().unwrap();
    assert!(
        ask(&mut analyze(results, "table"))
            .exits(5)
            .message()
            .contains("name a directory under results/")
    );
}

/// What may happen to a file's bytes.
#[derive(Debug, Clone)]
enum Mangle {
    Flip(usize, u8),
    Overwrite(usize, Vec<u8>),
    Cut(usize, usize),
    Replace(Vec<u8>),
}

impl Mangle {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        match self {
            Self::Flip(place, bit) => bytes[place % length] ^= 1 << (bit % 8),
            Self::Overwrite(place, new) => {
                let start = place % length;
                let end = (start + new.len()).min(length);
                bytes[start..end].copy_from_slice(&new[..end - start]);
            }
            Self::Cut(place, count) => {
                let start = place % length;
                bytes.drain(start..(start + count).min(length));
            }
            Self::Replace(new) => bytes.clone_from(new),
        }
    }
}

fn mangle() -> impl Strategy<Value = Mangle> {
    prop_oneof![
        8 => (any::<usize>(), any::<u8>()).prop_map(|(place, bit)| Mangle::Flip(place, bit)),
        4 => (any::<usize>(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(place, new)| Mangle::Overwrite(place, new)),
        2 => (any::<usize>(), 1usize..400).prop_map(|(place, count)| Mangle::Cut(place, count)),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Mangle::Replace),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Somebody seals mangled files again: whatever comes of it, it is no panic.
    #[test]
    fn mangled_tables_under_a_valid_seal_never_make_the_reader_panic(
        table in prop::sample::select(TABLES.to_vec()),
        mangles in prop::collection::vec(mangle(), 1..4),
    ) {
        let copy = Copy::new();
        let path = copy.path().join(format!("{table}.parquet"));
        let mut bytes = fs::read(&path).unwrap();
        for mangle in &mangles {
            if !bytes.is_empty() {
                mangle.apply(&mut bytes);
            }
        }
        fs::write(&path, bytes).unwrap();
        seal_again(copy.path());
        let _ = read(copy.path());
    }
}
