//! The password file, read by libpq's rules.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Host, Secret, Target};

/// What a password file had to offer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The password of the first line that fits.
    Password(Secret),
    /// No file, or no line that fits.
    Nothing,
    /// Others than the owner may use the file, so libpq would not, and neither do we.
    Ignored,
}

/// Looks for the password of `target` in the file at `path`.
pub(super) fn look_up(path: &Path, target: &Target) -> Finding {
    let Ok(metadata) = fs::metadata(path) else {
        return Finding::Nothing;
    };
    if !metadata.is_file() {
        return Finding::Nothing;
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Finding::Ignored;
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    search(&text, target).map_or(Finding::Nothing, Finding::Password)
}

fn search(text: &str, target: &Target) -> Option<Secret> {
    let host = match &target.host {
        Host::Name(name) => name.clone(),
        Host::Socket(path) if path == Path::new("/tmp") || path == Path::new("/var/run/postgresql") => {
            "localhost".to_owned()
        }
        Host::Socket(path) => path.to_string_lossy().into_owned(),
    };
    let wanted = [host.as_str(), &target.port.to_string(), &target.dbname, &target.user];
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| password_of(line, wanted))
        .filter(|password| !password.is_empty())
        .map(Secret::new)
}

/// The password of `line`, if its first four fields fit.
fn password_of(line: &str, wanted: [&str; 4]) -> Option<String> {
    let mut rest = line;
    for want in wanted {
        rest = if let Some(after) = rest.strip_prefix("*:") {
            after
        } else {
            let (field, after) = field(rest);
            after.filter(|_| field == want)?
        };
    }
    Some(field(rest).0)
}

/// The text up to the next bare `:`, unescaped, and what follows the `:` if there was one.
fn field(text: &str) -> (String, Option<&str>) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.push(characters.next().map_or('\\', |(_, escaped)| escaped)),
            ':' => return (value, Some(&text[at + 1..])),
            other => value.push(other),
        }
    }
    (value, None)
}
