//! One message cut out of what came, and held against its own length: `pgwire` reads on into what follows where a message is
//! shorter than its parts say, and ends the thread where nothing follows.

use bytes::BytesMut;

use super::statement::Refusal;

/// Longest start of a session; PostgreSQL's.
const LONGEST_START: usize = 10_000;
/// Longest message.
const LONGEST: usize = 64 << 20;

/// Takes the first message, once it is there whole. A session's start has no tag.
pub(super) fn cut(received: &mut BytesMut, is_start: bool) -> Result<Option<BytesMut>, Refusal> {
    let (tag, shortest, longest) = if is_start {
        (0, 8, LONGEST_START)
    } else {
        (1, 4, LONGEST)
    };
    let Some(length) = received.get(tag..).and_then(|rest| rest.first_chunk()) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    if !(shortest..=longest).contains(&length) {
        return Err(Refusal::new("08P01", format!("no message is {length} bytes long")));
    }
    if received.len() < tag + length {
        return Ok(None);
    }
    let message = received.split_to(tag + length);
    if is_start || is_whole(message[0], &message[5..]) {
        Ok(Some(message))
    } else {
        Err(Refusal::new(
            "08P01",
            "a message is not what its length and its parts say",
        ))
    }
}

/// Whether a message that a client may send consists of its parts and nothing else.
fn is_whole(tag: u8, body: &[u8]) -> bool {
    let mut rest = Rest(body);
    rest.read(tag).is_some() && rest.0.is_empty()
}

/// What of a message is not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn read(&mut self, tag: u8) -> Option<()> {
        match tag {
            b'Q' => self.text(),
            b'P' => {
                self.text()?;
                self.text()?;
                self.counted(4)
            }
            b'B' => {
                self.text()?;
                self.text()?;
                self.counted(2)?;
                for _ in 0..self.count()? {
                    self.value()?;
                }
                self.counted(2)
            }
            b'D' | b'C' => {
                self.skip(1)?;
                self.text()
            }
            b'E' => {
                self.text()?;
                self.skip(4)
            }
            b'H' | b'S' | b'X' => Some(()),
            _ => None,
        }
    }

    /// Text up to its zero. Text that is not UTF-8 would be altered without a word.
    fn text(&mut self) -> Option<()> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&self.0[..end]).ok()?;
        self.skip(end + 1)
    }

    fn count(&mut self) -> Option<usize> {
        let count = u16::from_be_bytes(*self.0.first_chunk()?);
        self.skip(2)?;
        Some(usize::from(count))
    }

    fn counted(&mut self, bytes_each: usize) -> Option<()> {
        let count = self.count()?;
        self.skip(count * bytes_each)
    }

    fn value(&mut self) -> Option<()> {
        let length = i32::from_be_bytes(*self.0.first_chunk()?);
        self.skip(4)?;
        if length == -1 {
            Some(())
        } else {
            self.skip(usize::try_from(length).ok()?)
        }
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use pgwire::messages::{DecodeContext, PgWireFrontendMessage};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What passes is read to its end, with nothing left and nothing missing: the reader panics where something is.
        #[test]
        fn what_passes_can_be_read(
            tag in prop::sample::select(b"QPBDECHSXdcfp?".to_vec()),
            body in prop::collection::vec(prop::sample::select(b"\0\0\0\0\x01\x02\xffSPa".to_vec()), 0..24),
        ) {
            let length = u32::try_from(body.len() + 4).unwrap();
            let mut received = BytesMut::from([&[tag], length.to_be_bytes().as_slice(), &body].concat().as_slice());
            if let Ok(Some(mut message)) = cut(&mut received, false) {
                let mut context = DecodeContext::default();
                (context.awaiting_frontend_ssl, context.awaiting_frontend_startup) = (false, false);
                let read = PgWireFrontendMessage::decode(&mut message, &context);
                prop_assert!(matches!(read, Ok(Some(_))), "{read:?}");
                prop_assert!(message.is_empty(), "{} bytes are left", message.len());
            }
        }
    }

    #[test]
    fn a_message_is_awaited_whole() {
        let whole = b"S\0\0\0\x04H\0\0\0\x04";
        for end in 0..whole.len() {
            let mut received = BytesMut::from(&whole[..end]);
            assert_eq!(cut(&mut received, false).unwrap().is_some(), end >= 5, "{end} bytes");
        }
    }
}
