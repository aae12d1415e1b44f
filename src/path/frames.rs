//! Messages found in a stream of bytes, however it was cut: a type, a length, and a body that is not looked at.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A header: a type and a length.
const HEADER: usize = 5;
/// The length counts itself.
const LENGTH_MIN: i32 = 4;
/// PostgreSQL sends and takes no message of a gibibyte.
const LENGTH_MAX: i32 = 1 << 30;

/// Messages by type, in the order in which each type first came: `B4 E4 S1`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts(Vec<(u8, u32)>);

impl MessageCounts {
    /// Counts one more.
    pub fn add(&mut self, kind: u8) {
        self.add_many(kind, 1);
    }

    /// Counts so many more.
    pub fn add_many(&mut self, kind: u8, count: u32) {
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known = known.saturating_add(count),
            None => self.0.push((kind, count)),
        }
    }

    /// Messages of a type.
    pub fn of(&self, kind: u8) -> u32 {
        let found = self.0.iter().find(|(known, _)| *known == kind);
        found.map_or(0, |(_, count)| *count)
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            self.add_many(*kind, *count);
        }
    }

    /// Type and count.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u32)> {
        self.0.iter().copied()
    }
}

impl fmt::Display for MessageCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (kind, count)) in self.0.iter().enumerate() {
            let blank = if place > 0 { " " } else { "" };
            write!(f, "{blank}{}{count}", kind.escape_ascii())?;
        }
        Ok(())
    }
}

/// Finds messages in one direction of a connection, after its start-up packet.
#[derive(Debug, Default)]
pub(super) struct Frames {
    header: [u8; HEADER],
    /// Bytes of the header that are there.
    have: usize,
    /// Bytes of the body that are still to come.
    body: usize,
    /// Whether a length made no sense: nothing after it can be told.
    is_lost: bool,
}

impl Frames {
    /// Takes the bytes of one read; gives the types of the messages whose last byte is among them.
    pub fn take(&mut self, mut bytes: &[u8], mut ended: impl FnMut(u8)) {
        while !bytes.is_empty() && !self.is_lost {
            if self.have < HEADER {
                let more = bytes.len().min(HEADER - self.have);
                self.header[self.have..self.have + more].copy_from_slice(&bytes[..more]);
                (self.have, bytes) = (self.have + more, &bytes[more..]);
                if self.have < HEADER {
                    return;
                }
                let [_, length @ ..] = self.header;
                let length = i32::from_be_bytes(length);
                if !(LENGTH_MIN..LENGTH_MAX).contains(&length) {
                    self.is_lost = true;
                    return;
                }
                self.body = (length - LENGTH_MIN) as usize;
            }
            let more = bytes.len().min(self.body);
            (self.body, bytes) = (self.body - more, &bytes[more..]);
            if self.body == 0 {
                self.have = 0;
                ended(self.header[0]);
            }
        }
    }

    /// Whether the bytes made no sense at some place.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: u8, body: usize) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend((body as i32 + LENGTH_MIN).to_be_bytes());
        bytes.resize(HEADER + body, b'x');
        bytes
    }

    #[test]
    fn a_length_that_makes_no_sense_ends_the_counting() {
        let mut frames = Frames::default();
        let mut seen = Vec::new();
        frames.take(&message(b'Q', 3), |kind| seen.push(kind));
        frames.take(b"Q\xff\xff\xff\xffQ\0\0\0\x04", |kind| seen.push(kind));
        assert_eq!((seen, frames.is_lost()), (vec![b'Q'], true));
    }

    #[test]
    fn no_length_is_too_strange() {
        for length in [0, 3, 0x7fff_ffff, 0x8000_0000, 0x8000_0003, u32::MAX] {
            let mut frames = Frames::default();
            let bytes = [[b'Q'].as_slice(), &length.to_be_bytes(), b"Q\0\0\0\x04"].concat();
            let mut seen = 0;
            frames.take(&bytes, |_| seen += 1);
            assert_eq!((frames.is_lost(), seen), (true, 0), "{length:x}");
        }
    }

    #[test]
    fn counts_are_told_by_type() {
        let mut counts = MessageCounts::default();
        for kind in *b"BEBES" {
            counts.add(kind);
        }
        assert_eq!(
            (counts.to_string().as_str(), counts.of(b'B'), counts.of(b'Z')),
            ("B2 E2 S1", 2, 0)
        );
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            messages in prop::collection::vec((0u8..4, 0usize..40), 0..20),
            cuts in prop::collection::vec(1usize..30, 1..60)
        ) {
            let kinds: Vec<u8> = messages.iter().map(|(kind, _)| b"QPSB"[usize::from(*kind)]).collect();
            let stream: Vec<u8> = kinds.iter().zip(&messages).flat_map(|(kind, (_, body))| message(*kind, *body)).collect();
            let (mut frames, mut seen, mut rest) = (Frames::default(), Vec::new(), stream.as_slice());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                frames.take(now, |kind| seen.push(kind));
                rest = later;
            }
            prop_assert_eq!(seen, kinds);
        }
    }
}
