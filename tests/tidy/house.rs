//! The repository's own Rust files, read so that rules can be asked of them.

use std::fs;
use std::path::Path;

/// The Rust files of a repository.
pub(crate) struct House {
    pub(crate) files: Vec<File>,
}

impl House {
    pub(crate) fn this() -> Self {
        Self::under(Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    pub(crate) fn under(root: &Path) -> Self {
        let mut files = Vec::new();
        for start in ["src", "tests", "benches", "build.rs"] {
            collect(&root.join(start), start, &mut files);
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Self { files }
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.starts_with("src/"))
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn collect(place: &Path, name: &str, files: &mut Vec<File>) {
    if place.is_dir() {
        for entry in fs::read_dir(place).unwrap().map(Result::unwrap) {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            collect(&entry.path(), &name, files);
        }
    } else if place.is_file() && place.extension().is_some_and(|ending| ending == "rs") {
        files.push(File::new(name, fs::read_to_string(place).unwrap()));
    }
}

/// One file, as it stands and with parts blanked out; all three have the same lines.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    /// The lines without comments.
    pub(crate) code: Vec<String>,
    /// The lines without comments and without test modules: rooms' arrows don't bind tests.
    shipped: Vec<String>,
}

impl File {
    pub(crate) fn new(path: &str, text: String) -> Self {
        let code: Vec<String> = text.lines().map(without_comment).collect();
        let tests = if path.ends_with("/tests.rs") {
            0
        } else {
            start_of_tests(&code)
        };
        let shipped = code
            .iter()
            .enumerate()
            .map(|(index, line)| if index < tests { line.clone() } else { String::new() });
        Self {
            path: path.to_owned(),
            shipped: shipped.collect(),
            code,
            text,
        }
    }

    pub(crate) fn violation(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }

    /// Whether the file is `room`'s, which may be one file or a directory.
    pub(crate) fn is_in(&self, room: &str) -> bool {
        self.path
            .strip_prefix(room)
            .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }

    /// The numbers of the lines that mention a path, also by way of a group (`use crate::{run, units}`) or of `super`.
    pub(crate) fn mentions(&self, path: &str) -> Vec<usize> {
        let mut lines = lines_with(&self.shipped, path);
        if let Some(room) = path.strip_prefix("crate::") {
            lines.extend(lines_with(
                &self.shipped,
                &format!("{}{room}", "super::".repeat(self.depth())),
            ));
        }
        let imported = self.imports().into_iter().filter(|(_, import)| holds(import, path));
        lines.extend(imported.map(|(line, _)| line));
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// How many modules lie between this file's module and the crate.
    fn depth(&self) -> usize {
        let parts = self.path.trim_end_matches("/mod.rs").matches('/').count();
        parts.max(1)
    }

    /// Every path that a `use` brings in, with the line on which the `use` begins.
    fn imports(&self) -> Vec<(usize, String)> {
        let mut imports = Vec::new();
        for (index, line) in self.shipped.iter().enumerate() {
            let Some(at) = line.find("use ").filter(|_| holds(line, "use")) else {
                continue;
            };
            let rest = [&line[at + 4..]]
                .into_iter()
                .chain(self.shipped[index + 1..].iter().map(String::as_str));
            let statement = rest.collect::<Vec<_>>().join(" ");
            let tree = statement.split(';').next().unwrap_or_default();
            let mut paths = Vec::new();
            expand("", tree, &mut paths);
            imports.extend(paths.into_iter().map(|path| (index + 1, path)));
        }
        imports
    }
}

/// Spells out an import tree: `a::{b, c::{d}}` is `a::b` and `a::c::d`.
fn expand(before: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, group)) = tree.split_once('{') else {
        paths.push(format!("{before}{}", tree.trim()));
        return;
    };
    let before = format!("{before}{}", head.trim());
    let group = group.rsplit_once('}').map_or(group, |(inner, _)| inner);
    let (mut depth, mut start) = (0i32, 0);
    for (at, letter) in group.char_indices() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if letter == ',' && depth == 0 {
            expand(&before, &group[start..at], paths);
            start = at + 1;
        }
    }
    expand(&before, &group[start..], paths);
}

/// The numbers of the lines that hold `word` as a word.
pub(crate) fn lines_with(lines: &[String], word: &str) -> Vec<usize> {
    let numbered = lines.iter().enumerate().filter(|(_, line)| holds(line, word));
    numbered.map(|(index, _)| index + 1).collect()
}

/// Whether `line` holds `word` and not as a part of a longer name.
fn holds(line: &str, word: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_open = !word.ends_with(char::is_alphanumeric);
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_name) && (is_open || !after.starts_with(is_name))
    })
}

/// The line up to a comment. A `//` within a string is no comment.
fn without_comment(line: &str) -> String {
    let (mut quoted, mut previous) = (false, ' ');
    for (at, letter) in line.char_indices() {
        match letter {
            '"' if previous != '\\' && !(previous == '\'' && line[at + 1..].starts_with('\'')) => {
                quoted = !quoted;
            }
            '/' if previous == '/' && !quoted => return line[..at - 1].to_owned(),
            _ => {}
        }
        previous = if previous == '\\' && letter == '\\' {
            ' '
        } else {
            letter
        };
    }
    line.to_owned()
}

/// Where the test module at a file's end begins; clippy sees that nothing follows it.
fn start_of_tests(code: &[String]) -> usize {
    let is_module = |line: &String| line.trim_start().starts_with("mod ") && line.trim_end().ends_with('{');
    let begins = |pair: &[String]| pair[0].trim() == "#[cfg(test)]" && is_module(&pair[1]);
    code.windows(2).position(begins).unwrap_or(code.len())
}
