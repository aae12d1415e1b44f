//! From what went wrong to how the program ends.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::analysis::EvidenceError;
use crate::archive::{ReadError, TakeUpError, TimestampError, WriteError};
use crate::backend::provision::ProvisionError;
use crate::exit::Exit;
use crate::manifest::ManifestError;
use crate::path::PathError;
use crate::plan::PlanError;
use crate::publication::PublicationError;
use crate::report::{InlineError, ReportError, SpliceError};
use crate::run::{CleanError, ForkFailure, RegistrationError, ResumeError, RunError, StandError};

/// Why a subcommand did not do what it was asked for.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// `--url` where there is no server to replace.
    #[error(
        "--url names a PostgreSQL server, but {manifest} does not measure one PostgreSQL alone; take a manifest with \
         a `[backend]` and engine = \"postgres\""
    )]
    UrlForSqlite {
        /// The manifest.
        manifest: PathBuf,
    },
    /// `register` of a manifest without claims.
    #[error("{manifest} has nothing to register: add a table `[registration]` and at least one `[[claims]]`")]
    NothingToRegister {
        /// The manifest.
        manifest: PathBuf,
    },
    /// What was registered.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// Evidence of time beside a manifest.
    #[error(transparent)]
    Timestamp(#[from] TimestampError),
    /// The ledger could not be written.
    #[error(transparent)]
    Ledger(#[from] WriteError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The proxy.
    #[error(transparent)]
    Path(#[from] PathError),
    /// What a killed run has left.
    #[error(transparent)]
    Clean(#[from] CleanError),
    /// A run that broke off and can't be taken up.
    #[error(transparent)]
    TakeUp(#[from] TakeUpError),
    /// An archive.
    #[error(transparent)]
    Archive(#[from] ReadError),
    /// An archive that can be read and gives no figures.
    #[error("{run}: {source}")]
    Evidence {
        /// The run's directory.
        run: PathBuf,
        /// What is wrong.
        source: EvidenceError,
    },
    /// What a machine lacks.
    #[error(transparent)]
    Missing(#[from] ProvisionError),
    /// A file with spliced tables.
    #[error("{file}: {source}")]
    Splice {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: SpliceError,
    },
    /// A single number between markers, or its markers.
    #[error("{file}:{source}")]
    Inline {
        /// The file.
        file: PathBuf,
        /// What is wrong, with its line.
        source: InlineError,
    },
    /// A table between markers is not what its archive gives.
    #[error("{file}:{line}: this table is not what its archive gives; run `preview-cost analyze --splice {file}`")]
    Stale {
        /// The file.
        file: PathBuf,
        /// From 1.
        line: usize,
    },
    /// `--explain` with an id that no figure has.
    #[error("{run} has no figure {id}; the nearest are {nearest}. `--format csv` lists them all")]
    UnknownFigure {
        /// What was asked for.
        id: String,
        /// The run.
        run: String,
        /// Ids that there are.
        nearest: String,
    },
    /// `--explain` with several runs, or with none.
    #[error("--explain tells one figure of one run, and {runs} runs were named; name one")]
    ExplainSeveral {
        /// How many.
        runs: usize,
    },
    /// `recompute` of a run without a fork.
    #[error("{run} has no fork yet, so there is nothing to recompute; wait for the first one")]
    NothingToRecompute {
        /// The run's directory.
        run: PathBuf,
    },
    /// A report that could not be made.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A file that would be written over.
    #[error("{path} exists already; name another file, or replace it with --force")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file that would be written into a run.
    #[error("{path} is within the run's directory, which holds what was measured and nothing else; name another place")]
    WithinRun {
        /// The file.
        path: PathBuf,
    },
    /// What can't be published, or cited.
    #[error(transparent)]
    Publication(#[from] PublicationError),
    /// A directory that holds something else already.
    #[error("{path} holds {found} already; empty it, name another directory, or replace what was packed with --force")]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// A file in it.
        found: String,
    },
    /// A file that would be left over among those that are packed.
    #[error("{path} is no part of what is packed, and would lie among it; remove it, or name another directory")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A file that is read or written beside the archives.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// This program's own file can't be found.
    #[error("cannot find this program's own executable: {0}")]
    Executable(io::Error),
    /// Ctrl-C can't be listened to.
    #[error("cannot listen to signals: {0}")]
    Signals(#[from] ctrlc::Error),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

impl CommandError {
    /// How the program ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Manifest(_)
            | Self::Plan(_)
            | Self::Path(PathError::Address { .. } | PathError::Delay { .. })
            | Self::UrlForSqlite { .. }
            | Self::NothingToRegister { .. }
            | Self::Registration(RegistrationError::OtherText(_))
            | Self::Timestamp(_)
            | Self::UnknownFigure { .. }
            | Self::ExplainSeveral { .. }
            | Self::WithinRun { .. } => Exit::Usage,
            Self::Publication(error) => of_publication(error),
            Self::Run(error) => of_run(error),
            Self::TakeUp(error) => of_take_up(error),
            Self::Registration(RegistrationError::BrokenLedger { .. })
            | Self::Archive(_)
            | Self::Evidence { .. }
            | Self::Splice { .. }
            | Self::Inline { .. }
            | Self::Stale { .. }
            | Self::NothingToRecompute { .. } => Exit::Archive,
            Self::Ledger(error) => of_write(error),
            Self::Clean(error) => of_clean(error),
            Self::Path(_) | Self::Missing(_) => Exit::Backend,
            Self::File { action: "write", .. } | Self::Exists { .. } | Self::NotEmpty { .. } | Self::Foreign { .. } => {
                Exit::Write
            }
            Self::Output(error) if error.kind() == std::io::ErrorKind::StorageFull => Exit::Write,
            Self::File { .. } | Self::Report(_) | Self::Executable(_) | Self::Signals(_) | Self::Output(_) => {
                Exit::Other
            }
        }
    }
}

fn of_run(error: &RunError) -> Exit {
    match error {
        RunError::Stand(StandError::Scratch { .. } | StandError::Noted { .. }) => Exit::Write,
        RunError::Stand(_) => Exit::Backend,
        RunError::Resume(ResumeError::TakeUp(error)) => of_take_up(error),
        RunError::Resume(_) => Exit::Usage,
        RunError::InterruptedEarly
        | RunError::CutShort {
            cause: ForkFailure::Interrupted,
            ..
        } => Exit::Interrupted,
        RunError::Write(error)
        | RunError::CutShort {
            cause: ForkFailure::Store(error),
            ..
        } => of_write(error),
        RunError::CutShort { .. } => Exit::CutShort,
    }
}

fn of_publication(error: &PublicationError) -> Exit {
    match error {
        PublicationError::Twice { .. }
        | PublicationError::TooMany { .. }
        | PublicationError::NoCitation { .. }
        | PublicationError::Citation { .. } => Exit::Usage,
        PublicationError::Unfinished { .. } | PublicationError::Undated { .. } | PublicationError::Io { .. } => {
            Exit::Archive
        }
        PublicationError::Readme(_) => Exit::Other,
    }
}

fn of_clean(error: &CleanError) -> Exit {
    match error {
        CleanError::Manifest(_) | CleanError::NoServer { .. } => Exit::Usage,
        CleanError::Stand(_) | CleanError::Server(_) => Exit::Backend,
        CleanError::Kept { .. } | CleanError::Directory(_) => Exit::Write,
        CleanError::Unreadable { .. } => Exit::Other,
    }
}

fn of_take_up(error: &TakeUpError) -> Exit {
    match error {
        TakeUpError::Running { .. }
        | TakeUpError::NotCleaned { .. }
        | TakeUpError::Sealed { .. }
        | TakeUpError::Sealing { .. }
        | TakeUpError::NothingAnnounced { .. }
        | TakeUpError::Unchained { .. } => Exit::Usage,
        TakeUpError::Read(_) => Exit::Archive,
        TakeUpError::Write(error) => of_write(error),
    }
}

fn of_write(error: &WriteError) -> Exit {
    match error {
        WriteError::Io { .. } | WriteError::Encode { .. } => Exit::Write,
        WriteError::Parts(_) => Exit::Archive,
    }
}
