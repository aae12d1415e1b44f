//! The ledger against what may happen to it: a crash, an altered line, many writers.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use super::*;

fn nowhere() -> Committed {
    Committed::default()
}

fn lines(directory: &Path) -> Vec<String> {
    let text = fs::read_to_string(directory.join("LEDGER.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn lines_are_chained_and_a_torn_one_stays() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::of(directory.path());
    assert_eq!(ledger.read().unwrap(), History::default());
    ledger.append("a", "m", LedgerState::Started, None).unwrap();
    let mut file = OpenOptions::new().append(true).open(ledger.path()).unwrap();
    file.write_all(b"{\"seq\":1,").unwrap();
    ledger.append("b", "m", LedgerState::Started, None).unwrap();
    let lines = lines(directory.path());
    assert_eq!(lines.len(), 3);
    let first: Line = serde_json::from_str(&lines[0]).unwrap();
    let last: Line = serde_json::from_str(&lines[2]).unwrap();
    assert_eq!((first.seq, first.previous), (0, None));
    assert_eq!((last.seq, last.previous), (2, Some(digest::of_bytes(&lines[1]))));
    let history = ledger.read().unwrap();
    assert_eq!(
        (history.entries.len(), &history.torn[..], history.broken),
        (2, &[2][..], None)
    );
    assert_eq!(history.entries[1].sha256, digest::of_bytes(&lines[2]));
}

/// The first lines that were ever written; results/LEDGER.jsonl begins with their like.
#[test]
fn lines_of_the_first_version_are_read() {
    let first =
        r#"{"seq":0,"previous":null,"at":"2026-11-30T18:38:27Z","run":"r","manifest_sha256":"m","state":"started"}"#;
    let second = format!(
        r#"{{"seq":1,"previous":"{}","at":"2026-11-30T18:38:30Z","run":"r","manifest_sha256":"m","state":"finished"}}"#,
        digest::of_bytes(first)
    );
    let history = History::of(&format!("{first}\n{second}\n"));
    assert_eq!((history.entries.len(), history.broken), (2, None));
    assert_eq!(
        (history.entries[0].registration.clone(), history.entries[0].exploratory),
        (None, false)
    );
    assert_eq!(history.state_of("r"), Some(LedgerState::Finished));
    assert_eq!(history.state_of("s"), None);
    // A line about a run that has nothing new to say looks as it always did.
    let again: Line = serde_json::from_str(first).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), first);
}

#[test]
fn an_altered_or_removed_line_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::of(directory.path());
    for run in ["a", "b", "c", "d"] {
        ledger.append(run, "m", LedgerState::Started, None).unwrap();
    }
    let text = lines(directory.path());
    let broken = |lines: &[String]| History::of(&lines.join("\n")).broken;
    assert_eq!(broken(&text), None);
    let mut altered = text.clone();
    altered[1] = altered[1].replace("\"run\":\"b\"", "\"run\":\"x\"");
    assert_eq!(broken(&altered), Some(3));
    assert_eq!(broken(&[&text[..1], &text[2..]].concat()), Some(2));
    assert_eq!(broken(&text[1..]), Some(1));
    let mut torn = text;
    torn[2].truncate(9);
    assert_eq!(
        broken(&torn),
        Some(4),
        "a line that was whole when the next was written"
    );
}

#[test]
fn a_text_is_registered_once_and_its_starts_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::of(directory.path());
    let at = Committed {
        commit: Some("c0ffee".to_owned()),
        holds: Some(false),
    };
    let (one, is_new) = ledger.register("x", "m1", &at).unwrap();
    assert!(is_new);
    assert_eq!(
        (one.commit.as_deref(), one.manifest_committed.as_deref()),
        (Some("c0ffee"), Some("no"))
    );
    let (again, is_new) = ledger.register("x", "m1", &nowhere()).unwrap();
    assert_eq!((again, is_new), (one.clone(), false));
    let (other, _) = ledger.register("x", "m2", &nowhere()).unwrap();
    assert_eq!(
        (other.commit.as_deref(), other.manifest_committed.as_deref()),
        (Some("unknown"), Some("unknown"))
    );
    for (registration, number) in [
        (Some(&one), 1),
        (Some(&one), 2),
        (Some(&other), 1),
        (None, 1),
        (Some(&one), 3),
    ] {
        let registration = registration.map(|entry| entry.sha256.as_str());
        // Each run has a ledger of its own.
        let ledger = Ledger::of(directory.path());
        assert_eq!(ledger.begin(registration).unwrap(), number);
        ledger.append("r", "m", LedgerState::Started, None).unwrap();
        ledger.append("r", "m", LedgerState::Failed, None).unwrap();
    }
    let history = ledger.read().unwrap();
    assert_eq!(history.broken, None);
    assert_eq!(history.registrations_of("x").count(), 2);
    assert_eq!(history.registrations_of("y").count(), 0);
    assert_eq!(history.registration_of("m2"), Some(&other));
    assert_eq!(history.starts_of(&one.sha256).count(), 3);
    let said: Vec<bool> = history.starts().map(|entry| entry.exploratory).collect();
    assert_eq!(said, [false, false, false, true, false]);
}

#[test]
fn many_writers_at_once_lose_and_tear_nothing() {
    const EACH: u64 = 100;
    let directory = tempfile::tempdir().unwrap();
    let (registered, _) = Ledger::of(directory.path()).register("x", "m", &nowhere()).unwrap();
    let numbers: Vec<u64> = thread::scope(|scope| {
        let write = |name: &'static str| {
            let (directory, registration) = (directory.path(), registered.sha256.as_str());
            scope.spawn(move || {
                let start = |place| {
                    let ledger = Ledger::of(directory);
                    let number = ledger.begin(Some(registration)).unwrap();
                    ledger
                        .append(&format!("{name}{place}"), "m", LedgerState::Started, None)
                        .unwrap();
                    ledger
                        .append(&format!("{name}{place}"), "m", LedgerState::Finished, None)
                        .unwrap();
                    ledger.register("x", "m", &nowhere()).unwrap();
                    number
                };
                (0..EACH).map(start).collect::<Vec<u64>>()
            })
        };
        let writers = [write("a"), write("b")];
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let history = Ledger::of(directory.path()).read().unwrap();
    assert_eq!(
        (history.entries.len() as u64, history.torn.len(), history.broken),
        (1 + 4 * EACH, 0, None)
    );
    let unique: BTreeSet<u64> = numbers.into_iter().collect();
    assert_eq!(unique, (1..=2 * EACH).collect(), "every start has a number of its own");
    let runs = |name: &str| {
        (0..EACH)
            .filter(|place| history.state_of(&format!("{name}{place}")).is_some())
            .count()
    };
    assert_eq!((runs("a") as u64, runs("b") as u64), (EACH, EACH));
}
