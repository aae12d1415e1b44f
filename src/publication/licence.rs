//! The licences that data may be given to the public under.

use std::str::FromStr;

/// A licence for data. The software's own licence is another matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Licence {
    /// Anyone may use the data and names where they come from.
    CcBy40,
    /// No rights are kept.
    Cc0,
}

impl FromStr for Licence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "CC-BY-4.0" => Ok(Self::CcBy40),
            "CC0-1.0" => Ok(Self::Cc0),
            _ => Err("data is published under CC-BY-4.0 or CC0-1.0".to_owned()),
        }
    }
}

impl Licence {
    /// Its name in the SPDX list.
    pub fn spdx(self) -> &'static str {
        match self {
            Self::CcBy40 => "CC-BY-4.0",
            Self::Cc0 => "CC0-1.0",
        }
    }

    /// Its full name.
    pub fn name(self) -> &'static str {
        match self {
            Self::CcBy40 => "Creative Commons Attribution 4.0 International",
            Self::Cc0 => "Creative Commons Zero 1.0 Universal",
        }
    }

    /// Where it stands.
    pub fn url(self) -> &'static str {
        match self {
            Self::CcBy40 => "https://creativecommons.org/licenses/by/4.0/",
            Self::Cc0 => "https://creativecommons.org/publicdomain/zero/1.0/",
        }
    }

    /// The file LICENSE-DATA: the short notice, and where the whole text stands.
    pub fn notice(self, title: &str, authors: &str) -> String {
        let grant = match self {
            Self::CcBy40 => format!(
                "\"{title}\" by {authors} is licensed under\nCreative Commons Attribution 4.0 International. To view a copy of \
                 this licence, visit\n{}",
                self.url()
            ),
            Self::Cc0 => format!(
                "To the extent possible under law, {authors}\nhas waived all copyright and related or neighbouring rights \
                 to \"{title}\".\nTo view a copy of this dedication, visit\n{}",
                self.url()
            ),
        };
        format!(
            "SPDX-License-Identifier: {}\n\n{grant}\n\nThis file is the short notice. The whole legal text is the one at \
             that address:\n{}legalcode\n\nIt covers the data. The software that measured them has a licence of its own.\n",
            self.spdx(),
            self.url()
        )
    }
}
