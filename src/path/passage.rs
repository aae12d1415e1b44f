//! What passed: one entry a read.

use serde::{Deserialize, Serialize};

use super::MessageCounts;
use crate::units::Nanos;

/// Which way something passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the driver.
    ToServer,
    /// From the database.
    ToClient,
}

/// What is counted apart from round trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Apart {
    /// Before the first `ReadyForQuery`.
    Startup,
    /// While COPY streams.
    Copy,
    /// A Flush that nothing follows: the client waits, and the protocol does not know it.
    Flush,
    /// After bytes that make no sense as messages.
    Lost,
}

impl Apart {
    /// The word that stands in archives and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Copy => "copy",
            Self::Flush => "flush",
            Self::Lost => "lost",
        }
    }
}

/// The bytes of one read and what became of them. Times are those of the system's monotonic clock, ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Which connection, from 0.
    pub connection: u32,
    /// Which way.
    pub way: Way,
    /// When they had been read.
    pub received: Nanos,
    /// When their write began. A write that blocks may end later: that is the receiver's time, not the path's.
    pub released: Nanos,
    /// How long they were to be held.
    pub declared: Nanos,
    /// How many.
    pub bytes: u32,
    /// Messages that ended among them.
    pub messages: MessageCounts,
    /// Round trips that they began.
    pub round_trips: u32,
    /// What they are told apart as.
    pub apart: Option<Apart>,
}

impl Passage {
    /// How long they were held.
    pub fn held(&self) -> Nanos {
        Nanos(self.released.0 - self.received.0)
    }
}
