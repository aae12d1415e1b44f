//! What may be archived of this machine and of the server's address: nothing that names them.
//!
//! Facts and reasons are written by many hands, and an operating system's message may quote an address or a path. So
//! everything passes here before it is archived: this machine's names, its user's name and home, the server's host and
//! every address that is not the loopback's become `***`.
//!
//! A salted hash in their place was considered. Names and addresses are few enough to be guessed one by one, so that a
//! hash whose salt is archived gives them away; and one whose salt is forgotten tells two runs apart even where they are
//! of one machine. Neither says more than `***`. What matters for a figure (processor, kernel, memory, file system) is
//! archived in plain words, and tells machines apart well enough to compare runs.

use std::env;
use std::net::IpAddr;

use super::fact::{Fact, FactStatus};
use super::privacy::MASK;

/// Names that say nothing of anybody.
const COMMON: [&str; 4] = ["localhost", "localdomain", "root", "postgres"];

/// Facts whose value is a place on this machine, which tells nothing once the run is over.
const PLACES: [(&str, &str); 1] = [("provision", "data_directory")];

/// The words that are kept out of an archive.
#[derive(Debug, Clone, Default)]
pub struct Discretion {
    words: Vec<String>,
    home: Option<String>,
}

impl Discretion {
    /// This machine's names, and its user's.
    pub fn of_this_machine() -> Self {
        let mut discretion = Self::default();
        if let Ok(host) = nix::unistd::gethostname() {
            discretion.add(&host.to_string_lossy());
        }
        for name in ["USER", "LOGNAME", "SUDO_USER"] {
            if let Ok(user) = env::var(name) {
                discretion.add(&user);
            }
        }
        if let Ok(Some(user)) = nix::unistd::User::from_uid(nix::unistd::geteuid()) {
            discretion.add(&user.name);
        }
        discretion.home = env::var("HOME").ok().filter(|home| home.len() > 1);
        discretion
    }

    /// Keeps out one more name: the server's host. An address needs no mention.
    pub fn add(&mut self, name: &str) {
        if name.parse::<IpAddr>().is_ok() {
            return;
        }
        let labels = [name, name.split('.').next().unwrap_or_default()];
        for label in labels {
            let known = COMMON.contains(&label) || self.words.iter().any(|word| word == label);
            if label.len() > 1 && !known {
                self.words.push(label.to_owned());
            }
        }
        // The longest first, so that a whole name goes before its first label.
        self.words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    }

    /// A text with what is private replaced.
    pub fn text(&self, text: &str) -> String {
        let mut told = self.without_home(text);
        for word in &self.words {
            told = without(&told, word);
        }
        without_addresses(&told)
    }

    fn without_home(&self, text: &str) -> String {
        match &self.home {
            Some(home) => text.replace(home.as_str(), MASK),
            None => text.to_owned(),
        }
    }

    /// A fact that may be archived. Its source is this program's own words, which may hold a place but no name: a host
    /// called `vm` must not bend `/proc/sys/vm`.
    pub fn fact(&self, fact: Fact) -> Fact {
        let Some(value) = &fact.value else { return fact };
        let told = self.text(value);
        let is_place = PLACES.contains(&(fact.scope.as_str(), fact.key.as_str()));
        if is_place || (told != *value && told == MASK) {
            return Fact {
                value: None,
                status: FactStatus::Masked,
                source: self.without_home(&fact.source),
                ..fact
            };
        }
        Fact {
            value: Some(told),
            source: self.without_home(&fact.source),
            ..fact
        }
    }
}

/// Replaces a word where it stands by itself.
fn without(text: &str, word: &str) -> String {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let mut told = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let joined = is_part(before.chars().next_back().or_else(|| told.chars().next_back()));
        let stands = !joined && !is_part(after.chars().next());
        told.push_str(before);
        told.push_str(if stands { MASK } else { word });
        rest = after;
    }
    told + rest
}

/// Replaces every address that is neither the loopback's nor the one for all.
fn without_addresses(text: &str) -> String {
    let is_of_address = |letter: char| letter.is_ascii_hexdigit() || letter == '.' || letter == ':';
    let mut told = String::new();
    let mut word = String::new();
    for letter in text.chars().map(Some).chain([None]) {
        match letter {
            Some(letter) if is_of_address(letter) => word.push(letter),
            other => {
                told.push_str(&masked_address(&word));
                word.clear();
                told.extend(other);
            }
        }
    }
    told
}

/// The word, or what is kept of it. A port after an address of the fourth version is kept.
fn masked_address(word: &str) -> String {
    let bare = word.trim_end_matches(['.', ':']);
    let (address, rest) = match bare.parse::<IpAddr>() {
        Ok(address) => (address, &word[bare.len()..]),
        Err(_) => match bare
            .rsplit_once(':')
            .and_then(|(host, _)| Some((host.parse().ok()?, host.len())))
        {
            Some((address, length)) => (address, &word[length..]),
            None => return word.to_owned(),
        },
    };
    if address.is_loopback() || address.is_unspecified() {
        word.to_owned()
    } else {
        format!("{MASK}{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discretion() -> Discretion {
        let mut discretion = Discretion {
            words: Vec::new(),
            home: Some("/home/alice".to_owned()),
        };
        for name in ["box7.example.org", "alice", "postgres", "10.1.2.3"] {
            discretion.add(name);
        }
        discretion
    }

    #[test]
    fn names_places_and_addresses_go() {
        for (raw, told) in [
            (
                "cannot reach PostgreSQL at box7.example.org:5432: refused",
                "cannot reach PostgreSQL at ***:5432: refused",
            ),
            ("box7 is up, box77 is not", "*** is up, box77 is not"),
            (
                "no entry for host \"10.1.2.3\", user \"alice\"",
                "no entry for host \"***\", user \"***\"",
            ),
            ("-D /home/alice/data -k /tmp", "-D ***/data -k /tmp"),
            ("at 10.1.2.3:5432: timed out", "at ***:5432: timed out"),
            ("at 2001:db8::7. Gone", "at ***. Gone"),
            ("fe80::1", "***"),
        ] {
            assert_eq!(discretion().text(raw), told);
        }
    }

    #[test]
    fn what_names_nobody_stays() {
        for text in [
            "127.0.0.1:5432",
            "::1",
            "0.0.0.0",
            "PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64",
            "6.1.0-13-amd64",
            "2026-11-30 12:00:00",
            "malice",
            "postgres",
            "0::/",
        ] {
            assert_eq!(discretion().text(text), text);
        }
    }

    #[test]
    fn a_fact_that_was_nothing_else_is_masked() {
        let fact = |key: &str, value: &str| discretion().fact(Fact::known("provision", key, value, "order"));
        assert_eq!(fact("server.user", "alice").status, FactStatus::Masked);
        assert_eq!(fact("data_directory", "/tmp/x").value, None);
        assert_eq!(fact("server.user", "postgres").value.as_deref(), Some("postgres"));
        assert_eq!(
            fact("server.options", "-k /home/alice").value.as_deref(),
            Some("-k ***")
        );
    }
}
