//! Figures to text. This room computes nothing: what is not a figure can't be printed.
//!
//! Every format tells the same figures. Tables are for people and round to three significant digits; JSON and CSV hold
//! every figure with its id, unit and estimator, unrounded.

mod cell_grid;
mod claims;
mod comparison;
mod distance;
mod error;
mod explain;
mod findings;
mod format;
mod grid;
mod histogram;
mod html;
mod inline;
mod machine;
mod outlook;
mod part;
mod plan;
mod plot;
pub mod recompute;
mod run;
mod side_by_side;
mod splice;
mod steps;
mod strategies;

pub use claims::{Starts, claim};
pub use comparison::comparison;
pub use error::ReportError;
pub use explain::{explain, figure};
pub use findings::{Findings, findings, findings_json};
pub use format::{duration, figure_text, milliseconds};
pub use histogram::{COLUMNS_MIN, histograms};
pub use html::{Told, html};
pub use inline::{InlineError, InlineFigure, inline_figures, splice_inline};
pub use machine::{csv, json, json_schema};
pub use outlook::outlook;
pub use part::{GivesUp, Part, part};
pub use plan::plan;
pub use plot::{Gallery, Plot, galleries};
pub use run::tables;
pub use side_by_side::side_by_side;
pub use splice::{Directive, SpliceError, directives, splice};
pub use strategies::{Listed, strategies};

/// A dialect of tables for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Lines and columns for a terminal.
    Terminal,
    /// GitHub-flavoured Markdown.
    Markdown,
}
