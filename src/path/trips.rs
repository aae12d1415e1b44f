//! Both directions of a connection, as far as it takes to tell when somebody begins to wait.

use super::frames::Frames;
use super::{Apart, MessageCounts, Way};

/// What is known of a connection after its start-up packet.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    to_server: Frames,
    to_client: Frames,
    is_ready: bool,
    is_copying: bool,
    /// How many `ReadyForQuery` are awaited.
    awaited: u32,
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
        let (was_ready, was_copying) = (self.is_ready, self.is_copying);
        let mut meaning = Meaning::default();
        for kind in kinds {
            meaning.messages.add(kind);
            match way {
                Way::ToServer => meaning.round_trips += self.sent(kind),
                Way::ToClient => self.answered(kind),
            }
        }
        let stalls = way == Way::ToServer && meaning.messages.of(b'H') > 0 && self.awaited == 0;
        meaning.apart = match () {
            () if is_lost => Some(Apart::Lost),
            () if !was_ready => Some(Apart::Startup),
            () if was_copying || self.is_copying => Some(Apart::Copy),
            () if stalls => Some(Apart::Flush),
            () => None,
        };
        meaning
    }

    /// The client sent a message; 1 where it begins to wait by it.
    fn sent(&mut self, kind: u8) -> u32 {
        let awaits = matches!(kind, b'Q' | b'S' | b'F') && self.is_ready;
        if !awaits {
            return 0;
        }
        self.awaited += 1;
        u32::from(self.awaited == 1)
    }

    fn answered(&mut self, kind: u8) {
        match kind {
            b'Z' => {
                self.is_ready = true;
                self.is_copying = false;
                self.awaited = self.awaited.saturating_sub(1);
            }
            b'G' | b'H' | b'W' => self.is_copying = true,
            b'C' | b'E' => self.is_copying = false,
            _ => {}
        }
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
}
