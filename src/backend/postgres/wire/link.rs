//! Framed messages over a stream, with deadlines, kept buffers and counters.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::Traffic;
use super::message::{self, Message};
use super::stream::Stream;
use crate::backend::postgres::{PgError, ServerError};

/// What the buffers start with; both grow as needed and stay grown.
const BUFFER_BYTES: usize = 64 * 1024;
/// No message of PostgreSQL is larger. Anything above comes from something else than a PostgreSQL server.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
const TAG_BYTES: usize = 1;
const HEADER_BYTES: usize = 5;

/// One end of a connection: sends whole flights, receives message by message.
#[derive(Debug)]
pub(super) struct Link {
    stream: Stream,
    deadline: Duration,
    out: BytesMut,
    inbox: Vec<u8>,
    /// The bytes of `inbox` that were received and not yet handed out.
    start: usize,
    end: usize,
    /// How many `ReadyForQuery` messages the server still owes.
    owed: u32,
    /// The last error message that the server sent, for when the connection turns out to be gone.
    last_words: Option<Box<ServerError>>,
    lost: bool,
    /// Whether what is read is acknowledged at once.
    acknowledges: bool,
    traffic: Traffic,
}

impl Link {
    pub(super) fn new(stream: Stream, deadline: Duration) -> io::Result<Self> {
        let mut link = Self {
            stream,
            deadline,
            out: BytesMut::with_capacity(BUFFER_BYTES),
            inbox: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            owed: 0,
            last_words: None,
            lost: false,
            acknowledges: false,
            traffic: Traffic::default(),
        };
        link.set_deadline(deadline)?;
        Ok(link)
    }

    /// From now on acknowledges what is read at once, which takes a call of the system a read.
    pub(super) fn acknowledge_at_once(&mut self) {
        self.acknowledges = true;
        self.stream.acknowledge();
    }

    /// Sets how long a read or a write may wait: at least a millisecond, because zero would mean for ever.
    pub(super) fn set_deadline(&mut self, deadline: Duration) -> io::Result<()> {
        self.deadline = deadline.max(Duration::from_millis(1));
        self.stream.set_deadline(self.deadline)
    }

    /// An empty outgoing buffer, in which nothing unsent is left.
    pub(super) fn begin(&mut self) -> &mut BytesMut {
        self.out.clear();
        &mut self.out
    }

    /// The outgoing buffer as it is.
    pub(super) fn out(&mut self) -> &mut BytesMut {
        &mut self.out
    }

    /// Sends the outgoing buffer, closed by a Sync, in one write; the server then owes one `ReadyForQuery` more.
    pub(super) fn send_with_sync(&mut self) -> Result<(), PgError> {
        frontend::sync(&mut self.out);
        self.send()?;
        self.traffic.syncs += 1;
        Ok(())
    }

    /// Sends the outgoing buffer in one write; the server then owes one `ReadyForQuery` more.
    pub(super) fn send(&mut self) -> Result<(), PgError> {
        if self.owed > 0 && !self.lost {
            return Err(PgError::Protocol(
                "an earlier flight is unanswered; reset the session first".to_owned(),
            ));
        }
        self.owed += 1;
        self.traffic.flights += 1;
        self.send_part()
    }

    /// Sends the outgoing buffer as part of an exchange that is not over with it, as authentication is.
    pub(super) fn send_part(&mut self) -> Result<(), PgError> {
        if self.lost {
            return Err(self.connection_lost(ErrorKind::NotConnected.into()));
        }
        self.traffic.bytes_sent += self.out.len() as u64;
        match self.stream.write_all(&self.out) {
            Ok(()) => Ok(()),
            // Half a message may have gone out, so the session cannot go on.
            Err(error) if is_timeout(&error) => {
                self.lost = true;
                Err(PgError::Timeout { after: self.deadline })
            }
            Err(error) => Err(self.connection_lost(error)),
        }
    }

    /// The next message, waiting for it if need be.
    pub(super) fn receive(&mut self) -> Result<Message<'_>, PgError> {
        let total = loop {
            if let Some(total) = self.announced()?
                && self.end - self.start >= total
            {
                break total;
            }
            if let Err(error) = self.fill() {
                return Err(self.read_failed(error));
            }
        };
        let bytes = &self.inbox[self.start..self.start + total];
        self.start += total;
        let (tag, body) = (bytes[0], &bytes[HEADER_BYTES..]);
        if tag == message::READY_FOR_QUERY {
            self.owed = self.owed.saturating_sub(1);
            self.last_words = None;
        } else if tag == message::ERROR_RESPONSE {
            self.last_words = Some(Box::new(message::server_error(body)));
        }
        Ok(Message { tag, body })
    }

    /// The full length of the message at the front, once its header is there.
    fn announced(&self) -> Result<Option<usize>, PgError> {
        let Some(header) = self.inbox[self.start..self.end].first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if !(HEADER_BYTES - TAG_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(PgError::Protocol(format!(
                "a message announces {length} bytes; is this a PostgreSQL server?"
            )));
        }
        Ok(Some(TAG_BYTES + length))
    }

    /// Reads once. Makes room first: by starting over, by moving what is left to the front, or by growing.
    fn fill(&mut self) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.inbox.len() {
            if self.start > 0 {
                self.inbox.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                self.inbox.resize(self.inbox.len() * 2, 0);
            }
        }
        let count = loop {
            match self.stream.read(&mut self.inbox[self.end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed it"));
        }
        if self.acknowledges {
            self.stream.acknowledge();
        }
        self.end += count;
        self.traffic.bytes_received += count as u64;
        Ok(())
    }

    fn read_failed(&mut self, error: io::Error) -> PgError {
        if is_timeout(&error) {
            PgError::Timeout { after: self.deadline }
        } else {
            self.connection_lost(error)
        }
    }

    /// The error for a connection that is gone, with what the server may have said before it went.
    fn connection_lost(&mut self, cause: io::Error) -> PgError {
        if !self.lost {
            self.lost = true;
            // After a failed write, the reason may still be waiting to be read.
            while self.last_words.is_none() && self.receive().is_ok() {}
        }
        PgError::Lost {
            cause,
            server: self.last_words.clone(),
        }
    }

    /// Says goodbye and waits for the end of the stream: a server's process closes it when it is gone.
    pub(super) fn leave(&mut self) -> Result<(), PgError> {
        self.begin();
        frontend::terminate(&mut self.out);
        self.send_part()?;
        // Nothing is owed, so whatever comes now is the end.
        loop {
            match self.receive() {
                Ok(_) => {}
                Err(PgError::Lost { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn owed(&self) -> u32 {
        self.owed
    }

    /// States that the server owes its first `ReadyForQuery`.
    pub(super) fn expect_ready(&mut self) {
        self.owed = 1;
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.traffic
    }

    pub(super) fn forget_traffic(&mut self) {
        self.traffic = Traffic::default();
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }
}

impl Drop for Link {
    /// Says goodbye, so that the server does not log a broken connection. Whether it hears makes no difference.
    fn drop(&mut self) {
        if !self.lost {
            self.out.clear();
            frontend::terminate(&mut self.out);
            let _ = self.stream.write_all(&self.out);
        }
    }
}

/// Whether a deadline of ours passed. `TimedOut` is another thing: the network gave the connection up.
fn is_timeout(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

/// The error for a message that cannot be built, e.g. because a text holds a zero byte.
#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
pub(super) fn unsendable(error: io::Error) -> PgError {
    PgError::Protocol(format!("a message cannot be built: {error}"))
}
