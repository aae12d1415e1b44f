//! A PostgreSQL server in a container, for one run.
//!
//! The image must have the official `postgres` image's interface: `POSTGRES_PASSWORD` in, port 5432 out. The port is
//! published on 127.0.0.1 only, and the password is made anew for every run. The container is not started with
//! `--rm`: that would discard the log of a server that fails to start, which is when one needs it. The warden removes
//! container and volumes by name, whatever state they are in.

use std::fs::File;
use std::io::{Read, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use super::engine::{CALL_DEADLINE, Engine};
use super::error::ProvisionError;
use super::leash::Leash;
use super::probe::{self, Answer};
use super::process;
use super::wire::Ready;
use super::{SCOPE, SUPERUSER};
use crate::environment::Fact;

/// Leftovers can be listed by it: `docker ps --filter label=preview-cost`.
const LABEL: &str = "preview-cost";
const READY_DEADLINE: Duration = Duration::from_mins(2);
/// Within the 30 s that the supervisor gives the warden.
const REMOVE_DEADLINE: Duration = Duration::from_secs(25);
const POLL: Duration = Duration::from_millis(200);
const KNOCK_PATIENCE: Duration = Duration::from_secs(2);
/// So many answers in a row make a server ready: the official image starts one twice.
const STABLE: usize = 2;

/// The container; dropping it removes it.
#[derive(Debug)]
pub(super) struct Container {
    engine: Engine,
    image: String,
    name: String,
    port: u16,
    facts: Vec<Fact>,
    removed: bool,
}

impl Container {
    /// Pulls the image if it is not here, starts a container, and returns when its server takes sessions.
    /// The password is returned beside it, so that nothing that prints a container can print it.
    pub fn start(image: &str, leash: &Leash, stage: &mut dyn FnMut(&str)) -> Result<(Self, String), ProvisionError> {
        check_reference(image)?;
        let engine = Engine::find()?;
        let mut facts = vec![Fact::known(SCOPE, "kind", "container", "order")];
        facts.extend(engine.platform(leash)?);
        facts.extend(image_facts(&engine, image, leash, stage)?);
        let (name, password) = (format!("preview-cost-{}", random_hex(6)?), random_hex(16)?);
        facts.push(Fact::known(SCOPE, "container.name", name.as_str(), "command line"));
        let mut container = Self {
            engine,
            image: image.to_owned(),
            name,
            port: 0,
            facts,
            removed: false,
        };
        stage(&format!("starting a container of {image}"));
        container.run(&password)?;
        container.port = container.published_port(leash)?;
        container.wait_until_ready(leash)?;
        Ok((container, password))
    }

    /// How to reach it.
    pub fn ready(&self, password: String) -> Ready {
        Ready {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.port,
            user: SUPERUSER.to_owned(),
            password: Some(password),
            dbname: SUPERUSER.to_owned(),
            socket_directory: None,
            facts: self.facts.clone(),
        }
    }

    /// Removes the container and its volumes.
    pub fn stop(mut self) -> Result<(), ProvisionError> {
        let died = (!self.is_running(None)).then(|| ProvisionError::ServerDied {
            what: self.what(),
            detail: "it was not running any more".to_owned(),
            log: self.log(),
        });
        self.remove().and(died.map_or(Ok(()), Err))
    }

    /// Creates and starts it. Not interruptible: a client that is killed half-way may leave a container that appears
    /// only after the removal. The name is known beforehand, so whatever it leaves at its end can be removed.
    fn run(&self, password: &str) -> Result<(), ProvisionError> {
        let label = format!("{LABEL}={}", self.name);
        let arguments = [
            "run",
            "-d",
            "--label",
            &label,
            "--name",
            &self.name,
            "-e",
            "POSTGRES_PASSWORD",
        ];
        let mut command = self.engine.command(&arguments);
        command
            .args(["-p", "127.0.0.1::5432", &self.image])
            .env("POSTGRES_PASSWORD", password);
        let finished = process::run(&mut command, CALL_DEADLINE, None)?;
        if finished.status.success() {
            Ok(())
        } else {
            Err(self.failure(&finished.complaint(), String::new()))
        }
    }

    /// The port of 127.0.0.1 that the engine chose.
    fn published_port(&self, leash: &Leash) -> Result<u16, ProvisionError> {
        let finished = self.engine.call(&["port", &self.name, "5432/tcp"], Some(leash))?;
        let port = finished
            .stdout
            .lines()
            .find_map(|line| line.trim().rsplit_once(':')?.1.parse().ok());
        port.ok_or_else(|| {
            let detail = format!(
                "the engine published no port for its port 5432 ({})",
                finished.complaint()
            );
            self.failure(&detail, self.log())
        })
    }

    fn wait_until_ready(&self, leash: &Leash) -> Result<(), ProvisionError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let end = Instant::now() + READY_DEADLINE;
        let (mut streak, mut last) = (0, String::new());
        while Instant::now() < end {
            match probe::knock(address, SUPERUSER, SUPERUSER, KNOCK_PATIENCE) {
                Ok(Answer::AsksPassword | Answer::Open) => streak += 1,
                Ok(Answer::Refused(reason)) => (streak, last) = (0, reason),
                Err(error) => (streak, last) = (0, error.to_string()),
            }
            if streak == STABLE {
                return Ok(());
            }
            if streak == 0 && !self.is_running(Some(leash)) {
                return Err(self.failure("its server ended", self.log()));
            }
            leash.sleep(POLL)?;
        }
        let seconds = READY_DEADLINE.as_secs();
        let detail = format!(
            "127.0.0.1:{} did not answer within {seconds} s ({last}){}",
            self.port,
            remote_hint()
        );
        Err(self.failure(&detail, self.log()))
    }

    /// Whether the engine says so; an engine that says nothing is left to the deadline.
    fn is_running(&self, leash: Option<&Leash>) -> bool {
        let state = self
            .engine
            .call(&["inspect", "--format", "{{.State.Running}}", &self.name], leash);
        state.map_or(true, |finished| {
            finished.status.success() && finished.stdout.trim() != "false"
        })
    }

    /// The last lines of the server's log.
    fn log(&self) -> String {
        let logs = self.engine.call(&["logs", "--tail", "20", &self.name], None);
        logs.map_or_else(
            |error| format!("({error})"),
            |l| process::tail(&format!("{}{}", l.stdout, l.stderr), 20),
        )
    }

    /// Removes it in whatever state; one that was never created is as good.
    fn remove(&mut self) -> Result<(), ProvisionError> {
        self.removed = true;
        let mut command = self.engine.command(&["rm", "-f", "-v", &self.name]);
        let detail = match process::run(&mut command, REMOVE_DEADLINE, None) {
            Ok(finished) if finished.status.success() => return Ok(()),
            Ok(finished) if finished.complaint().to_ascii_lowercase().contains("no such container") => {
                return Ok(());
            }
            Ok(finished) => finished.complaint(),
            Err(error) => error.to_string(),
        };
        Err(ProvisionError::CleanUp {
            detail: format!("container {} could not be removed ({detail})", self.name),
            advice: format!("remove it with: {} rm -f -v {}", self.engine.name, self.name),
        })
    }

    fn what(&self) -> String {
        format!("a container of {}", self.image)
    }

    fn failure(&self, detail: &str, log: String) -> ProvisionError {
        ProvisionError::StartFailed {
            what: self.what(),
            detail: detail.to_owned(),
            log,
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        if let Err(error) = self.remove() {
            // Where nobody reads standard error, the clean-up still counts.
            let _ = writeln!(std::io::stderr(), "preview-cost: {error}");
        }
    }
}

/// What is known about the image, after pulling it if it is not here.
fn image_facts(
    engine: &Engine,
    image: &str,
    leash: &Leash,
    stage: &mut dyn FnMut(&str),
) -> Result<Vec<Fact>, ProvisionError> {
    if let Some(facts) = engine.image(image, leash)? {
        return Ok(facts);
    }
    stage(&format!("pulling {image}"));
    engine.pull(image, leash)?;
    engine
        .image(image, leash)?
        .ok_or_else(|| ProvisionError::ImageUnavailable {
            image: image.to_owned(),
            detail: "it was pulled, but the engine does not know it by that name".to_owned(),
        })
}

/// An image's reference must not be taken for an option of the client.
fn check_reference(image: &str) -> Result<(), ProvisionError> {
    if !image.is_empty() && !image.starts_with('-') && !image.contains(char::is_whitespace) {
        return Ok(());
    }
    Err(ProvisionError::ImageUnavailable {
        image: format!("{image:?}"),
        detail: "that is no image reference".to_owned(),
    })
}

/// Why a server that runs may still not be reached.
fn remote_hint() -> &'static str {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    if host.starts_with("tcp:") || host.starts_with("ssh:") {
        "; DOCKER_HOST names another machine, and the port is published on that machine's own 127.0.0.1"
    } else {
        ""
    }
}

/// Random bytes from the system, as hexadecimal digits.
pub(in crate::backend) fn random_hex(bytes: usize) -> Result<String, ProvisionError> {
    let mut random = vec![0_u8; bytes];
    let read = File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut random));
    read.map_err(|e| ProvisionError::io("read /dev/urandom", &e))?;
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    Ok(random
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_an_option_is_no_image() {
        for image in ["", "-v/:/host", "postgres 16"] {
            assert!(
                matches!(check_reference(image), Err(ProvisionError::ImageUnavailable { .. })),
                "{image}"
            );
        }
        assert_eq!(check_reference("docker.io/library/postgres:16@sha256:00"), Ok(()));
    }

    #[test]
    fn passwords_differ_and_have_32_digits() {
        let (one, two) = (random_hex(16).unwrap(), random_hex(16).unwrap());
        assert_eq!(one.len(), 32);
        assert!(one.chars().all(|c| c.is_ascii_hexdigit()) && one != two);
    }
}
