//! Both directions of a connection, as far as it takes to tell when somebody begins to wait.

use std::collections::VecDeque;

use super::frames::Frames;
use super::{Apart, MessageCounts, Way};

/// What is known of a connection after its start-up packet.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    to_server: Frames,
    to_client: Frames,
    is_ready: bool,
    is_copying: bool,
    /// Between `CopyInResponse` and `CopyDone`, the server takes data and ignores every Sync.
    ignores_syncs: bool,
    /// What awaits a `ReadyForQuery`, by type, the oldest first.
    awaited: VecDeque<u8>,
}

/// What the bytes of one read mean.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Meaning {
    pub messages: MessageCounts,
    pub round_trips: u32,
    pub apart: Option<Apart>,
}

impl Conversation {
    /// Takes what was read on one way.
    pub fn take(&mut self, way: Way, bytes: &[u8]) -> Meaning {
        let mut kinds = Vec::new();
        let frames = match way {
            Way::ToServer => &mut self.to_server,
            Way::ToClient => &mut self.to_client,
        };
        frames.take(bytes, |kind| kinds.push(kind));
        let is_lost = frames.is_lost();
        let (was_ready, mut copied) = (self.is_ready, self.is_copying);
        let mut meaning = Meaning::default();
        for kind in kinds {
            meaning.messages.add(kind);
            match way {
                Way::ToServer => meaning.round_trips += self.sent(kind),
                Way::ToClient => self.answered(kind),
            }
            copied |= self.is_copying;
        }
        let stalls = way == Way::ToServer && meaning.messages.of(b'H') > 0 && self.awaited.is_empty();
        meaning.apart = match () {
            () if is_lost => Some(Apart::Lost),
            () if !was_ready => Some(Apart::Startup),
            () if copied => Some(Apart::Copy),
            () if stalls => Some(Apart::Flush),
            () => None,
        };
        meaning
    }

    /// The client sent a message; 1 where it begins to wait by it.
    fn sent(&mut self, kind: u8) -> u32 {
        if matches!(kind, b'c' | b'f') {
            self.ignores_syncs = false;
        }
        let awaits = match kind {
            b'Q' | b'F' => self.is_ready,
            b'S' => self.is_ready && !self.ignores_syncs,
            _ => false,
        };
        if !awaits {
            return 0;
        }
        self.awaited.push_back(kind);
        u32::from(self.awaited.len() == 1)
    }

    fn answered(&mut self, kind: u8) {
        match kind {
            b'Z' => {
                self.is_ready = true;
                (self.is_copying, self.ignores_syncs) = (false, false);
                self.awaited.pop_front();
            }
            b'G' | b'W' => {
                (self.is_copying, self.ignores_syncs) = (true, true);
                self.forget_ignored();
            }
            b'H' => self.is_copying = true,
            b'C' | b'E' => (self.is_copying, self.ignores_syncs) = (false, false),
            _ => {}
        }
    }

    /// The server takes a copy: a Query that began it is still to be answered, and Syncs that were sent since are ignored.
    /// Clients wait for `CopyInResponse` before they send data, so none of those Syncs follows a `CopyDone`.
    fn forget_ignored(&mut self) {
        let is_simple = self.awaited.front().is_some_and(|kind| *kind != b'S');
        self.awaited.truncate(usize::from(is_simple));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kinds: &[u8]) -> Vec<u8> {
        kinds.iter().flat_map(|kind| [*kind, 0, 0, 0, 4]).collect()
    }

    /// A conversation, and what each way's turn began and was told apart as.
    fn told(turns: &[(Way, &[u8])]) -> Vec<(u32, Option<Apart>)> {
        let mut conversation = Conversation::default();
        let start = [(Way::ToClient, b"RSKZ".as_slice())];
        let turns = start.iter().chain(turns);
        let told = turns.map(|(way, kinds)| conversation.take(*way, &bytes(kinds)));
        told.map(|meaning| (meaning.round_trips, meaning.apart))
            .skip(1)
            .collect()
    }

    #[test]
    fn a_flight_with_one_sync_and_one_with_many_are_one_round_trip_each() {
        let one = told(&[
            (Way::ToServer, b"BEBES"),
            (Way::ToClient, b"2C2CZ"),
            (Way::ToServer, b"Q"),
        ]);
        assert_eq!(one, [(1, None), (0, None), (1, None)]);
        let many = told(&[
            (Way::ToServer, b"BESBESBES"),
            (Way::ToClient, b"2CZ"),
            (Way::ToServer, b"BES"),
            (Way::ToClient, b"2CZ2CZ2CZ"),
            (Way::ToServer, b"BES"),
        ]);
        let trips: Vec<u32> = many.iter().map(|(trips, _)| *trips).collect();
        assert_eq!(trips, [1, 0, 0, 0, 1]);
    }

    #[test]
    fn startup_copy_and_flush_are_told_apart() {
        let mut conversation = Conversation::default();
        let start = conversation.take(Way::ToServer, &bytes(b"p"));
        assert_eq!((start.round_trips, start.apart), (0, Some(Apart::Startup)));
        let copy = told(&[
            (Way::ToServer, b"Q"),
            (Way::ToClient, b"G"),
            (Way::ToServer, b"dddc"),
            (Way::ToClient, b"CZ"),
            (Way::ToServer, b"Q"),
        ]);
        let copied = Some(Apart::Copy);
        assert_eq!(copy, [(1, None), (0, copied), (0, copied), (0, copied), (1, None)]);
        let flush = told(&[
            (Way::ToServer, b"PDH"),
            (Way::ToClient, b"1tT"),
            (Way::ToServer, b"BES"),
        ]);
        assert_eq!(flush, [(0, Some(Apart::Flush)), (0, None), (1, None)]);
    }

    #[test]
    fn a_sync_that_the_server_ignores_while_it_takes_a_copy_is_not_awaited() {
        // tokio-postgres sends a Sync after Execute and another after CopyDone; the first is never answered.
        let extended = told(&[
            (Way::ToServer, b"BES"),
            (Way::ToClient, b"2G"),
            (Way::ToServer, b"dd"),
            (Way::ToServer, b"dcS"),
            (Way::ToClient, b"CZ"),
            (Way::ToServer, b"BES"),
        ]);
        let copied = Some(Apart::Copy);
        assert_eq!(extended[5], (1, None), "{extended:?}");
        assert!(extended[1..5].iter().all(|(_, apart)| *apart == copied), "{extended:?}");
    }

    #[test]
    fn a_copy_that_comes_in_one_read_is_told_apart() {
        let small = told(&[(Way::ToServer, b"Q"), (Way::ToClient, b"HddcCZ"), (Way::ToServer, b"Q")]);
        assert_eq!(small, [(1, None), (0, Some(Apart::Copy)), (1, None)]);
    }
}
