//! Every answer, computed again.

use std::collections::HashMap;

use super::finding::{Finding, Outcome};
use super::outcome_of;
use crate::archive::{Archive, CellRow, PairRow, PairStatus};
use crate::workload::Workload;

/// The answers of one size of the model, by the bits of the delta.
struct Expected {
    workload: Workload,
    digests: HashMap<u64, String>,
}

impl Expected {
    fn of(cell: &CellRow) -> Self {
        Self {
            workload: Workload::new(cell.plans, cell.months),
            digests: HashMap::new(),
        }
    }

    fn digest(&mut self, delta: f64) -> &str {
        let workload = &self.workload;
        self.digests.entry(delta.to_bits()).or_insert_with(|| {
            let mut inputs = workload.stored().clone();
            workload.overrides(delta).apply_to(&mut inputs);
            workload.project(&inputs).digest().to_string()
        })
    }
}

/// Holds the answers of every pair against the projection of its overrides.
pub(super) fn check(archive: &Archive) -> Finding {
    let finding = |outcome, detail: String| Finding::new("answers", outcome, detail);
    if let Some(cell) = archive.cells.iter().find(|cell| cell.plans == 0 || cell.months == 0) {
        return finding(Outcome::Tampered, format!("{} has no model of any size", cell.id));
    }
    let mut expected: HashMap<(u32, u32), Expected> = HashMap::new();
    let (mut answers, mut problem) = (0u64, None);
    let read = archive.for_each_fork(|fork| {
        let Some(cell) = archive.cells.iter().find(|cell| cell.cell == fork.cell) else {
            return;
        };
        let of_size = expected
            .entry((cell.plans, cell.months))
            .or_insert_with(|| Expected::of(cell));
        for pair in &fork.pairs {
            answers += [&pair.subject, &pair.baseline]
                .iter()
                .filter(|side| side.answer.is_some())
                .count() as u64;
            if !agrees(pair, of_size.digest(pair.delta)) && problem.is_none() {
                problem = Some(format!(
                    "pair {} ({}) of fork {} of cell {} is called {}, and its answers are not those of its overrides",
                    pair.pair,
                    pair.phase.as_str(),
                    fork.fork,
                    fork.cell,
                    pair.status.as_str()
                ));
            }
        }
    });
    match (read, problem) {
        (Err(error), _) => finding(outcome_of(&error), error.to_string()),
        (_, Some(problem)) => finding(Outcome::Tampered, problem),
        _ => finding(
            Outcome::Ok,
            format!("{answers} answers are those of their overrides, bit for bit"),
        ),
    }
}

/// Whether the status is the one that the answers deserve.
fn agrees(pair: &PairRow, expected: &str) -> bool {
    let is_right = |answer: &Option<String>| answer.as_deref().map(|answer| answer == expected);
    match (
        pair.status,
        is_right(&pair.subject.answer),
        is_right(&pair.baseline.answer),
    ) {
        (PairStatus::Ok, subject, baseline) => subject == Some(true) && baseline == Some(true),
        (PairStatus::Mismatch, subject, baseline) => {
            subject.is_some() && baseline.is_some() && pair.subject.answer != pair.baseline.answer
        }
        (PairStatus::Failed | PairStatus::Timeout, subject, baseline) => subject.is_none() || baseline.is_none(),
    }
}
