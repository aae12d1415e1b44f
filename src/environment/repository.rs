//! Which commit a file's repository stands at, and whether that commit holds the very file.

use std::path::Path;
use std::process::Command;

/// What git says about a file; what it doesn't say is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// The full hash of the commit; `None` where it is unknown: no git, no repository, no commit.
    pub commit: Option<String>,
    /// Whether the commit holds the file with these very bytes; `None` where it is unknown.
    pub holds: Option<bool>,
}

impl Committed {
    /// Asks git about a file whose content is known.
    pub fn of(file: &Path, content: &[u8]) -> Self {
        let commit = git(file, &["rev-parse", "--verify", "HEAD"]);
        let commit = commit.and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(commit) = commit.map(|text| text.trim().to_owned()) else {
            return Self::default();
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let held = git(file, &["cat-file", "blob", &format!("{commit}:./{name}")]);
        Self {
            holds: Some(held.is_some_and(|held| held == content)),
            commit: Some(commit),
        }
    }

    /// The commit, or the word for that it is unknown.
    pub fn commit_or_unknown(&self) -> &str {
        self.commit.as_deref().unwrap_or("unknown")
    }

    /// `yes`, `no` or `unknown`: whether the commit holds the file.
    pub fn holds_or_unknown(&self) -> &'static str {
        match self.holds {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        }
    }
}

/// What git prints about the repository that a file lies in, whatever hook or shell this program was started from.
fn git(file: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command.current_dir(directory.unwrap_or(Path::new(".")));
    let output = command.arg("--no-optional-locks").args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committed_file_is_told_from_a_changed_and_from_an_unknown_one() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("m.toml");
        std::fs::write(&file, "a = 1\n").unwrap();
        assert_eq!(Committed::of(&file, b"a = 1\n"), Committed::default());
        let who = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "-c",
            "commit.gpgsign=false",
        ];
        git(&file, &["init", "--quiet"]).unwrap();
        git(&file, &["add", "m.toml"]).unwrap();
        git(&file, &[&who[..], &["commit", "--quiet", "--message=one"]].concat()).unwrap();
        let said = Committed::of(&file, b"a = 1\n");
        assert_eq!(said.holds_or_unknown(), "yes");
        assert_eq!(said.commit_or_unknown().len(), 40);
        assert_eq!(Committed::of(&file, b"a = 2\n").holds, Some(false));
        assert_eq!(
            Committed::of(&file.with_file_name("n.toml"), b"a = 1\n").holds,
            Some(false)
        );
    }
}
