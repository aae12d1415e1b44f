//! Looking at processes through /proc: whose child is whom, who still runs, and what their command lines say.

use std::fs;

/// The fields of a process's status line after its name: state, parent, ….
fn stat(pid: i32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = text.rsplit_once(')')?.1;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Whether a process runs; one that only waits to be reaped does not.
pub fn is_running(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| !["Z", "X"].contains(&fields[0].as_str()))
}

/// The processes that run and were started by this one.
pub fn children(parent: i32) -> Vec<i32> {
    let parent = parent.to_string();
    all()
        .filter(|&pid| is_running(pid) && stat(pid).is_some_and(|fields| fields[1] == parent))
        .collect()
}

/// A process and everything that it started, directly or not.
pub fn family(ancestor: i32) -> Vec<i32> {
    let mut family = vec![ancestor];
    let mut next = 0;
    while let Some(&member) = family.get(next) {
        family.extend(children(member));
        next += 1;
    }
    family
}

/// The words of a process's command line.
pub fn command_line(pid: i32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.split('\0')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The only child of a process that runs as this hidden subcommand, if there is one now.
pub fn child_as(parent: i32, subcommand: &str) -> Option<i32> {
    children(parent)
        .into_iter()
        .find(|&child| command_line(child).get(1).is_some_and(|word| word == subcommand))
}
