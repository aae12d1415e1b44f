//! What a power cut may leave: the last files whole, torn or gone, in every combination. Each is recovered, and what was
//! whole is there.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use preview_cost::archive::{Archive, ChainEntry, Completeness, Recovered, Recovery, SealState, recover};
use tempfile::TempDir;

use crate::remains::{copy, files_under, parts_of, read};
use crate::samples;
use crate::support::quick_directory;

/// What a power cut did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Whole,
    Torn,
    Empty,
    Gone,
}

const FATES: [Fate; 4] = [Fate::Whole, Fate::Torn, Fate::Empty, Fate::Gone];

impl Fate {
    fn befalls(self, path: &Path) {
        let length = fs::metadata(path).unwrap().len();
        let cut = |length| {
            OpenOptions::new()
                .write(true)
                .open(path)
                .unwrap()
                .set_len(length)
                .unwrap();
        };
        match self {
            Self::Whole => {}
            Self::Torn => cut(length / 2),
            Self::Empty => cut(0),
            Self::Gone => fs::remove_file(path).unwrap(),
        }
    }
}

/// A copy of an unfinished run, which has the ledger's directory to itself.
fn unfinished() -> (TempDir, PathBuf) {
    let results = quick_directory();
    let run = results.path().join("run");
    copy(samples::unfinished(0), &run);
    (results, run)
}

#[track_caller]
fn recovered(run: &Path) -> Recovered {
    match recover(run).unwrap() {
        Recovery::Sealed(recovered) => recovered,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn is_sealed_as_incomplete(run: &Path, forks: usize) {
    let (archive, read) = read(run).unwrap();
    assert_eq!(archive.completeness, Completeness::Incomplete);
    assert_eq!((archive.forks.len(), read.len()), (forks, forks));
    assert_eq!(archive.chain_faults().unwrap(), []);
    let left = files_under(run);
    let expected = "SHA256SUMS cells.parquet chain.jsonl environment.parquet forks.parquet manifest.parquet \
                    manifest.toml pairs.parquet steps.parquet wire.parquet";
    assert_eq!(left, expected.split_whitespace().collect::<Vec<_>>());
    assert!(!run.join("parts").exists() && !run.join("scratch").exists());
}

/// Takes the chain's last line away, or half of it.
fn chain_line(run: &Path, fate: Fate) {
    let path = run.join("chain.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    let rest = match fate {
        Fate::Whole => return,
        Fate::Torn => &last[..last.len() / 2],
        Fate::Empty => "\0\0\0\0",
        Fate::Gone => "",
    };
    fs::write(path, format!("{before}\n{rest}")).unwrap();
}

#[test]
fn the_last_part_and_its_line_in_every_state() {
    let forks = parts_of(samples::unfinished(0));
    let last = forks - 1;
    let combinations = FATES.into_iter().flat_map(|pairs| {
        FATES.into_iter().flat_map(move |fork| {
            FATES
                .into_iter()
                .flat_map(move |sums| FATES.into_iter().map(move |line| [pairs, fork, sums, line]))
        })
    });
    for fates in combinations {
        let (_results, run) = unfinished();
        let [pairs, fork, sums, line] = fates;
        for (fate, kind) in [
            (pairs, "steps.parquet"),
            (pairs, "pairs.parquet"),
            (fork, "fork.parquet"),
            (sums, "sums"),
        ] {
            fate.befalls(&run.join(format!("parts/{last:05}.{kind}")));
        }
        chain_line(&run, line);
        let is_whole = [pairs, fork, sums].iter().all(|fate| *fate == Fate::Whole);
        let told = recovered(&run);
        let kept = if is_whole { forks } else { last };
        assert_eq!(
            (told.state, told.forks.kept),
            (SealState::Incomplete, kept),
            "{fates:?}"
        );
        // Without its line, nobody knows that there was a fork.
        assert_eq!(
            told.lost.len(),
            usize::from(!is_whole && line == Fate::Whole),
            "{fates:?}"
        );
        is_sealed_as_incomplete(&run, kept);
    }
}

/// Whatever the tables, the seal and the sums are like when the power comes back, the same run comes out, byte for byte.
#[test]
fn a_seal_that_was_cut_short_anywhere_is_finished() {
    let (_results, sealed) = unfinished();
    let forks = recovered(&sealed).forks.kept;
    let sums = fs::read_to_string(sealed.join("SHA256SUMS")).unwrap();
    let put = |run: &Path, file: &str, fate: Fate| {
        fs::copy(sealed.join(file), run.join(file)).unwrap();
        fate.befalls(&run.join(file));
    };
    let holds = |run: &Path, of: &str| {
        recover(run).unwrap_or_else(|error| panic!("{of}: {error}"));
        is_sealed_as_incomplete(run, forks);
        assert_eq!(fs::read_to_string(run.join("SHA256SUMS")).unwrap(), sums, "{of}");
    };
    for forks in FATES {
        for pairs in FATES {
            for seal in FATES {
                let (_results, run) = unfinished();
                put(&run, "forks.parquet", forks);
                put(&run, "pairs.parquet", pairs);
                put(&run, "steps.parquet", pairs);
                put(&run, "wire.parquet", forks);
                put(&run, "chain.jsonl", Fate::Whole);
                chain_line(&run, seal);
                holds(&run, &format!("{forks:?} {pairs:?} {seal:?}"));
            }
        }
    }
    for of_sums in FATES {
        let (_results, run) = unfinished();
        for file in [
            "forks.parquet",
            "pairs.parquet",
            "steps.parquet",
            "wire.parquet",
            "chain.jsonl",
        ] {
            put(&run, file, Fate::Whole);
        }
        put(&run, "SHA256SUMS", of_sums);
        holds(&run, &format!("sums {of_sums:?}"));
    }
    // The parts go one by one, and the announcement after them.
    let (_results, run) = unfinished();
    for file in [
        "forks.parquet",
        "pairs.parquet",
        "steps.parquet",
        "wire.parquet",
        "chain.jsonl",
        "SHA256SUMS",
    ] {
        put(&run, file, Fate::Whole);
    }
    for left in files_under(&run.join("parts")).iter().step_by(2) {
        fs::remove_file(run.join("parts").join(left)).unwrap();
    }
    holds(&run, "half of the parts");
}

#[test]
fn a_part_without_its_steps_does_not_count() {
    for fate in [Fate::Gone, Fate::Torn] {
        let (_results, run) = unfinished();
        let forks = parts_of(&run);
        fate.befalls(&run.join("parts/00001.steps.parquet"));
        assert_eq!(recovered(&run).forks.kept, forks - 1);
        is_sealed_as_incomplete(&run, forks - 1);
    }
}

#[test]
fn a_lost_fork_in_the_middle_is_named_in_the_seal() {
    let (_results, run) = unfinished();
    let before = Archive::open(&run).unwrap();
    let lost = before.forks.iter().find(|fork| fork.position == 1).unwrap().clone();
    for kind in ["pairs.parquet", "steps.parquet", "fork.parquet", "sums"] {
        fs::remove_file(run.join(format!("parts/00001.{kind}"))).unwrap();
    }
    let told = recovered(&run);
    assert_eq!(told.lost.len(), 1);
    assert_eq!((told.lost[0].cell, told.lost[0].fork), (lost.cell, lost.fork));
    is_sealed_as_incomplete(&run, before.forks.len() - 1);
    let archive = Archive::open(&run).unwrap();
    let Some(ChainEntry::Seal { lost: named, .. }) = archive.chain().unwrap().entries.last() else {
        panic!("the chain is sealed");
    };
    assert_eq!(*named, told.lost);
}

/// Recovering launders nothing: rows that are not those of the chain are damage, whatever their sums say.
#[test]
fn a_part_that_is_not_the_one_that_was_measured_is_refused() {
    let (_results, run) = unfinished();
    let parts = run.join("parts");
    for kind in ["pairs.parquet", "steps.parquet", "fork.parquet"] {
        fs::copy(parts.join(format!("00000.{kind}")), parts.join(format!("00001.{kind}"))).unwrap();
    }
    let sums = fs::read_to_string(parts.join("00000.sums")).unwrap();
    fs::write(parts.join("00001.sums"), sums.replace("00000.", "00001.")).unwrap();
    let refused = recover(&run).unwrap_err().to_string();
    assert!(refused.contains("stands twice"), "{refused}");
    assert!(!run.join("SHA256SUMS").exists());
}

#[test]
fn what_a_dead_run_left_lying_about_is_removed() {
    let (_results, run) = unfinished();
    let forks = parts_of(&run);
    fs::create_dir(run.join("scratch")).unwrap();
    for file in [
        "scratch/00004.sqlite",
        "pairs.tmp",
        "SHA256SUMS.tmp",
        "parts/00099.pairs.tmp",
        "parts/00099.pairs.parquet",
    ] {
        fs::write(run.join(file), "torn").unwrap();
    }
    let mut chain = OpenOptions::new().append(true).open(run.join("chain.jsonl")).unwrap();
    chain.write_all(b"{\"seq\":9999,\"previous\":\"").unwrap();
    assert_eq!(recovered(&run).forks.kept, forks);
    is_sealed_as_incomplete(&run, forks);
}
