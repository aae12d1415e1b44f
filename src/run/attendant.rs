//! One worker from its birth to its end: spawned, listened to, and never left behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

use thiserror::Error;

use super::protocol::{ForkOrder, Report, WORKER};
use crate::archive::{ForkPart, WriteError};
use crate::units::ForkIndex;

/// Longest that a worker may be silent before its first pair and after its last: making and checking a large model.
const SILENCE_MAX: Duration = Duration::from_mins(10);
/// Answers that a worker may wait for between two words: two sides of three flights, and a reset.
const ANSWERS_BETWEEN_WORDS: u32 = 8;

/// What the supervisor waits for, whoever it comes from: it sleeps until something is there.
pub(super) enum Event {
    /// The user wants the run to end.
    Interrupted,
    /// The worker at a place of the run says something.
    Word(u32, Word),
}

/// Both ends of the way to the supervisor.
pub(super) struct Events {
    pub sender: Sender<Event>,
    pub receiver: Receiver<Event>,
}

/// Why a fork could not be finished.
#[derive(Debug, Error)]
pub enum ForkFailure {
    /// The user broke the run off.
    #[error("interrupted")]
    Interrupted,
    /// The worker measured until it could not go on; its rows are stored.
    #[error("fork {fork} of {cell} broke off: {reason}")]
    BrokenOff {
        /// Id of the cell.
        cell: String,
        /// Which fork.
        fork: ForkIndex,
        /// Why.
        reason: String,
    },
    /// The worker had nothing to measure.
    #[error("fork {fork} of {cell} could not start: {reason}")]
    Unable {
        /// Id of the cell.
        cell: String,
        /// Which fork.
        fork: ForkIndex,
        /// Why.
        reason: String,
    },
    /// The worker ended without a word.
    #[error("the worker of fork {fork} of {cell} ended unexpectedly ({how})")]
    Died {
        /// Id of the cell.
        cell: String,
        /// Which fork.
        fork: ForkIndex,
        /// Exit status, and what it last wrote to standard error.
        how: String,
    },
    /// The worker was silent for too long and was killed.
    #[error("the worker of fork {fork} of {cell} said nothing for {seconds} s and was killed")]
    Silent {
        /// Id of the cell.
        cell: String,
        /// Which fork.
        fork: ForkIndex,
        /// How long it was silent.
        seconds: u64,
    },
    /// The backend could not be asked at the end.
    #[error("{0}")]
    Backend(String),
    /// A worker could not be started.
    #[error("cannot start a worker: {0}")]
    Spawn(std::io::Error),
    /// The fork could not be stored.
    #[error(transparent)]
    Store(#[from] WriteError),
}

pub(super) enum Word {
    Said(Box<Report>),
    Unclear(String),
    Gone,
}

/// Spawns a worker, gives it its order and waits for its rows.
pub(super) fn attend(
    exe: &Path,
    order: &ForkOrder,
    events: &Events,
    progress: &mut dyn FnMut(u32),
) -> Result<ForkPart, ForkFailure> {
    let mut worker = Worker::spawn(exe, order, events.sender.clone()).map_err(ForkFailure::Spawn)?;
    let answers = Duration::from_nanos(order.timeout.0.unsigned_abs()) * ANSWERS_BETWEEN_WORDS;
    let silence_max = SILENCE_MAX.max(answers);
    let (cell, fork) = (order.cell.id.clone(), order.fork);
    let (mut pairs, mut steps, mut passages) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let word = match events.receiver.recv_timeout(silence_max) {
            Ok(Event::Interrupted) => return Err(ForkFailure::Interrupted),
            Ok(Event::Word(position, _)) if position != order.position => continue,
            Ok(Event::Word(_, word)) => word,
            Err(_) => {
                return Err(ForkFailure::Silent {
                    cell,
                    fork,
                    seconds: silence_max.as_secs(),
                });
            }
        };
        match word {
            Word::Said(report) => match *report {
                Report::Progress { pairs } => progress(pairs),
                Report::Pairs(more) => pairs.extend(more),
                Report::Steps(more) => steps.extend(more),
                Report::Passages(more) => passages.extend(more),
                Report::Fork(fork) => {
                    return Ok(ForkPart {
                        fork: *fork,
                        pairs,
                        steps,
                        passages,
                    });
                }
                Report::Unable { message } => {
                    return Err(ForkFailure::Unable {
                        cell,
                        fork,
                        reason: message,
                    });
                }
            },
            Word::Unclear(how) => return Err(ForkFailure::Died { cell, fork, how }),
            Word::Gone => {
                return Err(ForkFailure::Died {
                    cell,
                    fork,
                    how: worker.last_words(),
                });
            }
        }
    }
}

/// A running worker; dropping it kills and reaps it.
struct Worker {
    child: Child,
    /// Open for as long as the worker shall live.
    _order: ChildStdin,
    errors: Option<thread::JoinHandle<String>>,
}

impl Worker {
    fn spawn(exe: &Path, order: &ForkOrder, events: Sender<Event>) -> std::io::Result<Self> {
        let mut child = Command::new(exe)
            .arg(WORKER)
            // Ctrl-C reaches the supervisor alone, which then decides what becomes of the worker.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three streams are piped");
        };
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let ordered = stdin.write_all(&line).and_then(|()| stdin.flush());
        let position = order.position;
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let word = match line.map(|line| serde_json::from_str(&line)) {
                    Ok(Ok(report)) => Word::Said(Box::new(report)),
                    Ok(Err(error)) => Word::Unclear(format!("it said something unclear: {error}")),
                    Err(error) => Word::Unclear(format!("it could not be heard: {error}")),
                };
                if events.send(Event::Word(position, word)).is_err() {
                    return;
                }
            }
            let _ = events.send(Event::Word(position, Word::Gone));
        });
        let errors = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let worker = Self {
            child,
            _order: stdin,
            errors: Some(errors),
        };
        // A worker that is gone already will be reported as such, with its last words.
        if let Err(error) = ordered
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            return Err(error);
        }
        Ok(worker)
    }

    /// Exit status and the last line of standard error of a worker that is gone.
    fn last_words(&mut self) -> String {
        let status = self
            .child
            .wait()
            .map_or_else(|error| error.to_string(), |status| status.to_string());
        let text = self
            .errors
            .take()
            .and_then(|errors| errors.join().ok())
            .unwrap_or_default();
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!("{status}: {line}"),
            None => status,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill and the wait returns at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
