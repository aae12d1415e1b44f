//! What analysis works on: the facts of a run and, cell by cell, the times of the pairs that count.

use std::collections::BTreeSet;

use thiserror::Error;

use super::steps::StepsByCell;
use super::wire::{WireDigest, Wires};
use crate::archive::{
    CellRow, ClaimFault, FactRow, ForkPairs, ForkRow, ForkStatus, ForkSteps, ForkWire, PairStatus, Phase, Setting,
    Standing, When, claims_of,
};
use crate::environment::{self, Fact};
use crate::manifest::{Claim, Penalty};
use crate::nearest_rank;
use crate::units::Nanos;

/// Most resamples that are believed of an archive; no manifest asks for more.
const RESAMPLES_MAX: u32 = 10_000_000;

/// Whether figures come from a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Every planned fork is there.
    Finished,
    /// The run had broken off, and what was there was sealed.
    Incomplete,
    /// The run was cut short, or is still running.
    Unfinished,
}

impl State {
    /// Whether forks may be missing, so that every figure is provisional.
    pub fn is_provisional(self) -> bool {
        self != Self::Finished
    }

    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Incomplete => "incomplete",
            Self::Unfinished => "unfinished",
        }
    }
}

/// What the figures need to know of the manifest, as it was archived.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// The run's id.
    pub run: String,
    /// The experiment's name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What the experiment answers.
    pub question: String,
    /// Where the model lives.
    pub backend: String,
    /// SHA-256 of the manifest.
    pub manifest_sha256: String,
    /// The run's root; `None` for one that is not sealed, or is older than chains are.
    pub root: Option<String>,
    /// Version of the program that measured.
    pub program_version: String,
    /// What the interaction already waits.
    pub debounce: Nanos,
    /// Penalties for which the distance is asked.
    pub distance_for: Vec<Penalty>,
    /// Differences within ± this margin count as equivalent.
    pub margin: Nanos,
    /// Resamples of the study's own bootstrap, where it is asked for.
    pub resamples: u32,
    /// The seed of that bootstrap.
    pub seed: u64,
    /// Id of the figure that the experiment is about.
    pub primary: String,
    /// Forks of the plan.
    pub forks_planned: u32,
    /// Whether every one of them is there.
    pub state: State,
    /// How the run stands to what was registered.
    pub standing: Standing,
    /// What the manifest claims.
    pub claims: Vec<Claim>,
}

/// The counted pairs of one fork, in the order in which they ran.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForkSample {
    /// Times of the subject, ns.
    pub subject: Vec<i64>,
    /// Times of the baseline, ns; as many.
    pub baseline: Vec<i64>,
    /// Whether the subject came first; as many.
    pub subject_first: Vec<bool>,
    /// Every time of the subject that there is, warm-up included, in the order in which they ran, ns.
    pub subject_series: Vec<i64>,
    /// The same of the baseline.
    pub baseline_series: Vec<i64>,
    /// Warm-up pairs at the start of the series.
    pub warmup: usize,
    /// Measured pairs that do not count, because a side failed or the answers differ.
    pub uncounted: u64,
    /// Of each measured pair, whether it counts.
    pub counted: Vec<bool>,
}

impl ForkSample {
    /// Subject minus baseline, pair by pair, ns. Of times from an archive, which are never negative, none is too large for
    /// its type; of others it saturates.
    pub fn differences(&self) -> Vec<i64> {
        self.subject
            .iter()
            .zip(&self.baseline)
            .map(|(subject, baseline)| subject.saturating_sub(*baseline))
            .collect()
    }
}

/// A cell and its forks.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSample {
    /// The cell.
    pub cell: CellRow,
    /// Its forks' rows.
    pub forks: Vec<ForkRow>,
    /// Their counted pairs, in the same order.
    pub samples: Vec<ForkSample>,
}

/// A run as it was archived, without its pairs.
#[derive(Debug, Clone, Copy)]
pub struct Archived<'a> {
    /// The resolved manifest.
    pub settings: &'a [Setting],
    /// The cells of the plan.
    pub cells: &'a [CellRow],
    /// The forks that are there.
    pub forks: &'a [ForkRow],
    /// Facts at the start and at the end.
    pub facts: &'a [FactRow],
    /// Whether the run came to its end.
    pub state: State,
    /// Its root, where it has one.
    pub root: Option<&'a str>,
}

/// A run, ready to be analysed.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The run.
    pub facts: RunFacts,
    /// Facts about machine and server that are not at the end what they were at the start, as `scope.key`.
    pub changed: Vec<String>,
    /// Its cells, in the order of the plan.
    pub cells: Vec<CellSample>,
    /// What passed the proxy in the forks that had one.
    pub wires: Wires,
    /// Where the time of previews goes.
    pub steps: StepsByCell,
}

/// Why an archive that could be read gives no figures.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvidenceError {
    /// The resolved manifest lacks a value.
    #[error("the archived manifest has no usable {section}.{key}")]
    Setting {
        /// Part of the manifest.
        section: &'static str,
        /// Name within it.
        key: &'static str,
    },
    /// The archived claims lack something.
    #[error(transparent)]
    Claim(#[from] ClaimFault),
    /// A fork's medians are not those of its pairs.
    #[error("fork {fork} of {cell} was archived with other medians than its pairs give; fetch the run again")]
    Medians {
        /// Id of the cell.
        cell: String,
        /// Which fork.
        fork: u32,
    },
}

impl Evidence {
    /// Sorts a run's rows by cell. `samples` holds the pairs of every fork, in the order of the forks.
    ///
    /// # Errors
    /// [`EvidenceError`].
    pub fn gather(archived: Archived<'_>, samples: Vec<ForkSample>) -> Result<Self, EvidenceError> {
        let facts = RunFacts::read(archived.settings, archived.state, archived.root)?;
        let mut cells: Vec<CellSample> = (archived.cells)
            .iter()
            .map(|cell| CellSample {
                cell: cell.clone(),
                forks: Vec::new(),
                samples: Vec::new(),
            })
            .collect();
        for (fork, sample) in archived.forks.iter().zip(samples) {
            let Some(cell) = cells.iter_mut().find(|cell| cell.cell.cell == fork.cell) else {
                continue;
            };
            if medians(&sample) != fork.medians {
                return Err(EvidenceError::Medians {
                    cell: cell.cell.id.clone(),
                    fork: fork.fork.0,
                });
            }
            cell.forks.push(fork.clone());
            cell.samples.push(sample);
        }
        Ok(Self {
            facts,
            changed: archived.changed(),
            cells,
            wires: Wires::new(),
            steps: StepsByCell::default(),
        })
    }

    /// Adds the steps of a fork's previews, in the order of the archive.
    pub fn add_steps(&mut self, fork: &ForkSteps) {
        let cell = self.cells.iter().find(|cell| cell.cell.cell == fork.cell);
        let place = |cell: &&CellSample| cell.forks.iter().position(|row| row.fork == fork.fork);
        if let Some(cell) = cell
            && let Some(place) = place(&cell)
        {
            self.steps.add(fork, &cell.samples[place].counted);
        }
    }

    /// Adds what passed the proxy in a fork.
    pub fn add_wire(&mut self, fork: &ForkWire) {
        if let Some(digest) = WireDigest::of(fork) {
            self.wires.insert((fork.cell, fork.fork), digest);
        }
    }

    /// Forks that are there.
    pub fn forks_present(&self) -> usize {
        self.cells.iter().map(|cell| cell.forks.len()).sum()
    }

    /// Forks that broke off.
    pub fn forks_failed(&self) -> usize {
        let failed = |fork: &&ForkRow| fork.status == ForkStatus::Failed;
        self.cells.iter().flat_map(|cell| &cell.forks).filter(failed).count()
    }
}

impl Archived<'_> {
    /// Facts that are not at the end, or at a resumption, what they were at the start. A run that broke off has none at
    /// the end, and nothing to compare.
    pub(super) fn changed(&self) -> Vec<String> {
        let at = |(when, session): (When, Option<u32>)| -> Vec<Fact> {
            // The build stays the same: the same process can't change it, and another build can't resume.
            let is_asked = |row: &&FactRow| (row.when, row.session) == (when, session) && row.fact.scope != "build";
            let asked = self.facts.iter().filter(is_asked);
            asked.map(|row| row.fact.clone()).collect()
        };
        let mut later: Vec<(When, Option<u32>)> = (self.facts.iter())
            .filter(|row| row.when != When::Start)
            .map(|row| (row.when, row.session))
            .collect();
        later.dedup();
        let first = self.facts.iter().find(|row| row.when == When::Start);
        let start = at((When::Start, first.and_then(|row| row.session)));
        let name = |fact: &Fact| (fact.scope.clone(), fact.key.clone());
        let mut changed = BTreeSet::new();
        for moment in later {
            let later = at(moment);
            let changes = environment::differences(&start, &later);
            changed.extend(
                changes
                    .iter()
                    .filter_map(|change| change.start.or(change.end).map(name)),
            );
        }
        changed
            .into_iter()
            .map(|(scope, key)| format!("{scope}.{key}"))
            .collect()
    }
}

impl From<ForkPairs> for ForkSample {
    /// Counts the measured pairs with status ok, and how many measured ones are not; keeps the raw series too.
    fn from(fork: ForkPairs) -> Self {
        let mut sample = Self::default();
        for pair in &fork.pairs {
            sample.subject_series.extend(pair.subject.time.map(|time| time.0));
            sample.baseline_series.extend(pair.baseline.time.map(|time| time.0));
            if pair.phase == Phase::Warmup {
                sample.warmup += 1;
                continue;
            }
            sample.counted.push(pair.status == PairStatus::Ok);
            match (pair.status, pair.subject.time, pair.baseline.time) {
                (PairStatus::Ok, Some(subject), Some(baseline)) => {
                    sample.subject.push(subject.0);
                    sample.baseline.push(baseline.0);
                    sample.subject_first.push(pair.subject_first);
                }
                _ => sample.uncounted += 1,
            }
        }
        sample
    }
}

fn medians(sample: &ForkSample) -> Option<[Nanos; 3]> {
    let median = |mut values: Vec<i64>| nearest_rank::median(&mut values).map(Nanos);
    Some([
        median(sample.subject.clone())?,
        median(sample.baseline.clone())?,
        median(sample.differences())?,
    ])
}

impl RunFacts {
    pub(super) fn read(settings: &[Setting], state: State, root: Option<&str>) -> Result<Self, EvidenceError> {
        let text = |section: &'static str, key: &'static str| {
            settings
                .iter()
                .find(|setting| setting.section == section && setting.key == key)
                .map(|setting| setting.value.clone())
                .ok_or(EvidenceError::Setting { section, key })
        };
        let positive = |section, key| {
            number::<i64>(section, key, &text(section, key)?).and_then(|value| {
                if value > 0 {
                    Ok(Nanos(value))
                } else {
                    Err(EvidenceError::Setting { section, key })
                }
            })
        };
        Ok(Self {
            run: text("run", "id")?,
            name: text("manifest", "name")?,
            title: text("manifest", "title")?,
            question: text("manifest", "question")?,
            backend: backends(settings).ok_or(EvidenceError::Setting {
                section: "backend",
                key: "label",
            })?,
            manifest_sha256: text("manifest", "sha256")?,
            root: root.map(str::to_owned),
            program_version: text("program", "version")?,
            debounce: positive("figures", "debounce")?,
            distance_for: penalties(settings)?,
            margin: positive("figures", "margin")?,
            resamples: Some(number("figures", "resamples", &text("figures", "resamples")?)?)
                .filter(|resamples| (1..=RESAMPLES_MAX).contains(resamples))
                .ok_or(EvidenceError::Setting {
                    section: "figures",
                    key: "resamples",
                })?,
            seed: number("measure", "seed", &text("measure", "seed")?)?,
            primary: text("figures", "primary")?,
            forks_planned: number("run", "forks_planned", &text("run", "forks_planned")?)?,
            state,
            standing: Standing::of(settings),
            claims: claims_of(settings)?,
        })
    }
}

/// The penalties whose distance is asked for; none where the manifest asks for none.
fn penalties(settings: &[Setting]) -> Result<Vec<Penalty>, EvidenceError> {
    let (section, key) = ("figures", "distance_for");
    let asked = settings.iter().find(|row| row.section == section && row.key == key);
    let texts = asked
        .map(|row| row.value.split(',').map(str::trim))
        .into_iter()
        .flatten();
    let penalty = |text: &str| Penalty::parse(text).ok_or(EvidenceError::Setting { section, key });
    texts.map(penalty).collect()
}

/// The labels of the run's backends, each once; of several, they stand under `backend.NAME`.
fn backends(settings: &[Setting]) -> Option<String> {
    let is_backend = |section: &str| section == "backend" || section.starts_with("backend.");
    let mut labels: Vec<&str> = Vec::new();
    for row in settings
        .iter()
        .filter(|row| is_backend(&row.section) && row.key == "label")
    {
        if !labels.contains(&row.value.as_str()) {
            labels.push(&row.value);
        }
    }
    (!labels.is_empty()).then(|| labels.join("; "))
}

fn number<T: std::str::FromStr>(section: &'static str, key: &'static str, text: &str) -> Result<T, EvidenceError> {
    text.parse().map_err(|_| EvidenceError::Setting { section, key })
}
