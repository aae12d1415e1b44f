//! What the tests of this binary share: the program as a child process, small experiments, and what must hold of
//! everything that the program says.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::remains::{files_under, parts_of};

/// A small experiment: four cells, two forks each, under a second.
pub const SMALL: &str = r#"name = "small"
title = "A small experiment"
question = "Does it work?"

[backend]
engine = "sqlite"
storage = "memory"

[grid]
plans = [1, 3]
subjects = ["rollback"]
baseline = "copy"

[measure]
previews = 21
warmup = 4
forks = 2
seed = 7
steps = "on"

[figures]
margin_ms = 0.05
"#;

/// An experiment that goes on until something stops it: short forks, and a thousand of them.
pub fn endless() -> String {
    edited(
        SMALL,
        &[("previews = 21", "previews = 400"), ("forks = 2", "forks = 1000")],
    )
}

/// A text with pieces replaced; each must be there.
pub fn edited(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?} is not in the manifest");
        text.replacen(from, to, 1)
    })
}

/// How long anything may take on a busy machine before it counts as hanging.
const PATIENCE: Duration = Duration::from_mins(2);

/// The program, without anything in its environment that would change what it does.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preview-cost"));
    command
        .env_remove("PGPASSWORD")
        .env("PGPASSFILE", "/nonexistent/pgpass");
    // A panic would then show itself with its backtrace.
    command.env("RUST_BACKTRACE", "1");
    command
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub stdout: String,
    /// Standard error without the line below.
    pub stderr: String,
    /// The line that a run begins with when it is exploratory.
    pub exploratory: Option<String>,
    code: Option<i32>,
    signal: Option<i32>,
}

impl Said {
    /// Checks the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!((self.code, self.signal), (Some(code), None), "{self:#?}");
        self
    }

    /// Checks that the exit code is one of these.
    #[track_caller]
    pub fn exits_with_one_of(self, codes: &[i32]) -> Self {
        assert!(self.code.is_some_and(|code| codes.contains(&code)), "{self:#?}");
        self
    }

    /// Checks that a signal ended it.
    #[track_caller]
    pub fn dies_of(self, signal: Signal) -> Self {
        assert_eq!((self.code, self.signal), (None, Some(signal as i32)), "{self:#?}");
        self
    }

    /// The one message of a command that failed: standard error holds it and nothing else, standard output nothing.
    #[track_caller]
    pub fn message(&self) -> &str {
        let messages = self.messages();
        assert_eq!(messages.len(), 1, "one message: {self:#?}");
        assert_eq!(self.stdout, "");
        &self.stderr
    }

    /// All messages of standard error, which holds nothing else.
    #[track_caller]
    pub fn messages(&self) -> Vec<&str> {
        assert!(self.stderr.starts_with("preview-cost: "), "{self:#?}");
        assert!(self.stderr.ends_with('\n'), "{self:#?}");
        self.stderr
            .split("preview-cost: ")
            .skip(1)
            .filter(|message| !message.is_empty())
            .collect()
    }
}

/// Runs a command to its end.
#[track_caller]
pub fn ask(command: &mut Command) -> Said {
    Running::start(command).end()
}

/// A command that runs; it does not outlive the test.
pub struct Running {
    child: Child,
    streams: Option<[JoinHandle<String>; 2]>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let streams = [
            listen(child.stdout.take().unwrap()),
            listen(child.stderr.take().unwrap()),
        ];
        Self {
            child,
            streams: Some(streams),
        }
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// Waits until something is so, while the command runs.
    #[track_caller]
    pub fn until<T>(&mut self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                let [stdout, stderr] = self.streams.take().unwrap().map(|stream| stream.join().unwrap());
                panic!("it ended ({status}) before {what}: {stdout}{stderr}");
            }
            assert!(Instant::now() < end, "waited in vain for {what}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the end. Nothing that this program says may hold a panic, a backtrace or an escape code.
    #[track_caller]
    pub fn end(mut self) -> Said {
        let status = soon("the command ends", || self.child.try_wait().unwrap());
        let [stdout, stderr] = self.streams.take().unwrap().map(|stream| stream.join().unwrap());
        for text in [&stdout, &stderr] {
            for sign in ["panicked", "stack backtrace", "RUST_BACKTRACE", "\x1b"] {
                assert!(!text.contains(sign), "{sign:?} in {text}");
            }
        }
        let (exploratory, stderr) = without_exploratory(&stderr);
        Said {
            stdout,
            stderr,
            exploratory,
            code: status.code(),
            signal: status.signal(),
        }
    }
}

/// Nearly every run of these tests is exploratory and says so; what else it says is what they look at.
fn without_exploratory(stderr: &str) -> (Option<String>, String) {
    let is_it = |line: &&str| line.starts_with("preview-cost: exploratory: ");
    let (found, rest): (Vec<&str>, Vec<&str>) = stderr.split_inclusive('\n').partition(is_it);
    assert!(found.len() < 2, "it says so once: {stderr}");
    (found.first().map(|line| line.trim_end().to_owned()), rest.concat())
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).expect("the program writes UTF-8")
    })
}

/// What `look` finds, in reasonable time.
#[track_caller]
pub fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A directory in memory, where there is such a place.
pub fn quick_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    tempfile::tempdir_in(place).unwrap()
}

/// A directory with one manifest, in which the program is run.
pub struct Bench {
    path: PathBuf,
    _temporary: Option<TempDir>,
}

impl Bench {
    /// In a directory of its own, which everybody may look into.
    pub fn new(manifest: impl AsRef<[u8]>) -> Self {
        let everybody = fs::Permissions::from_mode(0o755);
        let directory = tempfile::Builder::new().permissions(everybody).tempdir().unwrap();
        fs::write(directory.path().join("m.toml"), manifest).unwrap();
        Self {
            path: directory.path().to_owned(),
            _temporary: Some(directory),
        }
    }

    /// In memory, where there is such a place: for what is done so often that flushing a disk would take all the time.
    pub fn quick(manifest: impl AsRef<[u8]>) -> Self {
        let directory = quick_directory();
        fs::write(directory.path().join("m.toml"), manifest).unwrap();
        Self {
            path: directory.path().to_owned(),
            _temporary: Some(directory),
        }
    }

    /// In the build's directory for temporary files, where the next run of the tests replaces it: for what lives in
    /// statics, which are never dropped.
    pub fn lasting(name: &str, manifest: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("m.toml"), manifest).unwrap();
        Self { path, _temporary: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn results(&self) -> PathBuf {
        self.path().join("results")
    }

    /// The program with these arguments, in this directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command.args(arguments).current_dir(self.path());
        command
    }

    /// `run m.toml`, whose results go to `results/` here.
    pub fn run(&self) -> Command {
        self.command(&["run", "m.toml"])
    }

    /// The directories of the runs, in the order of their names.
    pub fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.results()) else {
            return Vec::new();
        };
        let mut runs: Vec<PathBuf> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        runs.sort();
        runs
    }

    /// The directory of the only run.
    #[track_caller]
    pub fn only_run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.into_iter().next().unwrap()
    }

    /// Runs the experiment, which must go well.
    #[track_caller]
    pub fn measure(&self) -> PathBuf {
        let before = self.runs();
        let said = ask(&mut self.run()).exits(0);
        assert_eq!(said.messages().len(), 1, "{said:#?}");
        self.runs().into_iter().find(|run| !before.contains(run)).unwrap()
    }

    /// Number of forks whose parts are durable in the only run.
    pub fn parts(&self) -> usize {
        self.runs().first().map_or(0, |run| parts_of(run))
    }

    /// Every file here, by its path from here.
    pub fn files(&self) -> Vec<String> {
        files_under(self.path())
    }
}
