//! Clones on file systems that share blocks, that don't, and that are full. Mounting needs root.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::clean::{on_a_server_of_its_own, server_directories};
use crate::remains::read;
use crate::support::{Bench, ask, quick_directory};

/// A mounted file system that everybody may write to; unmounted when dropped.
struct Mounted {
    directory: TempDir,
}

impl Mounted {
    /// A file system of this type and size, in a file.
    fn in_a_file(kind: &str, size: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        run(Command::new("truncate").args(["-s", size]).arg(&image));
        run(Command::new(format!("mkfs.{kind}")).arg("-q").arg(&image));
        Self::on(directory, Command::new("mount").args(["-o", "loop"]).arg(&image))
    }

    /// One in memory.
    fn in_memory(size: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        Self::on(directory, &mut mount)
    }

    fn on(directory: TempDir, mount: &mut Command) -> Self {
        let everybody = fs::Permissions::from_mode(0o755);
        fs::set_permissions(directory.path(), everybody).unwrap();
        let mounted = Self { directory };
        fs::create_dir(mounted.path()).unwrap();
        run(mount.arg(mounted.path()));
        fs::set_permissions(mounted.path(), fs::Permissions::from_mode(0o777)).unwrap();
        mounted
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn branch_is_refused_where_blocks_cannot_be_shared_before_anything_is_measured() {
    // In memory, if it can be: no tmpfs shares blocks.
    let directory = quick_directory();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    is_refused_in(directory.path());
}

#[track_caller]
fn is_refused_in(directory: &Path) {
    let bench = Bench::new(on_a_server_of_its_own("branch"));
    let said = ask(bench.run().env("TMPDIR", directory)).exits(3);
    let place = directory.display().to_string();
    for words in ["branch cannot be measured here", &place, "TMPDIR", "Btrfs"] {
        assert!(said.stderr.contains(words), "{words}: {said:#?}");
    }
    assert!(bench.runs().is_empty(), "{said:#?}");
    assert!(server_directories(directory).is_empty());
}

#[test]
#[ignore = "needs root, loop devices, btrfs-progs and xfsprogs: make mount-test"]
fn branch_agrees_where_blocks_can_be_shared_and_leaves_nothing() {
    is_refused_in(&Mounted::in_a_file("ext4", "64M").path());
    for kind in ["btrfs", "xfs"] {
        let mounted = Mounted::in_a_file(kind, "1G");
        let bench = Bench::new(on_a_server_of_its_own("branch"));
        ask(bench.run().env("TMPDIR", mounted.path())).exits(0);
        assert!(server_directories(&mounted.path()).is_empty(), "{kind}");
    }
}

/// There is room for the run's server, and not for everything that it is then asked for. Each clone that can't be made is
/// a row that says so; or the server, which also writes its log there, gives up, and that breaks the fork off.
#[test]
#[ignore = "needs root: make mount-test"]
fn a_disk_that_is_full_while_cloning_is_told_and_nothing_is_left() {
    for (subject, size) in [("instance", "100M"), ("template", "56M"), ("template-pool", "64M")] {
        let mounted = Mounted::in_memory(size);
        let bench = Bench::new(on_a_server_of_its_own(subject));
        let said = ask(bench.run().env("TMPDIR", mounted.path())).exits_with_one_of(&[4, 6]);
        let told = reasons(&bench.only_run());
        let is_told = |words: &str| told.contains(words) || said.stderr.contains(words);
        assert!(
            is_told("No space left on device") || subject != "instance" && is_told("connection lost"),
            "{subject}: {said:#?}, {told}"
        );
        assert!(server_directories(&mounted.path()).is_empty(), "{subject}");
    }
}

/// Why pairs of a run failed.
fn reasons(run: &Path) -> String {
    let (_, forks) = read(run).unwrap();
    let pairs = forks.into_iter().flat_map(|fork| fork.pairs);
    pairs.filter_map(|pair| pair.reason).collect::<Vec<_>>().join("\n")
}
