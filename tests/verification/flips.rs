//! One bit, anywhere.

use std::fs;

use preview_cost::verification::Outcome;

use crate::Copy;
use crate::sealing::seal_again;

/// Bytes between two flips where a run's files are long.
const STEP: usize = 5;
/// The same where each flip is followed by new sums and a new seal.
const STEP_SEALED: usize = 41;

fn files(copy: &Copy) -> Vec<String> {
    let names = fs::read_dir(copy.run()).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_whole_run_holds() {
    assert_eq!(Copy::new().outcome(), Outcome::Ok);
}

#[test]
fn a_flip_is_found_in_every_file() {
    let copy = Copy::new();
    let (mut flips, mut unseen) = (0, Vec::new());
    for name in files(&copy) {
        let path = copy.run().join(&name);
        let whole = fs::read(&path).unwrap();
        for place in (0..whole.len()).step_by(STEP).chain([whole.len() - 1]) {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            fs::write(&path, &bytes).unwrap();
            flips += 1;
            if copy.outcome() <= Outcome::Noted {
                unseen.push((name.clone(), place));
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(unseen, []);
    assert!(flips > 2_000, "{flips}");
    assert_eq!(copy.outcome(), Outcome::Ok);
}

/// Whoever can flip a bit can write the sums and the seal anew. What stays is the root in the ledger.
#[test]
fn a_flip_under_new_sums_and_a_new_seal_is_found_by_the_ledger() {
    let copy = Copy::new();
    let seal: Vec<_> = ["chain.jsonl", "SHA256SUMS"]
        .map(|name| (copy.run().join(name), fs::read(copy.run().join(name)).unwrap()))
        .into();
    for name in files(&copy) {
        if name == "chain.jsonl" || name == "SHA256SUMS" {
            continue;
        }
        let path = copy.run().join(&name);
        let whole = fs::read(&path).unwrap();
        for place in (0..whole.len()).step_by(STEP_SEALED) {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            fs::write(&path, &bytes).unwrap();
            seal_again(&copy.run());
            assert!(copy.outcome() > Outcome::Noted, "{name}, {place}");
        }
        fs::write(&path, &whole).unwrap();
        for (path, whole) in &seal {
            fs::write(path, whole).unwrap();
        }
    }
    assert_eq!(copy.outcome(), Outcome::Ok);
}

/// The last line of the ledger is the only one that no other line names: of it, run and root are held against the run.
#[test]
fn a_flip_in_the_ledger_is_found() {
    let copy = Copy::new();
    let whole = fs::read(copy.ledger()).unwrap();
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    let text = String::from_utf8(whole.clone()).unwrap();
    let root = text[last..].find("\"root\":\"").unwrap() + last + 8;
    for place in (0..last).chain(root..root + 64) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 7);
        fs::write(copy.ledger(), &bytes).unwrap();
        assert!(copy.outcome() > Outcome::Noted, "{place}: {}", &text[place..place + 20]);
    }
}
