//! What passed, summed up as it passes: for a proxy that may serve for days.

use std::io;

use serde::Serialize;

use super::passage::Passage;
use super::{Apart, MessageCounts, Way};

/// Width of the histogram's buckets of overshoot, ns.
const BUCKET: i64 = 1_000;
/// Buckets; what lies beyond is in the last.
const BUCKETS: usize = 10_000;

/// Sums over everything that passed.
#[derive(Debug, Clone, Serialize)]
pub struct Tally {
    /// Connections with a conversation, open ones too.
    pub connections: u64,
    /// Requests to cancel.
    pub cancel_requests: u64,
    /// Requests for encryption, which were refused.
    pub encryption_refused: u64,
    /// Connections that failed.
    pub failed: u64,
    /// Why the last of them did.
    pub last_failure: Option<String>,
    /// Round trips.
    pub round_trips: u64,
    /// Reads from clients: their writes, as they arrived.
    pub client_writes: u64,
    /// Reads from the server: its writes, as they arrived.
    pub server_writes: u64,
    /// Bytes to the server.
    pub bytes_to_server: u64,
    /// Bytes to the clients.
    pub bytes_to_client: u64,
    /// Messages to the server by type.
    #[serde(serialize_with = "as_text")]
    pub messages_to_server: MessageCounts,
    /// Messages to the clients by type.
    #[serde(serialize_with = "as_text")]
    pub messages_to_client: MessageCounts,
    /// Reads of start-up, of COPY, of Flush alone, and after bytes that made no sense.
    pub apart: [u64; 4],
    /// Overshoot of what was held, in buckets of a microsecond.
    #[serde(skip)]
    overshoot: Vec<u64>,
    /// The greatest overshoot, ns.
    pub overshoot_max_ns: i64,
}

fn as_text<S: serde::Serializer>(counts: &MessageCounts, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(counts)
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            connections: 0,
            cancel_requests: 0,
            encryption_refused: 0,
            failed: 0,
            last_failure: None,
            round_trips: 0,
            client_writes: 0,
            server_writes: 0,
            bytes_to_server: 0,
            bytes_to_client: 0,
            messages_to_server: MessageCounts::default(),
            messages_to_client: MessageCounts::default(),
            apart: [0; 4],
            overshoot: vec![0; BUCKETS],
            overshoot_max_ns: 0,
        }
    }
}

impl Tally {
    /// Adds what passed.
    pub fn add(&mut self, passage: &Passage) {
        self.round_trips += u64::from(passage.round_trips);
        if let Some(apart) = passage.apart {
            self.apart[apart as usize] += 1;
        }
        match passage.way {
            Way::ToServer => {
                self.client_writes += 1;
                self.bytes_to_server += u64::from(passage.bytes);
                self.messages_to_server.merge(&passage.messages);
            }
            Way::ToClient => {
                self.server_writes += 1;
                self.bytes_to_client += u64::from(passage.bytes);
                self.messages_to_client.merge(&passage.messages);
            }
        }
        if passage.declared.0 > 0 {
            let over = passage.held().0 - passage.declared.0;
            self.overshoot_max_ns = self.overshoot_max_ns.max(over);
            let bucket = usize::try_from(over / BUCKET).unwrap_or_default();
            self.overshoot[bucket.min(BUCKETS - 1)] += 1;
        }
    }

    /// Adds a connection that failed.
    pub(super) fn failed(&mut self, error: &io::Error) {
        self.failed += 1;
        self.last_failure = Some(error.to_string());
    }

    /// Upper end, ns, of the microsecond in which the nearest-rank quantile of the overshoot lies; `None` where nothing was
    /// held.
    pub fn overshoot(&self, numerator: u32, denominator: u32) -> Option<i64> {
        let held: u64 = self.overshoot.iter().sum();
        let wanted = (held > 0).then(|| crate::nearest_rank::rank(held as usize, numerator, denominator) as u64)?;
        let mut seen = 0;
        let bucket = self.overshoot.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some((bucket as i64 + 1) * BUCKET)
    }

    /// Reads that were told apart so.
    pub fn told_apart(&self, as_what: Apart) -> u64 {
        self.apart[as_what as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    #[test]
    fn quantiles_of_the_overshoot_are_those_of_its_microseconds() {
        let mut tally = Tally::default();
        assert_eq!(tally.overshoot(1, 2), None);
        for over in [500, 1_500, 2_500, 90_000_000] {
            tally.add(&Passage {
                connection: 0,
                way: Way::ToServer,
                received: Nanos(0),
                released: Nanos(125_000 + over),
                declared: Nanos(125_000),
                bytes: 10,
                messages: MessageCounts::default(),
                round_trips: 1,
                apart: None,
            });
        }
        assert_eq!(
            (tally.overshoot(1, 2), tally.overshoot(1, 4)),
            (Some(2_000), Some(1_000))
        );
        assert_eq!(
            (tally.overshoot(1, 1), tally.overshoot_max_ns),
            (Some(10_000_000), 90_000_000)
        );
        assert_eq!(
            (tally.round_trips, tally.bytes_to_server, tally.client_writes),
            (4, 40, 4)
        );
    }
}
