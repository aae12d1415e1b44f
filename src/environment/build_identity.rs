//! What this program was built from, and how.
//!
//! The build script finds out what it can and hands it over through the compiler's environment; an empty text
//! there means that it could not be found, for instance because the sources came without git.

use std::env;
use std::fs::File;
use std::io;
use std::sync::OnceLock;

use super::fact::{Fact, FactStatus};
use super::privacy;
use crate::digest;

const SCOPE: &str = "build";
const BUILD_SCRIPT: &str = "build script";
const CARGO: &str = "cargo";
const LOCK_FILE: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"));

/// What the running program was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildIdentity {
    /// The version in `Cargo.toml`.
    pub version: &'static str,
    /// The full hash of the commit; `None` if the sources came without git.
    pub git_commit: Option<&'static str>,
    /// Whether what the program is made of (`src`, `Cargo.toml`, `Cargo.lock`, `build.rs`) differed from that commit.
    pub dirty: Option<bool>,
    /// The compiler's version line, e.g. `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub rustc: Option<&'static str>,
    /// The machine that compiled, as a target triple.
    pub host: Option<&'static str>,
    /// The machine that was compiled for, as a target triple.
    pub target: Option<&'static str>,
    /// `debug` or `release`: the profile that this one is derived from.
    pub profile: Option<&'static str>,
    /// `0` to `3`, `s` or `z`.
    pub opt_level: Option<&'static str>,
    /// The crate's features, separated by commas; `None` if it was built without any.
    pub features: Option<&'static str>,
    /// Flags given to the compiler beside cargo's own, separated by spaces; `None` if there were none.
    pub rustflags: Option<&'static str>,
}

/// What the running program was made from, as far as it was found out when it was built.
pub fn identity() -> BuildIdentity {
    BuildIdentity {
        version: env!("CARGO_PKG_VERSION"),
        git_commit: found(env!("PREVIEW_COST_GIT_COMMIT")),
        dirty: found(env!("PREVIEW_COST_GIT_DIRTY")).map(|dirty| dirty == "true"),
        rustc: found(env!("PREVIEW_COST_RUSTC")),
        host: found(env!("PREVIEW_COST_HOST")),
        target: found(env!("PREVIEW_COST_TARGET")),
        profile: found(env!("PREVIEW_COST_PROFILE")),
        opt_level: found(env!("PREVIEW_COST_OPT_LEVEL")),
        features: found(env!("PREVIEW_COST_FEATURES")),
        rustflags: found(env!("PREVIEW_COST_RUSTFLAGS")),
    }
}

/// Every fact about the build. The keys are the same in every build.
///
/// The first call reads the executable once to digest it; later calls reuse the digest, since the file of a running
/// program doesn't change.
pub fn build_facts() -> Vec<Fact> {
    let build = identity();
    let facts = [
        ("version", Some(build.version), CARGO),
        ("git.commit", build.git_commit, "git rev-parse HEAD"),
        (
            "git.dirty",
            build.dirty.map(|dirty| if dirty { "true" } else { "false" }),
            "git status",
        ),
        ("rustc.version", build.rustc, "rustc -vV"),
        ("rustc.host", build.host, "rustc -vV"),
        ("target", build.target, BUILD_SCRIPT),
        ("profile", build.profile, BUILD_SCRIPT),
        ("opt_level", build.opt_level, BUILD_SCRIPT),
        (
            "debug_assertions",
            Some(if cfg!(debug_assertions) { "true" } else { "false" }),
            "cfg",
        ),
        ("features", build.features.or(Some("none")), BUILD_SCRIPT),
    ];
    let mut facts: Vec<Fact> = facts
        .into_iter()
        .map(|(key, value, source)| fact(key, value, source))
        .collect();
    let flags = build.rustflags.map_or_else(|| "none".to_owned(), mask_flags);
    facts.push(fact("rustflags", Some(&flags), "CARGO_ENCODED_RUSTFLAGS"));
    facts.push(fact(
        "cargo_lock.sha256",
        Some(&digest::of_bytes(LOCK_FILE)),
        "Cargo.lock",
    ));
    facts.push(executable_fact());
    facts
}

fn found(text: &'static str) -> Option<&'static str> {
    (!text.is_empty()).then_some(text)
}

fn fact(key: &str, value: Option<&str>, source: &str) -> Fact {
    match value {
        Some(value) => Fact::known(SCOPE, key, value, source),
        None => Fact::unknown(SCOPE, key, FactStatus::Absent, source),
    }
}

/// Compiler flags without the places that they name.
fn mask_flags(flags: &str) -> String {
    flags
        .split(' ')
        .map(privacy::mask_parameter)
        .collect::<Vec<_>>()
        .join(" ")
}

fn executable_fact() -> Fact {
    static DIGEST: OnceLock<Result<String, FactStatus>> = OnceLock::new();
    let (key, source) = ("executable.sha256", "current_exe");
    match DIGEST.get_or_init(|| digest_of_executable().map_err(|error| status_of(&error))) {
        Ok(digest) => Fact::known(SCOPE, key, digest, source),
        Err(status) => Fact::unknown(SCOPE, key, *status, source),
    }
}

fn status_of(error: &io::Error) -> FactStatus {
    if error.kind() == io::ErrorKind::PermissionDenied {
        FactStatus::Denied
    } else {
        FactStatus::Absent
    }
}

/// On Linux the running file itself is opened, which may no longer be the one under its name.
fn digest_of_executable() -> io::Result<String> {
    let file = if cfg!(target_os = "linux") {
        File::open("/proc/self/exe")
    } else {
        File::open(env::current_exe()?)
    };
    digest::of_reader(file?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(facts: &'a [Fact], key: &str) -> Option<&'a str> {
        let mut named = facts.iter().filter(|fact| fact.key == key);
        let fact = named.next().unwrap_or_else(|| panic!("no fact {key}"));
        assert!(named.next().is_none(), "{key} is there twice");
        fact.value.as_deref()
    }

    #[test]
    fn the_build_is_told() {
        let facts = build_facts();
        assert_eq!(value(&facts, "version"), Some(env!("CARGO_PKG_VERSION")));
        assert!(value(&facts, "rustc.version").unwrap().starts_with("rustc "));
        assert!(value(&facts, "target").is_some());
        for key in ["cargo_lock.sha256", "executable.sha256"] {
            assert_eq!(value(&facts, key).unwrap().len(), 64, "{key}");
        }
        for fact in &facts {
            assert_eq!(fact.value.is_some(), fact.status == FactStatus::Ok, "{}", fact.key);
            assert!(
                !fact.value.as_deref().unwrap_or_default().contains("/root"),
                "{} names a place",
                fact.key
            );
        }
    }

    #[test]
    fn the_same_build_tells_the_same_twice() {
        assert_eq!(build_facts(), build_facts());
    }

    #[test]
    fn a_commit_and_its_dirty_state_come_together() {
        let build = identity();
        assert_eq!(build.git_commit.is_some(), build.dirty.is_some());
        assert!(build.git_commit.is_none_or(|commit| commit.len() >= 40));
    }

    #[test]
    fn flags_lose_their_places() {
        assert_eq!(
            mask_flags("-C target-cpu=native --remap-path-prefix=/home/alice=x"),
            "-C target-cpu=native --remap-path-prefix=***"
        );
        assert_eq!(mask_flags("-L /opt/lib -Clto"), "-L *** -Clto");
    }
}
