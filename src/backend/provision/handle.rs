//! The supervisor's end: starting a warden, and letting go of it.

use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::ProvisionError;
use super::process;
use super::wire::{Message, Order, Ready};
use crate::environment::Fact;

/// Above the sum of the warden's own deadlines, so that its message arrives and not ours.
const EPHEMERAL_DEADLINE: Duration = Duration::from_mins(5);
const CONTAINER_DEADLINE: Duration = Duration::from_mins(30);
const STOP_DEADLINE: Duration = Duration::from_secs(30);
/// How often a wait looks whether the run was interrupted.
const GLANCE: Duration = Duration::from_millis(50);

/// A server that is there for this run. It goes when this is stopped or dropped, and also when this process ends in
/// whatever way.
#[derive(Debug)]
pub struct Provisioned {
    warden: Warden,
    ready: Ready,
}

impl Provisioned {
    /// Starts `exe warden` and waits until its server takes sessions. `on_stage` hears what is being done, for a
    /// progress line.
    ///
    /// # Errors
    /// The reason for which there is no server; whatever had been started is gone.
    pub fn start(exe: &Path, order: &Order, on_stage: &mut dyn FnMut(&str)) -> Result<Self, ProvisionError> {
        Self::start_unless(exe, order, on_stage, &|| false)
    }

    /// As [`Self::start`], but gives up with [`ProvisionError::Interrupted`] as soon as `interrupted` says so: a pull
    /// may take minutes, and Ctrl-C does not reach the warden.
    ///
    /// # Errors
    /// The reason for which there is no server; whatever had been started is gone.
    pub fn start_unless(
        exe: &Path,
        order: &Order,
        on_stage: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, ProvisionError> {
        let mut warden = Warden::spawn(exe, order)?;
        let patience = match order {
            Order::Ephemeral { .. } | Order::Instance { .. } | Order::H2 => EPHEMERAL_DEADLINE,
            Order::Container { .. } => CONTAINER_DEADLINE,
        };
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if interrupted() {
                return warden.dismiss().and(Err(ProvisionError::Interrupted));
            }
            match warden.messages.recv_timeout(GLANCE) {
                Ok(Ok(Message::Stage(stage))) => on_stage(&stage),
                Ok(Ok(Message::Ready(ready))) => return Ok(Self { warden, ready }),
                Ok(Ok(Message::Failed(error))) => return Err(warden.reap(error)),
                Ok(Ok(Message::Stopped)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(warden.lost());
                }
                Ok(Err(line)) => return Err(warden.reap(nonsense(&line))),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let detail = format!("it had no server ready within {} s", patience.as_secs());
        warden.dismiss().and(Err(ProvisionError::Warden { detail }))
    }

    /// The address to connect to; always an IP address.
    pub fn host(&self) -> &str {
        &self.ready.host
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.ready.port
    }

    /// The superuser to connect as.
    pub fn user(&self) -> &str {
        &self.ready.user
    }

    /// Its password; `None` where the server trusts this machine. Not to be printed or archived.
    pub fn password(&self) -> Option<&str> {
        self.ready.password.as_deref()
    }

    /// The database to connect to.
    pub fn dbname(&self) -> &str {
        &self.ready.dbname
    }

    /// The directory of its Unix socket; `None` where it has none on this machine.
    pub fn socket_directory(&self) -> Option<&Path> {
        self.ready.socket_directory.as_deref().map(Path::new)
    }

    /// What is known about the server and how it was made, all in the scope `provision`.
    pub fn facts(&self) -> &[Fact] {
        &self.ready.facts
    }

    /// The warden's process, for messages.
    pub fn warden_id(&self) -> u32 {
        self.warden.child.id()
    }

    /// Has the server stopped and everything of it removed; waits at most 30 s.
    ///
    /// # Errors
    /// What is left ([`ProvisionError::CleanUp`]), that the server had ended during the run
    /// ([`ProvisionError::ServerDied`]), or that the warden failed.
    pub fn stop(mut self) -> Result<(), ProvisionError> {
        self.warden.dismiss()
    }
}

/// The other process. Dropping it lets go of it and waits, silently.
struct Warden {
    child: Child,
    /// While this is open, the server lives.
    pipe: Option<ChildStdin>,
    /// Messages, or lines that are none.
    messages: Receiver<Result<Message, String>>,
}

impl Warden {
    /// In a process group of its own: a terminal's Ctrl-C goes to the supervisor's group only.
    fn spawn(exe: &Path, order: &Order) -> Result<Self, ProvisionError> {
        let failed = |detail: String| ProvisionError::Warden { detail };
        let mut line = serde_json::to_vec(order).map_err(|e| failed(format!("its order cannot be written: {e}")))?;
        line.push(b'\n');
        let mut command = Command::new(exe);
        command
            .arg("warden")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|e| failed(format!("cannot run {}: {e}", exe.display())))?;
        let (mut pipe, stdout) = (child.stdin.take(), child.stdout.take());
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout
                .map(BufReader::new)
                .into_iter()
                .flat_map(|lines| lines.lines().map_while(Result::ok))
            {
                if sender.send(serde_json::from_str(&line).map_err(|_| line)).is_err() {
                    break;
                }
            }
        });
        // A warden that is gone already cannot be written to; the wait for its messages finds that out.
        let _ = pipe
            .as_mut()
            .map_or(Ok(()), |p| p.write_all(&line).and_then(|()| p.flush()));
        Ok(Self { child, pipe, messages })
    }

    /// Closes the pipe and waits for the clean-up. Once is enough.
    fn dismiss(&mut self) -> Result<(), ProvisionError> {
        if self.pipe.take().is_none() {
            return Ok(());
        }
        let end = Instant::now() + STOP_DEADLINE;
        let outcome = loop {
            match self
                .messages
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(Ok(Message::Stopped | Message::Failed(ProvisionError::Interrupted))) => {
                    break Ok(());
                }
                Ok(Ok(Message::Failed(error))) => break Err(error),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Err(self.late()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost()),
            }
        };
        match process::wait(&mut self.child, end.saturating_duration_since(Instant::now()), None)? {
            Some(_) => outcome,
            None => Err(self.late()),
        }
    }

    /// The reason is known, and it is about to exit.
    fn reap(&mut self, error: ProvisionError) -> ProvisionError {
        self.pipe = None;
        let _ = process::wait(&mut self.child, STOP_DEADLINE, None);
        error
    }

    /// It went without a word.
    fn lost(&mut self) -> ProvisionError {
        self.pipe = None;
        let status = process::wait(&mut self.child, STOP_DEADLINE, None);
        let status = status
            .ok()
            .flatten()
            .map_or_else(|| "it does not end".to_owned(), |s| s.to_string());
        let detail = format!(
            "it ended without a word ({status}); a server that it had started may still run: look for preview-cost-pg- \
             or preview-cost-h2- in the list of processes, or for containers with the label preview-cost"
        );
        ProvisionError::Warden { detail }
    }

    /// It is left to go on: killing it would make an orphan of what it is removing.
    fn late(&self) -> ProvisionError {
        let (seconds, id) = (STOP_DEADLINE.as_secs(), self.child.id());
        ProvisionError::Warden {
            detail: format!("its clean-up took longer than {seconds} s; process {id} goes on with it"),
        }
    }
}

impl fmt::Debug for Warden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Warden")
            .field("id", &self.child.id())
            .finish_non_exhaustive()
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        let _ = self.dismiss();
    }
}

fn nonsense(line: &str) -> ProvisionError {
    let start: String = line.chars().take(80).collect();
    ProvisionError::Warden {
        detail: format!("it answered what is no message: {start:?}"),
    }
}
