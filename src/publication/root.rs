//! The root of a run's integrity chain.

use std::fs;
use std::path::Path;

use crate::digest;

/// SHA-256 of the last line of a run's `chain.jsonl`, lower-case hexadecimal; `None` where the run has no chain.
pub fn root_of(directory: &Path) -> Option<String> {
    let chain = fs::read_to_string(directory.join("chain.jsonl")).ok()?;
    chain.lines().last().map(digest::of_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_root_without_its_line_end() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(root_of(directory.path()), None);
        fs::write(directory.path().join("chain.jsonl"), "first\nabc\n").unwrap();
        assert_eq!(root_of(directory.path()), Some(digest::of_bytes("abc")));
    }
}
