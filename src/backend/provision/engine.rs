//! The container engine, through its own command line client: so contexts, `DOCKER_HOST`, credentials and proxies
//! work here as they work for the user.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::SCOPE;
use super::error::ProvisionError;
use super::leash::Leash;
use super::process::{self, Finished};
use crate::environment::{Fact, FactStatus};

/// How long the engine may take for anything but a pull.
pub(super) const CALL_DEADLINE: Duration = Duration::from_mins(1);
const PULL_DEADLINE: Duration = Duration::from_mins(20);

/// Facts of the engine: key, then where Docker's `info` has it, then where Podman's has it.
const PLATFORM: [(&str, &str, &str); 5] = [
    ("engine.version", "/ServerVersion", "/version/Version"),
    ("engine.os_type", "/OSType", "/host/os"),
    (
        "engine.operating_system",
        "/OperatingSystem",
        "/host/distribution/distribution",
    ),
    ("engine.kernel", "/KernelVersion", "/host/kernel"),
    ("engine.architecture", "/Architecture", "/host/arch"),
];

/// A client that was found on PATH.
#[derive(Debug)]
pub(super) struct Engine {
    /// `docker` or `podman`.
    pub name: &'static str,
    program: PathBuf,
}

impl Engine {
    /// `docker`, else `podman`.
    ///
    /// # Errors
    /// [`ProvisionError::NoEngine`] when PATH has neither.
    pub fn find() -> Result<Self, ProvisionError> {
        let directories = process::path_directories();
        let find = |name: &'static str| {
            let program = directories
                .iter()
                .map(|d| d.join(name))
                .find(|p| process::is_executable(p))?;
            Some(Self { name, program })
        };
        find("docker")
            .or_else(|| find("podman"))
            .ok_or(ProvisionError::NoEngine)
    }

    /// The client with arguments, to which the caller may add an environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        command
    }

    /// Runs the client to its end.
    pub fn call(&self, arguments: &[&str], leash: Option<&Leash>) -> Result<Finished, ProvisionError> {
        process::run(&mut self.command(arguments), CALL_DEADLINE, leash)
    }

    /// What the engine says about itself; also the check that it answers at all.
    ///
    /// # Errors
    /// [`ProvisionError::EngineUnreachable`] when it does not.
    pub fn platform(&self, leash: &Leash) -> Result<Vec<Fact>, ProvisionError> {
        let unreachable = |detail| ProvisionError::EngineUnreachable {
            engine: self.name.to_owned(),
            detail,
        };
        let finished = self.call(&["info", "--format", "{{json .}}"], Some(leash))?;
        let info: Value = serde_json::from_str(finished.stdout.trim()).unwrap_or_default();
        if let Some(error) = info.pointer("/ServerErrors/0").and_then(Value::as_str) {
            return Err(unreachable(error.to_owned()));
        }
        if !finished.status.success() {
            return Err(unreachable(finished.complaint()));
        }
        let source = format!("{} info", self.name);
        let mut facts = vec![Fact::known(SCOPE, "engine.name", self.name, "PATH")];
        facts.extend(PLATFORM.iter().map(|(key, docker, podman)| {
            let value = [docker, podman].iter().find_map(|path| info.pointer(path)?.as_str());
            fact(key, value.filter(|v| !v.is_empty()), &source)
        }));
        Ok(facts)
    }

    /// What the engine knows about an image that it has; `None` when it has none of that name.
    pub fn image(&self, image: &str, leash: &Leash) -> Result<Option<Vec<Fact>>, ProvisionError> {
        let finished = self.call(&["image", "inspect", "--format", "{{json .}}", image], Some(leash))?;
        if !finished.status.success() {
            return Ok(None);
        }
        let described: Value = serde_json::from_str(finished.stdout.trim()).unwrap_or_default();
        let text = |path: &str| {
            described
                .pointer(path)
                .and_then(Value::as_str)
                .filter(|v| !v.is_empty())
        };
        let source = format!("{} image inspect", self.name);
        let built_here = format!("{source}: RepoDigests is empty, as for an image that was built or loaded here");
        let digest = text("/RepoDigests/0");
        Ok(Some(vec![
            Fact::known(SCOPE, "image.reference", image, "order"),
            fact("image.id", text("/Id"), &source),
            fact(
                "image.digest",
                digest,
                if digest.is_some() { &source } else { &built_here },
            ),
            fact("image.architecture", text("/Architecture"), &source),
            fact("image.os", text("/Os"), &source),
            fact("image.created", text("/Created"), &source),
        ]))
    }

    /// Fetches an image.
    ///
    /// # Errors
    /// [`ProvisionError::ImageUnavailable`] when the engine cannot.
    pub fn pull(&self, image: &str, leash: &Leash) -> Result<(), ProvisionError> {
        let finished = process::run(&mut self.command(&["pull", image]), PULL_DEADLINE, Some(leash))?;
        if finished.status.success() {
            return Ok(());
        }
        Err(ProvisionError::ImageUnavailable {
            image: image.to_owned(),
            detail: finished.complaint(),
        })
    }
}

/// A fact that the engine may not have.
fn fact(key: &str, value: Option<&str>, source: &str) -> Fact {
    match value {
        Some(value) => Fact::known(SCOPE, key, value, source),
        None => Fact::unknown(SCOPE, key, FactStatus::Absent, source),
    }
}
