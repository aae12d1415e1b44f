//! What can keep runs from being published.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::citation::Fault;

/// Why nothing was made to publish.
#[derive(Debug, Error)]
pub enum PublicationError {
    /// A run that was cut short, or is still running.
    #[error(
        "{run} is not a whole run: it broke off, and is open or sealed as incomplete; let it finish, or measure it again"
    )]
    Unfinished {
        /// The run's directory.
        run: PathBuf,
    },
    /// The same run was named twice.
    #[error("run {run} was named twice; name each run once")]
    Twice {
        /// The run's id.
        run: String,
    },
    /// More files than a data record takes.
    #[error("these {runs} runs make {files} files, and a data record takes {limit}; pack fewer runs at a time")]
    TooMany {
        /// Runs that were named.
        runs: usize,
        /// Files that they would make.
        files: usize,
        /// Files that a record takes.
        limit: usize,
    },
    /// The archive lacks what a publication must say.
    #[error("{run}: neither manifest.parquet nor forks.parquet says when the run started, so it can't be dated")]
    Undated {
        /// The run's directory.
        run: PathBuf,
    },
    /// There is no citation, and so nobody to name as author.
    #[error(
        "there is no {path}, so nobody can be named as author; write one with at least these lines, or name \
         another with --citation:\ncff-version: 1.2.0\nmessage: Please cite it as below.\ntitle: …\nauthors:\n  \
         - family-names: …\n    given-names: …"
    )]
    NoCitation {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The citation has faults.
    #[error("{path}: {}", told(faults))]
    Citation {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        faults: Vec<Fault>,
    },
    /// The text about the data could not be filled in.
    #[error("the README of the data can't be filled in: {0}")]
    Readme(#[from] minijinja::Error),
    /// A file of a run can't be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn told(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    format!("{} faults\n  {}", lines.len(), lines.join("\n  "))
}
