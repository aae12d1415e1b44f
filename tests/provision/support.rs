//! What the tests of this binary share.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::kill;
use nix::unistd::Pid;
use preview_cost::backend::provision::Order;
use preview_cost::environment::Fact;
use serde_json::Value;

/// Long enough for a busy machine, and for the server's own patience at its shutdown.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// The program under test.
pub fn exe() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_preview-cost"))
}

/// An ephemeral server with nothing set.
pub fn plain() -> Order {
    Order::Ephemeral { settings: Vec::new() }
}

/// A container of the image that the experiments use.
pub fn container() -> Order {
    Order::Container {
        image: "postgres:16".to_owned(),
    }
}

/// The value of a fact that must be known.
pub fn value<'a>(facts: &'a [Fact], key: &str) -> &'a str {
    let fact = facts
        .iter()
        .find(|f| f.key == key)
        .unwrap_or_else(|| panic!("no fact {key} in {facts:#?}"));
    assert_eq!(fact.scope, "provision");
    fact.value
        .as_deref()
        .unwrap_or_else(|| panic!("{key} is {:?}", fact.status))
}

/// One value from a server that trusts this machine.
pub fn ask(port: u16, sql: &str) -> Result<String, postgres::Error> {
    let mut config = postgres::Config::new();
    config
        .host("127.0.0.1")
        .port(port)
        .user("postgres")
        .dbname("postgres")
        .connect_timeout(Duration::from_secs(5));
    let mut client = config.connect(postgres::NoTls)?;
    Ok(client.query_one(sql, &[])?.get(0))
}

/// Where an ephemeral server's traces are.
#[derive(Debug)]
pub struct Traces {
    pub pid: i32,
    pub directory: PathBuf,
}

impl Traces {
    /// Of the server whose data directory is given, while it runs.
    pub fn of(data: &str) -> Self {
        let status = fs::read_to_string(Path::new(data).join("postmaster.pid")).unwrap();
        let pid = status.lines().next().unwrap().parse().unwrap();
        Self {
            pid,
            directory: Path::new(data).parent().unwrap().to_owned(),
        }
    }

    pub fn are_there(&self) -> bool {
        self.directory.exists() || is_running(self.pid)
    }

    /// Waits for the clean-up of a warden that nobody waits for.
    pub fn must_vanish(&self) {
        assert!(soon(|| !self.are_there()), "still there: {self:?}");
    }
}

pub fn is_running(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None).is_ok()
}

/// Whether something becomes true in reasonable time.
pub fn soon(condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// A temporary directory that every user can pass through.
pub fn open_directory() -> tempfile::TempDir {
    let everybody = fs::Permissions::from_mode(0o755);
    tempfile::Builder::new()
        .permissions(everybody)
        .tempdir_in("/tmp")
        .unwrap()
}

/// A warden spoken to by hand, for what the handle of the library does not offer: another environment or user.
pub struct RawWarden {
    pub child: Child,
    pipe: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl RawWarden {
    /// Gives an order to `command`, which is the program without arguments.
    pub fn spawn(command: &mut Command, order: &Order) -> Self {
        Self::spawn_with_line(command, &serde_json::to_string(order).unwrap())
    }

    /// Gives it a line that may be no order.
    pub fn spawn_with_line(command: &mut Command, line: &str) -> Self {
        let mut child = command
            .arg("warden")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        writeln!(pipe, "{line}").unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            pipe: Some(pipe),
            lines,
        }
    }

    /// With one variable of the environment changed.
    pub fn with(name: &str, value: impl AsRef<OsStr>, order: &Order) -> Self {
        Self::spawn(Command::new(exe()).env(name, value), order)
    }

    /// The next message.
    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the warden said nothing more");
        serde_json::from_str(&line).unwrap()
    }

    /// The next message that is no stage, which must be of the given kind.
    pub fn expect(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next();
            if message.get("stage").is_none() {
                return message
                    .get(kind)
                    .unwrap_or_else(|| panic!("not {kind}: {message:#}"))
                    .clone();
            }
        }
    }

    /// Lets go of it.
    pub fn release(&mut self) {
        self.pipe = None;
    }

    /// Waits for its end.
    pub fn end(mut self) -> ExitStatus {
        self.release();
        self.child.wait().unwrap()
    }
}

/// The value of a fact in a message.
pub fn fact_in(ready: &Value, key: &str) -> String {
    let facts = ready["facts"].as_array().unwrap();
    let fact = facts
        .iter()
        .find(|f| f["key"] == key)
        .unwrap_or_else(|| panic!("no fact {key}"));
    fact["value"].as_str().unwrap_or_else(|| panic!("{fact}")).to_owned()
}
