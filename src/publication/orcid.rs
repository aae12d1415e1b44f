//! The identifier of a person, with its check digit.

use std::fmt;

const HOME: &str = "https://orcid.org/";

/// An ORCID iD: sixteen characters in four groups, the last of which is a check digit (ISO 7064, MOD 11-2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orcid(String);

impl Orcid {
    /// From the address that a citation holds.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn from_url(url: &str) -> Result<Self, String> {
        let Some(bare) = url.strip_prefix(HOME) else {
            return Err(format!("{url:?} must be the whole address, {HOME}0000-…"));
        };
        let groups: Vec<&str> = bare.split('-').collect();
        let shaped = groups.len() == 4 && groups.iter().all(|group| group.len() == 4);
        let characters: Vec<u8> = groups.concat().into_bytes();
        let Some((last, digits)) = characters.split_last().filter(|_| shaped) else {
            return Err(format!("{bare:?} is not four groups of four characters"));
        };
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(format!("{bare:?} holds something else than digits"));
        }
        if *last == check_digit(digits) {
            Ok(Self(bare.to_owned()))
        } else {
            Err(format!(
                "{bare:?} has a wrong check digit: one of its digits is not right"
            ))
        }
    }

    /// Without the address, as data repositories take it.
    pub fn bare(&self) -> &str {
        &self.0
    }
}

/// As an address.
impl fmt::Display for Orcid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HOME}{}", self.0)
    }
}

fn check_digit(digits: &[u8]) -> u8 {
    let total = digits
        .iter()
        .fold(0u32, |total, digit| (total + u32::from(digit - b'0')) * 2 % 11);
    match (12 - total) % 11 {
        10 => b'X',
        digit => b'0' + digit as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of ORCID's own description of the check digit.
    #[test]
    fn known_ids_are_right() {
        for bare in ["0000-0002-1825-0097", "0000-0001-5109-3700", "0000-0002-1694-233X"] {
            let orcid = Orcid::from_url(&format!("{HOME}{bare}")).unwrap();
            assert_eq!((orcid.bare(), orcid.to_string()), (bare, format!("{HOME}{bare}")));
        }
    }

    #[test]
    fn every_wrong_digit_is_found() {
        let right = "0000-0002-1825-0097";
        for (place, letter) in right.char_indices().filter(|(_, letter)| letter.is_ascii_digit()) {
            for digit in ('0'..='9').filter(|digit| *digit != letter) {
                let mut wrong = right.to_owned();
                wrong.replace_range(place..=place, &digit.to_string());
                assert!(Orcid::from_url(&format!("{HOME}{wrong}")).is_err(), "{wrong}");
            }
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        for url in [
            "0000-0002-1825-0097",
            "http://orcid.org/0000-0002-1825-0097",
            "https://orcid.org/0000000218250097",
            "https://orcid.org/0000-0002-1825-009x",
            "https://orcid.org/",
            "https://orcid.org/0000-0002-18é5-009",
        ] {
            assert!(Orcid::from_url(url).is_err(), "{url}");
        }
    }
}
