//! From forks to a run's figures: each fork is digested as it comes, a cell is summarised when its last fork is in, and
//! its values are let go. At no time is more than one cell's worth of values held, however long the run.

use super::cell::{Asked, Cell};
use super::claim;
use super::diagnostics::{self, Examined, Findings};
use super::distance;
use super::evidence::{Archived, Evidence, EvidenceError, RunFacts};
use super::figure::figures;
use super::fork::ForkDigest;
use super::interval::Mean;
use super::line::Line;
use super::scaling::{self, Scaling};
use super::steps::{Counted, StepsByCell};
use super::summary::{Analysis, CellSummary, NoiseFloor, is_control_of};
use super::verdict;
use super::wire::{self, WireDigest, Wires};
use crate::archive::{CellRow, ForkRow, ForkSteps, ForkTimes, ForkWire, PairStatus, Phase};

/// Works out a run's figures from one fork after another.
pub struct Analyst<'a> {
    archived: Archived<'a>,
    facts: RunFacts,
    resample: bool,
    threads: usize,
    /// Forks that were added; the next one stands here in the archive.
    added: usize,
    /// The forks of the cell that is being read.
    digests: Vec<ForkDigest>,
    /// Which measured pairs count, of the forks whose steps were recorded.
    counted: Counted,
    /// Where the time of previews goes.
    steps: StepsByCell,
    /// What passed the proxy in the forks that had one.
    wires: Wires,
    /// Cells that are read, in the order of the plan.
    done: Vec<Option<(CellSummary, Examined)>>,
}

impl<'a> Analyst<'a> {
    /// For a run whose forks will be added. With `resample`, the pooled bootstrap is the study's own, with the manifest's
    /// number of resamples, instead of its limit. No figure depends on the number of threads.
    ///
    /// # Errors
    /// What the archived manifest lacks.
    pub fn new(archived: Archived<'a>, resample: bool, threads: usize) -> Result<Self, EvidenceError> {
        Ok(Self {
            facts: RunFacts::read(archived.settings, archived.state, archived.root)?,
            done: vec![None; archived.cells.len()],
            archived,
            resample,
            threads,
            added: 0,
            digests: Vec::new(),
            counted: Counted::new(),
            steps: StepsByCell::default(),
            wires: Wires::new(),
        })
    }

    /// Adds the steps of a fork's previews, once its times were added, in the order of the archive.
    pub fn add_steps(&mut self, fork: &ForkSteps) {
        if let Some(counted) = self.counted.remove(&(fork.cell, fork.fork)) {
            self.steps.add(fork, &counted);
        }
    }

    /// Adds what passed the proxy in a fork, at any time.
    pub fn add_wire(&mut self, fork: &ForkWire) {
        if let Some(digest) = WireDigest::of(fork) {
            self.wires.insert((fork.cell, fork.fork), digest);
        }
    }

    /// Adds the next fork, in the order of the archive's forks.
    ///
    /// # Errors
    /// [`EvidenceError::Medians`].
    pub fn add(&mut self, times: ForkTimes) -> Result<(), EvidenceError> {
        let Some(row) = self.archived.forks.get(self.added) else {
            return Ok(());
        };
        if self.added > 0 && self.archived.forks[self.added - 1].cell != row.cell {
            self.close();
        }
        if row.steps_recorded.is_some_and(|steps| steps > 0) {
            self.counted.insert((row.cell, row.fork), counted(&times));
        }
        let digest = ForkDigest::of_times(times, self.threads);
        if digest.medians() != row.medians {
            let id = self.cell_of(row).map(|place| self.archived.cells[place].id.clone());
            return Err(EvidenceError::Medians {
                cell: id.unwrap_or_default(),
                fork: row.fork.0,
            });
        }
        self.digests.push(digest);
        self.added += 1;
        Ok(())
    }

    /// Every figure of the forks that were added.
    pub fn finish(mut self) -> Analysis {
        self.close();
        let cells = self.archived.cells.iter().zip(self.done);
        let asked = Asked {
            facts: &self.facts,
            resample: self.resample,
        };
        let done: Vec<(CellSummary, Examined)> = cells
            .map(|(row, done)| {
                done.unwrap_or_else(|| {
                    let empty = Cell {
                        row,
                        forks: &[],
                        digests: &[],
                    };
                    (empty.summarise(asked), Examined::default())
                })
            })
            .collect();
        conclude(&self.facts, &self.archived.changed(), done, &self.wires, self.steps)
    }

    fn cell_of(&self, fork: &ForkRow) -> Option<usize> {
        self.archived.cells.iter().position(|cell| cell.cell == fork.cell)
    }

    /// Summarises the cell whose forks are in, and lets go of them.
    fn close(&mut self) {
        let digests = std::mem::take(&mut self.digests);
        let forks = &self.archived.forks[self.added - digests.len()..self.added];
        let Some(place) = forks.first().and_then(|fork| self.cell_of(fork)) else {
            return;
        };
        let cell = Cell {
            row: &self.archived.cells[place],
            forks,
            digests: &digests,
        };
        let asked = Asked {
            facts: &self.facts,
            resample: self.resample,
        };
        self.done[place] = Some((cell.summarise(asked), cell.examined()));
    }
}

/// Computes every figure of a run whose pairs are in memory. With `resample`, the pooled bootstrap is the study's own, with
/// the manifest's number of resamples, instead of its limit.
pub fn analyze(evidence: &Evidence, resample: bool) -> Analysis {
    let facts = &evidence.facts;
    let done = evidence.cells.iter().map(|sample| {
        let digests: Vec<ForkDigest> = sample.samples.iter().map(ForkDigest::of_sample).collect();
        let cell = Cell {
            row: &sample.cell,
            forks: &sample.forks,
            digests: &digests,
        };
        (cell.summarise(Asked { facts, resample }), cell.examined())
    });
    conclude(
        facts,
        &evidence.changed,
        done.collect(),
        &evidence.wires,
        evidence.steps.clone(),
    )
}

/// What needs all cells: noise floors, verdicts, growth with the size, claims, and what a reader must know.
fn conclude(
    facts: &RunFacts,
    changed: &[String],
    mut done: Vec<(CellSummary, Examined)>,
    wires: &Wires,
    steps: StepsByCell,
) -> Analysis {
    let mut steps = steps.finish();
    for (summary, examined) in &mut done {
        look_at_wire(summary, examined, wires);
        summary.steps = steps.remove(&summary.cell.cell);
    }
    let (mut cells, examined): (Vec<CellSummary>, Vec<Examined>) = done.into_iter().unzip();
    let floors: Vec<Option<NoiseFloor>> = cells.iter().map(|cell| noise_floor(cell, &cells)).collect();
    for (cell, floor) in cells.iter_mut().zip(floors) {
        cell.noise_floor = floor;
    }
    judge(&mut cells, facts.margin.0 as f64);
    let warnings = diagnostics::warnings(Findings {
        facts,
        changed,
        cells: &cells,
        examined: &examined,
    });
    let mut analysis = Analysis {
        facts: facts.clone(),
        distances: distance::lines(&cells, &examined, facts),
        scaling: scale(&cells, &examined, facts.margin.0 as f64),
        warnings,
        cells,
        claims: Vec::new(),
    };
    if !facts.claims.is_empty() {
        analysis.claims = claim::verdicts(&facts.claims, &figures(&analysis));
    }
    analysis
}

/// Of each measured pair, whether it counts.
fn counted(times: &ForkTimes) -> Vec<bool> {
    let measured = times.phase.iter().zip(&times.status);
    let measured = measured.filter(|(phase, _)| **phase == Phase::Measured);
    measured.map(|(_, status)| *status == PairStatus::Ok).collect()
}

/// Gives a cell what passed the proxy in its forks.
fn look_at_wire(summary: &mut CellSummary, examined: &mut Examined, wires: &Wires) {
    examined.wires = (examined.forks.iter())
        .map(|fork| wires.get(&(fork.cell, fork.fork)).cloned())
        .collect();
    let there: Vec<&WireDigest> = examined.wires.iter().flatten().collect();
    let previews = summary.pairs as u64 + summary.uncounted;
    summary.wire = wire::summarise(&there, previews);
}

fn judge(cells: &mut [CellSummary], margin: f64) {
    let mut judged: Vec<&mut CellSummary> = cells.iter_mut().filter(|cell| cell.cell.is_comparison()).collect();
    let over_forks = |cell: &CellSummary| cell.difference.as_ref().and_then(|difference| difference.over_forks);
    let means: Vec<Option<Mean>> = judged.iter().map(|cell| over_forks(cell)).collect();
    for (cell, verdict) in judged.iter_mut().zip(verdict::verdicts(&means, margin)) {
        cell.verdict = Some(verdict);
    }
}

/// The control's interval is where a difference between two equal sides may lie; what it reaches can't be told from
/// nothing.
fn noise_floor(cell: &CellSummary, cells: &[CellSummary]) -> Option<NoiseFloor> {
    let control = cells.iter().find(|other| is_control_of(&other.cell, &cell.cell))?;
    let control = control.difference.as_ref()?;
    Some(NoiseFloor {
        difference: control.headline()?.reach(),
        factor: control.ratio_interval.map(|ratio| ratio.map(f64::ln).reach().exp()),
    })
}

/// Fits each pair of sides over the sizes, with the forks that have the same place in their cells as rounds.
fn scale(cells: &[CellSummary], examined: &[Examined], margin: f64) -> Vec<Scaling> {
    let all = cells.iter().map(|cell| &cell.cell).zip(examined);
    let comparisons: Vec<(&CellRow, &Examined)> = all.filter(|(cell, _)| cell.is_comparison()).collect();
    let mut lines: Vec<Line> = Vec::new();
    for (cell, _) in &comparisons {
        let line = Line::of(cell);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let fit = |line: Line| {
        let mut cells: Vec<(&CellRow, &Examined)> = (comparisons.iter().copied())
            .filter(|(cell, _)| line.has(cell))
            .collect();
        cells.sort_by_key(|(cell, _)| cell.plans);
        let plans: Vec<u32> = cells.iter().map(|(cell, _)| cell.plans).collect();
        scaling::fit(line, &plans, &rounds(&cells), margin)
    };
    lines.into_iter().filter_map(fit).collect()
}

/// The forks' median differences, round by round, for the rounds that every cell has.
fn rounds(cells: &[(&CellRow, &Examined)]) -> Vec<Vec<f64>> {
    let Some((_, first)) = cells.first() else {
        return Vec::new();
    };
    let median = |cell: &Examined, fork| {
        let row = cell.forks.iter().find(|row| row.fork == fork)?;
        Some(row.medians?[2].0 as f64)
    };
    first
        .forks
        .iter()
        .filter_map(|row| cells.iter().map(|(_, cell)| median(cell, row.fork)).collect())
        .collect()
}
