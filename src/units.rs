//! The quantities that cross a room, each with its unit in its type.
//!
//! A bare integer says neither what it counts nor in which unit, and a benchmark that mixes up nanoseconds and
//! milliseconds is worse than none. Every room takes and returns these types; integers appear at the edges only
//! (Parquet columns, TOML values), where the unit stands in the name.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A duration, or a difference of durations, in nanoseconds. Signed, because a difference may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub i64);

impl Nanos {
    /// Milliseconds as a floating-point number, for tables only.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds as a floating-point number, for messages only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<Duration> for Nanos {
    /// Saturates at `i64::MAX`, which is 292 years.
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// The experiment's seed; every random order of a run derives from it, see [`crate::plan::order`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

/// The place of a cell in the plan, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellIndex(pub u32);

/// The place of a fork within its cell, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ForkIndex(pub u32);

/// The place of a pair within its phase of a fork, from 0: warm-up and measured pairs both count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PairIndex(pub u32);

impl fmt::Display for CellIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ForkIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PairIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
