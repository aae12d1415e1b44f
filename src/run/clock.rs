//! The one clock of a fork: monotonic, in nanoseconds since the fork began, with its own limits measured.

use std::time::Instant;

use crate::units::Nanos;

/// Readings that the clock's resolution and overhead are taken from.
const READINGS: usize = 2_000;

/// A monotonic clock that starts at zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    origin: Instant,
}

/// What a clock can't tell apart, and what asking it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockLimits {
    /// Smallest step between two readings that differ.
    pub resolution: Nanos,
    /// Median of the time between a reading and the next.
    pub overhead: Nanos,
}

impl Clock {
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub fn now(&self) -> Nanos {
        self.origin.elapsed().into()
    }

    /// Reads the clock in a row, as often as it takes to see its steps.
    pub fn limits(&self) -> ClockLimits {
        let readings: Vec<i64> = (0..READINGS).map(|_| self.now().0).collect();
        let mut steps: Vec<i64> = readings.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_unstable();
        let resolution = steps.iter().copied().find(|&step| step > 0).unwrap_or(0);
        ClockLimits {
            resolution: Nanos(resolution),
            overhead: Nanos(steps[steps.len() / 2]),
        }
    }
}
