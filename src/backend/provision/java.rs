//! The Java and the jar of H2 on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::error::ProvisionError;
use super::leash::Leash;
use super::{SCOPE, process};
use crate::environment::Fact;

/// Where the jar may be said to be.
const JAR_VARIABLE: &str = "PREVIEW_COST_H2_JAR";
/// Where Debian's `libh2-java` puts it, as `h2.jar` and with its version.
const JARS: &str = "/usr/share/java";
/// The one command that brings what is missing, on Debian.
const ADVICE: &str =
    "install both with: apt-get install -y default-jre-headless libh2-java, or name a jar in PREVIEW_COST_H2_JAR";
/// What Java inherits of the environment. Nothing else: `JDK_JAVA_OPTIONS` and its like would change what is measured.
const INHERITED: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "TZ"];
const VERSION_DEADLINE: Duration = Duration::from_secs(30);

/// A Java runtime.
#[derive(Debug)]
pub(super) struct Java(PathBuf);

impl Java {
    /// That of `JAVA_HOME`, else the first on PATH.
    ///
    /// # Errors
    /// [`ProvisionError::H2Missing`].
    pub fn find() -> Result<Self, ProvisionError> {
        let home = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin"));
        let directories = home.into_iter().chain(process::path_directories());
        let mut places = directories.map(|directory| directory.join("java"));
        let found = places.find(|place| process::is_executable(place));
        found
            .map(Self)
            .ok_or_else(|| missing("no java in JAVA_HOME or on PATH"))
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.0
    }

    /// Starts it with a bare environment, to which the caller adds arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.0);
        let inherited = INHERITED
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.env_clear().envs(inherited).env("LC_ALL", "C");
        command
    }

    /// What it says of its version and of its machine.
    pub fn facts(&self, leash: &Leash) -> Result<Vec<Fact>, ProvisionError> {
        let finished = process::run(self.command().arg("-version"), VERSION_DEADLINE, Some(leash))?;
        // The version, the build, the machine.
        let mut lines = finished.stderr.lines();
        let told = [("java.version", lines.next()), ("java.vm", lines.nth(1))];
        let known = |(key, line): (&str, Option<&str>)| Some(Fact::known(SCOPE, key, line?, "java -version"));
        Ok(told.into_iter().filter_map(known).collect())
    }
}

/// The jar of H2 that would be started, if there is a Java for it.
///
/// # Errors
/// What is missing, with the command that brings it.
pub fn h2_jar() -> Result<PathBuf, ProvisionError> {
    Java::find().and_then(|_| jar())
}

/// The jar that is named, else Debian's.
pub(super) fn jar() -> Result<PathBuf, ProvisionError> {
    if let Some(named) = std::env::var_os(JAR_VARIABLE).map(PathBuf::from) {
        let is_there = named.is_file();
        return is_there
            .then_some(named)
            .ok_or_else(|| missing(&format!("{JAR_VARIABLE} names no file")));
    }
    jar_in(Path::new(JARS)).ok_or_else(|| missing(&format!("no jar of H2 in {JARS}")))
}

/// `h2.jar`, else the last of `h2-VERSION.jar` by name.
fn jar_in(directory: &Path) -> Option<PathBuf> {
    let with_version = |path: &PathBuf| {
        let name = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
        let rest = name.strip_prefix("h2-").and_then(|rest| rest.strip_suffix(".jar"));
        rest.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    };
    let plain = Some(directory.join("h2.jar")).filter(|path| path.is_file());
    plain.or_else(|| {
        let entries = std::fs::read_dir(directory).ok()?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.filter(with_version).filter(|path| path.is_file()).max()
    })
}

fn missing(what: &str) -> ProvisionError {
    ProvisionError::H2Missing {
        what: what.to_owned(),
        advice: ADVICE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_name_goes_before_versions_and_versions_before_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let found = || {
            let path = jar_in(directory.path())?;
            path.file_name()?.to_str().map(str::to_owned)
        };
        let add = |name: &str| std::fs::write(directory.path().join(name), "").unwrap();
        add("h2-extras.jar");
        assert_eq!(found(), None);
        add("h2-2.1.214.jar");
        add("h2-2.2.220.jar");
        assert_eq!(found().as_deref(), Some("h2-2.2.220.jar"));
        add("h2.jar");
        assert_eq!(found().as_deref(), Some("h2.jar"));
    }
}
