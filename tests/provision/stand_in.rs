//! A supervisor that can be killed: this test binary, started again by a test.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use preview_cost::backend::provision::Provisioned;

use crate::support::{Traces, ask, container, exe, plain, value};

/// What the stand-in is to do; unset when nobody started it as such.
const ROLE: &str = "PREVIEW_COST_STAND_IN";
/// Its lines among those of the test harness.
const MARK: &str = "stand-in: ";

fn say(text: &str) {
    println!("{MARK}{text}");
}

#[test]
#[ignore = "not a test: the process that other tests start and kill"]
fn supervisor_stand_in() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (interrupt, interrupted) = mpsc::channel();
    if role == "answer-sigint" {
        ctrlc::set_handler(move || interrupt.send(()).unwrap()).unwrap();
    }
    let (order, trace) = match role.as_str() {
        "hold-container" => (container(), "container.name"),
        _ => (plain(), "data_directory"),
    };
    let server = Provisioned::start(exe(), &order, &mut |stage| say(&format!("stage {stage}"))).unwrap();
    say(&format!("trace {}", value(server.facts(), trace)));
    match role.as_str() {
        "panic" => panic!("as a run might"),
        "answer-sigint" => {
            interrupted.recv().unwrap();
            thread::sleep(Duration::from_millis(500));
            say(&format!(
                "answer {}",
                ask(server.port(), "SELECT 'still here'").unwrap()
            ));
            std::process::exit(130);
        }
        _ => thread::sleep(Duration::from_mins(10)),
    }
}

/// The stand-in, seen from the test.
pub struct StandIn {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl StandIn {
    /// In a process group of its own, as a shell would start it; with its directory for temporary files.
    pub fn start(role: &str, temporary: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "stand_in::supervisor_stand_in", "--ignored", "--nocapture"]);
        command.env(ROLE, role).env("TMPDIR", temporary).process_group(0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The rest of its next line that starts with `word`.
    pub fn hear(&mut self, word: &str) -> String {
        let start = format!("{MARK}{word} ");
        loop {
            let mut line = String::new();
            assert_ne!(
                self.lines.read_line(&mut line).unwrap(),
                0,
                "the stand-in never said {word}"
            );
            if let Some((_, rest)) = line.trim_end().split_once(&start) {
                return rest.to_owned();
            }
        }
    }

    /// The traces of its server, once that runs.
    pub fn traces(&mut self) -> Traces {
        let traces = Traces::of(&self.hear("trace"));
        assert!(traces.directory.is_dir());
        traces
    }

    pub fn kill(&self) {
        kill(self.pid(), Signal::SIGKILL).unwrap();
    }

    /// What a terminal does at Ctrl-C.
    pub fn press_ctrl_c(&self) {
        killpg(self.pid(), Signal::SIGINT).unwrap();
    }

    /// Its exit code, or the negative number of the signal that ended it.
    pub fn end(mut self) -> i32 {
        let status: ExitStatus = self.child.wait().unwrap();
        status.code().or(status.signal().map(|s| -s)).unwrap()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }
}
