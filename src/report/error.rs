//! Why a report could not be made.

use thiserror::Error;

/// Why a report could not be made from figures.
#[derive(Debug, Error)]
pub enum ReportError {
    /// A plot.
    #[error("cannot draw the plot {plot}: {reason}")]
    Plot {
        /// Its name.
        plot: String,
        /// What the plotting library said.
        reason: String,
    },
    /// The page.
    #[error("cannot fill in the page: {0}")]
    Page(#[from] minijinja::Error),
}
