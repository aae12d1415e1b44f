//! Runs that several tests read and none changes: measured once.

use std::path::PathBuf;
use std::sync::OnceLock;

use nix::sys::signal::Signal;

use crate::support::{Bench, Running, SMALL, endless};

/// A sealed run of the small experiment; another one each `which`.
pub fn sealed(which: usize) -> &'static PathBuf {
    static SAMPLES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    SAMPLES[which].get_or_init(|| Bench::lasting(&format!("sealed-{which}"), SMALL).measure())
}

/// A run that was interrupted when it had some forks; another one each `which`.
pub fn unfinished(which: usize) -> &'static PathBuf {
    static SAMPLES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    SAMPLES[which].get_or_init(|| {
        let bench = Bench::lasting(&format!("unfinished-{which}"), &endless());
        let mut running = Running::start(&mut bench.run());
        running.until("four forks are on disk", || (bench.parts() >= 4).then_some(()));
        running.signal(Signal::SIGINT);
        running.end().exits(130);
        bench.only_run()
    })
}
