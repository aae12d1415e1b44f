//! A precise wait: asleep until shortly before, then awake.
//!
//! A timer of the system wakes late by tens of microseconds, and that would be a part of every distance. So the last part
//! is spun, while what comes in meanwhile is read at once: its time of arrival is what its own hold counts from.

use nix::poll::PollFd;

use crate::units::Nanos;

/// How long before its time a wait is spun. Long enough for a timer that wakes late; no longer, since whoever spins takes a
/// processor from the server: on a machine with two, 200 µs showed in the times that were to be measured.
const SPUN: Nanos = Nanos(60_000);

/// Waits for an event on `fds`, at most until shortly before `due`; without one, for as long as it takes. Returns whether
/// there is an event. Called again, it comes ever nearer to `due`, and in the last part it does not sleep.
pub(super) fn wait(fds: &mut [PollFd<'_>], now: Nanos, due: Option<Nanos>) -> nix::Result<bool> {
    let left = due.map(|due| Nanos((due.0 - now.0 - SPUN.0).max(0)));
    match poll(fds, left) {
        Ok(events) => Ok(events > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
fn poll(fds: &mut [PollFd<'_>], most: Option<Nanos>) -> nix::Result<i32> {
    use nix::sys::time::TimeSpec;
    let timeout = most.map(|most| TimeSpec::new(most.0 / 1_000_000_000, most.0 % 1_000_000_000));
    nix::poll::ppoll(fds, timeout, None)
}

/// Whole milliseconds alone; the rest is spun.
#[cfg(not(target_os = "linux"))]
fn poll(fds: &mut [PollFd<'_>], most: Option<Nanos>) -> nix::Result<i32> {
    use nix::poll::PollTimeout;
    let timeout = most.map_or(PollTimeout::NONE, |most| {
        PollTimeout::try_from(most.0 / 1_000_000).unwrap_or(PollTimeout::MAX)
    });
    nix::poll::poll(fds, timeout)
}

/// Asks the system to wake this thread as exactly as it can.
pub(super) fn wake_exactly() {
    #[cfg(target_os = "linux")]
    // Where it is not allowed, waits are spun a little longer, or end late and are told as such.
    let _ = nix::sys::prctl::set_timerslack(1);
}
