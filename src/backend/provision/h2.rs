//! H2 by its own server for PostgreSQL's protocol, for one run: a Java process of the warden's, a database in memory.
//!
//! It listens on 127.0.0.1 alone. A client names the database by a key that is made anew for every run: with another name
//! H2's server lets nobody in, whereas without a key it would make a database for whoever asks, and a database's owner can
//! run Java in it. Whoever connects first gives the database its user and password, which is this program.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::container::random_hex;
use super::ephemeral::free_port;
use super::error::ProvisionError;
use super::java::{self, Java};
use super::leash::Leash;
use super::removal::{self, halt};
use super::wire::Ready;
use super::{SCOPE, process};
use crate::digest;
use crate::environment::Fact;

/// The start of the directory's name, by which an orphan can be found.
const PREFIX: &str = "preview-cost-h2-";
/// The database behind the key. It stays while nobody is connected, and goes with the process.
const DATABASE: &str = "mem:preview;DB_CLOSE_DELAY=-1";
const USER: &str = "preview_cost";
const READY_DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);
const LOG_LINES: usize = 20;

/// The server and its process; dropping it ends it.
#[derive(Debug)]
pub(super) struct H2 {
    child: Option<Child>,
    port: u16,
    key: String,
    facts: Vec<Fact>,
    /// Holds the process's arguments and its log.
    directory: TempDir,
}

impl H2 {
    /// Starts a server, and returns when it takes connections. The password is returned beside it, so that nothing that
    /// prints a server can print it.
    pub fn start(leash: &Leash, stage: &mut dyn FnMut(&str)) -> Result<(Self, String), ProvisionError> {
        let (java, jar) = (Java::find()?, java::jar()?);
        stage("starting H2");
        let (port, key) = (free_port()?, random_hex(16)?);
        // Only this user may pass through it.
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir();
        let directory = directory.map_err(|e| ProvisionError::io("make a directory for H2", &e))?;
        let arguments = directory.path().join("arguments");
        let written = fs::write(&arguments, self::arguments(&jar, port, &key));
        written.map_err(|e| ProvisionError::io(format!("write {}", arguments.display()), &e))?;
        let child = spawn(&java, &arguments, directory.path())?;
        let mut server = Self {
            child: Some(child),
            port,
            key,
            facts: Vec::new(),
            directory,
        };
        // From here on, whatever fails ends the process.
        server.facts = facts(&java, &jar, leash)?;
        server.wait_until_ready(leash)?;
        Ok((server, random_hex(16)?))
    }

    /// How to reach it.
    pub fn ready(&self, password: String) -> Ready {
        Ready {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.port,
            user: USER.to_owned(),
            password: Some(password),
            dbname: self.key.clone(),
            socket_directory: None,
            facts: self.facts.clone(),
        }
    }

    /// Ends the process, and the database with it, and removes its directory.
    pub fn stop(mut self) -> Result<(), ProvisionError> {
        self.end()?;
        removal::remove(self.directory.path())
    }

    fn end(&mut self) -> Result<(), ProvisionError> {
        match self.child.take() {
            // Java tells by its status that it was asked to end; that is how it ends here.
            Some(mut child) => halt(&mut child).map(drop),
            None => Ok(()),
        }
    }

    fn wait_until_ready(&mut self, leash: &Leash) -> Result<(), ProvisionError> {
        let end = Instant::now() + READY_DEADLINE;
        while Instant::now() < end {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            if let Some(status) = ended {
                return Err(self.failure(&status.to_string()));
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return Ok(());
            }
            leash.sleep(POLL)?;
        }
        Err(self.failure(&format!("it was not ready within {} s", READY_DEADLINE.as_secs())))
    }

    fn failure(&self, detail: &str) -> ProvisionError {
        ProvisionError::StartFailed {
            what: "H2".to_owned(),
            detail: detail.to_owned(),
            log: process::last_lines(&log_of(self.directory.path()), LOG_LINES),
        }
    }
}

impl Drop for H2 {
    fn drop(&mut self) {
        // The warden is ending, and has nobody to tell.
        let _ = self.end();
    }
}

/// Java's arguments, which it reads from a file: they hold the key, and everybody can read a list of processes. Without
/// `UsePerfData` it writes no counters to a file while it is measured.
fn arguments(jar: &Path, port: u16, key: &str) -> String {
    let jar = jar.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "-XX:-UsePerfData -Dh2.bindAddress=127.0.0.1 -cp \"{jar}\"\norg.h2.tools.Server -pg -pgPort {port} -ifNotExists \
         -key {key} \"{DATABASE}\"\n"
    )
}

fn spawn(java: &Java, arguments: &Path, directory: &Path) -> Result<Child, ProvisionError> {
    let log = fs::File::create(log_of(directory));
    let failed = |e: std::io::Error| ProvisionError::io(format!("run {}", java.program().display()), &e);
    let log = log.map_err(failed)?;
    let mut file = std::ffi::OsString::from("@");
    file.push(arguments);
    let mut command: Command = java.command();
    command.arg(file).current_dir(directory).stdin(Stdio::null());
    command.stdout(log.try_clone().map_err(failed)?).stderr(log);
    command.spawn().map_err(failed)
}

fn log_of(directory: &Path) -> PathBuf {
    directory.join("log")
}

fn facts(java: &Java, jar: &Path, leash: &Leash) -> Result<Vec<Fact>, ProvisionError> {
    let mut facts = vec![
        Fact::known(SCOPE, "kind", "h2", "order"),
        Fact::known(SCOPE, "h2.database", format!("jdbc:h2:{DATABASE}"), "this program"),
        Fact::known(
            SCOPE,
            "h2.lifetime",
            "one process and one database for all forks of the run; what Java has compiled stays from fork to fork",
            "this program",
        ),
    ];
    if let Ok(bytes) = fs::read(jar) {
        facts.push(Fact::known(SCOPE, "h2.jar.sha256", digest::of_bytes(bytes), "the jar"));
    }
    facts.extend(java.facts(leash)?);
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jars_path_may_hold_whatever_a_path_may() {
        let told = arguments(Path::new("/a b/\"c\"\\h2.jar"), 5, "k");
        assert!(told.contains(r#"-cp "/a b/\"c\"\\h2.jar""#), "{told}");
        assert!(
            told.contains("-pgPort 5 -ifNotExists -key k \"mem:preview;DB_CLOSE_DELAY=-1\""),
            "{told}"
        );
    }
}
