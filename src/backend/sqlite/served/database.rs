//! The one connection to SQLite that all clients share, as the strategies of a pair share one in the worker's process. A
//! transaction is of the client that began it: until it ends, others wait, as long as a wait for a lock may take.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::statement::Refusal;

/// The database and who has a transaction open in it.
pub(super) struct Database {
    held: Mutex<Held>,
    free: Condvar,
    patience: Duration,
    clients: AtomicU64,
}

struct Held {
    connection: Connection,
    /// Whose transaction is open.
    by: Option<u64>,
    /// How many wait for its end: nobody is woken where nobody waits, which would be a system call a transaction.
    waiting: usize,
}

impl Database {
    /// No client waits longer than `patience` for another's transaction.
    pub fn new(connection: Connection, patience: Duration) -> Self {
        Self {
            held: Mutex::new(Held {
                connection,
                by: None,
                waiting: 0,
            }),
            free: Condvar::new(),
            patience,
            clients: AtomicU64::new(0),
        }
    }

    /// A thread that panicked left the database as SQLite has it.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_held(&self, held: &mut Held, by: Option<u64>) {
        held.by = by;
        if by.is_none() && held.waiting > 0 {
            self.free.notify_all();
        }
    }
}

/// One client's part in it. When it is dropped, a transaction that the client left open is rolled back.
pub(super) struct Session {
    database: Arc<Database>,
    number: u64,
}

impl Session {
    pub fn with(database: Arc<Database>) -> Self {
        let number = database.clients.fetch_add(1, Ordering::Relaxed);
        Self { database, number }
    }

    /// The connection, for the client alone, once no other has a transaction open.
    pub fn turn(&self) -> Result<Turn<'_>, Refusal> {
        let database = &*self.database;
        let mut held = database.lock();
        let is_others = |held: &mut Held| held.by.is_some_and(|by| by != self.number);
        if is_others(&mut held) {
            held.waiting += 1;
            let waited = database.free.wait_timeout_while(held, database.patience, is_others);
            held = waited.unwrap_or_else(PoisonError::into_inner).0;
            held.waiting -= 1;
            if is_others(&mut held) {
                return Err(Refusal::new("55P03", "another session's transaction is open"));
            }
        }
        Ok(Turn { session: self, held })
    }

    /// Whether the client has a transaction open.
    pub fn is_open(&self) -> bool {
        self.database.lock().by == Some(self.number)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut held = self.database.lock();
        if held.by == Some(self.number) {
            // What can't be rolled back is no transaction any more.
            let _ = held.connection.execute_batch("ROLLBACK");
            self.database.now_held(&mut held, None);
        }
    }
}

/// The time in which a client has the connection.
pub(super) struct Turn<'a> {
    session: &'a Session,
    held: MutexGuard<'a, Held>,
}

impl Deref for Turn<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.held.connection
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let by = (!self.held.connection.is_autocommit()).then_some(self.session.number);
        if by != self.held.by {
            self.session.database.now_held(&mut self.held, by);
        }
    }
}
