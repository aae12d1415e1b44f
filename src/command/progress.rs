//! Progress on a terminal, and silence elsewhere.
//!
//! The bar is drawn when a worker says something, a few times a second at most, and never by a timer of its own: what
//! a terminal costs should not fall into a measured window more often than it must.

use std::io::{IsTerminal, stderr};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::tell;
use crate::run::Observer;

/// A bar over all pairs of a run.
pub(super) struct Progress {
    bar: ProgressBar,
    stored: u64,
}

impl Progress {
    pub fn new(pairs: u64) -> Self {
        let target = if stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(pairs), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} pairs, {eta} left  {msg}") {
            bar.set_style(style);
        }
        Self { bar, stored: 0 }
    }

    pub fn done(&self, directory: &Path) {
        self.bar.finish_and_clear();
        tell(format_args!("sealed {}", directory.display()));
    }
}

impl Observer for Progress {
    fn stage(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn fork_started(&mut self, position: u32, forks: u32, cell: &str) {
        self.bar
            .set_message(format!("fork {} of {forks}: {cell}", position + 1));
    }

    fn pairs_done(&mut self, pairs: u32, _planned: u32) {
        self.bar.set_position(self.stored + u64::from(pairs));
    }

    fn fork_stored(&mut self, pairs: u32) {
        self.stored += u64::from(pairs);
        self.bar.set_position(self.stored);
    }

    fn warn(&mut self, message: &str) {
        self.bar.suspend(|| tell(message));
    }
}

impl Drop for Progress {
    /// Nothing of the bar stays on the terminal, also when the run fails.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
