//! What can go wrong with a run on disk.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why something could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The system refused.
    #[error("cannot write {path}: {source}{}", hint(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A table could not be encoded.
    #[error("cannot encode table {table}: {message}")]
    Encode {
        /// The table.
        table: &'static str,
        /// What the library said.
        message: String,
    },
    /// A part that was written could not be read back while the run was sealed.
    #[error("cannot seal the run: {0}")]
    Parts(#[from] ReadError),
}

fn hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "; make room: what was measured before is on disk"
        }
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            "; make the directory writable, or name another with --results"
        }
        _ => "",
    }
}

fn reader_of(writer: Option<&str>) -> String {
    match writer {
        Some(version) => format!("preview-cost {version}, which wrote it"),
        None => "a version of preview-cost that reads it".to_owned(),
    }
}

impl WriteError {
    /// The same about the file at `path`, for an error from a place that does not know where its bytes go.
    pub(super) fn at(self, path: &Path) -> Self {
        match self {
            Self::Io { source, .. } => Self::io(path)(source),
            other => other,
        }
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Why a run that broke off could not be taken up.
#[derive(Debug, Error)]
pub enum TakeUpError {
    /// Its process lives.
    #[error("{run} is still running; wait for its end, or break it off with Ctrl-C first")]
    Running {
        /// The run's directory.
        run: PathBuf,
    },
    /// It broke off before anything was announced, and what it made elsewhere may be left.
    #[error("{run} may have left something elsewhere; remove that first, with: preview-cost clean --yes")]
    NotCleaned {
        /// The run's directory.
        run: PathBuf,
    },
    /// A sealed run can't be gone on with.
    #[error("{run} is sealed, and sealed is final: nothing is added to it; start a new run")]
    Sealed {
        /// The run's directory.
        run: PathBuf,
    },
    /// All was measured, and it broke off while it was being sealed.
    #[error("{run} broke off while it was being sealed; finish that with: preview-cost recover {run}")]
    Sealing {
        /// The run's directory.
        run: PathBuf,
    },
    /// It broke off before its first fork could have started.
    #[error(
        "{run} broke off before anything was announced, so there is nothing to go on with; remove what it left with: preview-cost recover {run}"
    )]
    NothingAnnounced {
        /// The run's directory.
        run: PathBuf,
    },
    /// It was written before runs had chains.
    #[error(
        "{run} has no chain (schema 1.0), so what is whole in it can't be told; read it as it is with: preview-cost analyze {run}"
    )]
    Unchained {
        /// The run's directory.
        run: PathBuf,
    },
    /// It is damaged beyond what a crash does.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The system refused.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Why a run could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It is not a run.
    #[error("{path} is not a run: it has no {missing}; name a directory under results/")]
    NotARun {
        /// The directory.
        path: PathBuf,
        /// The file that every run has.
        missing: String,
    },
    /// The system refused.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what its sums say.
    #[error("{path} is damaged or was changed: its SHA-256 is not the one in {sums}; fetch the run again")]
    Changed {
        /// The file.
        path: PathBuf,
        /// Name of the file with the sums.
        sums: String,
    },
    /// Sums name a file that is not there, or the other way round.
    #[error("{path} {problem} {sums}; fetch the run again")]
    Inventory {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, up to the name of the file with the sums.
        problem: &'static str,
        /// Name of the file with the sums.
        sums: String,
    },
    /// SHA256SUMS itself can't be understood.
    #[error("{path}:{line}: not a line of sha256sum")]
    Sums {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// The chain does not hold.
    #[error("{path}:{line}: {problem}; the run was altered after it was measured, or the file is damaged")]
    Chain {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A Parquet file can't be decoded.
    #[error("{path} is not a readable Parquet file: {message}")]
    Decode {
        /// The file.
        path: PathBuf,
        /// What the library said.
        message: String,
    },
    /// A table does not have the columns of its schema.
    #[error("{path}: {problem}")]
    Schema {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The archive was written by a program of another major version.
    #[error(
        "{path} has schema version {found}, and this program reads {reads}.x; use {}",
        reader_of(writer.as_deref())
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
        /// The major version that this program reads.
        reads: u32,
        /// The version of the program that wrote it, which reads it too; `None` where the file doesn't tell.
        writer: Option<String>,
    },
    /// A file belongs to another run.
    #[error("{path} belongs to run {found}, not to {expected}; fetch the run again")]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The run that it names.
        found: String,
        /// The run that it lies in.
        expected: String,
    },
    /// A value is not one of those that the schema allows.
    #[error("{path}, row {row}: {problem}")]
    Value {
        /// The file.
        path: PathBuf,
        /// From 0.
        row: usize,
        /// What is wrong.
        problem: String,
    },
}
