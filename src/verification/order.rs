//! Cells, forks and the order of every pair, against the plan that the manifest gives.

use std::collections::BTreeMap;
use std::path::Path;

use super::finding::{Finding, Outcome};
use super::outcome_of;
use crate::archive::{Archive, Completeness, ForkRow, PairRow, Phase};
use crate::manifest::Manifest;
use crate::plan::{Cell, Plan, order};
use crate::units::{CellIndex, ForkIndex};

/// Lays out the manifest of the run again and holds what was measured against it.
pub(super) fn check(directory: &Path, archive: &Archive) -> Vec<Finding> {
    let finding = |outcome, detail: String| Finding::new("plan", outcome, detail);
    let planned = Manifest::read(&directory.join("manifest.toml"))
        .map_err(|error| error.to_string())
        .and_then(|manifest| {
            let plan = Plan::of(&manifest).map_err(|error| error.to_string())?;
            Ok((manifest, plan))
        });
    let (manifest, plan) = match planned {
        Ok(planned) => planned,
        Err(error) => {
            let detail = format!("the manifest can't be laid out by this version of preview-cost: {error}");
            return vec![finding(Outcome::Unverifiable, detail)];
        }
    };
    if let Some(problem) = layout(&plan, &manifest, archive) {
        return vec![finding(Outcome::Tampered, problem)];
    }
    let (cells, forks) = (plan.cells().len(), archive.forks.len());
    let laid_out = finding(
        Outcome::Ok,
        format!("{cells} cells and {forks} forks are those that the manifest lays out"),
    );
    vec![laid_out, orders(&manifest, &plan, archive)]
}

/// What differs between the plan and the tables.
fn layout(plan: &Plan, manifest: &Manifest, archive: &Archive) -> Option<String> {
    let cell = |index: usize| plan.cells().get(index);
    if archive.cells.len() != plan.cells().len() {
        return Some(format!(
            "the manifest lays out {} cells, and cells.parquet has {}",
            plan.cells().len(),
            archive.cells.len()
        ));
    }
    let is_other = |(place, row): (usize, &crate::archive::CellRow)| {
        cell(place).is_none_or(|cell| cell.index != row.cell || cell.id != row.id || cell.plans != row.plans)
    };
    if let Some(row) = archive.cells.iter().enumerate().find(|of| is_other(*of)) {
        return Some(format!("{} is not the cell that the manifest lays out there", row.1.id));
    }
    let places: BTreeMap<(CellIndex, ForkIndex), u32> = (0u32..)
        .zip(plan.schedule())
        .map(|(position, slot)| ((slot.cell, slot.fork), position))
        .collect();
    let pairs = manifest.measure.warmup + manifest.measure.previews;
    let misplaced =
        |fork: &&ForkRow| places.get(&(fork.cell, fork.fork)) != Some(&fork.position) || fork.pairs_planned != pairs;
    if let Some(fork) = archive.forks.iter().find(misplaced) {
        return Some(format!(
            "fork {} of cell {} is not one that the manifest lays out at place {} with {} pairs",
            fork.fork, fork.cell, fork.position, fork.pairs_planned
        ));
    }
    (archive.completeness == Completeness::Sealed && archive.forks.len() != places.len()).then(|| {
        format!(
            "the manifest lays out {} forks, and forks.parquet has {}",
            places.len(),
            archive.forks.len()
        )
    })
}

/// Which side came first in every pair follows from the seed.
fn orders(manifest: &Manifest, plan: &Plan, archive: &Archive) -> Finding {
    let finding = |outcome, detail: String| Finding::new("order", outcome, detail);
    let mut pairs = 0;
    let mut problem = None;
    let read = archive.for_each_fork(|fork| {
        pairs += fork.pairs.len();
        let cell = plan.cell(fork.cell);
        if problem.is_none() && !in_order(manifest, cell, fork.fork, &fork.pairs) {
            problem = Some(format!(
                "in fork {} of cell {} the sides of a pair did not come in the order that the seed gives",
                fork.fork, fork.cell
            ));
        }
    });
    match (read, problem) {
        (Err(error), _) => finding(outcome_of(&error), error.to_string()),
        (_, Some(problem)) => finding(Outcome::Tampered, problem),
        _ => finding(
            Outcome::Ok,
            format!("in each of {pairs} pairs that side came first which the seed gives"),
        ),
    }
}

fn in_order(manifest: &Manifest, cell: &Cell, fork: ForkIndex, pairs: &[PairRow]) -> bool {
    let measure = &manifest.measure;
    [(Phase::Warmup, measure.warmup), (Phase::Measured, measure.previews)]
        .into_iter()
        .all(|(phase, count)| {
            let expected = order::subject_first(measure.order, measure.seed, cell, fork, phase.as_str(), count);
            let recorded = pairs.iter().filter(|pair| pair.phase == phase);
            recorded
                .enumerate()
                .all(|(place, pair)| pair.pair.0 as usize == place && expected.get(place) == Some(&pair.subject_first))
        })
}
