//! The mount table, as `/proc/self/mountinfo` lays it out.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Where the mount table is read.
pub(super) const MOUNT_TABLE: &str = "/proc/self/mountinfo";

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// The device as `major:minor`; major 0 is no block device.
    pub(super) device: String,
    /// The directory of the file system that is mounted, `/` unless it is a part of it.
    pub(super) root: PathBuf,
    /// Where it is mounted.
    pub(super) point: PathBuf,
    /// The type of the file system.
    pub(super) kind: String,
    /// What is mounted: a device, or a word for one.
    pub(super) origin: PathBuf,
    /// The options of the mount.
    pub(super) options: String,
    /// The options of the file system below it, which several mounts may share.
    pub(super) shared_options: String,
}

impl Mount {
    /// Whether the file system below was mounted with this option.
    pub(super) fn is_shared_with(&self, option: &str) -> bool {
        self.shared_options.split(',').any(|word| word == option)
    }
}

/// The mounts of a table, in its order; lines that aren't mounts are skipped.
pub(super) fn parse(table: &str) -> Vec<Mount> {
    table.lines().filter_map(parse_line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`; the number of fields before
/// the lone dash varies.
fn parse_line(line: &str) -> Option<Mount> {
    let (own, shared) = line.split_once(" - ")?;
    let mut own = own.split_ascii_whitespace().skip(2);
    let mut shared = shared.split(' ');
    Some(Mount {
        device: own.next()?.to_owned(),
        root: unescape(own.next()?),
        point: unescape(own.next()?),
        options: own.next()?.to_owned(),
        kind: shared.next()?.to_owned(),
        origin: unescape(shared.next()?),
        shared_options: shared.next()?.to_owned(),
    })
}

/// White space and backslashes in a path stand as `\` and three octal digits.
fn unescape(field: &str) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|digits| first == b'\\' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        if let Some(digits) = octal {
            path.push(
                digits
                    .iter()
                    .fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
            );
            rest = &after[3..];
        } else {
            path.push(first);
            rest = after;
        }
    }
    OsString::from_vec(path).into()
}

/// The mount that holds `path`, which must be absolute and without links: the deepest, and of equally deep ones
/// the last, since it covers the others.
pub(super) fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.as_os_str().as_bytes().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 8:2 / /home rw,noatime shared:7 master:3 - xfs /dev/sda2 rw,noquota
41 27 0:50 /@data /mnt/my\\040data\\134x ro - btrfs /dev/sdb1 ro,compress=zstd:3
42 27 8:3 / /home rw,nosuid - ext4 /dev/sda3 rw
a line that is no mount
";

    #[test]
    fn a_line_is_read_with_any_number_of_optional_fields() {
        let mounts = parse(TABLE);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[0].kind, "proc");
        assert_eq!(mounts[1].device, "254:0");
        assert!(mounts[1].is_shared_with("discard"));
        assert!(!mounts[1].is_shared_with("disc"));
        assert_eq!(mounts[2].options, "rw,noatime");
        assert_eq!(mounts[2].origin, Path::new("/dev/sda2"));
    }

    #[test]
    fn spaces_and_backslashes_are_unescaped() {
        let mount = &parse(TABLE)[3];
        assert_eq!(mount.point, Path::new("/mnt/my data\\x"));
        assert_eq!(mount.root, Path::new("/@data"));
    }

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let mounts = parse(TABLE);
        let device = |path: &str| holding(&mounts, Path::new(path)).map(|mount| mount.device.as_str());
        assert_eq!(device("/home/x/results"), Some("8:3"));
        assert_eq!(device("/homestead"), Some("254:0"));
        assert_eq!(device("/proc/self"), Some("0:21"));
        assert_eq!(holding(&[], Path::new("/")), None);
    }
}
