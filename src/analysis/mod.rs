//! Rows to figures: no I/O, no clock, no global state. The same archive gives the same figures on every machine.
//!
//! Only measured pairs with status ok are counted, and how many others there are is a figure too. Percentiles are
//! nearest rank. The fork is the unit of repetition: the headline interval is Student's t on the forks' medians; the
//! study's pooled bootstrap stands beside it as "within session", since it can't see what differs between forks.

mod evidence;
mod figure;
mod interval;
mod summary;

pub use evidence::{CellSample, Evidence, EvidenceError, ForkSample, RunFacts, State};
pub use figure::{Figure, Unit, figures};
pub use interval::{Interval, pooled_bootstrap_exact, pooled_bootstrap_resampled, student_t};
pub use summary::{Analysis, CellSummary, Difference, Quantile, Side, analyze};
