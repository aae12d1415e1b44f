//! The one clock of a fork: monotonic, in nanoseconds since the fork began, with its own limits measured.
//!
//! It is the system's monotonic clock, which every process of a machine reads alike. So what another process saw at a
//! time can be told on this clock.

use nix::time::{ClockId, clock_gettime};

use crate::units::Nanos;

/// Readings that the clock's resolution and overhead are taken from.
const READINGS: usize = 2_000;

/// A monotonic clock that starts at zero.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// What the system's clock said at zero.
    origin: Nanos,
}

/// What a clock can't tell apart, and what asking it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockLimits {
    /// Smallest step between two readings that differ.
    pub resolution: Nanos,
    /// Median of the time between a reading and the next.
    pub overhead: Nanos,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { origin: monotonic() }
    }

    /// Time since it began.
    pub fn now(&self) -> Nanos {
        Nanos(monotonic().0 - self.origin.0)
    }

    /// A time of the system's monotonic clock, on this one; negative for one before it began.
    pub fn told(&self, monotonic: Nanos) -> Nanos {
        Nanos(monotonic.0 - self.origin.0)
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

/// What the system's monotonic clock says.
pub fn monotonic() -> Nanos {
    // Every system that this program runs on has the clock.
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(Nanos(0), |time| Nanos(time.tv_sec() * 1_000_000_000 + time.tv_nsec()))
}
