//! The timed parts of a preview.
//!
//! They follow each other without a gap: the first begins with the preview, each ends where the next begins, and the
//! last ends with the preview. So the parts of a preview add up to it, and nothing is left over.

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::units::Nanos;

/// Steps of one preview that are told apart; what comes beyond is added to the last.
const STEPS_MAX: usize = 8;
/// What an archive gives as the reason where the manifest asks for no steps, which surprises nobody.
pub const NOT_ASKED_FOR: &str = "the manifest asks for none";

/// A timed part of a preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// The overrides go to the database, or over a copy; what must be there for that (a transaction, a clone) is made.
    Write,
    /// The model comes back.
    Read,
    /// The projection.
    Compute,
    /// What was written goes away.
    Discard,
    /// Write, read and discard in one flight: from the client's side, nobody can tell them apart.
    Exchange,
}

impl Step {
    /// Every step, in the order in which tables list them.
    pub const ALL: [Self; 5] = [Self::Write, Self::Read, Self::Compute, Self::Discard, Self::Exchange];

    /// The word that stands in archives and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Compute => "compute",
            Self::Discard => "discard",
            Self::Exchange => "exchange",
        }
    }

    /// The step that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == word)
    }
}

/// Notes when the steps of a preview begin. Switched off, it reads no clock.
#[derive(Debug, Clone)]
pub struct Steps {
    clock: Option<Clock>,
    entered: [(Step, Nanos); STEPS_MAX],
    count: usize,
}

impl Steps {
    /// Notes by this clock.
    pub fn by(clock: Clock) -> Self {
        Self {
            clock: Some(clock),
            ..Self::off()
        }
    }

    /// Notes nothing.
    pub fn off() -> Self {
        Self {
            clock: None,
            entered: [(Step::Write, Nanos(0)); STEPS_MAX],
            count: 0,
        }
    }

    /// Whether it notes anything.
    pub fn is_on(&self) -> bool {
        self.clock.is_some()
    }

    /// Forgets the preview before.
    pub fn begin(&mut self) {
        self.count = 0;
    }

    /// A step begins. The first one began with the preview, so it costs no reading of the clock.
    pub fn enter(&mut self, step: Step) {
        let Some(clock) = &self.clock else { return };
        let known = self.entered[..self.count].last();
        if known.is_some_and(|(last, _)| *last == step) || self.count == STEPS_MAX {
            return;
        }
        let begun = if self.count == 0 { Nanos(0) } else { clock.now() };
        self.entered[self.count] = (step, begun);
        self.count += 1;
    }

    /// The steps of a preview that lasted from `start` to `end`, and how long each took: they add up to it. None where
    /// nothing was noted.
    pub fn between(&self, start: Nanos, end: Nanos) -> Vec<(Step, Nanos)> {
        let entered = &self.entered[..self.count];
        let begun = |place: usize| if place == 0 { start } else { entered[place].1 };
        let ended = |place: usize| {
            if place + 1 < entered.len() {
                entered[place + 1].1
            } else {
                end
            }
        };
        (0..entered.len())
            .map(|place| (entered[place].0, Nanos(ended(place).0 - begun(place).0)))
            .collect()
    }

    /// Readings of the clock that the preview took.
    pub fn readings(&self) -> usize {
        self.count.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_a_preview_add_up_to_it() {
        let clock = Clock::start();
        let mut steps = Steps::by(clock);
        for _ in 0..2 {
            steps.begin();
            let start = clock.now();
            // One more than there is room for, and one that is entered twice.
            for step in [0, 1, 1, 2, 3, 0, 1, 2, 3, 0, 2].map(|place: usize| Step::ALL[place]) {
                steps.enter(step);
            }
            let end = clock.now();
            let noted = steps.between(start, end);
            assert_eq!(noted.len(), STEPS_MAX);
            assert!(noted.iter().all(|(_, time)| time.0 >= 0), "{noted:?}");
            assert_eq!(noted.iter().map(|(_, time)| time.0).sum::<i64>(), end.0 - start.0);
            assert_eq!((noted[1].0, noted[2].0), (Step::Read, Step::Compute));
        }
    }

    #[test]
    fn one_step_takes_no_reading_and_none_is_none() {
        let mut steps = Steps::by(Clock::start());
        steps.enter(Step::Compute);
        assert_eq!(
            (steps.readings(), steps.between(Nanos(5), Nanos(9))),
            (0, vec![(Step::Compute, Nanos(4))])
        );
        let mut off = Steps::off();
        off.enter(Step::Compute);
        assert_eq!(off.between(Nanos(5), Nanos(9)), []);
    }
}
