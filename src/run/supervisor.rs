//! The supervisor: makes the backend ready, announces the run, spawns a worker a fork, stores each part, seals.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};

use chrono::{DateTime, SecondsFormat, Utc};
use thiserror::Error;

use super::attendant::{Event, Events, ForkFailure, attend};
use super::describe;
use super::protocol::ForkOrder;
use super::resume::ResumeError;
use super::stand::{Occasion, StandError};
use super::stands::Stands;
use crate::archive::{
    EvidenceFile, FactRow, ForkPart, ForkRow, ForkStatus, LedgerState, PairRow, PairStatus, RunIdentity, RunWriter,
    Standing, When, WriteError,
};
use crate::backend::provision::ProvisionError;
use crate::environment::{self, Discretion, Fact};
use crate::manifest::{Manifest, PairOrder, StepsWish};
use crate::plan::{ForkSlot, Plan};

/// What a run tells while it runs.
pub trait Observer {
    /// Something before or after the forks takes a moment.
    fn stage(&mut self, what: &str);
    /// A fork starts: its place in the run, the number of forks, its cell.
    fn fork_started(&mut self, position: u32, forks: u32, cell: &str);
    /// So many pairs of the fork are done, of so many.
    fn pairs_done(&mut self, pairs: u32, planned: u32);
    /// The fork's part is on disk; so many pairs were planned for it.
    fn fork_stored(&mut self, pairs: u32);
    /// Something is wrong that does not stop the run.
    fn warn(&mut self, message: &str);
}

/// The way to break a run off from a signal handler.
#[derive(Clone)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
    events: Sender<Event>,
}

impl Interrupt {
    /// Asks the run to break off; true when it had been asked before.
    pub fn raise(&self) -> bool {
        let before = self.raised.swap(true, Ordering::SeqCst);
        // A run that is over has nobody listening.
        let _ = self.events.send(Event::Interrupted);
        before
    }

    fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }
}

/// What a finished run has to say beyond its archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The run's directory.
    pub directory: PathBuf,
    /// Pairs of both phases whose sides answered differently.
    pub mismatches: u64,
    /// Pairs of both phases in which a side gave no answer.
    pub failures: u64,
    /// Forks after which the stored model was not what was seeded.
    pub damaged_forks: u64,
}

/// Why there is no finished run.
#[derive(Debug, Error)]
pub enum RunError {
    /// The backend could not be made ready; nothing was measured.
    #[error(transparent)]
    Stand(#[from] StandError),
    /// The results directory refused before anything was measured.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The run that was to be resumed can't be.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The run was broken off before its first fork; nothing was measured.
    #[error("interrupted before the first fork; nothing was measured")]
    InterruptedEarly,
    /// The run broke off; what was measured is on disk.
    #[error(
        "{cause}\n{stored} of {planned} forks are on disk; see them with: preview-cost analyze {0}\n\
         measure the others with: preview-cost run --resume {0}, or seal what there is with: preview-cost recover {0}",
        directory.display()
    )]
    CutShort {
        /// Why.
        cause: ForkFailure,
        /// Forks whose parts are durable.
        stored: usize,
        /// Forks of the plan.
        planned: usize,
        /// The run's directory.
        directory: PathBuf,
    },
}

/// Runs an experiment.
pub struct Supervisor<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) plan: &'a Plan,
    standing: Standing,
    evidence: Vec<EvidenceFile>,
    exe: PathBuf,
    interrupt: Interrupt,
    events: Events,
}

impl<'a> Supervisor<'a> {
    /// Prepares to run `plan`, with `exe` (this program) for the workers. The run is an exploratory one unless
    /// [`Self::under`] says otherwise.
    pub fn new(manifest: &'a Manifest, plan: &'a Plan, exe: &Path) -> Self {
        let (sender, receiver) = mpsc::channel();
        let interrupt = Interrupt {
            raised: Arc::new(AtomicBool::new(false)),
            events: sender.clone(),
        };
        let events = Events { sender, receiver };
        Self {
            manifest,
            plan,
            standing: Standing::unregistered(),
            evidence: Vec::new(),
            exe: exe.to_owned(),
            interrupt,
            events,
        }
    }

    /// Says how the run stands to what was registered, and with what evidence of when.
    #[must_use]
    pub fn under(self, standing: Standing, evidence: Vec<EvidenceFile>) -> Self {
        Self {
            standing,
            evidence,
            ..self
        }
    }

    /// The way to break this run off.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Measures every fork of the plan into a new directory under `results` and seals it.
    ///
    /// # Errors
    /// [`RunError`]; what was measured before is on disk.
    pub fn run(self, results: &Path, observer: &mut dyn Observer) -> Result<Summary, RunError> {
        let started = Utc::now();
        let source = &self.manifest.source;
        let identity = RunIdentity {
            name: &self.manifest.name,
            manifest_text: &source.text,
            manifest_sha256: &source.sha256,
            started,
        };
        let mut writer = RunWriter::create(results, &identity)?;
        let opened = self.open(&mut writer, observer, |stands, writer| {
            writer.keep(&self.evidence)?;
            self.announce(stands, writer, started)
        });
        let stands = match opened {
            Ok(stands) => stands,
            Err(error) => {
                // Nothing was announced or measured. That the empty directory stays would be the smaller trouble.
                let _ = writer.withdraw();
                return Err(error);
            }
        };
        let mut summary = Summary::default();
        let outcome = self.forks(&stands, &mut writer, &mut summary, observer);
        self.close(outcome, stands, writer, &summary, observer)
    }

    /// Makes the backend ready and announces the run, or that it goes on.
    pub(super) fn open(
        &self,
        writer: &mut RunWriter,
        observer: &mut dyn Observer,
        announce: impl FnOnce(&Stands, &mut RunWriter) -> Result<(), RunError>,
    ) -> Result<Stands, RunError> {
        let mut occasion = Occasion {
            exe: &self.exe,
            directory: writer.directory(),
            run: writer.run(),
            strategies: &self.plan.strategies(),
            stage: &mut |what: &str| observer.stage(what),
            interrupted: &|| self.interrupt.is_raised(),
        };
        let stands = match Stands::make_ready(&self.manifest.backends, &mut occasion) {
            Err(StandError::Provision(ProvisionError::Interrupted)) => return Err(RunError::InterruptedEarly),
            made => made?,
        };
        if self.interrupt.is_raised() {
            put_away(stands, observer);
            return Err(RunError::InterruptedEarly);
        }
        match announce(&stands, writer) {
            Ok(()) => Ok(stands),
            Err(error) => {
                put_away(stands, observer);
                Err(error)
            }
        }
    }

    fn announce(&self, stands: &Stands, writer: &mut RunWriter, started: DateTime<Utc>) -> Result<(), RunError> {
        let started = started.to_rfc3339_opts(SecondsFormat::Secs, true);
        let cells = describe::cells(self.plan, &self.manifest.backends);
        let facts = facts_before_a_fork(stands, writer.directory())?;
        // The ledger is locked from here until the start is entered.
        let standing = writer.begin(&self.standing)?;
        let settings = describe::settings(
            self.manifest,
            self.plan,
            writer.run(),
            &started,
            stands.schema(),
            &standing,
            &self.evidence,
        );
        Ok(writer.announce(&settings, &cells, at(When::Start, facts, &discretion(stands)))?)
    }

    /// Measures every fork that is not on disk.
    pub(super) fn forks(
        &self,
        stands: &Stands,
        writer: &mut RunWriter,
        summary: &mut Summary,
        observer: &mut dyn Observer,
    ) -> Result<(), ForkFailure> {
        let forks = self.plan.schedule().len() as u32;
        let discretion = discretion(stands);
        let mut without_steps = BTreeSet::new();
        for (position, slot) in (0u32..).zip(self.plan.schedule()) {
            let cell = self.plan.cell(slot.cell);
            if writer.has(cell.index, slot.fork) {
                observer.fork_stored(self.manifest.measure.previews + self.manifest.measure.warmup);
                continue;
            }
            observer.fork_started(position, forks, &cell.id);
            let order = self.order(*slot, position, stands);
            let planned = order.previews + order.warmup;
            let mut progress = |pairs| observer.pairs_done(pairs, planned);
            let part = attend(&self.exe, &order, &self.events, &mut progress)?;
            let fork = &part.fork;
            summary.count(fork, &part.pairs);
            if let Some(reason) = fork.steps_off.as_ref().filter(|_| order.steps == StepsWish::Auto)
                && without_steps.insert(cell.index)
            {
                observer.warn(&format!(
                    "{}: the steps of previews are not recorded: {reason}",
                    cell.id
                ));
            }
            let broken_off = (fork.status == ForkStatus::Failed)
                .then(|| fork.reason.clone().unwrap_or_else(|| "it broke off".to_owned()));
            writer.part(discreet(part, &discretion))?;
            observer.fork_stored(planned);
            if let Some(reason) = broken_off {
                return Err(ForkFailure::BrokenOff {
                    cell: cell.id.clone(),
                    fork: slot.fork,
                    reason,
                });
            }
        }
        Ok(())
    }

    fn order(&self, slot: ForkSlot, position: u32, stands: &Stands) -> ForkOrder {
        let measure = &self.manifest.measure;
        ForkOrder {
            cell: self.plan.cell(slot.cell).clone(),
            fork: slot.fork,
            position,
            previews: measure.previews,
            warmup: measure.warmup,
            seed: measure.seed,
            coin: measure.order == PairOrder::Coin,
            steps: measure.steps,
            processors: measure.processors,
            timeout: measure.timeout,
            place: stands.place(self.plan.cell(slot.cell).backend_place, position),
        }
    }

    /// Takes the facts at the end, puts the backend away, and seals the run or says why it is not sealed.
    pub(super) fn close(
        &self,
        outcome: Result<(), ForkFailure>,
        stands: Stands,
        mut writer: RunWriter,
        summary: &Summary,
        observer: &mut dyn Observer,
    ) -> Result<Summary, RunError> {
        let directory = writer.directory().to_owned();
        let stored = writer.parts_written();
        let discretion = discretion(&stands);
        let server_facts = if outcome.is_ok() {
            stands.facts()
        } else {
            Ok(Vec::new())
        };
        put_away(stands, observer);
        let sealed = outcome.and_then(|()| {
            let mut facts = server_facts.map_err(|error| ForkFailure::Backend(error.to_string()))?;
            facts.extend(environment::host_facts(&directory));
            Ok(writer.seal(at(When::End, facts, &discretion))?)
        });
        let Err(cause) = sealed else {
            return Ok(Summary {
                directory,
                ..summary.clone()
            });
        };
        let state = if matches!(cause, ForkFailure::Interrupted) {
            LedgerState::Interrupted
        } else {
            LedgerState::Failed
        };
        if let Err(error) = writer.ledger(state) {
            observer.warn(&error.to_string());
        }
        Err(RunError::CutShort {
            cause,
            stored,
            planned: self.plan.schedule().len(),
            directory,
        })
    }
}

impl Summary {
    pub(super) fn count(&mut self, fork: &ForkRow, pairs: &[PairRow]) {
        let with = |wanted: fn(PairStatus) -> bool| pairs.iter().filter(|pair| wanted(pair.status)).count() as u64;
        self.mismatches += with(|status| status == PairStatus::Mismatch);
        self.failures += with(|status| matches!(status, PairStatus::Failed | PairStatus::Timeout));
        self.damaged_forks += u64::from(fork.model_intact == Some(false));
    }

    /// Whether every pair answered, and the same, and nothing persisted.
    pub fn is_clean(&self) -> bool {
        self.mismatches == 0 && self.failures == 0 && self.damaged_forks == 0
    }
}

/// What can't be cleaned up is told; it is no reason to lose the run.
fn put_away(stands: Stands, observer: &mut dyn Observer) {
    if let Err(left) = stands.put_away() {
        observer.warn(&format!("could not clean up: {left}"));
    }
}

/// Facts as rows that name nobody.
pub(super) fn at(when: When, facts: Vec<Fact>, discretion: &Discretion) -> Vec<FactRow> {
    let row = |fact| FactRow {
        when,
        session: None,
        fact: discretion.fact(fact),
    };
    facts.into_iter().map(row).collect()
}

/// What of this machine and of the server stays out of the archive.
pub(super) fn discretion(stands: &Stands) -> Discretion {
    let mut discretion = Discretion::of_this_machine();
    for name in stands.private_names() {
        discretion.add(name);
    }
    discretion
}

/// The rows of a fork with reasons that name nobody.
fn discreet(mut part: ForkPart, discretion: &Discretion) -> ForkPart {
    let of_pairs = part.pairs.iter_mut().map(|pair| &mut pair.reason);
    for reason in [&mut part.fork.reason].into_iter().chain(of_pairs) {
        *reason = reason.take().map(|reason| discretion.text(&reason));
    }
    part
}

/// Facts about build, backend and machine.
pub(super) fn facts_before_a_fork(stands: &Stands, directory: &Path) -> Result<Vec<Fact>, StandError> {
    let mut facts = environment::build_facts();
    facts.extend(stands.facts()?);
    facts.extend(environment::host_facts(directory));
    Ok(facts)
}
