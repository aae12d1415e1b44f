//! A real PostgreSQL for the tests: made in a temporary directory, on a free port of the loopback address, removed
//! when dropped.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use preview_cost::backend::postgres::control::Control;
use preview_cost::backend::postgres::target::{Host, Target};
use preview_cost::backend::postgres::wire::WireSession;
use preview_cost::backend::provision::ServerBinaries;
use tempfile::TempDir;

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// How long the tests' sessions wait for an answer.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// A running server; its superuser `postgres` needs no password unless the test asked for one.
pub struct TestServer {
    /// Leads to the database `postgres` as the superuser, over TCP without TLS.
    pub target: Target,
    server: Child,
    directory: TempDir,
}

/// A server with default settings that trusts everyone on the loopback address.
pub fn postgres() -> TestServer {
    postgres_with("", &[], &[])
}

/// A server with lines put before the trusting ones of `pg_hba.conf`, settings, and files (name, content, relative to
/// the data directory, readable by the server only).
pub fn postgres_with(hba: &str, settings: &[&str], files: &[(&str, &str)]) -> TestServer {
    let account = Account::of_the_server();
    let directory = tempfile::tempdir().unwrap();
    account.own(directory.path());
    let data = directory.path().join("data");
    let initdb = account
        .command("initdb")
        .arg("-D")
        .arg(&data)
        .args(["-U", "postgres", "-A", "trust", "-N", "--no-locale", "-E", "UTF8"])
        .output()
        .unwrap();
    assert!(initdb.status.success(), "{}", String::from_utf8_lossy(&initdb.stderr));
    let trusting = fs::read_to_string(data.join("pg_hba.conf")).unwrap();
    fs::write(data.join("pg_hba.conf"), format!("{hba}\n{trusting}")).unwrap();
    for (name, content) in files {
        account.write(&data.join(name), content);
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = account
        .command("postgres")
        .arg("-D")
        .arg(&data)
        .args([
            "-p",
            &port.to_string(),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "fsync=off",
            "-k",
        ])
        .arg(directory.path())
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .stderr(fs::File::create(directory.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    let target = Target::loopback(port, "postgres", None, "postgres");
    let mut server = TestServer {
        target,
        server,
        directory,
    };
    server.await_start();
    server
}

impl TestServer {
    /// The same server through its Unix socket.
    #[allow(dead_code)]
    pub fn over_unix_socket(&self) -> Target {
        Target {
            host: Host::Socket(self.directory.path().to_owned()),
            ..self.target.clone()
        }
    }

    /// A measured session as the superuser.
    #[allow(dead_code)]
    pub fn session(&self) -> WireSession {
        WireSession::connect(&self.target, DEADLINE).unwrap()
    }

    /// A control session as the superuser.
    #[allow(dead_code)]
    pub fn control(&self) -> Control {
        Control::connect(&self.target).unwrap()
    }

    /// A directory that goes with the server.
    #[allow(dead_code)]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn await_start(&mut self) {
        let begun = Instant::now();
        while let Err(error) = WireSession::connect(&self.target, DEADLINE) {
            let log = || fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            assert!(self.server.try_wait().unwrap().is_none(), "the server ended: {}", log());
            assert!(
                begun.elapsed() < START_LIMIT,
                "the server does not start: {error}: {}",
                log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // SIGINT is a fast shutdown: sessions are ended, the data directory is left consistent.
        let _ = kill(Pid::from_raw(self.server.id().cast_signed()), Signal::SIGINT);
        let begun = Instant::now();
        while begun.elapsed() < STOP_LIMIT {
            if matches!(self.server.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Whom the server runs as: PostgreSQL refuses to be run by root.
struct Account(Option<User>);

impl Account {
    fn of_the_server() -> Self {
        Self(
            geteuid()
                .is_root()
                .then(|| User::from_name("postgres").unwrap().expect("an account named postgres")),
        )
    }

    fn command(&self, name: &str) -> Command {
        // A machine without a server's binaries fails here, with the command that installs them.
        let binaries = ServerBinaries::find().unwrap_or_else(|missing| panic!("{missing}"));
        let mut command = Command::new(binaries.program(name));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.env("LC_ALL", "C").current_dir("/");
        if let Some(user) = &self.0 {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command
    }

    fn own(&self, path: &Path) {
        if let Some(user) = &self.0 {
            chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
        }
    }

    fn write(&self, path: &Path, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        fs::write(path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        self.own(path);
    }
}
