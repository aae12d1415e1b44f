//! The control group that this process runs in: what it may use, and whether it was held back.
//!
//! A limit binds wherever it is set on the way up, so each figure is taken over the own group and all its
//! ancestors that can be seen. Inside a container those above the container can't be.

use std::path::{Path, PathBuf};

use super::machine::{Machine, Reading, any_of};
use super::mounts::{self, MOUNT_TABLE, Mount};
use super::{FactStatus, fact, quantity};
use crate::environment::Fact;

const OWN_GROUPS: &str = "/proc/self/cgroup";

/// What v1 says for no memory limit is the largest multiple of the page size; anything near it is none.
const V1_UNLIMITED: u64 = 1 << 60;

pub(super) fn facts(machine: &Machine) -> Vec<Fact> {
    let groups = machine.read(OWN_GROUPS).map(|text| Groups::parse(&text));
    let version = groups.as_ref().map_err(|status| *status).and_then(Groups::version);
    let table = machine
        .read(MOUNT_TABLE)
        .map(|text| mounts::parse(&text))
        .unwrap_or_default();
    let place = |controller| {
        groups
            .as_ref()
            .ok()
            .and_then(|groups| Place::find(groups, &table, controller))
    };
    let (cpu, memory) = (place("cpu"), place("memory"));
    vec![
        fact("cgroup.version", version, OWN_GROUPS),
        limit(
            "cgroup.cpu.limit",
            cpu.as_ref(),
            "cpus",
            ["cpu.max", "cpu.cfs_quota_us"],
            |at| at.cpu_limits(machine),
        ),
        limit(
            "cgroup.memory.limit",
            memory.as_ref(),
            "bytes",
            ["memory.max", "memory.limit_in_bytes"],
            |at| at.memory_limits(machine),
        ),
        throttled(machine, cpu.as_ref()),
    ]
}

/// The membership of a process, from `/proc/self/cgroup`.
#[derive(Debug, PartialEq, Eq)]
struct Groups {
    /// The path in the one v2 hierarchy.
    unified: Option<PathBuf>,
    /// Controllers and the path in their v1 hierarchy.
    controllers: Vec<(String, PathBuf)>,
}

impl Groups {
    /// Reads lines of `number:controllers:path`; the v2 hierarchy has the number 0 and names no controllers.
    fn parse(text: &str) -> Self {
        let mut groups = Self {
            unified: None,
            controllers: Vec::new(),
        };
        for line in text.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(number), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            if number == "0" && names.is_empty() {
                groups.unified = Some(path.into());
            } else {
                groups
                    .controllers
                    .extend(names.split(',').map(|name| (name.to_owned(), path.into())));
            }
        }
        groups
    }

    /// `v1`, `v2`, or `hybrid` where both are mounted.
    fn version(&self) -> Reading<&'static str> {
        match (self.unified.is_some(), self.controllers.is_empty()) {
            (true, true) => Ok("v2"),
            (true, false) => Ok("hybrid"),
            (false, false) => Ok("v1"),
            (false, true) => Err(FactStatus::Absent),
        }
    }

    fn v1_path(&self, controller: &str) -> Option<&Path> {
        self.controllers
            .iter()
            .find(|(name, _)| name == controller)
            .map(|(_, path)| path.as_path())
    }
}

/// The directories of one controller, from the own group up to the top of what can be seen.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    is_v2: bool,
    top: PathBuf,
    directories: Vec<String>,
}

impl Place {
    fn find(groups: &Groups, table: &[Mount], controller: &str) -> Option<Self> {
        let v1 = table
            .iter()
            .find(|mount| mount.kind == "cgroup" && mount.is_shared_with(controller));
        if let Some((mount, path)) = v1.zip(groups.v1_path(controller)) {
            return Some(Self::at(mount, path, false));
        }
        let v2 = table.iter().find(|mount| mount.kind == "cgroup2");
        v2.zip(groups.unified.as_deref())
            .map(|(mount, path)| Self::at(mount, path, true))
    }

    /// The path counts from the hierarchy's root, of which a container may have only a part mounted.
    fn at(mount: &Mount, path: &Path, is_v2: bool) -> Self {
        let below = path.strip_prefix(&mount.root).unwrap_or(Path::new(""));
        let own: PathBuf = mount.point.join(below).components().collect();
        let directories = own
            .ancestors()
            .take_while(|directory| directory.starts_with(&mount.point))
            .map(|directory| directory.to_string_lossy().into_owned())
            .collect();
        Self {
            is_v2,
            top: mount.point.clone(),
            directories,
        }
    }

    /// What `read` makes of each directory.
    fn each<T>(&self, read: impl Fn(&str) -> Reading<T>) -> Reading<Vec<T>> {
        any_of(self.directories.iter().map(|directory| read(directory)))
    }

    /// Where a file was read, without the names of the groups, which may name a user.
    fn source(&self, file: &str) -> String {
        format!("{}/…/{file}", self.top.display())
    }

    /// Processors' worth of time that each level allows.
    fn cpu_limits(&self, machine: &Machine) -> Reading<Vec<f64>> {
        self.each(|directory| {
            if self.is_v2 {
                return machine.find(&format!("{directory}/cpu.max"), v2_quota);
            }
            let quota = machine.read(&format!("{directory}/cpu.cfs_quota_us"))?;
            let period = machine.read(&format!("{directory}/cpu.cfs_period_us"))?;
            v1_quota(&quota, &period).ok_or(FactStatus::Absent)
        })
    }

    /// Bytes that each level allows.
    fn memory_limits(&self, machine: &Machine) -> Reading<Vec<f64>> {
        let file = if self.is_v2 {
            "memory.max"
        } else {
            "memory.limit_in_bytes"
        };
        self.each(|directory| machine.find(&format!("{directory}/{file}"), memory_bytes))
    }
}

/// Stands for no limit, so that the tightest limit is the least number.
const UNLIMITED: f64 = f64::INFINITY;

/// `200000 100000` is two processors, `max 100000` no limit.
fn v2_quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    if quota == "max" {
        return Some(UNLIMITED);
    }
    v1_quota(quota, period)
}

/// A quota below zero is no limit.
fn v1_quota(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.parse::<i64>().ok()?, period.parse::<i64>().ok()?);
    if quota < 0 {
        return Some(UNLIMITED);
    }
    (period > 0).then(|| quota as f64 / period as f64)
}

fn memory_bytes(text: &str) -> Option<f64> {
    if text == "max" {
        return Some(UNLIMITED);
    }
    let bytes = text.parse::<u64>().ok()?;
    Some(if bytes < V1_UNLIMITED { bytes as f64 } else { UNLIMITED })
}

/// How often the scheduler stopped a group after it had used up its time.
fn throttled_periods(stat: &str) -> Option<u64> {
    stat.lines()
        .find_map(|line| line.strip_prefix("nr_throttled "))?
        .trim()
        .parse()
        .ok()
}

/// The tightest limit as a fact; `unlimited`, without a unit, if no group sets one.
fn limit(
    key: &str,
    place: Option<&Place>,
    unit: &str,
    [v2, v1]: [&str; 2],
    read: impl Fn(&Place) -> Reading<Vec<f64>>,
) -> Fact {
    let Some(place) = place else {
        return fact(key, Err::<String, _>(FactStatus::Absent), OWN_GROUPS);
    };
    let source = place.source(if place.is_v2 { v2 } else { v1 });
    match read(place).map(|limits| limits.into_iter().fold(UNLIMITED, f64::min)) {
        Ok(UNLIMITED) => fact(key, Ok("unlimited"), &source),
        tightest => quantity(key, tightest, unit, &source),
    }
}

fn throttled(machine: &Machine, place: Option<&Place>) -> Fact {
    let key = "cgroup.cpu.throttled";
    let Some(place) = place else {
        return fact(key, Err::<u64, _>(FactStatus::Absent), OWN_GROUPS);
    };
    let counts = place.each(|directory| machine.find(&format!("{directory}/cpu.stat"), throttled_periods));
    let total = counts.map(|counts| counts.iter().sum::<u64>());
    quantity(key, total, "periods", &place.source("cpu.stat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "0::/user.slice/user-1000.slice/session-2.scope\n";
    const V1: &str = "9:name=systemd:/\n4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n";
    const V2_MOUNT: &str = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNTS: &str = "\
32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory
";

    #[test]
    fn the_version_is_told_by_the_hierarchies() {
        assert_eq!(Groups::parse(V2).version(), Ok("v2"));
        assert_eq!(Groups::parse(V1).version(), Ok("v1"));
        assert_eq!(Groups::parse(&format!("{V1}0::/\n")).version(), Ok("hybrid"));
        assert_eq!(Groups::parse("").version(), Err(FactStatus::Absent));
    }

    #[test]
    fn the_own_group_and_its_ancestors_are_found() {
        let v2 = Place::find(&Groups::parse(V2), &mounts::parse(V2_MOUNT), "cpu").unwrap();
        assert!(v2.is_v2);
        assert_eq!(v2.directories.len(), 4);
        assert_eq!(
            v2.directories[0],
            "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope"
        );
        assert_eq!(v2.directories[3], "/sys/fs/cgroup");
        assert_eq!(v2.source("cpu.max"), "/sys/fs/cgroup/…/cpu.max");

        let table = mounts::parse(V1_MOUNTS);
        let cpu = Place::find(&Groups::parse(V1), &table, "cpu").unwrap();
        assert_eq!(cpu.directories, ["/sys/fs/cgroup/cpu,cpuacct"]);
        let memory = Place::find(&Groups::parse(V1), &table, "memory").unwrap();
        assert_eq!(memory.directories[0], "/sys/fs/cgroup/memory/docker/abc");
        assert_eq!(Place::find(&Groups::parse(V1), &[], "cpu"), None);
    }

    #[test]
    fn limits_are_read_in_both_versions() {
        assert_eq!(v2_quota("150000 100000"), Some(1.5));
        assert_eq!(v2_quota("max 100000"), Some(UNLIMITED));
        assert_eq!(v2_quota("1 0"), None);
        assert_eq!(v1_quota("50000", "100000"), Some(0.5));
        assert_eq!(v1_quota("-1", "100000"), Some(UNLIMITED));
        assert_eq!(v2_quota("nonsense"), None);
        assert_eq!(memory_bytes("max"), Some(UNLIMITED));
        assert_eq!(memory_bytes("9223372036854771712"), Some(UNLIMITED));
        assert_eq!(memory_bytes("1073741824"), Some(1_073_741_824.0));
        assert_eq!(
            throttled_periods("nr_periods 10\nnr_throttled 3\nthrottled_usec 9\n"),
            Some(3)
        );
        assert_eq!(throttled_periods("usage_usec 1\n"), None);
    }
}
