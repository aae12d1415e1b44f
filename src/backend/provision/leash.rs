//! The one thing that every wait of the warden listens to: whether the run still needs the server.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::ProvisionError;

/// Ties the warden's work to the run. It is cut once, by the end of standard input or by a signal, and stays cut.
#[derive(Debug, Clone, Default)]
pub(super) struct Leash(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    cut: Mutex<bool>,
    changed: Condvar,
}

impl Leash {
    /// The run is over, or the warden was told to end.
    pub fn cut(&self) {
        *self.lock() = true;
        self.0.changed.notify_all();
    }

    /// Blocks until the leash is cut; there is no deadline, since a run may take days.
    pub fn wait(&self) {
        let mut cut = self.lock();
        while !*cut {
            cut = self.0.changed.wait(cut).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sleeps, or returns [`ProvisionError::Interrupted`] as soon as the leash is cut.
    pub fn sleep(&self, duration: Duration) -> Result<(), ProvisionError> {
        let end = Instant::now() + duration;
        let mut cut = self.lock();
        while !*cut {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            cut = self
                .0
                .changed
                .wait_timeout(cut, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        Err(ProvisionError::Interrupted)
    }

    /// A poisoned lock still holds a usable `bool`: clean-up must go on after a panic elsewhere.
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.cut.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_wakes_a_sleeper_and_refuses_the_next() {
        let leash = Leash::default();
        assert_eq!(leash.sleep(Duration::from_millis(1)), Ok(()));
        let cutter = leash.clone();
        let thread = std::thread::spawn(move || cutter.cut());
        assert_eq!(leash.sleep(Duration::from_mins(1)), Err(ProvisionError::Interrupted));
        assert_eq!(leash.sleep(Duration::ZERO), Err(ProvisionError::Interrupted));
        leash.wait();
        thread.join().unwrap();
    }
}
