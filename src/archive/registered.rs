//! What a run's archive holds about its claims: what was registered, and how the run stands to it. Rows both ways, since
//! analysis reads them from the archive alone.

use thiserror::Error;

use super::error::WriteError;
use super::ledger::Ledger;
use super::rows::Setting;
use super::timestamp::EvidenceFile;
use crate::manifest::{Claim, Comparison, Registration, Threshold};

/// Section of the rows about what the manifest registers.
const REGISTRATION: &str = "registration";
/// Section of the rows about how the run stands to a registration; an older run has none.
const STANDING: &str = "standing";

/// How a run stands to what was registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Its manifest, word for word, was registered before.
    Confirmatory(Registered),
    /// It was not, or the run departs from it.
    Exploratory {
        /// Why, e.g. `the manifest was not registered`.
        reason: String,
    },
}

/// The registration that a run is under, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// SHA-256 of the ledger's line, which names the registration.
    pub line: String,
    /// The line's place in the ledger, from 0.
    pub seq: u64,
    /// When it was registered, RFC 3339, UTC.
    pub at: String,
    /// The commit that the manifest's repository stood at, or `unknown`.
    pub commit: String,
    /// Whether that commit holds the very manifest: `yes`, `no` or `unknown`.
    pub manifest_committed: String,
    /// How many-th start under the registration this run is, from 1; those that were aborted count. 0 before the start.
    pub start: u64,
}

/// A row about a claim that is missing or makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the archived manifest has no usable {section}.{key}")]
pub struct ClaimFault {
    /// Which claim, e.g. `claims[0]`.
    pub section: String,
    /// Name within it.
    pub key: &'static str,
}

impl Standing {
    /// Of a run that says nothing about it.
    pub fn unregistered() -> Self {
        Self::Exploratory {
            reason: "the manifest was not registered before the run".to_owned(),
        }
    }

    /// Whether nothing that the run shows confirms anything.
    pub fn is_exploratory(&self) -> bool {
        matches!(self, Self::Exploratory { .. })
    }

    /// The same with the number of the start, which [`Ledger::begin`] gives.
    pub(super) fn numbered(&self, ledger: &Ledger) -> Result<Self, WriteError> {
        match self {
            Self::Exploratory { .. } => {
                ledger.begin(None)?;
                Ok(self.clone())
            }
            Self::Confirmatory(registered) => Ok(Self::Confirmatory(Registered {
                start: ledger.begin(Some(&registered.line))?,
                ..registered.clone()
            })),
        }
    }

    /// Rows for the archive.
    pub fn rows(&self, evidence: &[EvidenceFile]) -> Vec<Setting> {
        let mut rows = match self {
            Self::Exploratory { reason } => vec![row(STANDING, "kind", "exploratory"), row(STANDING, "reason", reason)],
            Self::Confirmatory(registered) => vec![
                row(STANDING, "kind", "confirmatory"),
                row(STANDING, "line", &registered.line),
                row(STANDING, "seq", &registered.seq.to_string()),
                row(STANDING, "at", &registered.at),
                row(STANDING, "commit", &registered.commit),
                row(STANDING, "manifest_committed", &registered.manifest_committed),
                row(STANDING, "start", &registered.start.to_string()),
            ],
        };
        for (place, file) in evidence.iter().enumerate() {
            let mut add = |key: &str, value: &str| rows.push(row(STANDING, &format!("evidence[{place}].{key}"), value));
            add("file", &file.name);
            add("sha256", &file.sha256);
            add("time", file.stamp.time.as_deref().unwrap_or("unknown"));
        }
        rows
    }

    /// From the rows of an archive. What is not plainly confirmatory is exploratory.
    pub fn of(rows: &[Setting]) -> Self {
        let text = |key: &str| value(rows, STANDING, key).map(str::to_owned);
        match text("kind").as_deref() {
            Some("confirmatory") => {
                let registered = || {
                    Some(Registered {
                        line: text("line")?,
                        seq: text("seq")?.parse().ok()?,
                        at: text("at")?,
                        commit: text("commit")?,
                        manifest_committed: text("manifest_committed")?,
                        start: text("start")?.parse().ok()?,
                    })
                };
                registered().map_or_else(Self::unregistered, Self::Confirmatory)
            }
            Some(_) => text("reason").map_or_else(Self::unregistered, |reason| Self::Exploratory { reason }),
            None => Self::unregistered(),
        }
    }
}

/// What a manifest registers, as rows.
pub fn registration_rows(registration: &Registration) -> Vec<Setting> {
    let Registration {
        disproof,
        estimand,
        exclusions,
        novelty,
    } = registration;
    let mut rows = vec![
        row(REGISTRATION, "disproof", disproof),
        row(REGISTRATION, "estimand", estimand),
        row(REGISTRATION, "exclusions", exclusions),
        row(REGISTRATION, "novelty.date", &novelty.date.to_string()),
    ];
    for (key, texts) in [("sources", &novelty.sources), ("queries", &novelty.queries)] {
        let numbered = texts.iter().enumerate();
        rows.extend(numbered.map(|(place, text)| row(REGISTRATION, &format!("novelty.{key}[{place}]"), text)));
    }
    rows.push(row(REGISTRATION, "novelty.finding", &novelty.finding));
    rows
}

/// Claims as rows, a section a claim.
pub fn claims_rows(claims: &[Claim]) -> Vec<Setting> {
    let numbered = claims.iter().enumerate();
    numbered
        .flat_map(|(place, claim)| claim_rows(&section(place), claim))
        .collect()
}

fn claim_rows(section: &str, claim: &Claim) -> Vec<Setting> {
    let number = |key: &str, value: f64, unit: &str| Setting {
        unit: unit.to_owned(),
        ..row(section, key, &value.to_string())
    };
    let mut rows = vec![
        row(section, "id", &claim.id),
        row(section, "figure", &claim.figure),
        row(section, "comparison", claim.comparison.as_str()),
    ];
    match &claim.threshold {
        Threshold::Value(value) => rows.push(number("value", *value, &claim.unit)),
        Threshold::Times { factor, of } => {
            rows.push(number("factor", *factor, "1"));
            rows.push(row(section, "of", of));
        }
    }
    rows.push(number("margin", claim.margin, &claim.unit));
    rows.extend(claim.because.as_ref().map(|because| row(section, "because", because)));
    rows
}

/// The claims of an archive, in the manifest's order.
///
/// # Errors
/// [`ClaimFault`].
pub fn claims_of(rows: &[Setting]) -> Result<Vec<Claim>, ClaimFault> {
    let is_there = |place: &usize| rows.iter().any(|row| row.section == section(*place));
    (0..)
        .take_while(is_there)
        .map(|place| claim_of(rows, &section(place)))
        .collect()
}

fn claim_of(rows: &[Setting], section: &str) -> Result<Claim, ClaimFault> {
    let fault = |key| ClaimFault {
        section: section.to_owned(),
        key,
    };
    let text = |key: &'static str| value(rows, section, key);
    let needed = |key: &'static str| text(key).map(str::to_owned).ok_or_else(|| fault(key));
    let number = |key: &'static str| {
        let parsed = text(key).and_then(|text| text.parse::<f64>().ok());
        parsed.filter(|number| number.is_finite()).ok_or_else(|| fault(key))
    };
    let comparison = needed("comparison")?;
    let comparison = Comparison::ALL.into_iter().find(|one| one.as_str() == comparison);
    let threshold = match text("of") {
        Some(of) => Threshold::Times {
            factor: number("factor")
                .ok()
                .filter(|factor| *factor > 0.0)
                .ok_or_else(|| fault("factor"))?,
            of: of.to_owned(),
        },
        None => Threshold::Value(number("value")?),
    };
    let margin = rows.iter().find(|row| row.section == section && row.key == "margin");
    Ok(Claim {
        id: needed("id")?,
        figure: needed("figure")?,
        unit: margin.map(|row| row.unit.clone()).ok_or_else(|| fault("margin"))?,
        comparison: comparison.ok_or_else(|| fault("comparison"))?,
        threshold,
        margin: number("margin")
            .ok()
            .filter(|margin| *margin >= 0.0)
            .ok_or_else(|| fault("margin"))?,
        because: text("because").map(str::to_owned),
    })
}

fn section(place: usize) -> String {
    format!("claims[{place}]")
}

fn row(section: &str, key: &str, value: &str) -> Setting {
    Setting {
        section: section.to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
        unit: String::new(),
    }
}

fn value<'r>(rows: &'r [Setting], section: &str, key: &str) -> Option<&'r str> {
    let found = rows.iter().find(|row| row.section == section && row.key == key);
    found.map(|row| row.value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_come_back_as_they_went() {
        let claim = |comparison, threshold, because: Option<&str>| Claim {
            id: "a-b".to_owned(),
            figure: "cell[plans=40].difference.median".to_owned(),
            unit: "ns".to_owned(),
            comparison,
            threshold,
            margin: 0.1 + 0.2,
            because: because.map(str::to_owned),
        };
        let times = Threshold::Times {
            factor: 1.14,
            of: "cell[plans=10].difference.median".to_owned(),
        };
        let claims = vec![
            claim(Comparison::AtLeast, Threshold::Value(-1e-7), None),
            claim(Comparison::Within, times, Some("it was reported")),
        ];
        let mut rows = claims_rows(&claims);
        assert_eq!(claims_of(&rows), Ok(claims));
        assert_eq!(claims_of(&[]), Ok(Vec::new()));
        let margin = rows.iter_mut().rfind(|row| row.key == "margin").unwrap();
        margin.value = "NaN".to_owned();
        let fault = claims_of(&rows).unwrap_err();
        assert_eq!((fault.section.as_str(), fault.key), ("claims[1]", "margin"));
    }

    #[test]
    fn what_is_not_plainly_confirmatory_is_exploratory() {
        let standing = Standing::Confirmatory(Registered {
            line: "l".to_owned(),
            seq: 4,
            at: "2026-11-30T20:00:00Z".to_owned(),
            commit: "unknown".to_owned(),
            manifest_committed: "unknown".to_owned(),
            start: 2,
        });
        let rows = standing.rows(&[]);
        assert_eq!(Standing::of(&rows), standing);
        for missing in 0..rows.len() {
            let fewer: Vec<Setting> = (rows.iter().enumerate())
                .filter(|(place, _)| *place != missing)
                .map(|(_, row)| row.clone())
                .collect();
            assert!(Standing::of(&fewer).is_exploratory(), "{fewer:?}");
        }
        let forced = Standing::Exploratory {
            reason: "--exploratory was given".to_owned(),
        };
        assert_eq!(Standing::of(&forced.rows(&[])), forced);
    }
}
