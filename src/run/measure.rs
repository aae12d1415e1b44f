//! The measured loop: pairs of previews, back to back, in the recorded order.
//!
//! Between the two readings of the clock there is the preview and nothing else. Comparing the answers, recording and
//! telling the supervisor happen after the pair.

use std::hint::black_box;
use std::time::Duration;

use crate::archive::{PairRow, PairSide, PairStatus, Phase, SideRow, StepRow};
use crate::backend::{BackendError, BackgroundWork, Session};
use crate::clock::Clock;
use crate::nearest_rank;
use crate::step::{Step, Steps};
use crate::strategy::{PreviewError, Strategy};
use crate::units::{Nanos, PairIndex};
use crate::workload::{Answer, Overrides, Workload, delta_of};

/// Empty round trips that the distance is the median of.
pub(super) const DISTANCE_TRIPS: usize = 200;
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

/// The session of both sides; or one for the subject, and another one for the baseline, which goes another way.
pub(super) struct Sessions<'s, S> {
    pub shared: &'s mut S,
    pub of_baseline: Option<&'s mut S>,
}

impl<S> Sessions<'_, S> {
    fn of(&mut self, side: PairSide) -> &mut S {
        match (&mut self.of_baseline, side) {
            (Some(own), PairSide::Baseline) => own,
            _ => self.shared,
        }
    }
}

/// Hundredths of a preview that reading the clock between its steps may take.
const STEPS_SHARE_MAX: f64 = 1.0;

/// The pairs of a fork as they are measured.
pub(super) struct Recorder<'a> {
    clock: Clock,
    pairs: Vec<PairRow>,
    notes: Steps,
    steps: Vec<StepRow>,
    /// Most readings of the clock that a preview took between its steps, by side.
    readings: [usize; 2],
    progress: &'a mut dyn FnMut(u32),
    told: Nanos,
}

/// Why a fork can't go on; its pairs so far are recorded.
#[derive(Debug)]
pub(super) struct BrokenOff(pub String);

impl<'a> Recorder<'a> {
    /// With `notes` for the steps of previews.
    pub fn new(clock: Clock, notes: Steps, capacity: usize, progress: &'a mut dyn FnMut(u32)) -> Self {
        Self {
            clock,
            pairs: Vec::with_capacity(capacity),
            notes,
            steps: Vec::new(),
            readings: [0, 0],
            progress,
            told: clock.now(),
        }
    }

    /// What was measured: pairs, and the steps of their previews.
    pub fn into_rows(self) -> (Vec<PairRow>, Vec<StepRow>) {
        (self.pairs, self.steps)
    }

    /// Stops noting steps unless the pairs so far show, on both sides, that it takes no more of a preview than it may; says
    /// why.
    pub fn give_up_costly_steps(&mut self, overhead: Nanos) -> Option<String> {
        if !self.notes.is_on() {
            return None;
        }
        let reason = PairSide::BOTH.into_iter().find_map(|side| {
            let times = self.pairs.iter().filter_map(|pair| match side {
                PairSide::Subject => pair.subject.time,
                PairSide::Baseline => pair.baseline.time,
            });
            let median = nearest_rank::median(&mut times.map(|time| time.0).collect::<Vec<_>>());
            too_costly(self.readings[side as usize], overhead, median.map(Nanos), side)
        })?;
        self.notes = Steps::off();
        Some(reason)
    }

    /// Measures one phase: a pair for each entry of `subject_first`.
    pub fn phase<S: Session>(
        &mut self,
        phase: Phase,
        subject_first: &[bool],
        workload: &Workload,
        sessions: &mut Sessions<'_, S>,
        sides: &mut Sides<S>,
    ) -> Result<(), BrokenOff> {
        for (iteration, &subject_first) in (0u32..).zip(subject_first) {
            let delta = delta_of(iteration);
            let overrides = workload.overrides(delta);
            let mut outcome = self.pair(sessions, sides, &overrides, subject_first);
            let broken = outcome.broken.clone();
            self.steps.extend(outcome.steps(PairIndex(iteration), phase));
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
        &mut self,
        sessions: &mut Sessions<'_, S>,
        sides: &mut Sides<S>,
        overrides: &Overrides,
        subject_first: bool,
    ) -> PairOutcome {
        let mut outcome = PairOutcome::default();
        let order = if subject_first {
            [PairSide::Subject, PairSide::Baseline]
        } else {
            [PairSide::Baseline, PairSide::Subject]
        };
        for which in order {
            let strategy = match which {
                PairSide::Subject => &mut sides.subject,
                PairSide::Baseline => &mut sides.baseline,
            };
            let session = sessions.of(which);
            self.notes.begin();
            let start = self.clock.now();
            let answer = black_box(strategy.preview(session, black_box(overrides), &mut self.notes));
            let end = self.clock.now();
            self.readings[which as usize] = self.readings[which as usize].max(self.notes.readings());
            let side = outcome.side(which);
            side.start = Some(start);
            side.steps = self.notes.between(start, end);
            match answer {
                Ok(answer) => {
                    side.time = Some(Nanos(end.0 - start.0));
                    side.answer = Some(answer);
                }
                Err(error) => outcome.fail(which, &error, session),
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
    steps: Vec<(Step, Nanos)>,
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
    fn side(&mut self, which: PairSide) -> &mut Side {
        match which {
            PairSide::Subject => &mut self.subject,
            PairSide::Baseline => &mut self.baseline,
        }
    }

    /// The steps of both previews as rows, subject first.
    fn steps(&mut self, pair: PairIndex, phase: Phase) -> Vec<StepRow> {
        let mut rows = Vec::new();
        for which in PairSide::BOTH {
            let steps = std::mem::take(&mut self.side(which).steps);
            rows.extend((0u32..).zip(steps).map(|(place, (step, time))| StepRow {
                previewer: 0,
                pair,
                phase,
                side: which,
                place,
                step,
                time,
            }));
        }
        rows
    }

    fn fail<S: Session>(&mut self, which: PairSide, error: &PreviewError, session: &mut S) {
        let side = which.as_str();
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

/// Why steps can't be noted: what reading the clock takes of a preview, or that no preview shows it. `None` where it takes
/// little.
fn too_costly(readings: usize, overhead: Nanos, preview: Option<Nanos>, side: PairSide) -> Option<String> {
    let Some(preview) = preview else {
        return Some(format!(
            "no preview of the {} in the warm-up shows how much of it reading the clock takes",
            side.as_str()
        ));
    };
    let share = 100.0 * readings as f64 * overhead.0 as f64 / preview.0.max(1) as f64;
    (share >= STEPS_SHARE_MAX).then(|| {
        format!(
            "reading the clock {readings} times at {} ns is {share:.1} % of a preview of the {}, and {STEPS_SHARE_MAX} % is \
             the most that it may be",
            overhead.0,
            side.as_str()
        )
    })
}

/// Median of empty round trips; `None` where nothing is at a distance.
pub(super) fn distance<S: Session>(clock: Clock, session: &mut S) -> Result<Option<Nanos>, BackendError> {
    median_trip(clock, || session.empty_round_trip())
}

/// The same over a strategy's own connection; `None` where it has none.
pub(super) fn own_distance<S>(clock: Clock, strategy: &mut dyn Strategy<S>) -> Result<Option<Nanos>, PreviewError> {
    median_trip(clock, || strategy.own_round_trip())
}

fn median_trip<E>(clock: Clock, mut trip: impl FnMut() -> Result<bool, E>) -> Result<Option<Nanos>, E> {
    let mut trips = Vec::with_capacity(DISTANCE_TRIPS);
    for _ in 0..DISTANCE_TRIPS {
        let start = clock.now();
        if !trip()? {
            return Ok(None);
        }
        trips.push(clock.now().0 - start.0);
    }
    Ok(nearest_rank::median(&mut trips).map(Nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_given_up_where_they_cost_a_hundredth_of_a_preview() {
        let costly = |readings, preview| too_costly(readings, Nanos(30), Some(Nanos(preview)), PairSide::Baseline);
        assert_eq!(costly(3, 9_001), None);
        assert!(costly(3, 9_000).is_some_and(|reason| reason.contains("1.0 % of a preview of the baseline")));
        assert_eq!(costly(0, 1), None);
        assert!(costly(1, 0).is_some());
        // What nothing shows is not taken for little.
        assert!(too_costly(0, Nanos(30), None, PairSide::Subject).is_some());
    }
}
