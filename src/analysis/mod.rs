//! Rows to figures: no I/O, no clock, no global state. The same archive gives the same figures on every machine.
//!
//! Only measured pairs with status ok are counted, and how many others there are is a figure too. Percentiles are
//! nearest rank. The fork is the unit of repetition: the headline interval is Student's t on the forks' medians; the
//! study's pooled bootstrap stands beside it as "within session", since it can't see what differs between forks.

mod analyst;
mod bootstrap;
mod cell;
mod changepoint;
mod claim;
mod comparison;
mod curves;
mod diagnostics;
mod distance;
mod evidence;
mod figure;
mod fork;
mod interval;
mod line;
mod outlook;
mod planning;
mod pooled;
mod portrait;
mod ranks;
mod regression;
mod scaling;
mod steps;
mod summary;
mod verdict;
mod wire;

use crate::definition;

pub use analyst::{Analyst, analyze};
pub use bootstrap::{pooled_exact, pooled_resampled, two_level};
pub use changepoint::{Changepoint, changepoints};
pub use claim::{ClaimVerdict, Outcome};
pub use comparison::{Compared, ComparedCell, ComparedEntry, Comparison, DifferentFact, compare};
pub use curves::{Bucket, QuantilePair, Step, Thinned, Window};
pub use definition::{
    CELL_FIGURES, DISTANCE_FIGURES, Definition, SCALING_FIGURES, STEP_FIGURES, Unit, WIRE_FIGURES, definition_of,
};
pub use diagnostics::Warning;
pub use distance::{Answered, Distances};
pub use evidence::{Archived, CellSample, Evidence, EvidenceError, ForkSample, RunFacts, State};
pub use figure::{Figure, figures};
pub use interval::{Interval, Mean, student_t};
pub use line::Line;
pub use outlook::{CellOutlook, Needed, Outlook, SettingChange, outlook, setting_changes};
pub use planning::forks_for;
pub use portrait::{ControlPortrait, ForkPortrait, Portrait, Series, portraits};
pub use scaling::{Scaling, Trend};
pub use steps::{CellSteps, StepSummary, StepTime, StepsByCell};
pub use summary::{Analysis, CellSummary, Difference, NoiseFloor, Quantile, Side};
pub use verdict::Verdict;
pub use wire::{CellWire, SideWire, WireDigest, Wires};
