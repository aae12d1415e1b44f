//! A proxy in a process of its own, for one fork: started by the worker, and gone with it.
//!
//! ```text
//! worker ── an order as a JSON line ──────────► proxy
//!        ◄── where it listens ────────────────
//!           (the fork is measured)
//!        ── a line: it is over ───────────────►
//!        ◄── what passed, in chunks; the end ─
//! ```
//!
//! While it measures it says nothing. When its standard input closes without a word, the worker is gone, and it ends.

use std::io::{self, BufRead, BufReader, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::thread;

use serde::{Deserialize, Serialize};

use super::passage::Passage;
use super::proxy::Proxy;
use super::{Delay, Endpoint, PathError};

/// Hidden subcommand that a proxy of a fork runs as.
pub const SUBCOMMAND: &str = "path-proxy";
/// Passages in one line.
const PASSAGES_PER_LINE: usize = 4_096;

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    listen: Endpoint,
    to: Endpoint,
    delay: Delay,
    /// See [`Proxy::acknowledging`].
    #[serde(default)]
    acknowledges: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Listening(Endpoint),
    Failed(String),
    Passages(Vec<Passage>),
    End,
}

/// A proxy that runs. Dropping it ends it.
#[derive(Debug)]
pub struct PathProxy {
    child: Child,
    orders: ChildStdin,
    words: Lines<BufReader<ChildStdout>>,
    endpoint: Endpoint,
    /// Before that, a socket's file there is somebody else's.
    is_listening: bool,
}

impl PathProxy {
    /// Starts one, as `exe` (this program).
    ///
    /// # Errors
    /// [`PathError`].
    pub fn start(exe: &Path, listen: &Endpoint, to: &Endpoint, delay: Delay) -> Result<Self, PathError> {
        Self::start_before(exe, listen, to, delay, false)
    }

    /// The same before a server that may ask for acknowledgements at once; see [`Proxy::acknowledging`].
    ///
    /// # Errors
    /// [`PathError`].
    pub fn start_before(
        exe: &Path,
        listen: &Endpoint,
        to: &Endpoint,
        delay: Delay,
        acknowledges: bool,
    ) -> Result<Self, PathError> {
        let failed = |error: io::Error| PathError::Child(error.to_string());
        let mut child = Command::new(exe)
            .arg(SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(mut orders), Some(words)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both streams are piped");
        };
        let order = Order {
            listen: listen.clone(),
            to: to.clone(),
            delay,
            acknowledges,
        };
        say(&mut orders, &order).map_err(failed)?;
        let mut proxy = Self {
            child,
            orders,
            words: BufReader::new(words).lines(),
            endpoint: listen.clone(),
            is_listening: false,
        };
        match proxy.hear()? {
            Word::Listening(endpoint) => (proxy.endpoint, proxy.is_listening) = (endpoint, true),
            Word::Failed(message) => return Err(PathError::Child(message)),
            Word::Passages(_) | Word::End => return Err(PathError::Child("it said something unclear".to_owned())),
        }
        Ok(proxy)
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends it; gives what passed, in the order in which it was received.
    ///
    /// # Errors
    /// [`PathError::Child`] where it is gone, or says something else.
    pub fn finish(mut self) -> Result<Vec<Passage>, PathError> {
        let failed = |error: io::Error| PathError::Child(error.to_string());
        self.orders.write_all(b"over\n").map_err(failed)?;
        let mut passages = Vec::new();
        loop {
            match self.hear()? {
                Word::Passages(more) => passages.extend(more),
                Word::End => return Ok(passages),
                Word::Failed(message) => return Err(PathError::Child(message)),
                Word::Listening(_) => return Err(PathError::Child("it said something unclear".to_owned())),
            }
        }
    }

    fn hear(&mut self) -> Result<Word, PathError> {
        let line = match self.words.next() {
            Some(line) => line.map_err(|error| PathError::Child(error.to_string()))?,
            None => return Err(PathError::Child("it ended unexpectedly".to_owned())),
        };
        serde_json::from_str(&line).map_err(|error| PathError::Child(format!("it said something unclear: {error}")))
    }
}

impl Drop for PathProxy {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill and the wait returns at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if self.is_listening {
            self.endpoint.remove_socket();
        }
    }
}

fn say(to: &mut dyn Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Runs a proxy on the process's standard streams; the hidden subcommand [`SUBCOMMAND`].
pub fn main() -> ExitCode {
    let mut line = String::new();
    let order = match io::stdin().lock().read_line(&mut line) {
        Ok(_) => serde_json::from_str::<Order>(&line),
        Err(_) => return ExitCode::FAILURE,
    };
    let Ok(order) = order else {
        eprintln!("this subcommand is for preview-cost itself; see `preview-cost proxy --help`");
        return ExitCode::FAILURE;
    };
    // The worker listens for as long as it lives.
    let proxy = match Proxy::listen(&order.listen, &order.to, order.delay, true) {
        Ok(proxy) => proxy.acknowledging(order.acknowledges),
        Err(error) => {
            let _ = say(&mut io::stdout(), &Word::Failed(error.to_string()));
            return ExitCode::FAILURE;
        }
    };
    if say(&mut io::stdout(), &Word::Listening(proxy.listens_on().clone())).is_err() {
        return ExitCode::FAILURE;
    }
    thread::scope(|scope| {
        scope.spawn(|| proxy.serve());
        let mut word = [0; 1];
        let is_over = io::stdin().lock().read_exact(&mut word).is_ok();
        let told = if is_over { tell(&proxy) } else { Ok(()) };
        proxy.listens_on().remove_socket();
        // The threads that serve end with the process.
        std::process::exit(i32::from(told.is_err()));
    })
}

fn tell(proxy: &Proxy) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    for chunk in proxy.passages().chunks(PASSAGES_PER_LINE) {
        say(&mut stdout, &Word::Passages(chunk.to_vec()))?;
    }
    say(&mut stdout, &Word::End)
}
