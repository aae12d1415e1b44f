//! A secret goes to the server and nowhere else, and nothing names this machine: whatever a run, a pack or a failure
//! writes is searched for a password, for this machine's host name and for its user's home.

#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../support/mod.rs"]
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use preview_cost::archive::Archive;
use server::{TestServer, postgres_with};
use tempfile::TempDir;

const SECRET: &str = "s3cr3t-7d41c09be2";
const ROLE: &str = "privacy_role";

/// A server that asks one role for its password, and a directory to run in.
struct Scene {
    server: TestServer,
    directory: TempDir,
}

impl Scene {
    fn new() -> Self {
        let server = postgres_with(&format!("host all {ROLE} 127.0.0.1/32 scram-sha-256"), &[], &[]);
        let make = format!("CREATE ROLE {ROLE} LOGIN SUPERUSER PASSWORD '{SECRET}'");
        let mut config = postgres::Config::new();
        config
            .host("127.0.0.1")
            .port(server.target.port)
            .user("postgres")
            .dbname("postgres");
        config.connect(postgres::NoTls).unwrap().batch_execute(&make).unwrap();
        let directory = tempfile::tempdir().unwrap();
        Self { server, directory }
    }

    fn url(&self, role: &str, rest: &str) -> String {
        format!(
            "postgres://{role}@127.0.0.1:{}/postgres?{rest}",
            self.server.target.port
        )
    }

    fn manifest(&self, url: &str, forks: u32) -> PathBuf {
        let text = format!(
            "name = \"privacy\"\ntitle = \"t\"\nquestion = \"q?\"\n[backend]\nengine = \"postgres\"\nurl = \"{url}\"\n\
             [grid]\nplans = [1]\nsubjects = [\"rollback\"]\nbaseline = \"copy\"\n\
             [measure]\npreviews = 60\nwarmup = 4\nforks = {forks}\nseed = 7\n[figures]\nmargin_ms = 0.05\n"
        );
        let path = self.directory.path().join("m.toml");
        fs::write(&path, text).unwrap();
        path
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_preview-cost"));
        command.args(arguments).current_dir(self.directory.path());
        command
            .env_remove("PGPASSWORD")
            .env("PGPASSFILE", "/nonexistent/pgpass");
        command.env("RUST_BACKTRACE", "full");
        command
    }

    fn run(&self) -> Command {
        self.program(&["run", "m.toml"])
    }

    /// The newest run.
    fn newest(&self) -> PathBuf {
        let runs = fs::read_dir(self.directory.path().join("results")).unwrap();
        let runs = runs.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        runs.max().unwrap()
    }
}

/// What must not be found anywhere, as it is.
fn private() -> Vec<String> {
    let home = std::env::var("HOME").ok().map(|home| format!("{home}/"));
    [SECRET.to_owned()].into_iter().chain(home).collect()
}

#[track_caller]
fn is_clean(what: &str, text: &str) {
    for word in private() {
        assert!(!text.contains(&word), "{what} holds {word}: {text}");
    }
}

/// No value is, or quotes as a word of its own, this machine's host name.
#[track_caller]
fn names_no_host(values: impl Iterator<Item = String>) {
    let host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    for value in values.filter(|_| host != "localhost") {
        let mut words = value.split(|letter: char| !letter.is_alphanumeric() && !"-._".contains(letter));
        assert!(words.all(|word| word != host), "{value} names {host}");
    }
}

#[track_caller]
fn says_no_secret(output: &Output, code: i32) {
    let text = [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat();
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(!text.contains(SECRET), "{text}");
}

/// Every file under a directory as bytes, and every value of a run as text.
#[track_caller]
fn holds_no_secret(directory: &Path) {
    let mut places = vec![directory.to_owned()];
    let mut files = 0;
    while let Some(place) = places.pop() {
        for path in fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                places.push(path);
            } else {
                files += 1;
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                is_clean(&path.display().to_string(), &text);
            }
        }
    }
    assert!(files > 5, "{files} files in {}", directory.display());
}

/// The values themselves, which are compressed on disk.
#[track_caller]
fn archives_no_secret(run: &Path) {
    let archive = Archive::open(run).unwrap();
    is_clean("settings", &format!("{:?}", archive.settings));
    is_clean("facts", &format!("{:?}", archive.facts));
    names_no_host(archive.facts.iter().filter_map(|row| row.fact.value.clone()));
    names_no_host(archive.settings.iter().map(|setting| setting.value.clone()));
    names_no_host(archive.forks.iter().filter_map(|fork| fork.reason.clone()));
    is_clean("forks", &format!("{:?}", archive.forks));
    let mut pairs = 0;
    archive
        .for_each_fork(|fork| {
            pairs += fork.pairs.len();
            is_clean("pairs", &format!("{fork:?}"));
        })
        .unwrap();
    assert!(pairs > 0);
    holds_no_secret(run);
}

/// The four ways to hand a password over. Each run is sealed, and so are its report, scripts and pack.
#[test]
fn a_password_stays_out_of_all_that_is_written() {
    let scene = Scene::new();
    let passfile = scene.directory.path().join("pgpass");
    fs::write(&passfile, format!("127.0.0.1:*:*:{ROLE}:{SECRET}\n")).unwrap();
    std::os::unix::fs::chown(&passfile, Some(nix::unistd::geteuid().as_raw()), None).unwrap();
    fs::set_permissions(&passfile, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let bare = scene.url(ROLE, "sslmode=disable");
    let template = scene.url(&format!("{ROLE}:${{PASSWORD_OF_THE_TEST}}"), "sslmode=disable");
    let whole = scene.url(&format!("{ROLE}:{SECRET}"), "sslmode=disable");
    let passfile_text = passfile.to_str().unwrap().to_owned();
    for (url, variable, value) in [
        (template.as_str(), "PASSWORD_OF_THE_TEST", SECRET),
        ("${URL_OF_THE_TEST}", "URL_OF_THE_TEST", whole.as_str()),
        (bare.as_str(), "PGPASSWORD", SECRET),
        (bare.as_str(), "PGPASSFILE", passfile_text.as_str()),
    ] {
        scene.manifest(url, 2);
        says_no_secret(&scene.run().env(variable, value).output().unwrap(), 0);
        archives_no_secret(&scene.newest());
    }
    fs::remove_file(&passfile).unwrap();
    let run = scene.newest();
    let run = run.to_str().unwrap();
    let citation = concat!(env!("CARGO_MANIFEST_DIR"), "/CITATION.cff");
    for arguments in [
        &["analyze", run][..],
        &["report", run],
        &["recompute", run, "--out", "scripts"],
        &["pack", run, "--out", "packed", "--citation", citation],
        &["cite", run, "--citation", citation],
    ] {
        says_no_secret(&scene.program(arguments).output().unwrap(), 0);
    }
    holds_no_secret(scene.directory.path());
}

#[test]
fn failures_tell_no_password() {
    let scene = Scene::new();
    let wrong = scene.url(&format!("{ROLE}:${{PASSWORD_OF_THE_TEST}}"), "sslmode=disable");
    let closed = format!("postgres://{ROLE}:${{PASSWORD_OF_THE_TEST}}@127.0.0.1:1/postgres?sslmode=disable");
    let bad_mode = scene.url(&format!("{ROLE}:${{PASSWORD_OF_THE_TEST}}"), "sslmode=sometimes");
    // The wrong password is as secret as the right one: it may be right elsewhere.
    for (url, password) in [
        (&wrong, format!("{SECRET}x")),
        (&closed, SECRET.to_owned()),
        (&bad_mode, SECRET.to_owned()),
    ] {
        scene.manifest(url, 2);
        let output = scene.run().env("PASSWORD_OF_THE_TEST", password).output().unwrap();
        says_no_secret(&output, 3);
    }
    // A manifest that holds a password is refused, and the refusal does not repeat it.
    scene.manifest(&scene.url(&format!("{ROLE}:{SECRET}"), "sslmode=disable"), 2);
    says_no_secret(&scene.run().output().unwrap(), 2);
}

/// While it runs, no process of the run shows the password; a worker that is killed leaves none behind either.
#[test]
fn a_killed_fork_tells_no_password() {
    let scene = Scene::new();
    let url = scene.url(&format!("{ROLE}:${{PASSWORD_OF_THE_TEST}}"), "sslmode=disable");
    scene.manifest(&url, 1000);
    let mut run = scene.run();
    run.env("PASSWORD_OF_THE_TEST", SECRET)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = run.spawn().unwrap();
    let patience = Instant::now() + Duration::from_mins(2);
    let mut seen = 0;
    loop {
        assert!(Instant::now() < patience, "no worker is seen");
        let lines = command_lines();
        assert!(lines.iter().all(|(_, line)| !line.contains(SECRET)));
        let worker = lines
            .iter()
            .find(|(pid, line)| line.contains("\0worker") && parent(*pid) == Some(child.id()));
        let Some((worker, _)) = worker else { continue };
        seen += 1;
        if seen > 5 && has_two_parts(scene.directory.path()) {
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(worker.cast_signed()),
                nix::sys::signal::SIGKILL,
            );
            break;
        }
    }
    says_no_secret(&child.wait_with_output().unwrap(), 4);
    archives_no_secret(&scene.newest());
    holds_no_secret(&scene.directory.path().join("results"));
}

fn command_lines() -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.map(|pid: u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, String::from_utf8_lossy(&line).into_owned())
    })
    .collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn has_two_parts(directory: &Path) -> bool {
    let Ok(runs) = fs::read_dir(directory.join("results")) else {
        return false;
    };
    let parts = runs
        .filter_map(|run| fs::read_dir(run.ok()?.path().join("parts")).ok())
        .flatten();
    parts.count() > 6
}

/// A server of the run's own: its warden's command line is looked at too, and its archive names no place or person.
#[test]
fn a_private_server_leaves_no_name_behind() {
    let scene = Scene::new();
    let text = fs::read_to_string(scene.manifest("x", 2))
        .unwrap()
        .replace("url = \"x\"", "provision = \"ephemeral\"");
    fs::write(scene.directory.path().join("m.toml"), text).unwrap();
    says_no_secret(&scene.run().env("PGPASSWORD", SECRET).output().unwrap(), 0);
    let archive = Archive::open(&scene.newest()).unwrap();
    let place = archive
        .facts
        .iter()
        .find(|row| row.fact.key == "data_directory")
        .unwrap();
    assert_eq!(place.fact.value, None);
    archives_no_secret(&scene.newest());
}
