//! The steps of previews in real runs: what stands in the archive, and what is said where they are not recorded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use preview_cost::archive::{Archive, PairSide, PairStatus, Phase};

use crate::remains::{analyze, read};
use crate::server::Database;
use crate::support::{Bench, SMALL, ask, edited};

/// A preview's place in its fork.
type Preview = (Phase, u32, PairSide);

/// The steps of a fork's previews, and the sum of their times.
fn previews(run: &Path) -> Vec<HashMap<Preview, (Vec<&'static str>, i64)>> {
    let archive = Archive::open(run).unwrap();
    let mut forks = Vec::new();
    archive
        .for_each_fork_steps(|fork| {
            let mut previews: HashMap<Preview, (Vec<&str>, i64)> = HashMap::new();
            for row in fork.steps {
                let preview = previews.entry((row.phase, row.pair.0, row.side)).or_default();
                assert_eq!(preview.0.len(), row.place as usize, "places count from 0");
                preview.0.push(row.step.as_str());
                preview.1 += row.time.0;
            }
            forks.push(previews);
        })
        .unwrap();
    forks
}

/// Every preview of the run has steps, which add up to its time; gives what each strategy went through.
fn steps_by_strategy(run: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let (archive, forks) = read(run).unwrap();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (fork, mut previews) in forks.iter().zip(previews(run)) {
        let cell = archive.cells.iter().find(|cell| cell.cell == fork.cell).unwrap();
        for pair in &fork.pairs {
            let sides = [
                (PairSide::Subject, &pair.subject, &cell.subject),
                (PairSide::Baseline, &pair.baseline, &cell.baseline),
            ];
            for (side, row, strategy) in sides {
                let (steps, sum) = previews.remove(&(pair.phase, pair.pair.0, side)).unwrap();
                assert_eq!(sum, row.time.unwrap().0, "{steps:?}");
                found.entry(strategy.clone()).or_default().insert(steps.join(" "));
            }
        }
        assert!(previews.is_empty(), "every step is of a preview");
    }
    found
}

fn only_steps(run: &Path) -> String {
    ask(analyze(run, "table").args(["--only", "steps"])).exits(0).stdout
}

#[test]
fn a_run_on_sqlite_has_the_steps_of_every_preview() {
    let bench = Bench::new(SMALL);
    let run = bench.measure();
    let expected = [("copy", "compute"), ("rollback", "write read compute discard")];
    assert_eq!(steps_by_strategy(&run), told(&expected));
}

#[test]
fn a_run_on_postgres_has_the_steps_of_every_preview() {
    let database = Database::new();
    let subjects = (
        "subjects = [\"rollback\"]",
        "subjects = [\"rollback\", \"rollback-pipelined\", \"savepoint\"]",
    );
    let bench = Bench::new(edited(&database.manifest("postgres"), &[subjects]));
    let run = bench.measure();
    let expected = [
        ("copy", "compute"),
        ("rollback", "write read compute discard"),
        ("rollback-pipelined", "exchange compute"),
        ("savepoint", "write read compute discard"),
    ];
    assert_eq!(steps_by_strategy(&run), told(&expected));
    let table = only_steps(&run);
    for row in [
        "rollback-pipelined − copy   exchange",
        "rollback − copy             discard",
    ] {
        assert!(table.contains(row), "{table}");
    }
    // A connection of its own has a distance of its own; the copy goes nowhere.
    let (archive, _) = read(&run).unwrap();
    for fork in &archive.forks {
        let cell = archive.cells.iter().find(|cell| cell.cell == fork.cell).unwrap();
        let own = [&cell.subject, &cell.baseline].map(|strategy| strategy == "savepoint");
        assert_eq!(
            fork.own_distances.map(|distance| distance.is_some()),
            own,
            "{}",
            cell.id
        );
    }
}

fn told(expected: &[(&str, &str)]) -> BTreeMap<String, BTreeSet<String>> {
    let entry = |(strategy, steps): &(&str, &str)| ((*strategy).to_owned(), BTreeSet::from([(*steps).to_owned()]));
    expected.iter().map(entry).collect()
}

/// Without a warm-up nothing shows what noting the steps costs.
#[test]
fn steps_that_nothing_shows_to_be_cheap_are_not_recorded_and_that_is_told() {
    let changes = [("steps = \"on\"\n", ""), ("warmup = 4", "warmup = 0")];
    let bench = Bench::new(edited(SMALL, &changes));
    let said = ask(&mut bench.run()).exits(0);
    let run = bench.only_run();
    let why = "no preview of the subject in the warm-up shows how much of it reading the clock takes";
    for cell in ["cell[plans=1]", "cell[plans=3]", "control[plans=1]"] {
        let warning = format!("{cell}: the steps of previews are not recorded: {why}");
        assert_eq!(said.stderr.matches(&warning).count(), 1, "once a cell: {}", said.stderr);
    }
    let table = ask(&mut analyze(&run, "table")).exits(0).stdout;
    let warning = format!("cell[plans=1]: In 2 of 2 forks the steps of measured previews were not recorded: {why}.");
    assert!(table.contains(&warning), "{table}");
    assert!(previews(&run).iter().all(HashMap::is_empty));
    assert!(only_steps(&run).contains("No steps were recorded."));
}

#[test]
fn steps_that_nobody_asks_for_are_missed_by_nobody() {
    let bench = Bench::new(edited(SMALL, &[("steps = \"on\"", "steps = \"off\"")]));
    let said = ask(&mut bench.run()).exits(0);
    assert!(!said.stderr.contains("steps"), "{}", said.stderr);
    let run = bench.only_run();
    let table = ask(&mut analyze(&run, "table")).exits(0).stdout;
    assert!(!table.contains("steps"), "{table}");
    assert!(only_steps(&run).contains("No steps were recorded."));
}

/// The last preview of a fork that broke off has no time; it has the steps that it came to.
#[track_caller]
pub fn last_preview_came_so_far(run: &Path, fork: usize) {
    let (_, forks) = read(run).unwrap();
    let last = forks[fork].pairs.last().unwrap();
    assert_eq!(last.status, PairStatus::Failed);
    let is_subject = last.reason.as_deref().unwrap().starts_with("subject: ");
    let (side, row) = if is_subject {
        (PairSide::Subject, &last.subject)
    } else {
        (PairSide::Baseline, &last.baseline)
    };
    assert_eq!(row.time, None);
    let (steps, _) = &previews(run)[fork][&(last.phase, last.pair.0, side)];
    assert!(["write", "read", "compute", "discard"].starts_with(steps), "{steps:?}");
}
