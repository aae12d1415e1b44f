//! SQLite behind a socket: the same library, the same pragmas, the same table, in a process of its own that speaks
//! PostgreSQL's protocol. The client is the one that measures PostgreSQL. So what a preview takes longer here than in the
//! worker's process is the socket, the protocol and the other process, and nothing else.
//!
//! The messages are those of the `pgwire` crate; its server is not used. That runs every message as a task and sends every
//! answer by itself, and both would be taken for the socket's price. Here a thread serves a connection, and what answers a
//! flight leaves in one write, as PostgreSQL has it up to 8 KiB.
//!
//! A client names the database by a key that is made anew for every server. Without one, any user of the machine could have
//! this process attach a file and write it, with the rights of whoever measures.
//!
//! What it does not do: other authentication, TLS, COPY, portals that are fetched in parts, and cancelling.

mod conversation;
mod database;
mod frame;
mod statement;
mod values;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::SqliteSession;
use crate::backend::BackendError;
use crate::backend::postgres::Target;
use crate::backend::provision::random_hex;
use crate::workload::{Shape, Workload};
use conversation::Conversation;
use database::Database;

/// Hidden subcommand that the server runs as.
pub const SUBCOMMAND: &str = "sqlite-server";
/// The schema that SQLite calls its own database.
pub const SCHEMA: &str = "main";
/// The length of the key.
const KEY_BYTES: usize = 16;
/// The number in a Unix socket's name.
const SOCKET_NUMBER: u16 = 5432;

/// What is served.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServedModel {
    /// The database's file; in memory without one.
    pub file: Option<ServedFile>,
    /// Size of the model.
    pub plans: u32,
    /// Horizon of the projection.
    pub months: u32,
    /// How the model's table is laid out.
    pub shape: Shape,
    /// Longest wait for a lock, ms.
    pub busy_timeout_ms: u64,
}

/// The file of a database, and how it is opened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServedFile {
    /// Where; it must not exist.
    pub path: PathBuf,
    /// `PRAGMA journal_mode`.
    pub journal_mode: String,
    /// `PRAGMA synchronous`.
    pub synchronous: String,
}

/// Where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServedAt {
    /// TCP on the loopback address, at a free port.
    Tcp,
    /// A Unix socket in this directory, which goes too when the server outlives its parent and nothing else is in it.
    Unix(PathBuf),
}

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    model: ServedModel,
    at: ServedAt,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Listening {
        /// The port, or the number in the socket's name.
        number: u16,
        /// What a client must call the database.
        key: String,
    },
    Failed(String),
}

/// A server that runs; dropping it ends it.
#[derive(Debug)]
pub struct Served {
    child: Child,
    /// While this is open, it serves.
    _order: ChildStdin,
    target: Target,
}

impl Served {
    /// Starts a server, as `exe` (this program), on a new database with the model in it.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn start(exe: &Path, model: &ServedModel, at: &ServedAt) -> Result<Self, BackendError> {
        let failed = |error: io::Error| unable(&format!("it could not be started: {error}"));
        let mut child = Command::new(exe)
            .arg(SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both streams are piped");
        };
        let order = Order {
            model: model.clone(),
            at: at.clone(),
        };
        say(&mut stdin, &order).map_err(failed)?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
        let (number, key) = match serde_json::from_str(&line) {
            Ok(Word::Listening { number, key }) => (number, key),
            Ok(Word::Failed(message)) => return Err(unable(&message)),
            Err(_) => return Err(unable("it ended unexpectedly")),
        };
        let target = Target::loopback(number, "sqlite", None, &key);
        Ok(Self {
            child,
            _order: stdin,
            target: match at {
                ServedAt::Tcp => target,
                ServedAt::Unix(directory) => target.by_socket(directory),
            },
        })
    }

    /// How to reach it.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill and the wait returns at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(path) = self.target.socket_path() {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn unable(detail: &str) -> BackendError {
    BackendError::Unable(format!("the server for SQLite failed: {detail}"))
}

fn say(to: &mut dyn Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Runs a server on the process's standard streams; the hidden subcommand [`SUBCOMMAND`]. It ends when its standard input
/// does.
pub fn main() -> ExitCode {
    let mut line = String::new();
    let order = match io::stdin().lock().read_line(&mut line) {
        Ok(_) => serde_json::from_str::<Order>(&line),
        Err(_) => return ExitCode::FAILURE,
    };
    let Ok(order) = order else {
        eprintln!("this subcommand is for preview-cost itself; see `preview-cost run --help`");
        return ExitCode::FAILURE;
    };
    let started = open(&order.model).and_then(|session| {
        let patience = Duration::from_millis(order.model.busy_timeout_ms);
        let database = Arc::new(Database::new(session.connection, patience));
        let key = random_hex(KEY_BYTES).map_err(|error| error.to_string())?;
        let door = Door {
            database,
            key: key.as_str().into(),
        };
        let number = listen(door, &order.at).map_err(|error| error.to_string())?;
        Ok(Word::Listening { number, key })
    });
    let word = match started {
        Ok(word) => word,
        Err(message) => Word::Failed(message),
    };
    if say(&mut io::stdout(), &word).is_err() || matches!(word, Word::Failed(_)) {
        return ExitCode::FAILURE;
    }
    // The worker holds the other end for as long as it lives.
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    if let ServedAt::Unix(directory) = &order.at {
        let _ = std::fs::remove_file(socket_in(directory));
        // Whoever made it is gone. It stays where anything else is in it.
        let _ = std::fs::remove_dir(directory);
    }
    ExitCode::SUCCESS
}

/// A new database with the model in it.
fn open(model: &ServedModel) -> Result<SqliteSession, String> {
    let workload = Workload::shaped(model.plans, model.months, model.shape);
    let session = match &model.file {
        None => SqliteSession::in_memory(),
        Some(file) => SqliteSession::on_file(
            &file.path,
            &file.journal_mode,
            &file.synchronous,
            Duration::from_millis(model.busy_timeout_ms),
        ),
    };
    let mut session = session.map_err(|error| error.to_string())?;
    session.create_model(&workload).map_err(|error| error.to_string())?;
    Ok(session)
}

fn socket_in(directory: &Path) -> PathBuf {
    directory.join(format!(".s.PGSQL.{SOCKET_NUMBER}"))
}

/// What every client comes to, and what it must know.
#[derive(Clone)]
struct Door {
    database: Arc<Database>,
    key: Arc<str>,
}

/// Serves every client in a thread of its own, all of them on one database; gives the port.
fn listen(door: Door, at: &ServedAt) -> io::Result<u16> {
    match at {
        ServedAt::Tcp => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = listener.local_addr()?.port();
            thread::spawn(move || {
                for client in listener.incoming().flatten() {
                    let _ = client.set_nodelay(true);
                    let door = door.clone();
                    thread::spawn(move || Conversation::new(client, door).hold());
                }
            });
            Ok(port)
        }
        ServedAt::Unix(directory) => {
            let listener = UnixListener::bind(socket_in(directory))?;
            thread::spawn(move || {
                for client in listener.incoming().flatten() {
                    let door = door.clone();
                    thread::spawn(move || Conversation::new(client, door).hold());
                }
            });
            Ok(SOCKET_NUMBER)
        }
    }
}
