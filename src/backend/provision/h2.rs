//! H2 by its own server for PostgreSQL's protocol, for one run: a Java process of the warden's, a database in memory.
//!
//! It listens on 127.0.0.1 alone. Whoever connects first gives the database its user and password, which are made anew for
//! every run.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::container::random_hex;
use super::ephemeral::free_port;
use super::error::ProvisionError;
use super::leash::Leash;
use super::removal::halt;
use super::wire::Ready;
use super::{SCOPE, process};
use crate::digest;
use crate::environment::Fact;

/// Where the jar may be said to be.
const JAR_VARIABLE: &str = "PREVIEW_COST_H2_JAR";
/// Where Debian's `libh2-java` puts it.
const JARS: [&str; 2] = ["/usr/share/java/h2.jar", "/usr/share/java/h2-2.jar"];
/// The one command that brings what is missing, on Debian.
const ADVICE: &str =
    "install both with: apt-get install -y default-jre-headless libh2-java, or name a jar in PREVIEW_COST_H2_JAR";
const USER: &str = "preview_cost";
const READY_DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);
const LOG_LINES: usize = 20;

/// The server and its process; dropping it ends it.
#[derive(Debug)]
pub(super) struct H2 {
    child: Option<Child>,
    port: u16,
    database: String,
    facts: Vec<Fact>,
    log: tempfile::TempPath,
}

impl H2 {
    /// Starts a server, and returns when it takes connections. The password is returned beside it, so that nothing that
    /// prints a server can print it.
    pub fn start(leash: &Leash, stage: &mut dyn FnMut(&str)) -> Result<(Self, String), ProvisionError> {
        let (java, jar) = (java()?, jar()?);
        stage("starting H2");
        let port = free_port()?;
        let log = tempfile::NamedTempFile::new().map_err(|e| ProvisionError::io("make a temporary file", &e))?;
        let (file, path) = log.into_parts();
        let failed = |e: std::io::Error| ProvisionError::io(format!("run {}", java.display()), &e);
        let child = Command::new(&java)
            .arg("-Dh2.bindAddress=127.0.0.1")
            .arg("-cp")
            .arg(&jar)
            .args([
                "org.h2.tools.Server",
                "-pg",
                "-pgPort",
                &port.to_string(),
                "-ifNotExists",
            ])
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(failed)?)
            .stderr(file)
            .spawn()
            .map_err(failed)?;
        let mut server = Self {
            child: Some(child),
            port,
            database: format!("mem:preview_{};DB_CLOSE_DELAY=-1", random_hex(6)?),
            facts: facts(&java, &jar),
            log: path,
        };
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
            dbname: self.database.clone(),
            socket_directory: None,
            facts: self.facts.clone(),
        }
    }

    /// Ends the process, and the database with it.
    pub fn stop(mut self) -> Result<(), ProvisionError> {
        self.end()
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
            log: process::last_lines(&self.log, LOG_LINES),
        }
    }
}

impl Drop for H2 {
    fn drop(&mut self) {
        // The warden is ending, and has nobody to tell.
        let _ = self.end();
    }
}

/// The jar of H2 that would be started, if there is a Java for it.
///
/// # Errors
/// What is missing, with the command that brings it.
pub fn h2_jar() -> Result<PathBuf, ProvisionError> {
    java().and_then(|_| jar())
}

fn java() -> Result<PathBuf, ProvisionError> {
    let home = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin/java"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|directory| directory.join("java"));
    let mut places = home.into_iter().chain(on_path);
    places
        .find(|place| place.is_file())
        .ok_or_else(|| missing("no java in JAVA_HOME or on PATH"))
}

fn jar() -> Result<PathBuf, ProvisionError> {
    if let Some(named) = std::env::var_os(JAR_VARIABLE).map(PathBuf::from) {
        let is_there = named.is_file();
        return is_there
            .then_some(named)
            .ok_or_else(|| missing(&format!("{JAR_VARIABLE} names no file")));
    }
    let mut places = JARS.iter().map(PathBuf::from);
    places
        .find(|place| place.is_file())
        .ok_or_else(|| missing(&format!("no jar of H2 at {}", JARS[0])))
}

fn missing(what: &str) -> ProvisionError {
    ProvisionError::H2Missing {
        what: what.to_owned(),
        advice: ADVICE.to_owned(),
    }
}

fn facts(java: &Path, jar: &Path) -> Vec<Fact> {
    let mut facts = vec![Fact::known(SCOPE, "kind", "h2", "order")];
    if let Ok(bytes) = fs::read(jar) {
        facts.push(Fact::known(SCOPE, "h2.jar.sha256", digest::of_bytes(bytes), "the jar"));
    }
    let version = Command::new(java).arg("-version").output();
    let told = version.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    if let Some(line) = told.unwrap_or_default().lines().next() {
        facts.push(Fact::known(SCOPE, "java.version", line, "java -version"));
    }
    facts
}
