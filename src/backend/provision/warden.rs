//! The hidden subcommand `warden`: holds one server for one run, and removes it when the run is gone.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use super::container::Container;
use super::ephemeral::Ephemeral;
use super::error::ProvisionError;
use super::h2::H2;
use super::leash::Leash;
use super::wire::{Message, Order, Ready};

/// The supervisor sends its order at once.
const ORDER_DEADLINE: Duration = Duration::from_secs(30);

/// The whole subcommand, on the process's own standard input and output. To be called before anything else sets a
/// handler for signals.
pub fn main() -> ExitCode {
    run(io::stdin(), io::stdout())
}

/// Reads one order from `stdin`, provisions the server, answers on `stdout`, waits for the end of `stdin` or for
/// SIGINT, SIGTERM or SIGHUP, removes the server, and says so. Fails when the server could not be provisioned or not
/// be removed; if nobody reads `stdout` any more, the reason goes to standard error.
pub fn run(stdin: impl Read + Send + 'static, stdout: impl Write) -> ExitCode {
    let mut voice = Voice(stdout);
    match serve(stdin, &mut voice) {
        Ok(()) => {
            voice.say(&Message::Stopped);
            ExitCode::SUCCESS
        }
        Err(error) => {
            let text = error.to_string();
            if !voice.say(&Message::Failed(error)) {
                let _ = writeln!(std::io::stderr(), "preview-cost: {text}");
            }
            ExitCode::FAILURE
        }
    }
}

fn serve(stdin: impl Read + Send + 'static, voice: &mut Voice<impl Write>) -> Result<(), ProvisionError> {
    let leash = Leash::default();
    let order = receive_order(stdin, &leash)?;
    let signalled = leash.clone();
    ctrlc::set_handler(move || signalled.cut()).map_err(|e| ProvisionError::Warden {
        detail: format!("it cannot handle signals: {e}"),
    })?;
    let (server, ready) = Server::start(&order, &leash, &mut |stage| {
        voice.say(&Message::Stage(stage.to_owned()));
    })?;
    voice.say(&Message::Ready(ready));
    leash.wait();
    server.stop()
}

/// Reads the order on a thread of its own, which then stays with `stdin` and cuts the leash at its end: the run may
/// be gone while the server is still starting.
fn receive_order(stdin: impl Read + Send + 'static, leash: &Leash) -> Result<Order, ProvisionError> {
    let (sender, receiver): (_, Receiver<io::Result<String>>) = mpsc::channel();
    let leash = leash.clone();
    thread::spawn(move || {
        let mut lines = BufReader::new(stdin);
        let mut line = String::new();
        let _ = sender.send(lines.read_line(&mut line).map(|_| line));
        let _ = io::copy(&mut lines, &mut io::sink());
        leash.cut();
    });
    let failed = |detail: String| ProvisionError::Warden { detail };
    let line = receiver
        .recv_timeout(ORDER_DEADLINE)
        .map_err(|_| failed("no order arrived".to_owned()))?;
    let line = line.map_err(|e| failed(format!("its order cannot be read: {e}")))?;
    if line.is_empty() {
        return Err(ProvisionError::Interrupted);
    }
    serde_json::from_str(&line).map_err(|e| failed(format!("its order is not understood: {e}")))
}

/// What the warden holds.
enum Server {
    Ephemeral(Box<Ephemeral>),
    Container(Box<Container>),
    H2(Box<H2>),
}

impl Server {
    fn start(order: &Order, leash: &Leash, stage: &mut dyn FnMut(&str)) -> Result<(Self, Ready), ProvisionError> {
        match order {
            Order::Ephemeral { settings } => {
                let server = Ephemeral::start(settings, leash, stage)?;
                let ready = server.ready();
                Ok((Self::Ephemeral(Box::new(server)), ready))
            }
            Order::Instance { prepared, by } => {
                let server = Ephemeral::start_copy(prepared, *by, leash)?;
                let ready = server.ready();
                Ok((Self::Ephemeral(Box::new(server)), ready))
            }
            Order::H2 => {
                let (server, password) = H2::start(leash, stage)?;
                let ready = server.ready(password);
                Ok((Self::H2(Box::new(server)), ready))
            }
            Order::Container { image } => {
                let (container, password) = Container::start(image, leash, stage)?;
                let ready = container.ready(password);
                Ok((Self::Container(Box::new(container)), ready))
            }
        }
    }

    fn stop(self) -> Result<(), ProvisionError> {
        match self {
            Self::Ephemeral(server) => server.stop(),
            Self::Container(container) => container.stop(),
            Self::H2(server) => server.stop(),
        }
    }
}

/// Says one message a line.
struct Voice<W>(W);

impl<W: Write> Voice<W> {
    /// Whether anybody heard it. Nobody may be left to hear, and clean-up goes on regardless.
    fn say(&mut self, message: &Message) -> bool {
        let Ok(mut line) = serde_json::to_vec(message) else {
            return false;
        };
        line.push(b'\n');
        self.0.write_all(&line).and_then(|()| self.0.flush()).is_ok()
    }
}
