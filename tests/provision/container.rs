//! Containers, with a stand-in for the engine's client: a script that writes down how it was called.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use preview_cost::backend::provision::Provisioned;
use serde_json::Value;

use crate::stand_in::StandIn;
use crate::support::{RawWarden, container, exe, fact_in, soon, value};

const INFO: &str = r#"info) echo '{"ServerVersion":"20.10","OSType":"linux","OperatingSystem":"Docker Desktop","KernelVersion":"6.6","Architecture":"aarch64"}' ;;"#;
const IMAGE: &str =
    r#"image) echo '{"Id":"sha256:1d","RepoDigests":["postgres@sha256:d1"],"Architecture":"amd64","Os":"linux"}' ;;"#;
const RUN: &str = r#"run) printf %s "$POSTGRES_PASSWORD" >"$FAKE/password"; echo c0ffee ;;"#;
const REMOVE: &str = "rm) echo gone ;;";

/// The only directory of PATH, with a client in it whose answers are the arms of a shell's `case` on its first
/// argument; an unexpected call fails.
struct Engine(tempfile::TempDir);

impl Engine {
    fn new(name: &str, arms: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\necho \"$*\" >>\"$FAKE/calls\"\ncase \"$1\" in\n{}\n*) echo \"unexpected: $1\" >&2; exit 9 ;;\nesac\n",
            arms.join("\n")
        );
        let path = directory.path().join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(directory)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn warden(&self) -> RawWarden {
        let mut command = Command::new(exe());
        command
            .env("PATH", self.0.path())
            .env("FAKE", self.0.path())
            .env_remove("DOCKER_HOST");
        RawWarden::spawn(&mut command, &container())
    }

    /// The calls, with the container's random name replaced.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.file("calls")).unwrap_or_default();
        calls
            .lines()
            .map(|line| line.split(' ').map(unname).collect::<Vec<_>>().join(" "))
            .collect()
    }

    /// How the warden fails, given that it does.
    fn failure(&self) -> Value {
        let mut warden = self.warden();
        let failed = warden.expect("failed");
        assert!(!warden.end().success());
        failed
    }
}

fn unname(word: &str) -> String {
    match word.split_once("preview-cost-") {
        Some((before, id)) if id.len() == 12 => format!("{before}NAME"),
        _ => word.to_owned(),
    }
}

/// A server that gives each connection the next of these answers, and nothing to later ones; its port.
fn server(answers: &'static [&'static [u8]]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 512]).unwrap();
            stream.write_all(answer).unwrap();
        }
    });
    port
}

const ASKS_PASSWORD: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
const STARTING: &[u8] = b"E\0\0\0\x17SFATAL\0Mtoo early\0\0";

#[test]
fn a_container_is_pulled_started_awaited_and_removed() {
    let port = server(&[b"", ASKS_PASSWORD, STARTING, ASKS_PASSWORD, ASKS_PASSWORD]);
    let image = format!("image) [ -e \"$FAKE/pulled\" ] || exit 1\n{}", &IMAGE["image)".len()..]);
    let port_arm = format!("port) echo 127.0.0.1:{port} ;;");
    let engine = Engine::new(
        "docker",
        &[
            INFO,
            &image,
            "pull) : >\"$FAKE/pulled\" ;;",
            RUN,
            &port_arm,
            "inspect) echo true ;;",
            REMOVE,
        ],
    );
    let mut warden = engine.warden();
    assert_eq!(warden.next()["stage"], "pulling postgres:16");
    assert_eq!(warden.next()["stage"], "starting a container of postgres:16");
    let ready = warden.expect("ready");
    assert_eq!(
        (ready["port"].as_u64(), ready["user"].as_str()),
        (Some(u64::from(port)), Some("postgres"))
    );
    assert_eq!(fact_in(&ready, "image.digest"), "postgres@sha256:d1");
    assert_eq!(fact_in(&ready, "engine.operating_system"), "Docker Desktop");
    assert_eq!(fact_in(&ready, "engine.version"), "20.10");
    warden.release();
    assert_eq!(warden.next(), "stopped");
    assert!(warden.end().success());

    let inspect_image = "image inspect --format {{json .}} postgres:16";
    let inspect = "inspect --format {{.State.Running}} NAME";
    let expected = [
        "info --format {{json .}}",
        inspect_image,
        "pull postgres:16",
        inspect_image,
        "run -d --label preview-cost=NAME --name NAME -e POSTGRES_PASSWORD -p 127.0.0.1::5432 postgres:16",
        "port NAME 5432/tcp",
        inspect,
        inspect,
        inspect,
        "rm -f -v NAME",
    ];
    assert_eq!(engine.calls(), expected);
    let password = fs::read_to_string(engine.file("password")).unwrap();
    assert_eq!(
        (password.len(), ready["password"].as_str()),
        (32, Some(password.as_str()))
    );
    assert!(!fs::read_to_string(engine.file("calls")).unwrap().contains(&password));
}

#[test]
fn no_engine_is_one_line() {
    let failed = Engine::new("something-else", &[]).failure();
    assert_eq!(failed["kind"], "no-engine");
}

#[test]
fn an_engine_that_does_not_answer_is_told_apart() {
    let arms = [
        "info) echo '{\"ServerErrors\":[\"Cannot connect to the daemon\"]}'; exit 1 ;;",
        "info) echo 'Cannot connect to the daemon' >&2; exit 1 ;;",
    ];
    for arm in arms {
        let engine = Engine::new("docker", &[arm]);
        let failed = engine.failure();
        assert_eq!(
            (&failed["kind"], &failed["engine"]),
            (&"engine-unreachable".into(), &"docker".into())
        );
        assert_eq!(failed["detail"], "Cannot connect to the daemon");
        assert_eq!(engine.calls(), ["info --format {{json .}}"]);
    }
}

#[test]
fn podman_serves_where_there_is_no_docker() {
    let info = r#"info) echo '{"host":{"os":"linux","arch":"amd64","kernel":"6.1","distribution":{"distribution":"debian"}},"version":{"Version":"4.3.1"}}' ;;"#;
    let port_arm = format!("port) echo 127.0.0.1:{} ;;", server(&[ASKS_PASSWORD, ASKS_PASSWORD]));
    let engine = Engine::new(
        "podman",
        &[info, IMAGE, RUN, &port_arm, "inspect) echo true ;;", REMOVE],
    );
    let mut warden = engine.warden();
    let ready = warden.expect("ready");
    assert_eq!(fact_in(&ready, "engine.name"), "podman");
    assert_eq!(
        (fact_in(&ready, "engine.version"), fact_in(&ready, "engine.kernel")),
        ("4.3.1".into(), "6.1".into())
    );
    assert!(warden.end().success());
}

#[test]
fn an_image_that_cannot_be_had_has_its_own_message() {
    let engine = Engine::new(
        "docker",
        &[INFO, "image) exit 1 ;;", "pull) echo 'manifest unknown' >&2; exit 1 ;;"],
    );
    let failed = engine.failure();
    assert_eq!(
        (&failed["kind"], &failed["detail"]),
        (&"image-unavailable".into(), &"manifest unknown".into())
    );
}

#[test]
fn a_container_that_cannot_be_created_is_removed_all_the_same() {
    let engine = Engine::new(
        "docker",
        &[INFO, IMAGE, "run) echo 'port is taken' >&2; exit 125 ;;", REMOVE],
    );
    let failed = engine.failure();
    assert_eq!(
        (&failed["kind"], &failed["detail"]),
        (&"start-failed".into(), &"port is taken".into())
    );
    assert_eq!(failed["what"], "a container of postgres:16");
    assert_eq!(engine.calls().last().unwrap(), "rm -f -v NAME");
}

#[test]
fn a_server_that_ends_in_its_container_shows_its_log() {
    let port_arm = format!("port) echo 127.0.0.1:{} ;;", server(&[]));
    let logs = "logs) echo 'initdb: disk full' >&2 ;;";
    let engine = Engine::new(
        "docker",
        &[INFO, IMAGE, RUN, &port_arm, "inspect) echo false ;;", logs, REMOVE],
    );
    let failed = engine.failure();
    assert_eq!(
        (&failed["kind"], &failed["log"]),
        (&"start-failed".into(), &"initdb: disk full".into())
    );
    let calls = engine.calls();
    assert_eq!(calls[calls.len() - 2..], ["logs --tail 20 NAME", "rm -f -v NAME"]);
}

#[test]
fn a_supervisor_that_goes_during_a_pull_is_noticed() {
    let engine = Engine::new("docker", &[INFO, "image) exit 1 ;;", "pull) exec /bin/sleep 600 ;;"]);
    let mut warden = engine.warden();
    assert_eq!(warden.next()["stage"], "pulling postgres:16");
    assert!(soon(|| engine.calls().len() == 3));
    warden.release();
    assert_eq!(warden.expect("failed")["kind"], "interrupted");
    assert!(!warden.end().success());
    assert_eq!(engine.calls().last().unwrap(), "pull postgres:16");
}

#[test]
fn a_container_that_stays_is_named_with_the_command_to_remove_it() {
    let port_arm = format!("port) echo 127.0.0.1:{} ;;", server(&[ASKS_PASSWORD, ASKS_PASSWORD]));
    let remove = "rm) echo 'device busy' >&2; exit 1 ;;";
    let engine = Engine::new(
        "docker",
        &[INFO, IMAGE, RUN, &port_arm, "inspect) echo true ;;", remove],
    );
    let mut warden = engine.warden();
    warden.expect("ready");
    warden.release();
    let failed = warden.expect("failed");
    assert_eq!(failed["kind"], "clean-up");
    assert!(
        failed["advice"]
            .as_str()
            .unwrap()
            .contains("docker rm -f -v preview-cost-"),
        "{failed}"
    );
    assert!(!warden.end().success());
}

#[test]
#[ignore = "needs a container engine with the image postgres:16"]
fn a_real_container_answers_and_goes() {
    let container = Provisioned::start(exe(), &container(), &mut |_| {}).unwrap();
    let mut config = postgres::Config::new();
    config
        .host(container.host())
        .port(container.port())
        .user(container.user())
        .dbname(container.dbname());
    let mut client = config
        .password(container.password().unwrap())
        .connect(postgres::NoTls)
        .unwrap();
    let version: String = client.query_one("SHOW server_version", &[]).unwrap().get(0);
    assert!(version.starts_with("16"), "{version}");
    assert!(!format!("{container:?}").contains(container.password().unwrap()));
    let name = value(container.facts(), "container.name").to_owned();
    let engine = value(container.facts(), "engine.name").to_owned();
    assert_eq!(container.stop(), Ok(()));
    assert!(!exists(&engine, &name));
}

#[test]
#[ignore = "needs docker with the image postgres:16"]
fn a_real_container_goes_with_a_killed_supervisor() {
    let mut supervisor = StandIn::start("hold-container", Path::new("/tmp"));
    let name = supervisor.hear("trace");
    assert!(exists("docker", &name));
    supervisor.kill();
    supervisor.end();
    assert!(soon(|| !exists("docker", &name)));
}

/// Whether the engine has a container of that name, in whatever state.
fn exists(engine: &str, name: &str) -> bool {
    let filter = format!("name={name}");
    let listed = Command::new(engine)
        .args(["ps", "-a", "-q", "--filter", &filter])
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    !listed.stdout.is_empty()
}
