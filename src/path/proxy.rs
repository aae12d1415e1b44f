//! The proxy itself: takes connections, and serves each in a thread of its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::endpoint::{Endpoint, Listener, Stream};
use super::passage::Passage;
use super::relay::{self, Ear, Kind};
use super::tally::Tally;
use super::{Delay, PathError};

/// How long it waits after a client could not be taken, as where this process has no file descriptor left.
const BREATH: Duration = Duration::from_millis(10);

/// How often it looks, at most, whether what is being written has been noted.
const LOOKS: u32 = 100;

/// What is kept of what passes, and how many connections are writing something that is not in it yet.
#[derive(Debug, Default)]
struct Notes {
    log: Mutex<Log>,
    writing: AtomicU32,
}

/// What is kept of what passes.
#[derive(Debug, Default)]
struct Log {
    tally: Tally,
    /// Everything, where it is asked for.
    passages: Option<Vec<Passage>>,
}

/// A proxy that listens.
#[derive(Debug)]
pub struct Proxy {
    listener: Listener,
    listens_on: Endpoint,
    to: Endpoint,
    delay: Delay,
    acknowledges: bool,
    notes: Arc<Notes>,
    connections: AtomicU32,
}

impl Proxy {
    /// Listens. With `keeping`, every passage is kept for [`passages`](Self::passages); without, only their sums.
    ///
    /// # Errors
    /// [`PathError::Listen`], or [`PathError::Reach`] where nobody is at the other end.
    pub fn listen(on: &Endpoint, to: &Endpoint, delay: Delay, keeping: bool) -> Result<Self, PathError> {
        // Whoever listens nowhere is told at once, and not by every client.
        to.connect().map_err(|source| PathError::Reach {
            address: to.to_string(),
            source,
        })?;
        let (listener, listens_on) = on.listen().map_err(|source| PathError::Listen {
            address: on.to_string(),
            source,
        })?;
        Ok(Self {
            listener,
            listens_on,
            to: to.clone(),
            delay,
            acknowledges: false,
            notes: Arc::new(Notes {
                log: Mutex::new(Log {
                    tally: Tally::default(),
                    passages: keeping.then(Vec::new),
                }),
                writing: AtomicU32::new(0),
            }),
            connections: AtomicU32::new(0),
        })
    }

    /// Acknowledges at once what the server sends, for one that waits for it with each piece of an answer. It takes a call of
    /// the system a read.
    #[must_use]
    pub fn acknowledging(mut self, acknowledges: bool) -> Self {
        self.acknowledges = acknowledges;
        self
    }

    /// Where it listens.
    pub fn listens_on(&self) -> &Endpoint {
        &self.listens_on
    }

    /// Serves clients for as long as the process lives.
    pub fn serve(&self) {
        loop {
            match self.listener.accept() {
                Ok(client) => self.serve_one(client),
                // A client that was gone again before it was taken is no reason to stop.
                Err(_) => thread::sleep(BREATH),
            }
        }
    }

    fn serve_one(&self, client: Stream) {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let (to, delay, notes) = (self.to.clone(), self.delay, Arc::clone(&self.notes));
        let acknowledges = self.acknowledges;
        thread::spawn(move || {
            if let Err(error) = relay::serve(&client, &to, number, delay, acknowledges, &mut Listening(&notes)) {
                notes.lock().tally.failed(&error);
            }
        });
    }

    /// What passed so far, summed up.
    pub fn tally(&self) -> Tally {
        self.notes.settled().tally.clone()
    }

    /// What passed so far, in the order in which it was received; empty where it is not kept. Whatever a peer has got is
    /// among it.
    pub fn passages(&self) -> Vec<Passage> {
        let mut passages = self.notes.settled().passages.clone().unwrap_or_default();
        passages.sort_by_key(|passage| passage.received);
        passages
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listens_on.remove_socket();
    }
}

struct Listening<'a>(&'a Notes);

impl Ear for Listening<'_> {
    fn began(&mut self, kind: Kind) {
        let mut log = self.0.lock();
        match kind {
            Kind::Session => log.tally.connections += 1,
            Kind::Cancel => log.tally.cancel_requests += 1,
        }
    }

    fn writes(&mut self) {
        self.0.writing.fetch_add(1, Ordering::SeqCst);
    }

    fn wrote(&mut self) {
        self.0.writing.fetch_sub(1, Ordering::SeqCst);
    }

    fn passed(&mut self, passage: Passage) {
        let mut log = self.0.lock();
        log.tally.add(&passage);
        if let Some(passages) = &mut log.passages {
            passages.push(passage);
        }
    }

    fn refused_encryption(&mut self) {
        self.0.lock().tally.encryption_refused += 1;
    }
}

impl Notes {
    /// A thread that panicked leaves sums that are whole.
    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log with everything in it that was written. Writes never block, so it waits for an instant, and not at all where
    /// all is still; where connections are busy, there is no end of it, and what is noted is told.
    fn settled(&self) -> MutexGuard<'_, Log> {
        for _ in 0..LOOKS {
            if self.writing.load(Ordering::SeqCst) == 0 {
                break;
            }
            thread::sleep(BREATH);
        }
        self.lock()
    }
}
