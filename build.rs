//! Hands over to the program what it is built from: the commit, the compiler and its settings.
//!
//! It never makes a build fail. What can't be found out, for instance because the sources came without git, is
//! handed over as an empty text.

use std::env;
use std::path::Path;
use std::process::Command;

/// What the executable is made of; edits elsewhere don't make it dirty.
const SOURCES: [&str; 4] = ["src", "Cargo.toml", "Cargo.lock", "build.rs"];

fn main() {
    SOURCES.into_iter().for_each(watch);
    hand_over_git();
    hand_over_compiler();
    for name in ["TARGET", "PROFILE", "OPT_LEVEL"] {
        hand_over(name, env::var(name).ok());
    }
    hand_over("FEATURES", env::var("CARGO_CFG_FEATURE").ok());
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo:rerun-if-env-changed=RUSTFLAGS");
    hand_over(
        "RUSTFLAGS",
        env::var("CARGO_ENCODED_RUSTFLAGS")
            .ok()
            .map(|flags| flags.replace('\x1f', " ")),
    );
}

/// The commit, and whether the sources differ from it. Sources that merely lie inside someone else's repository have
/// neither: git must know this very package.
fn hand_over_git() {
    let is_ours = git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_some();
    let ours = |arguments: &[&str]| if is_ours { git(arguments) } else { None };
    let commit = ours(&["rev-parse", "--verify", "HEAD"]);
    let status = ours(&[&["status", "--porcelain", "--untracked-files=all", "--"], &SOURCES[..]].concat());
    let dirty = commit
        .as_ref()
        .and(status)
        .map(|changes| (!changes.is_empty()).to_string());
    hand_over("GIT_COMMIT", commit);
    hand_over("GIT_DIRTY", dirty);

    // A commit, a reset or another branch shows in HEAD and its log; where no log is kept, in the branches. The index
    // needn't be watched: what is staged doesn't change whether the sources equal the commit.
    let place = |name: &str| ours(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists());
    let history = place("logs/HEAD").map_or_else(
        || vec![place("packed-refs"), place("refs/heads")],
        |log| vec![Some(log)],
    );
    for path in history.into_iter().chain([place("HEAD")]).flatten() {
        watch(&path);
    }
}

/// The compiler's version line and the machine it runs on.
fn hand_over_compiler() {
    let compiler = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let told = output(Command::new(compiler).arg("-vV")).unwrap_or_default();
    hand_over("RUSTC", told.lines().next().map(str::to_owned));
    hand_over(
        "HOST",
        told.lines()
            .find_map(|line| line.strip_prefix("host: "))
            .map(str::to_owned),
    );
}

fn hand_over(name: &str, value: Option<String>) {
    println!(
        "cargo:rustc-env=PREVIEW_COST_{name}={}",
        value.unwrap_or_default().replace('\n', " ")
    );
}

/// Has cargo rerun this script when `path` changes. It must exist: cargo takes a missing file for an ever-changing one.
fn watch(path: &str) {
    println!("cargo:rerun-if-changed={path}");
}

/// Asks git about the package's directory, whatever hook or shell the build was started from, and writes nothing.
fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    output(command.arg("--no-optional-locks").args(arguments))
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}
