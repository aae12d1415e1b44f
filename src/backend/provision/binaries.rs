//! Finding PostgreSQL's server binaries, which most packages keep off PATH.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::error::ProvisionError;
use super::process;

/// How long a program may take to print its version.
const VERSION_DEADLINE: Duration = Duration::from_secs(10);

/// Directories whose entries are installations, each with its binaries in `bin`; with the start of the entries' names.
const FAMILIES: [(&str, &str); 5] = [
    ("usr/lib/postgresql", ""),
    ("usr", "pgsql-"),
    ("opt/homebrew/opt", "postgresql"),
    ("usr/local/opt", "postgresql"),
    ("home/linuxbrew/.linuxbrew/opt", "postgresql"),
];

/// Directories of binaries that packages link into.
const DIRECTORIES: [&str; 4] = [
    "opt/homebrew/bin",
    "home/linuxbrew/.linuxbrew/bin",
    "usr/libexec/postgresql",
    "usr/local/pgsql/bin",
];

/// The same in words, for the message.
const SEARCHED: &str = "PATH, pg_config --bindir, /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin and Homebrew's folders";

/// A directory that holds a working `initdb` and `postgres` of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerBinaries {
    /// The directory, with links resolved.
    pub bindir: PathBuf,
    /// The version as `postgres --version` prints it after its name, e.g. `15.18 (Debian 15.18-0+deb12u1)`.
    pub version: String,
    /// What led to it: `PATH`, `pg_config --bindir`, or the directory that was listed.
    pub found_by: String,
}

impl ServerBinaries {
    /// The binaries of this machine; see [`Search::find`].
    ///
    /// # Errors
    /// [`ProvisionError::BinariesMissing`] when there are none.
    pub fn find() -> Result<Self, ProvisionError> {
        Search::of_this_machine().find()
    }

    /// The path of one of the programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bindir.join(name)
    }
}

/// Where to look. The defaults are this machine's; a test gives its own.
#[derive(Debug, Clone)]
pub struct Search {
    /// The directories of PATH, in order.
    pub path: Vec<PathBuf>,
    /// What stands for `/` in front of the well-known directories and of `/etc/os-release`.
    pub root: PathBuf,
}

impl Search {
    /// PATH as it is, and the real root directory.
    pub fn of_this_machine() -> Self {
        Self {
            path: process::path_directories(),
            root: PathBuf::from("/"),
        }
    }

    /// Searches PATH, then what `pg_config --bindir` names, then the directories of packages (newest version first):
    /// Debian's and Ubuntu's, the PostgreSQL project's for Fedora and RHEL, Homebrew's, Alpine's, and a
    /// build's default. The first directory whose two programs are there and print a version is taken.
    ///
    /// # Errors
    /// [`ProvisionError::BinariesMissing`], with the one command that installs them on this system.
    pub fn find(&self) -> Result<ServerBinaries, ProvisionError> {
        let candidates = self.on_path().chain(self.by_pg_config()).chain(self.by_package());
        let mut found = candidates
            .into_iter()
            .filter_map(|(directory, found_by)| inspect(&directory, found_by));
        found.next().ok_or_else(|| ProvisionError::BinariesMissing {
            searched: SEARCHED.to_owned(),
            advice: self.advice(),
        })
    }

    /// Directories of PATH that have an `initdb`: where the link leads, and then as it stands.
    fn on_path(&self) -> impl Iterator<Item = (PathBuf, String)> {
        self.path
            .iter()
            .filter(|d| process::is_executable(&d.join("initdb")))
            .flat_map(|directory| {
                let resolved = fs::canonicalize(directory.join("initdb")).ok();
                let resolved = resolved.and_then(|initdb| initdb.parent().map(Path::to_owned));
                resolved
                    .into_iter()
                    .chain([directory.clone()])
                    .map(|d| (d, "PATH".to_owned()))
            })
    }

    /// What the first `pg_config` of PATH says; evaluated only when PATH itself had nothing.
    fn by_pg_config(&self) -> impl Iterator<Item = (PathBuf, String)> {
        self.path
            .iter()
            .map(|d| d.join("pg_config"))
            .filter(|p| process::is_executable(p))
            .take(1)
            .filter_map(|pg_config| {
                let answer = process::run(Command::new(&pg_config).arg("--bindir"), VERSION_DEADLINE, None).ok()?;
                let bindir = answer.status.success().then(|| PathBuf::from(answer.stdout.trim()))?;
                Some((bindir, "pg_config --bindir".to_owned()))
            })
    }

    /// The directories of packages.
    fn by_package(&self) -> impl Iterator<Item = (PathBuf, String)> {
        let families = FAMILIES.iter().flat_map(|(parent, prefix)| {
            let parent = self.root.join(parent);
            let found_by = format!("{}/{prefix}*/bin", parent.display());
            installations(&parent, prefix)
                .into_iter()
                .map(move |i| (i.join("bin"), found_by.clone()))
        });
        let single = DIRECTORIES
            .iter()
            .map(|d| self.root.join(d))
            .map(|d| (d.clone(), d.display().to_string()));
        families.chain(single)
    }

    /// The one command to type on this system.
    fn advice(&self) -> String {
        let files = ["etc/os-release", "usr/lib/os-release"];
        let release = files
            .iter()
            .find_map(|f| fs::read_to_string(self.root.join(f)).ok())
            .unwrap_or_default();
        let command = if cfg!(target_os = "macos") {
            Some("brew install postgresql@16")
        } else {
            install_command(&release)
        };
        match command {
            Some(command) if cfg!(target_os = "macos") || nix::unistd::geteuid().is_root() => format!("run: {command}"),
            Some(command) => format!("run: sudo {command}"),
            None => "install your system's package of the PostgreSQL server, or put the directory of its initdb and \
                     postgres on PATH"
                .to_owned(),
        }
    }
}

/// A directory as an installation, if both programs are there and `postgres` runs.
fn inspect(directory: &Path, found_by: String) -> Option<ServerBinaries> {
    let bindir = fs::canonicalize(directory).ok()?;
    if !["initdb", "postgres"]
        .iter()
        .all(|program| process::is_executable(&bindir.join(program)))
    {
        return None;
    }
    let answer = process::run(
        Command::new(bindir.join("postgres")).arg("--version"),
        VERSION_DEADLINE,
        None,
    )
    .ok()?;
    let (_, version) = answer.stdout.trim().split_once("(PostgreSQL) ")?;
    answer.status.success().then(|| ServerBinaries {
        bindir,
        version: version.to_owned(),
        found_by,
    })
}

/// The entries of `parent` whose names start with `prefix`, the newest version first.
fn installations(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|p| name_of(p).starts_with(prefix)).collect();
    found.sort_by_key(|p| std::cmp::Reverse((version_in(name_of(p)), p.clone())));
    found
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// The numbers in a directory's name: `9.6` is older than `16`.
fn version_in(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

/// The command for the system that an `os-release` file describes, without `sudo`.
fn install_command(os_release: &str) -> Option<&'static str> {
    let value = |key: &str| {
        os_release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let ids = [value("ID"), value("ID_LIKE")]
        .into_iter()
        .flatten()
        .flat_map(|ids| ids.trim_matches(['"', '\'']).split(' '));
    ids.into_iter().find_map(|id| match id {
        "debian" | "ubuntu" => Some("apt-get install postgresql"),
        "fedora" | "rhel" | "centos" => Some("dnf install postgresql-server"),
        "arch" => Some("pacman -S postgresql"),
        "alpine" => Some("apk add postgresql"),
        "suse" | "opensuse" => Some("zypper install postgresql-server"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A root directory to which installations can be added.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn dir(&self, path: &str) -> PathBuf {
            let dir = self.0.path().join(path);
            fs::create_dir_all(&dir).unwrap();
            fs::canonicalize(dir).unwrap()
        }

        fn script(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn install(&self, bindir: &str, version: &str) {
            self.script(&format!("{bindir}/initdb"), "exit 0");
            self.script(
                &format!("{bindir}/postgres"),
                &format!("echo 'postgres (PostgreSQL) {version}'"),
            );
        }

        fn find(&self, path: &[&str]) -> Result<ServerBinaries, ProvisionError> {
            let path = path.iter().map(|p| self.dir(p)).collect();
            Search {
                path,
                root: self.0.path().to_owned(),
            }
            .find()
        }
    }

    #[test]
    fn a_link_on_path_leads_to_the_installation() {
        let machine = Machine::new();
        machine.install("opt/pg/bin", "15.18 (Debian 15.18-0+deb12u1)");
        symlink(
            machine.dir("opt/pg/bin").join("initdb"),
            machine.dir("usr/local/bin").join("initdb"),
        )
        .unwrap();
        let found = machine.find(&["usr/bin", "usr/local/bin"]).unwrap();
        assert_eq!(found.bindir, machine.dir("opt/pg/bin"));
        assert_eq!(found.version, "15.18 (Debian 15.18-0+deb12u1)");
        assert_eq!(found.found_by, "PATH");
    }

    #[test]
    fn the_newest_version_wins_by_number_and_a_broken_one_is_passed_over() {
        let machine = Machine::new();
        machine.install("usr/lib/postgresql/9.6/bin", "9.6");
        machine.install("usr/lib/postgresql/15/bin", "15.1");
        machine.install("usr/lib/postgresql/16/bin", "16.2");
        machine.script("usr/lib/postgresql/17/bin/initdb", "exit 0");
        machine.script(
            "usr/lib/postgresql/17/bin/postgres",
            "echo 'libicu is missing' >&2; exit 127",
        );
        let found = machine.find(&[]).unwrap();
        assert_eq!(found.version, "16.2");
        assert!(
            found.found_by.ends_with("usr/lib/postgresql/*/bin"),
            "{}",
            found.found_by
        );
    }

    #[test]
    fn pg_config_comes_before_packages_and_after_path() {
        let machine = Machine::new();
        machine.install("usr/pgsql-16/bin", "16.1");
        machine.install("built/bin", "18.0");
        machine.script(
            "usr/bin/pg_config",
            &format!("echo {}", machine.dir("built/bin").display()),
        );
        let found = machine.find(&["usr/bin"]).unwrap();
        assert_eq!(
            (found.version.as_str(), found.found_by.as_str()),
            ("18.0", "pg_config --bindir")
        );
        assert_eq!(machine.find(&[]).unwrap().version, "16.1");
    }

    #[test]
    fn homebrew_is_searched() {
        let machine = Machine::new();
        machine.install("opt/homebrew/opt/postgresql@14/bin", "14.1");
        machine.install("opt/homebrew/opt/postgresql@16/bin", "16.4 (Homebrew)");
        assert_eq!(machine.find(&[]).unwrap().version, "16.4 (Homebrew)");
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn none_at_all_names_one_command() {
        let machine = Machine::new();
        machine.dir("etc");
        let sudo = if nix::unistd::geteuid().is_root() { "" } else { "sudo " };
        for (release, command) in [
            ("ID=debian", "apt-get install postgresql"),
            (
                "NAME=x\nID=linuxmint\nID_LIKE=\"ubuntu debian\"",
                "apt-get install postgresql",
            ),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"",
                "dnf install postgresql-server",
            ),
            ("ID=arch", "pacman -S postgresql"),
            ("ID=alpine", "apk add postgresql"),
        ] {
            fs::write(machine.0.path().join("etc/os-release"), release).unwrap();
            let error = machine.find(&[]).unwrap_err();
            let expected = format!("run: {sudo}{command}");
            assert!(error.to_string().ends_with(&expected), "{error}");
        }
        fs::write(machine.0.path().join("etc/os-release"), "ID=plan9").unwrap();
        assert!(machine.find(&[]).unwrap_err().to_string().contains("on PATH"));
    }
}
