//! A private PostgreSQL server from the binaries of this machine, for one run.
//!
//! It is **PostgreSQL as it comes**: `fsync`, `autovacuum`, `shared_buffers` and all else keep their defaults, since a
//! server tuned for the benchmark would measure the tuning. Only where it listens is set, and what the order asks for.
//! It listens on 127.0.0.1 and on a Unix socket in its own directory; its access rules trust both. So while the run lasts,
//! every user of this machine can connect to it as its superuser: do not run it where you distrust them.
//!
//! Its data lie in the directory for temporary files. Where that is a `tmpfs`, the server writes to memory; the
//! file system's type is among the facts, and `TMPDIR` chooses another place.

use std::fs;
use std::io::{Seek as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::account::{Account, file_system};
use super::binaries::ServerBinaries;
use super::error::ProvisionError;
use super::leash::Leash;
use super::probe::{self, Answer};
use super::process::{self, Finished};
use super::removal::{halt, remove};
use super::wire::{CopyBy, Ready};
use super::{SCOPE, SUPERUSER};
use crate::environment::{Fact, FactStatus};

/// `--no-locale`: the same byte order and messages on every machine. Not `-N`: a cluster that is on disk already is not
/// written back during the first measurements.
const INITDB_OPTIONS: [&str; 7] = ["-U", SUPERUSER, "-A", "trust", "--no-locale", "-E", "UTF8"];
/// The whole of `pg_hba.conf`.
const ACCESS: &str = "local all all trust\nhost all all 127.0.0.1/32 trust\n";
/// Longest path that every system takes as the address of a Unix socket.
const SOCKET_PATH_MAX: usize = 103;
/// Settings that this room keeps for itself.
const KEPT: [&str; 8] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "port",
    "unix_socket_directories",
];

const INITDB_DEADLINE: Duration = Duration::from_mins(2);
const READY_DEADLINE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(5);
const KNOCK_PATIENCE: Duration = Duration::from_secs(2);
/// Between finding a free port and taking it, somebody else may take it: so many ports are tried.
const PORT_ATTEMPTS: usize = 5;
const LOG_LINES: usize = 20;
/// A whole block of every file system, so that it is not kept within the directory.
const PROBE_BYTES: usize = 65_536;

/// The server, its process and its directory; dropping it removes both.
#[derive(Debug)]
pub(super) struct Ephemeral {
    binaries: ServerBinaries,
    account: Account,
    directory: TempDir,
    settings: Vec<(String, String)>,
    port: u16,
    child: Option<Child>,
}

impl Ephemeral {
    /// Creates a cluster and starts a server on it; returns when it takes sessions.
    pub fn start(
        settings: &[(String, String)],
        leash: &Leash,
        stage: &mut dyn FnMut(&str),
    ) -> Result<Self, ProvisionError> {
        settings.iter().try_for_each(|(name, _)| check_setting(name))?;
        let (binaries, account) = (ServerBinaries::find()?, Account::choose()?);
        let directory = account.directory()?;
        let mut server = Self {
            binaries,
            account,
            directory,
            settings: settings.to_vec(),
            port: 0,
            child: None,
        };
        stage(&format!("creating a cluster of PostgreSQL {}", server.binaries.version));
        server.create_cluster(leash)?;
        stage("starting PostgreSQL");
        server.launch(leash)?;
        Ok(server)
    }

    /// A cluster in which SQL has been run, without a server. See [`Prepared`](super::Prepared).
    pub fn prepare(
        sql: &str,
        note: &mut dyn FnMut(&Path) -> Result<(), ProvisionError>,
    ) -> Result<Self, ProvisionError> {
        let prepared = Self::nowhere()?;
        note(prepared.directory.path())?;
        prepared.create_cluster(&Leash::default())?;
        prepared.feed(sql)?;
        Ok(prepared)
    }

    /// A server on a copy of a data directory in which none runs. `cp` may share blocks also where it need not.
    pub fn start_copy(prepared: &Path, by: CopyBy, leash: &Leash) -> Result<Self, ProvisionError> {
        let mut server = Self::nowhere()?;
        let finished = server.copy(prepared, &server.data(), by, leash)?;
        if !finished.status.success() {
            return Err(ProvisionError::Io {
                action: format!("copy {}", prepared.display()),
                detail: finished.complaint(),
            });
        }
        server.launch(leash)?;
        Ok(server)
    }

    /// Shares the blocks of one file, to see whether that can be done where servers are made.
    pub fn require_reflink() -> Result<(), ProvisionError> {
        let nowhere = Self::nowhere()?;
        let directory = nowhere.directory.path();
        let (file, copy) = (directory.join("blocks"), directory.join("shared"));
        fs::write(&file, vec![1; PROBE_BYTES])
            .map_err(|e| ProvisionError::io(format!("write {}", file.display()), &e))?;
        let finished = nowhere.copy(&file, &copy, CopyBy::Reflink, &Leash::default())?;
        if finished.status.success() {
            return Ok(());
        }
        let base = directory.parent().unwrap_or(directory);
        Err(ProvisionError::NoReflink {
            directory: base.display().to_string(),
            file_system: file_system(base).unwrap_or_else(|| "a file system".to_owned()),
            detail: finished.complaint(),
        })
    }

    fn copy(&self, from: &Path, to: &Path, by: CopyBy, leash: &Leash) -> Result<Finished, ProvisionError> {
        let mut copy = self.account.command(Path::new("cp"), self.directory.path());
        copy.args(by.options()).arg(from).arg(to);
        process::run(&mut copy, INITDB_DEADLINE, Some(leash))
    }

    /// A directory of its own, with nothing in it yet.
    fn nowhere() -> Result<Self, ProvisionError> {
        let (binaries, account) = (ServerBinaries::find()?, Account::choose()?);
        let directory = account.directory()?;
        Ok(Self {
            binaries,
            account,
            directory,
            settings: Vec::new(),
            port: 0,
            child: None,
        })
    }

    /// Runs statements in single-user mode, which leaves the cluster shut down in order. It tells an error and goes on,
    /// so what it says is looked at.
    fn feed(&self, sql: &str) -> Result<(), ProvisionError> {
        let mut input = tempfile::tempfile().map_err(|e| ProvisionError::io("make a temporary file", &e))?;
        input
            .write_all(sql.as_bytes())
            .and_then(|()| input.rewind())
            .map_err(|e| ProvisionError::io("write a temporary file", &e))?;
        let mut single = self
            .account
            .command(&self.binaries.program("postgres"), self.directory.path());
        single.args(["--single", "-j", "-D"]).arg(self.data()).arg(SUPERUSER);
        let finished = process::run_fed(&mut single, input.into(), INITDB_DEADLINE, None)?;
        let told = ["ERROR:", "FATAL:", "PANIC:"]
            .iter()
            .any(|word| finished.stderr.contains(word));
        if told || !finished.status.success() {
            return Err(ProvisionError::StartFailed {
                what: "postgres --single".to_owned(),
                detail: finished.status.to_string(),
                log: process::tail(&finished.stderr, LOG_LINES),
            });
        }
        Ok(())
    }

    /// How to reach it.
    pub fn ready(&self) -> Ready {
        Ready {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.port,
            user: SUPERUSER.to_owned(),
            password: None,
            dbname: SUPERUSER.to_owned(),
            socket_directory: self.socket_directory().map(str::to_owned),
            facts: self.facts(),
        }
    }

    /// Where its Unix socket is; `None` where the path is too long for one.
    fn socket_directory(&self) -> Option<&str> {
        let directory = self.directory.path().to_str()?;
        (directory.len() + "/.s.PGSQL.65535".len() <= SOCKET_PATH_MAX).then_some(directory)
    }

    /// Stops the server and removes its directory.
    pub fn stop(mut self) -> Result<(), ProvisionError> {
        self.end()
    }

    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("server.log")
    }

    fn create_cluster(&self, leash: &Leash) -> Result<(), ProvisionError> {
        let mut initdb = self
            .account
            .command(&self.binaries.program("initdb"), self.directory.path());
        initdb.arg("-D").arg(self.data()).args(INITDB_OPTIONS);
        let finished = process::run(&mut initdb, INITDB_DEADLINE, Some(leash))?;
        if !finished.status.success() {
            return Err(ProvisionError::StartFailed {
                what: "initdb".to_owned(),
                detail: finished.status.to_string(),
                log: process::tail(&finished.stderr, LOG_LINES),
            });
        }
        let access = self.data().join("pg_hba.conf");
        fs::write(&access, ACCESS).map_err(|e| ProvisionError::io(format!("write {}", access.display()), &e))
    }

    fn launch(&mut self, leash: &Leash) -> Result<(), ProvisionError> {
        for _ in 0..PORT_ATTEMPTS {
            self.port = free_port()?;
            self.child = Some(self.spawn()?);
            if self.wait_until_ready(leash)? {
                return Ok(());
            }
        }
        let log = process::last_lines(&self.log(), LOG_LINES);
        Err(failure(
            &format!("{PORT_ATTEMPTS} free ports were taken by others before it could"),
            log,
        ))
    }

    fn spawn(&self) -> Result<Child, ProvisionError> {
        let program = self.binaries.program("postgres");
        let log = fs::File::create(self.log())
            .map_err(|e| ProvisionError::io(format!("write {}", self.log().display()), &e))?;
        let failed = |e: std::io::Error| ProvisionError::io(format!("run {}", program.display()), &e);
        let mut postgres = self.account.command(&program, self.directory.path());
        postgres.arg("-D").arg(self.data()).args(self.options());
        postgres
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log);
        postgres.spawn().map_err(failed)
    }

    /// The server's options; its own come last and so win.
    fn options(&self) -> Vec<String> {
        let ours = [
            ("listen_addresses".to_owned(), Ipv4Addr::LOCALHOST.to_string()),
            ("port".to_owned(), self.port.to_string()),
            (
                "unix_socket_directories".to_owned(),
                self.socket_directory().unwrap_or_default().to_owned(),
            ),
        ];
        let all = self.settings.iter().chain(&ours);
        all.flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")])
            .collect()
    }

    /// `true` when it takes sessions, `false` when its port was taken by somebody else.
    fn wait_until_ready(&mut self, leash: &Leash) -> Result<bool, ProvisionError> {
        let end = Instant::now() + READY_DEADLINE;
        while Instant::now() < end {
            if let Some(status) = self.exited()? {
                self.child = None;
                let log = process::last_lines(&self.log(), LOG_LINES);
                let clash = log.contains("could not bind");
                return if clash {
                    Ok(false)
                } else {
                    Err(failure(&status.to_string(), log))
                };
            }
            if self.is_ready() {
                return Ok(true);
            }
            leash.sleep(POLL)?;
        }
        let log = process::last_lines(&self.log(), LOG_LINES);
        Err(failure(
            &format!("it was not ready within {} s", READY_DEADLINE.as_secs()),
            log,
        ))
    }

    /// How the server ended, if it did.
    fn exited(&mut self) -> Result<Option<ExitStatus>, ProvisionError> {
        let Some(child) = &mut self.child else {
            return Ok(None);
        };
        child
            .try_wait()
            .map_err(|e| ProvisionError::io("wait for postgres", &e))
    }

    /// Its own status file says so, for our port, and a session opens. The file makes sure that it is not somebody
    /// else's server that answers.
    fn is_ready(&self) -> bool {
        let Ok(status) = fs::read_to_string(self.data().join("postmaster.pid")) else {
            return false;
        };
        let line = |number: usize| status.lines().nth(number - 1).map(str::trim);
        let ours = line(4) == Some(self.port.to_string().as_str()) && line(8) == Some("ready");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        ours && matches!(
            probe::knock(address, SUPERUSER, SUPERUSER, KNOCK_PATIENCE),
            Ok(Answer::Open)
        )
    }

    fn facts(&self) -> Vec<Fact> {
        let data = self.data();
        let known = |key: &str, value: String, source: &str| Fact::known(SCOPE, key, value, source);
        let mut facts = vec![
            known("kind", "ephemeral".to_owned(), "order"),
            known(
                "server.bindir",
                self.binaries.bindir.display().to_string(),
                &self.binaries.found_by,
            ),
            known("server.version", self.binaries.version.clone(), "postgres --version"),
            known("server.found_by", self.binaries.found_by.clone(), "search"),
            known("server.user", self.account.name.clone(), "password database"),
            known("server.options", self.options().join(" "), "command line"),
            known("initdb.options", INITDB_OPTIONS.join(" "), "command line"),
            known("data_directory", data.display().to_string(), "command line"),
        ];
        let (key, source) = ("data_directory.file_system", "/proc/self/mountinfo");
        facts.push(match file_system(&data) {
            Some(kind) => known(key, kind, source),
            None => Fact::unknown(SCOPE, key, FactStatus::Absent, source),
        });
        facts.extend(
            self.settings
                .iter()
                .map(|(name, value)| known(&format!("setting.{name}"), value.clone(), "order")),
        );
        facts
    }

    /// Everything must go, so removal is tried whatever the server did; the first trouble is reported.
    fn end(&mut self) -> Result<(), ProvisionError> {
        let halted = self.child.take().map_or(Ok(None), |mut child| halt(&mut child));
        let halted = halted.and_then(|trouble| match trouble {
            Some(status) => Err(ProvisionError::ServerDied {
                what: "postgres".to_owned(),
                detail: status.to_string(),
                log: process::last_lines(&self.log(), LOG_LINES),
            }),
            None => Ok(()),
        });
        let removed = remove(self.directory.path());
        halted.and(removed)
    }
}

impl Drop for Ephemeral {
    /// After [`Self::stop`] nothing is left to do. Else the start failed, for a reason that is told already: only what
    /// is left behind is news.
    fn drop(&mut self) {
        if let Err(error @ ProvisionError::CleanUp { .. }) = self.end() {
            // Where nobody reads standard error, the clean-up still counts.
            let _ = writeln!(std::io::stderr(), "preview-cost: {error}");
        }
    }
}

fn failure(detail: &str, log: String) -> ProvisionError {
    ProvisionError::StartFailed {
        what: "postgres".to_owned(),
        detail: detail.to_owned(),
        log,
    }
}

/// A setting's name must be a name, and none of those that decide where the server is.
fn check_setting(name: &str) -> Result<(), ProvisionError> {
    let refused = |reason: &str| ProvisionError::SettingRefused {
        name: name.to_owned(),
        reason: reason.to_owned(),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(refused(
            "a setting's name consists of letters, digits, underscores and dots",
        ));
    }
    if KEPT.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(refused(
            "the run chooses where its own server lives and listens; leave it out",
        ));
    }
    Ok(())
}

/// A port of 127.0.0.1 that nobody listens on now.
pub(super) fn free_port() -> Result<u16, ProvisionError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    listener
        .map(|a| a.port())
        .map_err(|e| ProvisionError::io("find a free port on 127.0.0.1", &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_would_move_the_server_are_refused() {
        for name in ["port", "Listen_Addresses", "data_directory", "", "work mem", "a=b"] {
            assert!(
                matches!(check_setting(name), Err(ProvisionError::SettingRefused { .. })),
                "{name}"
            );
        }
        for name in ["work_mem", "auto_explain.log_min_duration"] {
            assert_eq!(check_setting(name), Ok(()));
        }
    }
}
