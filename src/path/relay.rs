//! One connection: the start-up packet, then both ways in one loop, until both are closed.
//!
//! One thread serves both ways, so that what is noted has one order, and no hand-over between threads adds to a trip.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags};

use super::endpoint::{Endpoint, Stream};
use super::hold;
use super::passage::Passage;
use super::trips::{Conversation, Meaning};
use super::{Apart, Delay, MessageCounts, Way};
use crate::clock::monotonic;
use crate::units::Nanos;

/// Most bytes that one read takes.
const READ_MAX: usize = 64 << 10;
/// Bytes that are held on one way before nothing more is read there: whoever sends more, waits.
const HELD_MAX: usize = 4 << 20;
/// Longest start-up packet that is believed.
const STARTUP_MAX: usize = 64 << 10;

const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;

/// What a connection turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One with a conversation.
    Session,
    /// A request to cancel what another one does.
    Cancel,
}

/// Hears what passes.
pub(super) trait Ear {
    /// A connection said what it is, and has reached the server.
    fn began(&mut self, kind: Kind);
    /// What is due is about to be written: who gets it may act on it before it is noted.
    fn writes(&mut self);
    /// What was written has passed, and is noted.
    fn wrote(&mut self);
    fn passed(&mut self, passage: Passage);
    /// A client asked for encryption, and was told that there is none.
    fn refused_encryption(&mut self);
}

/// Serves one client; returns when both ways are closed, or when it leaves without having said anything.
pub(super) fn serve(
    client: &Stream,
    to: &Endpoint,
    number: u32,
    delay: Delay,
    acknowledges: bool,
    ear: &mut dyn Ear,
) -> io::Result<()> {
    hold::wake_exactly();
    let Some((packet, code)) = startup(client, ear)? else {
        return Ok(());
    };
    let server = to.connect()?;
    ear.began(if code == CANCEL_REQUEST {
        Kind::Cancel
    } else {
        Kind::Session
    });
    client.set_nonblocking()?;
    server.set_nonblocking()?;
    let mut relay = Relay {
        number,
        acknowledges,
        ways: [
            OneWay::new(Way::ToServer, client, &server, delay),
            OneWay::new(Way::ToClient, &server, client, delay),
        ],
        conversation: Conversation::default(),
        ear,
    };
    let startup = Meaning {
        messages: MessageCounts::default(),
        round_trips: 0,
        apart: Some(Apart::Startup),
    };
    relay.ways[0].hold(packet, monotonic(), startup);
    relay.run()
}

/// Reads the start-up packet, and says no to encryption before it. `None` where the client leaves.
fn startup(mut client: &Stream, ear: &mut dyn Ear) -> io::Result<Option<(Vec<u8>, u32)>> {
    loop {
        let mut head = [0; 8];
        match client.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let [l0, l1, l2, l3, code @ ..] = head;
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        let code = u32::from_be_bytes(code);
        if !(head.len()..=STARTUP_MAX).contains(&length) {
            let message = format!("a start-up packet of {length} bytes: this is not PostgreSQL's protocol");
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        if code == SSL_REQUEST || code == GSSENC_REQUEST {
            ear.refused_encryption();
            client.write_all(b"N")?;
            continue;
        }
        let mut packet = head.to_vec();
        packet.resize(length, 0);
        client.read_exact(&mut packet[head.len()..])?;
        return Ok(Some((packet, code)));
    }
}

struct Relay<'a> {
    number: u32,
    /// Whether what the server sends is acknowledged at once.
    acknowledges: bool,
    ways: [OneWay<'a>; 2],
    conversation: Conversation,
    ear: &'a mut dyn Ear,
}

impl Relay<'_> {
    fn run(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; READ_MAX];
        while self.ways.iter().any(|way| !way.is_over) {
            let now = monotonic();
            for way in &mut self.ways {
                if way.is_due(now) {
                    self.ear.writes();
                    let released = way.release(now, self.number, self.ear);
                    self.ear.wrote();
                    released?;
                }
                way.pass_on_the_end();
            }
            // A way that ended may have been the last one.
            if self.ways.iter().all(|way| way.is_over) {
                break;
            }
            let readable = self.wait(now)?;
            for (place, is_readable) in readable.into_iter().enumerate() {
                if is_readable {
                    self.receive(place, &mut buffer)?;
                }
            }
        }
        Ok(())
    }

    /// Waits for something to read, or to write, or until it is nearly time; says what can be read.
    fn wait(&self, now: Nanos) -> io::Result<[bool; 2]> {
        let due = self.ways.iter().filter_map(OneWay::due).min();
        let mut fds = Vec::with_capacity(4);
        let mut readers = [None, None];
        for (place, way) in self.ways.iter().enumerate() {
            if way.reads() {
                readers[place] = Some(fds.len());
                fds.push(PollFd::new(way.from.as_fd(), PollFlags::POLLIN));
            }
            if way.is_blocked {
                fds.push(PollFd::new(way.to.as_fd(), PollFlags::POLLOUT));
            }
        }
        hold::wait(&mut fds, now, due)?;
        let is_readable = |at: usize| fds[at].any().unwrap_or(false);
        Ok(readers.map(|at| at.is_some_and(is_readable)))
    }

    fn receive(&mut self, place: usize, buffer: &mut [u8]) -> io::Result<()> {
        let way = &mut self.ways[place];
        match (&mut &*way.from).read(buffer) {
            Ok(0) => way.has_ended = true,
            Ok(read) => {
                let received = monotonic();
                if self.acknowledges && way.way == Way::ToClient {
                    way.from.acknowledge();
                }
                let meaning = self.conversation.take(way.way, &buffer[..read]);
                way.hold(buffer[..read].to_vec(), received, meaning);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock || error.kind() == ErrorKind::Interrupted => {}
            Err(error) if is_gone(&error) => way.has_ended = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// What is held on one way.
struct Held {
    bytes: Vec<u8>,
    written: usize,
    received: Nanos,
    released: Option<Nanos>,
    meaning: Meaning,
}

struct OneWay<'a> {
    way: Way,
    from: &'a Stream,
    to: &'a Stream,
    held_for: Nanos,
    queue: VecDeque<Held>,
    queued: usize,
    /// Nothing more comes.
    has_ended: bool,
    /// What is due could not be written.
    is_blocked: bool,
    /// Nothing more comes, and nothing is held.
    is_over: bool,
}

impl<'a> OneWay<'a> {
    fn new(way: Way, from: &'a Stream, to: &'a Stream, delay: Delay) -> Self {
        Self {
            way,
            from,
            to,
            held_for: delay.on(way),
            queue: VecDeque::new(),
            queued: 0,
            has_ended: false,
            is_blocked: false,
            is_over: false,
        }
    }

    fn reads(&self) -> bool {
        !self.has_ended && self.queued < HELD_MAX
    }

    /// When the next is to leave; `None` while the receiver does not take what is due.
    fn due(&self) -> Option<Nanos> {
        let next = self.queue.front().filter(|_| !self.is_blocked)?;
        Some(Nanos(next.received.0 + self.held_for.0))
    }

    fn hold(&mut self, bytes: Vec<u8>, received: Nanos, meaning: Meaning) {
        self.queued += bytes.len();
        self.queue.push_back(Held {
            bytes,
            written: 0,
            received,
            released: None,
            meaning,
        });
    }

    fn is_due(&self, now: Nanos) -> bool {
        let next = self.queue.front();
        next.is_some_and(|next| next.received.0 + self.held_for.0 <= now.0)
    }

    /// Tells the receiver that nothing more comes, where nothing is held any more.
    fn pass_on_the_end(&mut self) {
        if self.has_ended && self.queue.is_empty() && !self.is_over {
            self.to.finish();
            self.is_over = true;
        }
    }

    /// Writes what is due, as far as the receiver takes it.
    fn release(&mut self, now: Nanos, number: u32, ear: &mut dyn Ear) -> io::Result<()> {
        self.is_blocked = false;
        while self.is_due(now)
            && let Some(next) = self.queue.front_mut()
        {
            next.released.get_or_insert_with(monotonic);
            match (&mut &*self.to).write(&next.bytes[next.written..]) {
                Ok(written) => next.written += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_blocked = true;
                    return Ok(());
                }
                Err(error) if is_gone(&error) => {
                    self.give_up();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            if next.written == next.bytes.len()
                && let Some(done) = self.queue.pop_front()
            {
                self.queued -= done.bytes.len();
                ear.passed(self.passage(done, number));
            }
        }
        Ok(())
    }

    /// Nobody takes what comes this way; whoever sends it is told by the end of what comes back.
    fn give_up(&mut self) {
        self.queue.clear();
        self.queued = 0;
        self.has_ended = true;
        self.is_over = true;
    }

    fn passage(&self, held: Held, number: u32) -> Passage {
        Passage {
            connection: number,
            way: self.way,
            received: held.received,
            released: held.released.unwrap_or(held.received),
            declared: self.held_for,
            bytes: held.bytes.len() as u32,
            messages: held.meaning.messages,
            round_trips: held.meaning.round_trips,
            apart: held.meaning.apart,
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted | ErrorKind::NotConnected
    )
}
