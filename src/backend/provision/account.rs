//! Who runs the server, and where its files may be.
//!
//! PostgreSQL refuses to run as root. Root therefore hands it to another user, who must be able to reach the
//! directory; everybody else runs it as themselves.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{User, geteuid};
use tempfile::TempDir;

use super::error::ProvisionError;

/// The start of the directory's name, by which an orphan can be found.
pub(super) const PREFIX: &str = "preview-cost-pg-";

/// What the server inherits of the environment. Nothing else: variables such as `PGPORT` or `NOTIFY_SOCKET`
/// would change it, and a secret of root's must not reach another user's process.
const INHERITED: [&str; 5] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "TZ",
];

/// The user that runs the server.
#[derive(Debug)]
pub(super) struct Account {
    /// The user's name, or number where it has none.
    pub name: String,
    /// User and group to step down to; `None` to stay who we are.
    ids: Option<(u32, u32)>,
}

impl Account {
    /// The caller; or, for root, `postgres`, else `nobody`.
    ///
    /// # Errors
    /// [`ProvisionError::StartFailed`] when root has nobody to step down to.
    pub fn choose() -> Result<Self, ProvisionError> {
        let me = geteuid();
        if !me.is_root() {
            let name = User::from_uid(me)
                .ok()
                .flatten()
                .map_or_else(|| me.to_string(), |user| user.name);
            return Ok(Self { name, ids: None });
        }
        let user = ["postgres", "nobody"]
            .iter()
            .find_map(|name| User::from_name(name).ok().flatten());
        let user = user.ok_or_else(|| ProvisionError::StartFailed {
            what: "postgres".to_owned(),
            detail: "root may not run it, and there is no user postgres or nobody to run it; run as an ordinary user"
                .to_owned(),
            log: String::new(),
        })?;
        Ok(Self {
            name: user.name,
            ids: Some((user.uid.as_raw(), user.gid.as_raw())),
        })
    }

    /// A command that runs as this user, in `directory`, with a bare environment and messages in English.
    pub fn command(&self, program: &Path, directory: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(
            INHERITED
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command.env("LC_ALL", "C").env("HOME", directory).current_dir(directory);
        if let Some((uid, gid)) = self.ids {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// A fresh directory of mode 0700 that belongs to this user: in the directory for temporary files (`TMPDIR`), or
    /// where this user cannot reach that, in `/tmp` or `/var/tmp`.
    pub fn directory(&self) -> Result<TempDir, ProvisionError> {
        let bases = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
        let reachable = bases
            .iter()
            .filter_map(|base| fs::canonicalize(base).ok())
            .find(|base| self.reaches(base));
        let base = reachable.ok_or_else(|| ProvisionError::Io {
            action: format!(
                "make a directory for the server in {}",
                bases.map(|b| b.display().to_string()).join(", ")
            ),
            detail: format!("the user {} who runs it cannot reach any of them", self.name),
        })?;
        let failed =
            |error| ProvisionError::io(format!("make a directory for the server in {}", base.display()), &error);
        let private = Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(private)
            .tempdir_in(&base)
            .map_err(failed)?;
        if let Some((uid, gid)) = self.ids {
            std::os::unix::fs::chown(directory.path(), Some(uid), Some(gid)).map_err(failed)?;
        }
        Ok(directory)
    }

    /// Whether this user may pass through a directory and all above it.
    fn reaches(&self, directory: &Path) -> bool {
        let Some((uid, gid)) = self.ids else {
            return directory.is_dir();
        };
        directory.ancestors().all(|ancestor| {
            fs::metadata(ancestor).is_ok_and(|m| {
                let bit = if m.uid() == uid {
                    0o100
                } else if m.gid() == gid {
                    0o010
                } else {
                    0o001
                };
                m.mode() & bit != 0
            })
        })
    }
}

/// The type of the file system that holds a path, as Linux names it in `/proc/self/mountinfo`; `None` elsewhere.
pub(super) fn file_system(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    longest_mount(&fs::read_to_string("/proc/self/mountinfo").ok()?, &path)
}

/// The last of the mounts with the longest mount point above the path: a later mount hides an earlier one.
fn longest_mount(mountinfo: &str, path: &Path) -> Option<String> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = PathBuf::from(left.split(' ').nth(4)?.replace("\\040", " "));
        Some((point, right.split(' ').next()?.to_owned()))
    });
    let above = mounts.filter(|(point, _)| path.starts_with(point));
    above
        .max_by_key(|(point, _)| point.components().count())
        .map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_counts() {
        let mountinfo = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
                         30 22 0:26 / /tmp rw - tmpfs tmpfs rw\n\
                         31 22 0:27 / /mnt/a\\040b rw shared:2 master:3 - xfs /dev/vdb rw\n";
        let kind = |path: &str| longest_mount(mountinfo, Path::new(path));
        assert_eq!(kind("/tmp/x").as_deref(), Some("tmpfs"));
        assert_eq!(kind("/tmpfile").as_deref(), Some("ext4"));
        assert_eq!(kind("/mnt/a b/c").as_deref(), Some("xfs"));
        assert_eq!(longest_mount("nonsense", Path::new("/")), None);
    }

    #[test]
    fn a_closed_directory_is_passed_over_by_root() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(outer.path(), Permissions::from_mode(0o700)).unwrap();
        let stranger = Account {
            name: "stranger".to_owned(),
            ids: Some((65_533, 65_533)),
        };
        assert!(!stranger.reaches(&inner));
        assert!(stranger.reaches(Path::new("/tmp")));
        let caller = Account {
            name: "caller".to_owned(),
            ids: None,
        };
        assert!(caller.reaches(&inner));
    }

    #[test]
    fn the_directory_is_private() {
        let account = Account::choose().unwrap();
        let directory = account.directory().unwrap();
        let metadata = fs::metadata(directory.path()).unwrap();
        assert_eq!(metadata.mode() & 0o777, 0o700);
        assert_eq!(account.ids.map(|(uid, _)| uid), account.ids.map(|_| metadata.uid()));
    }
}
