//! Clones of a template that are made in the background: a bounded pool, as `IntegreSQL` keeps one.
//!
//! A preview takes a clone that is ready and leaves it dirty; a thread of this process drops dirty clones and makes them
//! anew, over a connection of its own. That work is not part of any preview's time, so it is timed here and told with
//! the fork. Where no clone is ready the preview waits for one, within its own time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::PostgresSession;
use super::template::{CloneBy, Template};
use super::wire::WireSession;
use crate::backend::{BackendError, BackgroundWork};
use crate::step::{Step, Steps};
use crate::workload::{Inputs, Overrides, Workload};

/// Clones that are there at the same time.
pub const POOL_CLONES: usize = 4;

/// The pool; dropping it ends the thread, once what it is at is done, and removes every clone and the template.
#[derive(Debug)]
pub struct Pool {
    template: Arc<Template>,
    shared: Arc<Shared>,
    maker: Option<JoinHandle<()>>,
}

impl Pool {
    /// Makes a template that holds the model, and waits until every clone of it is ready.
    ///
    /// # Errors
    /// As [`Template::make`], or why there are no clones.
    pub fn fill(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        let template = Arc::new(Template::make(session, workload, CloneBy::Default, POOL_CLONES)?);
        let state = State {
            dirty: template.clones().iter().cloned().collect(),
            ..State::default()
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let (made_from, told) = (Arc::clone(&template), Arc::clone(&shared));
        let maker = thread::spawn(move || make_clones(&made_from, &told));
        let pool = Self {
            template,
            shared,
            maker: Some(maker),
        };
        pool.shared.await_full()?;
        Ok(pool)
    }

    /// Takes a clone that is ready, or waits for one; writes the overrides there (committed by the message's end), reads
    /// the model, and leaves the clone to the background. Gives the rows touched and what was read.
    ///
    /// # Errors
    /// What the server says; where no clone was ready, also why the last one could not be made.
    pub fn preview(
        &self,
        overrides: &Overrides,
        workload: &Workload,
        steps: &mut Steps,
    ) -> Result<(u64, Inputs), BackendError> {
        steps.enter(Step::Write);
        let clone = self.shared.take()?;
        let read = self.template.write_and_read(&clone, overrides, workload, steps);
        steps.enter(Step::Discard);
        self.shared.mark_dirty(clone);
        read
    }

    /// What was done in the background so far, the first filling and what is being done included.
    pub fn background(&self) -> BackgroundWork {
        let state = self.shared.lock();
        let mut work = state.work;
        if let Some(since) = state.since {
            work.time += since.elapsed();
        }
        work
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        if let Some(maker) = self.maker.take() {
            // What it held is dropped with the template in any case.
            let _ = maker.join();
        }
    }
}

/// The thread: renews dirty clones, oldest first, until the pool is over.
fn make_clones(template: &Template, shared: &Shared) {
    let mut session = None;
    while let Some(clone) = shared.next_dirty() {
        let made = renew(template, &mut session, &clone);
        if made.is_err() {
            // It may be lost, or owe an answer.
            session = None;
        }
        shared.made(clone, made);
    }
}

fn renew(template: &Template, session: &mut Option<WireSession>, clone: &str) -> Result<(), BackendError> {
    let session = match session {
        Some(session) => session,
        None => session.insert(template.connect()?),
    };
    template.drop_clone(session, clone)?;
    template.clone_as(session, clone)
}

/// What the previews and the thread share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<String>,
    dirty: VecDeque<String>,
    /// Why the last clone could not be made; the thread goes on when a preview has been told.
    failure: Option<BackendError>,
    /// Since when the thread is at work.
    since: Option<Instant>,
    work: BackgroundWork,
    is_over: bool,
}

impl Shared {
    fn await_full(&self) -> Result<(), BackendError> {
        let mut state = self.wait_while(self.lock(), |state| {
            state.ready.len() < POOL_CLONES && state.failure.is_none()
        });
        state.failure.take().map_or(Ok(()), Err)
    }

    fn take(&self) -> Result<String, BackendError> {
        let mut state = self.lock();
        if state.ready.is_empty() {
            let begun = Instant::now();
            state = self.wait_while(state, |state| state.ready.is_empty() && state.failure.is_none());
            state.work.waits += 1;
            state.work.waited += begun.elapsed();
        }
        if let Some(clone) = state.ready.pop_front() {
            return Ok(clone);
        }
        let failure = state.failure.take();
        self.changed.notify_all();
        Err(failure.unwrap_or_else(|| BackendError::Unable("the pool has no clone".to_owned())))
    }

    fn mark_dirty(&self, clone: String) {
        self.lock().dirty.push_back(clone);
        self.changed.notify_all();
    }

    fn next_dirty(&self) -> Option<String> {
        let mut state = self.wait_while(self.lock(), |state| {
            !state.is_over && (state.dirty.is_empty() || state.failure.is_some())
        });
        if state.is_over {
            return None;
        }
        state.since = Some(Instant::now());
        state.dirty.pop_front()
    }

    fn made(&self, clone: String, made: Result<(), BackendError>) {
        let mut state = self.lock();
        if let Some(since) = state.since.take() {
            state.work.time += since.elapsed();
        }
        match made {
            Ok(()) => state.ready.push_back(clone),
            Err(error) => {
                state.dirty.push_back(clone);
                state.failure = Some(error);
            }
        }
        self.changed.notify_all();
    }

    /// A poisoned lock still holds usable lists.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, State>,
        condition: impl FnMut(&mut State) -> bool,
    ) -> MutexGuard<'a, State> {
        self.changed
            .wait_while(state, condition)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Shared {
        Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    #[test]
    fn a_clone_that_is_ready_is_taken_without_waiting() {
        let shared = empty();
        shared.made("a".to_owned(), Ok(()));
        assert_eq!(shared.take().unwrap(), "a");
        assert_eq!(shared.lock().work, BackgroundWork::default());
    }

    #[test]
    fn waiting_for_a_clone_is_counted_and_a_failure_is_told_once() {
        let shared = empty();
        thread::scope(|scope| {
            scope.spawn(|| shared.made("a".to_owned(), Err(BackendError::Unable("full".to_owned()))));
            assert_eq!(shared.take().unwrap_err().to_string(), "full");
        });
        // The failed clone is tried again, now that somebody knows.
        assert_eq!(shared.next_dirty().as_deref(), Some("a"));
        thread::scope(|scope| {
            scope.spawn(|| shared.made("a".to_owned(), Ok(())));
            assert_eq!(shared.take().unwrap(), "a");
        });
        let work = shared.lock().work;
        assert!(matches!(work.waits, 1 | 2) && !work.waited.is_zero(), "{work:?}");
        assert!(!work.time.is_zero(), "{work:?}");
    }
}
