//! What an experiment is: a TOML file, checked whole before anything happens.
//!
//! Reading a manifest touches nothing but the file itself. Every fault is reported at once, each with line and key, so
//! that an author mends a manifest in one go. What leaves this room is checked: later rooms cannot meet zero forks, an
//! unknown strategy or a password.

mod backend;
mod check;
mod fault;
mod registration;
mod wire;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use backend::{
    Backend, JournalMode, NamedBackend, Server, Socket, Storage, Synchronous, UnsetVariable, UrlTemplate,
};
pub use check::{delay_in_ids, limits};
pub use fault::{Fault, Faults};
pub use registration::{Claim, Comparison, Novelty, Registration, Threshold};

use crate::digest;
use crate::strategy::StrategyName;
use crate::units::{Nanos, Seed};
use crate::workload::Shape;

/// A checked experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Short name: lower-case letters, digits and hyphens; part of a run's directory name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What the experiment answers.
    pub question: String,
    /// Prose beside the numbers; may be empty.
    pub analysis: String,
    /// Where the model lives: one place, or several that are points of the grid; never none.
    pub backends: Vec<NamedBackend>,
    /// Sizes and sides.
    pub grid: Grid,
    /// How it is measured.
    pub measure: Measure,
    /// How it is told.
    pub figures: FigureSettings,
    /// What is written down beside the claims; `None` where the manifest registers nothing.
    pub registration: Option<Registration>,
    /// What it claims; empty without a registration.
    pub claims: Vec<Claim>,
    /// The file as it was written.
    pub source: ManifestSource,
}

/// The manifest's bytes and their digest.
#[derive(Clone, PartialEq, Eq)]
pub struct ManifestSource {
    /// The file, verbatim.
    pub text: String,
    /// SHA-256 of the text, lower-case hexadecimal.
    pub sha256: String,
}

impl fmt::Debug for ManifestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManifestSource")
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

/// The grid: every number of plans with every backend, schema, delay and subject is a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Sizes of the model, ascending, each once.
    pub plans: Vec<u32>,
    /// Names of the backends, in the manifest's order; empty where there is one without a name.
    pub backends: Vec<String>,
    /// Shapes of the model's table, in the manifest's order, each once.
    pub schemas: Vec<Shape>,
    /// What a proxy adds to each round trip, ascending, each once; empty where no proxy stands in the path.
    pub delays: Vec<Nanos>,
    /// The strategies that are priced.
    pub subjects: Vec<StrategyName>,
    /// The strategy that they are priced against.
    pub baseline: StrategyName,
    /// Whether each subject is also measured against itself, which gives the noise floor.
    pub control: bool,
}

/// A point of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Size of the model.
    pub plans: u32,
    /// Place in the manifest's list of backends.
    pub backend: usize,
    /// Shape of the model's table.
    pub shape: Shape,
    /// What the proxy adds to each round trip; `None` without a proxy.
    pub delay: Option<Nanos>,
    /// The strategy that is priced.
    pub subject: StrategyName,
}

/// How each fork measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// Horizon of the projection.
    pub months: u32,
    /// Measured pairs a fork.
    pub previews: u32,
    /// Pairs before the measured ones; archived, not counted in figures.
    pub warmup: u32,
    /// Fresh processes a cell.
    pub forks: u32,
    /// Every random order derives from it.
    pub seed: Seed,
    /// How the order within a pair is decided.
    pub order: PairOrder,
    /// Whether the steps of previews are noted.
    pub steps: StepsWish,
    /// Which processors worker and server run on.
    pub processors: Processors,
    /// Longest that one answer of the backend may take.
    pub timeout: Nanos,
}

/// How the order within a pair is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairOrder {
    /// Exactly half the pairs each way, randomly permuted.
    Balanced,
    /// A fair coin a pair, as in the study.
    Coin,
}

impl PairOrder {
    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::Coin => "coin",
        }
    }
}

/// Whether the steps of previews are noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepsWish {
    /// Where reading the clock takes less than a hundredth of a preview.
    Auto,
    /// Whatever it costs.
    On,
    /// Never.
    Off,
}

impl StepsWish {
    /// Each, as a manifest names it.
    pub const ALL: [Self; 3] = [Self::Auto, Self::On, Self::Off];

    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// Which processors worker and server run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Processors {
    /// Where the system puts them.
    Free,
    /// The worker on one, the server's process on another.
    Apart,
}

impl Processors {
    /// Each, as a manifest names it.
    pub const ALL: [Self; 2] = [Self::Free, Self::Apart];

    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Apart => "apart",
        }
    }
}

/// How the figures are told.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureSettings {
    /// What the interaction already waits; a difference is also told as a share of it.
    pub debounce: Nanos,
    /// Resamples of the pooled bootstrap when the study's own procedure is asked for.
    pub resamples: u32,
    /// Differences within ± this margin count as equivalent.
    pub margin: Nanos,
    /// Penalties for which the distance is asked that would make them.
    pub distance_for: Vec<Penalty>,
    /// Id of the figure that the experiment is about.
    pub primary: String,
}

/// A penalty that is asked about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Penalty {
    /// A time, ms.
    Millis(f64),
    /// Hundredths of the debounce budget.
    Percent(f64),
}

impl Penalty {
    /// Reads `6.16ms` or `5%`, with or without a blank before the unit.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |digits: &str| {
            digits
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|value| *value > 0.0 && value.is_finite())
        };
        if let Some(digits) = text.strip_suffix("ms") {
            return number(digits).map(Self::Millis);
        }
        number(text.strip_suffix('%')?).map(Self::Percent)
    }

    /// How long it is, ns, where the budget is this.
    pub fn nanos(self, debounce: Nanos) -> f64 {
        match self {
            Self::Millis(millis) => millis * 1e6,
            Self::Percent(percent) => percent / 100.0 * debounce.0 as f64,
        }
    }
}

impl fmt::Display for Penalty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Millis(millis) => write!(f, "{millis}ms"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// Why there is no manifest.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// The file could not be read.
    #[error("cannot read the manifest {path}: {source}; `preview-cost plan --help` shows an example")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file was read and has faults.
    #[error("{0}")]
    Faulty(Faults),
}

impl Manifest {
    /// Reads and checks the manifest at `path`.
    ///
    /// # Errors
    /// [`ManifestError::Unreadable`], or [`ManifestError::Faulty`] with every fault of the file.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let shown = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| ManifestError::Unreadable {
            path: shown.clone(),
            source,
        })?;
        let text = String::from_utf8(bytes).map_err(|_| ManifestError::Unreadable {
            path: shown.clone(),
            source: std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8 text"),
        })?;
        Self::parse(&text, &shown).map_err(ManifestError::Faulty)
    }

    /// Checks a manifest's text; `shown` is the name that stands before each fault.
    ///
    /// # Errors
    /// Every fault of the text.
    pub fn parse(text: &str, shown: &str) -> Result<Self, Faults> {
        wire::read(text)
            .and_then(|(wire, reader)| check::check(wire, reader))
            .map_err(|faults| Faults::new(shown, faults))
    }
}

impl ManifestSource {
    /// Keeps a text with its digest.
    pub fn new(text: &str) -> Self {
        let sha256 = digest::of_bytes(text);
        Self {
            text: text.to_owned(),
            sha256,
        }
    }

    /// The first eight digits of the digest, which stand in a run's directory name.
    pub fn short(&self) -> &str {
        &self.sha256[..8]
    }
}
