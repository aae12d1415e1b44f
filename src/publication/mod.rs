//! What one publishes of runs: a flat directory for a data record, and the words with which to cite it.
//!
//! A release's assets and a data record have no folders and take few files, so a [`Package`] is flat, and what belongs
//! to one of several runs carries the run's id before its name. Its bytes follow from the runs and the citation alone:
//! dates are those of the runs, and no path of this machine stands in it.

mod bibliography;
mod citation;
mod datacite;
mod dictionary;
mod error;
mod licence;
mod orcid;
mod package;
mod readme;
mod ro_crate;
mod subject;
mod zenodo;

pub use bibliography::{bibtex, cff, text};
pub use citation::{Author, Citation, Fault, Severity, check};
pub use error::PublicationError;
pub use licence::Licence;
pub use orcid::Orcid;
pub use package::{Content, FILES_MAX, Material, Package, Piece, Told, package};
pub use subject::{DataSet, PublishedRun};
