//! The run's lines in the ledger: its start, its registration and its root.

use std::path::Path;

use super::finding::{Finding, Outcome};
use crate::archive::{Archive, ChainEntry, History, Ledger, LedgerEntry, LedgerState};

/// Holds the chain against the ledger of the results directory, or of the run's own.
pub(super) fn check(directory: &Path, archive: &Archive) -> Vec<Finding> {
    let finding = |outcome, detail: String| Finding::new("ledger", outcome, detail);
    let Some((started, registered)) = beginning(archive) else {
        return Vec::new();
    };
    let history = match read(directory) {
        Err(error) => return vec![finding(Outcome::Unverifiable, error)],
        Ok(Some(history)) => history,
        Ok(None) if registered.is_none() => {
            let detail = "there is no LEDGER.jsonl here; the run says itself that it is exploratory";
            return vec![finding(Outcome::Noted, detail.to_owned())];
        }
        Ok(None) => {
            let detail = "there is no LEDGER.jsonl here or beside the run, and without it nobody can tell what was \
                          registered before; fetch it too";
            return vec![finding(Outcome::Unverifiable, detail.to_owned())];
        }
    };
    let of_run = |entry: &&LedgerEntry| entry.run.as_deref() == Some(archive.run());
    let is_foreign = |entry: &LedgerEntry| entry.manifest_sha256 != archive.manifest_sha256();
    if let Some(entry) = history.entries.iter().filter(of_run).find(|entry| is_foreign(entry)) {
        let detail = format!("line {} of LEDGER.jsonl gives this run another manifest", entry.seq + 1);
        return vec![finding(Outcome::Tampered, detail)];
    }
    if let Some(line) = history.broken {
        let detail = format!("line {line} of LEDGER.jsonl does not follow from the line before it");
        return vec![finding(Outcome::Tampered, detail)];
    }
    let mut found = vec![start(&history, archive, started, registered), end(&history, archive)];
    if let [line, ..] = history.torn.as_slice() {
        let detail = format!(
            "line {line} of LEDGER.jsonl can't be read: half a line, as a crash leaves it, or no line of a ledger"
        );
        found.push(finding(Outcome::Noted, detail));
    }
    found
}

/// The start, and the registration that it was under.
fn start(history: &History, archive: &Archive, started: &str, registered: Option<&str>) -> Finding {
    let finding = |outcome, detail: String| Finding::new("ledger", outcome, detail);
    let run = archive.run();
    let found = history.entries.iter().find(|entry| entry.sha256 == started);
    match found {
        None => finding(
            Outcome::Tampered,
            format!("LEDGER.jsonl has no line whose SHA-256 is {started}, by which {run} started"),
        ),
        Some(entry) if entry.run.as_deref() != Some(run) || entry.registration.as_deref() != registered => finding(
            Outcome::Tampered,
            format!(
                "line {} of LEDGER.jsonl is not the start of {run} that its chain speaks of",
                entry.seq + 1
            ),
        ),
        Some(entry) => match registered {
            None => finding(
                Outcome::Ok,
                format!("started on {}, and not under a registration: exploratory", entry.at),
            ),
            Some(registered) => registration(history, archive, registered, started),
        },
    }
}

fn registration(history: &History, archive: &Archive, registered: &str, started: &str) -> Finding {
    let finding = |outcome, detail: String| Finding::new("ledger", outcome, detail);
    let line = history.entries.iter().find(|entry| entry.sha256 == registered);
    let Some(line) = line.filter(|line| line.state == LedgerState::Registered) else {
        let detail = format!("LEDGER.jsonl has no registration whose line's SHA-256 is {registered}");
        return finding(Outcome::Tampered, detail);
    };
    if line.manifest_sha256 != archive.manifest_sha256() {
        let detail = format!("what was registered on {} is not the manifest of this run", line.at);
        return finding(Outcome::Tampered, detail);
    }
    let starts: Vec<_> = history.starts_of(registered).collect();
    let place = starts
        .iter()
        .position(|entry| entry.sha256 == started)
        .unwrap_or_default();
    finding(
        Outcome::Ok,
        format!(
            "registered on {}, before the run; start {} of {} under this registration{}",
            line.at,
            place + 1,
            starts.len(),
            earlier(history, line)
        ),
    )
}

/// What a reader should know of the time before a registration: the same words may have been measured before, and other
/// words registered under the name.
fn earlier(history: &History, registration: &LedgerEntry) -> String {
    let before = |entry: &&LedgerEntry| entry.seq < registration.seq;
    let same =
        history.entries.iter().filter(before).filter(|entry| {
            entry.state == LedgerState::Started && entry.manifest_sha256 == registration.manifest_sha256
        });
    let name = registration.name.as_deref().unwrap_or_default();
    let others = history
        .registrations_of(name)
        .filter(|entry| entry.sha256 != registration.sha256);
    let (same, others) = (same.count(), others.count());
    let started = format!("; starts of this very manifest before it was registered: {same}");
    let registered = format!("; other texts registered as {name}: {others}");
    let told = [(same, started), (others, registered)];
    told.into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(_, words)| words)
        .collect()
}

/// The root that was entered when the run was sealed.
fn end(history: &History, archive: &Archive) -> Finding {
    let finding = |outcome, detail: String| Finding::new("root", outcome, detail);
    let roots: Vec<&str> = history
        .entries
        .iter()
        .filter(|entry| entry.run.as_deref() == Some(archive.run()))
        .filter_map(|entry| entry.root.as_deref())
        .collect();
    match (archive.root(), roots.as_slice()) {
        (None, _) => finding(
            Outcome::Incomplete,
            "the run is not sealed, so there is no root".to_owned(),
        ),
        (Some(root), [entered]) if root == *entered => finding(Outcome::Ok, "the ledger has the same root".to_owned()),
        (Some(_), []) => finding(
            Outcome::Unverifiable,
            "the ledger does not tell how the run ended, so that its root can't be held against anything".to_owned(),
        ),
        (Some(root), entered) => finding(
            Outcome::Tampered,
            format!("the run's root is {root}, and the ledger has {}", entered.join(", ")),
        ),
    }
}

/// What the chain says of the start.
fn beginning(archive: &Archive) -> Option<(&str, Option<&str>)> {
    match archive.chain()?.entries.first()? {
        ChainEntry::Registration {
            started, registered, ..
        } => Some((started, registered.as_deref())),
        _ => None,
    }
}

/// The ledger of the results directory, or one that lies with the run's files. An absolute path has a parent even when
/// the run's directory was named as `.`.
fn read(directory: &Path) -> Result<Option<History>, String> {
    let absolute = std::path::absolute(directory).map_err(|error| error.to_string())?;
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    let ledger = [absolute.parent(), Some(absolute.as_path())]
        .into_iter()
        .flatten()
        .map(Ledger::of)
        .find(|ledger| ledger.path().is_file());
    let Some(ledger) = ledger else { return Ok(None) };
    ledger.read().map(Some).map_err(|error| error.to_string())
}
