//! The measured loop: pairs of previews, back to back, in the recorded order.
//!
//! Between the two readings of the clock there is the preview and nothing else. Comparing the answers, recording and
//! telling the supervisor happen after the pair.

use std::hint::black_box;
use std::time::Duration;

use super::clock::Clock;
use crate::archive::{PairRow, PairStatus, Phase, SideRow};
use crate::backend::{BackendError, BackgroundWork, Session};
use crate::strategy::{PreviewError, Strategy};
use crate::units::{Nanos, PairIndex};
use crate::workload::{Answer, Overrides, Workload, delta_of};

/// Empty round trips that the distance is the median of.
const DISTANCE_TRIPS: usize = 200;
/// Shortest time between two messages to the supervisor while pairs are measured.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// The two sides of every pair of a fork.
pub(super) struct Sides<S> {
    pub subject: Box<dyn Strategy<S>>,
    pub baseline: Box<dyn Strategy<S>>,
}

impl<S> Sides<S> {
    /// What they did beside their previews so far.
    pub fn background(&self) -> Option<BackgroundWork> {
        BackgroundWork::of_both([self.subject.background(), self.baseline.background()])
    }
}

/// The pairs of a fork as they are measured.
pub(super) struct Recorder<'a> {
    clock: Clock,
    pairs: Vec<PairRow>,
    progress: &'a mut dyn FnMut(u32),
    told: Nanos,
}

/// Why a fork can't go on; its pairs so far are recorded.
#[derive(Debug)]
pub(super) struct BrokenOff(pub String);

impl<'a> Recorder<'a> {
    pub fn new(clock: Clock, capacity: usize, progress: &'a mut dyn FnMut(u32)) -> Self {
        Self {
            clock,
            pairs: Vec::with_capacity(capacity),
            progress,
            told: clock.now(),
        }
    }

    pub fn into_pairs(self) -> Vec<PairRow> {
        self.pairs
    }

    /// Measures one phase: a pair for each entry of `subject_first`.
    pub fn phase<S: Session>(
        &mut self,
        phase: Phase,
        subject_first: &[bool],
        workload: &Workload,
        session: &mut S,
        sides: &mut Sides<S>,
    ) -> Result<(), BrokenOff> {
        for (iteration, &subject_first) in (0u32..).zip(subject_first) {
            let delta = delta_of(iteration);
            let overrides = workload.overrides(delta);
            let outcome = self.pair(session, sides, &overrides, subject_first);
            let broken = outcome.broken.clone();
            self.pairs
                .push(outcome.into_row(PairIndex(iteration), phase, subject_first, delta));
            if let Some(reason) = broken {
                return Err(BrokenOff(reason));
            }
            self.tell();
        }
        Ok(())
    }

    fn pair<S: Session>(
        &self,
        session: &mut S,
        sides: &mut Sides<S>,
        overrides: &Overrides,
        subject_first: bool,
    ) -> PairOutcome {
        let mut outcome = PairOutcome::default();
        for is_subject in [subject_first, !subject_first] {
            let strategy = if is_subject {
                &mut sides.subject
            } else {
                &mut sides.baseline
            };
            let start = self.clock.now();
            let answer = black_box(strategy.preview(session, black_box(overrides)));
            let end = self.clock.now();
            let side = if is_subject {
                &mut outcome.subject
            } else {
                &mut outcome.baseline
            };
            side.start = Some(start);
            match answer {
                Ok(answer) => {
                    side.time = Some(Nanos(end.0 - start.0));
                    side.answer = Some(answer);
                }
                Err(error) => outcome.fail(is_subject, &error, session),
            }
            if outcome.broken.is_some() {
                break;
            }
        }
        outcome
    }

    fn tell(&mut self) {
        let now = self.clock.now();
        if now.0 - self.told.0 >= Nanos::from(PROGRESS_EVERY).0 {
            self.told = now;
            (self.progress)(self.pairs.len() as u32);
        }
    }
}

#[derive(Default)]
struct Side {
    start: Option<Nanos>,
    time: Option<Nanos>,
    answer: Option<Answer>,
}

impl Side {
    fn into_row(self) -> SideRow {
        let answer = self.answer.map(|answer| answer.digest().to_string());
        SideRow {
            start: self.start,
            time: self.time,
            answer,
        }
    }
}

#[derive(Default)]
struct PairOutcome {
    subject: Side,
    baseline: Side,
    failure: Option<(PairStatus, String)>,
    /// Why no further pair can be measured.
    broken: Option<String>,
}

impl PairOutcome {
    fn fail<S: Session>(&mut self, is_subject: bool, error: &PreviewError, session: &mut S) {
        let side = if is_subject { "subject" } else { "baseline" };
        let (status, lost) = match error {
            PreviewError::Backend(error) if error.is_timeout() => (PairStatus::Timeout, false),
            PreviewError::Backend(error) => (PairStatus::Failed, error.is_connection_lost()),
            PreviewError::Read(_) | PreviewError::Write { .. } => (PairStatus::Failed, false),
        };
        let reason = format!("{side}: {error}");
        self.failure.get_or_insert_with(|| (status, reason.clone()));
        if lost {
            self.broken = Some(reason);
        } else if let Err(error) = session.reset() {
            self.broken = Some(format!(
                "the session could not be reset after a failed preview: {error}"
            ));
        }
    }

    fn into_row(self, pair: PairIndex, phase: Phase, subject_first: bool, delta: f64) -> PairRow {
        let (status, reason) = match (self.failure, &self.subject.answer, &self.baseline.answer) {
            (Some((status, reason)), _, _) => (status, Some(reason)),
            (None, Some(subject), Some(baseline)) if !subject.same_bits(baseline) => (
                PairStatus::Mismatch,
                Some(format!("subject {subject:?}, baseline {baseline:?}")),
            ),
            _ => (PairStatus::Ok, None),
        };
        PairRow {
            previewer: 0,
            pair,
            phase,
            subject_first,
            delta,
            subject: self.subject.into_row(),
            baseline: self.baseline.into_row(),
            status,
            reason,
        }
    }
}

/// Median of empty round trips; `None` where nothing is at a distance.
pub(super) fn distance<S: Session>(clock: Clock, session: &mut S) -> Result<Option<Nanos>, BackendError> {
    let mut trips = Vec::with_capacity(DISTANCE_TRIPS);
    for _ in 0..DISTANCE_TRIPS {
        let start = clock.now();
        if !session.empty_round_trip()? {
            return Ok(None);
        }
        trips.push(clock.now().0 - start.0);
    }
    Ok(crate::nearest_rank::median(&mut trips).map(Nanos))
}
