//! The file system that the results are written to.

use std::path::Path;

use super::machine::{Machine, Reading, nearest_directory};
use super::mounts::{self, MOUNT_TABLE, Mount};
use super::{FactStatus, fact};
use crate::environment::{Fact, privacy};

const ROTATIONAL: &str = "/sys/dev/block/…/queue/rotational";

pub(super) fn facts(machine: &Machine, results_dir: &Path) -> Vec<Fact> {
    let mount = mount_of(machine, results_dir);
    let mount = mount.as_ref().map_err(|status| *status);
    vec![
        fact("results.filesystem", mount.map(|mount| mount.kind.clone()), MOUNT_TABLE),
        fact("results.mount_options", mount.map(all_options), MOUNT_TABLE),
        fact(
            "results.device.rotational",
            mount.and_then(|mount| is_rotational(machine, mount)),
            ROTATIONAL,
        ),
    ]
}

fn mount_of(machine: &Machine, results_dir: &Path) -> Reading<Mount> {
    let table = mounts::parse(&machine.read(MOUNT_TABLE)?);
    let directory = nearest_directory(results_dir)?;
    mounts::holding(&table, &directory).cloned().ok_or(FactStatus::Absent)
}

/// The options of the mount, then those of the file system that don't repeat them.
fn all_options(mount: &Mount) -> String {
    let mut options: Vec<&str> = mount.options.split(',').collect();
    for option in mount.shared_options.split(',') {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    privacy::mask_options(&options.join(","))
}

/// Whether the device is a spinning disk. A partition has no queue of its own; its disk, one level up, has. A file
/// system that spans devices (btrfs) has no device number, but names one of its devices.
fn is_rotational(machine: &Machine, mount: &Mount) -> Reading<bool> {
    let directory = if mount.device.starts_with("0:") {
        let device = mount.origin.canonicalize().ok().filter(|path| path.starts_with("/dev"));
        let name = device
            .as_deref()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str());
        format!("/sys/class/block/{}", name.ok_or(FactStatus::Absent)?)
    } else {
        format!("/sys/dev/block/{}", mount.device)
    };
    let flag = |path: &str| machine.find(&format!("{directory}/{path}"), one_or_zero);
    flag("queue/rotational").or_else(|_| flag("../queue/rotational"))
}

fn one_or_zero(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_once_and_without_places() {
        let table = "1 1 0:5 / / rw,relatime - overlay overlay rw,lowerdir=/home/alice/l,upperdir=/u,index=off";
        let mount = &mounts::parse(table)[0];
        assert_eq!(all_options(mount), "rw,relatime,lowerdir=***,upperdir=***,index=off");
    }

    #[test]
    fn a_directory_that_is_not_there_yet_has_the_file_system_of_its_parent() {
        let machine = Machine::here();
        let parent = tempfile::tempdir().unwrap();
        let there = facts(&machine, parent.path());
        assert_eq!(facts(&machine, &parent.path().join("not/yet")), there);
    }
}
