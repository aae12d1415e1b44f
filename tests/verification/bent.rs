//! Rows that are written properly, and are not the ones that were measured.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use preview_cost::archive::{Archive, FactRow, ForkPart, ForkRow, PairRow, RunIdentity, RunWriter, StepRow, When};
use preview_cost::verification::Outcome;

use crate::sealing::seal_again;
use crate::{Copy, only_run, told};

/// The rows of a run's forks.
type Forks = Vec<(ForkRow, Vec<PairRow>)>;

/// Writes a run of the same name with bent forks into another results directory, as the program itself would.
fn written_anew(run: &Path, results: &Path, bend: impl FnOnce(&mut Forks)) -> PathBuf {
    // What is bent is pairs and forks; steps would only say so twice.
    written_with(run, results, bend, &[])
}

/// The same with the steps of each fork; none where there are fewer.
fn written_with(run: &Path, results: &Path, bend: impl FnOnce(&mut Forks), steps: &[Vec<StepRow>]) -> PathBuf {
    let archive = Archive::open(run).unwrap();
    let mut forks: Forks = Vec::new();
    let mut rows = archive.forks.iter();
    archive
        .for_each_fork(|fork| forks.push((rows.next().unwrap().clone(), fork.pairs)))
        .unwrap();
    bend(&mut forks);
    let text = fs::read_to_string(run.join("manifest.toml")).unwrap();
    let started = archive
        .settings
        .iter()
        .find(|row| row.section == "run" && row.key == "started");
    let started: DateTime<Utc> = started.unwrap().value.parse().unwrap();
    let identity = RunIdentity {
        name: "tiny",
        manifest_text: &text,
        manifest_sha256: archive.manifest_sha256(),
        started,
    };
    let mut writer = RunWriter::create(results, &identity).unwrap();
    assert_eq!(writer.run(), archive.run());
    let facts = |when: When| -> Vec<FactRow> {
        let read_then = archive.facts.iter().filter(|fact| fact.when == when);
        read_then.cloned().collect()
    };
    writer
        .announce(&archive.settings, &archive.cells, facts(When::Start))
        .unwrap();
    for (place, (fork, pairs)) in forks.iter().enumerate() {
        let steps = steps.get(place).cloned().unwrap_or_default();
        let part = ForkPart {
            fork: ForkRow {
                steps_recorded: Some(steps.len() as u32),
                ..fork.clone()
            },
            pairs: pairs.clone(),
            steps,
            passages: Vec::new(),
        };
        writer.part(part).unwrap();
    }
    writer.seal(facts(When::End)).unwrap();
    only_run(results)
}

fn swap(forks: &mut Forks) {
    let (first, second) = (forks[0].1.clone(), forks[1].1.clone());
    let medians = [forks[0].0.medians, forks[1].0.medians];
    (forks[0].1, forks[1].1) = (second, first);
    (forks[0].0.medians, forks[1].0.medians) = (medians[1], medians[0]);
}

fn drop_one(forks: &mut Forks) {
    forks.remove(2);
}

fn double(forks: &mut Forks) {
    let (pairs, medians) = (forks[0].1.clone(), forks[0].0.medians);
    forks[1].1 = pairs;
    forks[1].0.medians = medians;
}

fn reorder(forks: &mut Forks) {
    let position = forks[0].0.position;
    forks[0].0.position = forks[1].0.position;
    forks[1].0.position = position;
}

fn faster(forks: &mut Forks) {
    for pair in &mut forks[0].1 {
        let time = pair.subject.time.as_mut().unwrap();
        time.0 = time.0 * 9 / 10;
    }
}

fn another_answer(forks: &mut Forks) {
    let pair = &mut forks[0].1[3];
    pair.subject.answer = Some("0".repeat(32));
    pair.baseline.answer = Some("0".repeat(32));
}

fn another_order(forks: &mut Forks) {
    let first = &mut forks[0].1[3].subject_first;
    *first = !*first;
}

/// With its tables, sums and seal written anew, but the chain's lines about forks as they were.
#[test]
fn forks_that_were_swapped_dropped_doubled_or_moved_are_found_by_the_chain() {
    for bend in [swap, drop_one, double, reorder, faster] {
        let (copy, elsewhere) = (Copy::new(), tempfile::tempdir().unwrap());
        let bent = written_anew(&copy.run(), elsewhere.path(), bend);
        for table in ["forks.parquet", "pairs.parquet"] {
            fs::copy(bent.join(table), copy.run().join(table)).unwrap();
        }
        seal_again(&copy.run());
        let told = told(&copy.run());
        assert!(told.contains("chain.jsonl:"), "{told}");
        assert_eq!(copy.outcome(), Outcome::Tampered);
    }
}

/// Writes the run anew with its steps, one of which a nanosecond longer, or without those of one preview.
#[test]
fn steps_that_do_not_add_up_are_found() {
    let (copy, elsewhere) = (Copy::new(), tempfile::tempdir().unwrap());
    let archive = Archive::open(&copy.run()).unwrap();
    let mut steps = Vec::new();
    archive.for_each_fork_steps(|fork| steps.push(fork.steps)).unwrap();
    assert!(steps.iter().all(|steps| !steps.is_empty()), "a run records steps");
    let told_with = |name: &str, bend: fn(&mut Vec<StepRow>)| {
        let mut steps = steps.clone();
        bend(&mut steps[1]);
        let results = elsewhere.path().join(name);
        told(&written_with(&copy.run(), &results, |_| {}, &steps))
    };
    let whole = told_with("whole", |_| {});
    assert!(
        !whole.contains(" add up to ") && !whole.contains(" are missing"),
        "{whole}"
    );
    let longer = told_with("longer", |steps| steps[4].time.0 += 1);
    assert!(
        longer.contains(" add up to ") && longer.contains(" ns, and it took "),
        "{longer}"
    );
    let gone = told_with("gone", |steps| {
        let preview = (steps[4].phase, steps[4].pair, steps[4].side);
        steps.retain(|step| (step.phase, step.pair, step.side) != preview);
    });
    assert!(gone.contains(" are missing, and it took "), "{gone}");
}

/// With its chain written anew too: the ledger has another root, and no line by which it started.
#[test]
fn a_whole_run_in_the_place_of_another_is_found_by_the_ledger() {
    for bend in [swap, drop_one, double, reorder, faster] {
        let (copy, elsewhere) = (Copy::new(), tempfile::tempdir().unwrap());
        let bent = written_anew(&copy.run(), elsewhere.path(), bend);
        for entry in fs::read_dir(&bent).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.run().join(path.file_name().unwrap())).unwrap();
        }
        let told = told(&copy.run());
        assert!(told.contains("LEDGER.jsonl has no line whose SHA-256 is"), "{told}");
        assert!(told.contains("the ledger has"), "{told}");
        assert_eq!(copy.outcome(), Outcome::Tampered);
    }
}

/// With a ledger of its own: what can be computed again is.
#[test]
fn what_can_be_computed_again_is_found_under_a_ledger_of_its_own() {
    for (bend, words) in [
        (
            drop_one as fn(&mut Forks),
            "the manifest lays out 12 forks, and forks.parquet has 11",
        ),
        (reorder, "is not one that the manifest lays out at place"),
        (another_answer, "its answers are not those of its overrides"),
        (another_order, "did not come in the order that the seed gives"),
    ] {
        let (copy, elsewhere) = (Copy::new(), tempfile::tempdir().unwrap());
        let bent = written_anew(&copy.run(), elsewhere.path(), bend);
        let told = told(&bent);
        assert!(told.contains(words), "{told}");
    }
}

/// What nobody can find: a run that was made up whole, ledger and all. It holds, and says that it was not registered.
#[test]
fn a_run_that_was_made_up_whole_holds() {
    let (copy, elsewhere) = (Copy::new(), tempfile::tempdir().unwrap());
    let bent = written_anew(&copy.run(), elsewhere.path(), |forks| {
        for (fork, pairs) in forks {
            for pair in pairs.iter_mut() {
                let [subject, baseline] =
                    [&mut pair.subject.time, &mut pair.baseline.time].map(|time| time.as_mut().unwrap());
                (subject.0, baseline.0) = (subject.0 + 1_000, baseline.0 + 1_000);
            }
            for median in fork.medians.as_mut().unwrap().iter_mut().take(2) {
                median.0 += 1_000;
            }
        }
    });
    assert_eq!(told(&bent), "");
}
