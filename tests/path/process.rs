//! The proxy as a process: alone on the command line, and as a child that goes with its parent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use preview_cost::backend::postgres::target::Target;
use preview_cost::backend::postgres::wire::WireSession;
use preview_cost::path::child::PathProxy;
use preview_cost::path::{Delay, Endpoint};

use crate::exe;
use crate::support::{DEADLINE, postgres};

fn proxy(arguments: &[&str]) -> Command {
    let mut command = Command::new(exe());
    command.arg("proxy").args(arguments).env("NO_COLOR", "1");
    command
}

fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = proxy(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Ends with Ctrl-C; gives the exit code and what it said.
fn interrupted(mut child: Child) -> (Option<i32>, String) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

#[test]
fn it_serves_any_client_and_tells_at_the_end_what_passed() {
    let server = postgres();
    let to = format!("127.0.0.1:{}", server.target.port);
    for json in [false, true] {
        let mut arguments = vec!["--listen", "127.0.0.1:0", "--to", &to, "--delay", "1ms"];
        arguments.extend(json.then_some("--json"));
        let mut child = proxy(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.split("127.0.0.1:").nth(1).unwrap().split(',').next().unwrap();
        let target = Target {
            port: port.parse().unwrap(),
            ..server.target.clone()
        };
        let mut session = WireSession::connect(&target, DEADLINE).unwrap();
        for _ in 0..7 {
            session.empty_round_trip().unwrap();
        }
        // It is open still, and told none the less.
        let (code, said) = interrupted(child);
        drop(session);
        assert_eq!(code, Some(0), "{said}");
        if json {
            let told: serde_json::Value = serde_json::from_str(&said).unwrap();
            assert_eq!(
                (&told["round_trips"], &told["connections"]),
                (&7.into(), &1.into()),
                "{said}"
            );
            assert!(told["overshoot_p50_ns"].as_i64().is_some_and(|over| over > 0), "{said}");
        } else {
            assert!(
                said.contains("round trips            7\n") && said.contains("held longer than set"),
                "{said}"
            );
        }
    }
}

#[test]
fn what_cannot_be_is_told_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let to = ["--to", taken.as_str()];
    let with = |listen: &str, delay: &str| refused(&["--listen", listen, to[0], to[1], "--delay", delay]);
    let (code, said) = with(&taken, "0");
    assert!(
        code == Some(3) && said.contains("cannot listen on") && said.contains(&taken),
        "{said}"
    );
    let (code, said) = with("127.0.0.1:0", "soon");
    assert!(code == Some(2) && said.contains("250us"), "{said}");
    let (code, said) = with("6432", "0");
    assert!(code == Some(2) && said.contains("HOST:PORT"), "{said}");
    let (code, said) = refused(&["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1"]);
    assert!(code == Some(3) && said.contains("cannot reach 127.0.0.1:1"), "{said}");
}

#[test]
fn a_child_goes_with_its_parent_and_takes_its_socket_along() {
    let server = postgres();
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join(".s.PGSQL.5432");
    let mut child = Command::new(exe())
        .arg("path-proxy")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let order = serde_json::json!({
        "listen": { "unix": socket },
        "to": { "tcp": { "host": "127.0.0.1", "port": server.target.port } },
        "delay": 0,
    });
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{order}").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("listening") && socket.exists(), "{line}");
    // That is all that a parent which was killed does.
    drop(stdin);
    let end = Instant::now() + DEADLINE;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!socket.exists());
}

#[test]
fn a_socket_that_is_taken_is_left_to_whoever_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join(".s.PGSQL.5432");
    let theirs = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let listen = Endpoint::Unix(socket.clone());
    let refused = PathProxy::start(exe(), &listen, &listen, Delay::NONE).unwrap_err();
    assert!(refused.to_string().contains("cannot listen on"), "{refused}");
    assert!(socket.exists(), "it was not ours to remove");
    drop(theirs);
}
