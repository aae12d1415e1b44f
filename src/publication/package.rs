//! The flat directory: which files it holds, under which names, with their sizes and hashes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::PublicationError;
use super::subject::{DataSet, PublishedRun};
use super::{bibliography, datacite, readme, ro_crate, zenodo};
use crate::digest;

/// Files that a data record takes at most.
pub const FILES_MAX: usize = 100;

/// What the sums over everything are called, and a run's own sums in its directory.
const SUMS: &str = "SHA256SUMS";

/// The description of the whole for machines.
pub(super) const CRATE: &str = "ro-crate-metadata.json";

/// What may lie beside a sealed run, and its sums don't name: timestamps of the chain, and so of the root.
const BESIDE: [&str; 2] = ["chain.jsonl.ots", "chain.jsonl.tsr"];

/// What a package is made of.
#[derive(Debug, Clone)]
pub struct Material<'a> {
    /// The runs, their authors and their licence.
    pub data: DataSet<'a>,
    /// What is made of each run, in the order of the data set's runs.
    pub told: Vec<Told>,
}

/// A run's directory, and what was made of it.
#[derive(Debug, Clone)]
pub struct Told {
    /// The run's directory.
    pub directory: PathBuf,
    /// Its report.
    pub page: String,
    /// The DuckDB script.
    pub sql: String,
    /// The Python script.
    pub python: String,
}

/// Where a file's bytes are.
#[derive(Debug, Clone)]
pub enum Content {
    /// Here.
    Text(String),
    /// In a file that is copied.
    File(PathBuf),
}

/// What a file is to the run that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its manifest.
    Manifest,
    /// A table that it wrote.
    Table,
    /// Something else.
    Other,
}

/// One file of a package.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub content: Content,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Place of its run in the data set, and what it is to it.
    pub(super) of_run: Option<(usize, Role)>,
}

/// The files of a package, in the order in which they are written: the sums last.
#[derive(Debug, Clone)]
pub struct Package {
    /// The files.
    pub pieces: Vec<Piece>,
}

impl Piece {
    fn text(name: impl Into<String>, text: String, of_run: Option<(usize, Role)>) -> Self {
        Self {
            name: name.into(),
            bytes: text.len() as u64,
            sha256: digest::of_bytes(&text),
            content: Content::Text(text),
            of_run,
        }
    }

    fn file(name: String, path: PathBuf, of_run: Option<(usize, Role)>) -> Result<Self, PublicationError> {
        let hashed = |path: &Path| -> io::Result<(u64, String)> {
            Ok((fs::metadata(path)?.len(), digest::of_reader(File::open(path)?)?))
        };
        match hashed(&path) {
            Ok((bytes, sha256)) => Ok(Self {
                name,
                content: Content::File(path),
                bytes,
                sha256,
                of_run,
            }),
            Err(source) => Err(PublicationError::Io { path, source }),
        }
    }
}

impl DataSet<'_> {
    /// What stands before the names of a run's files: nothing where it is the only run.
    pub fn prefix(&self, run: &PublishedRun) -> String {
        if self.runs.len() == 1 {
            String::new()
        } else {
            format!("{}.", run.id)
        }
    }
}

/// All files to publish.
///
/// # Errors
/// Runs that are named twice, too many files, and what can't be read.
pub fn package(material: &Material<'_>) -> Result<Package, PublicationError> {
    let data = material.data;
    let mut ids = BTreeSet::new();
    if let Some(run) = data.runs.iter().find(|run| !ids.insert(&run.id)) {
        return Err(PublicationError::Twice { run: run.id.clone() });
    }
    let mut pieces = Vec::new();
    for (place, (run, told)) in data.runs.iter().zip(&material.told).enumerate() {
        pieces.extend(of_run(place, &data, run, told)?);
    }
    pieces.extend(ledgers(&material.told)?);
    let whole = |name: &str, text: String| Piece::text(name, text, None);
    pieces.push(whole("README.md", readme::readme(&data, &pieces)?));
    pieces.push(whole("CITATION.cff", bibliography::cff(&data)));
    let authors: Vec<String> = data.citation.authors.iter().map(super::Author::said).collect();
    pieces.push(whole(
        "LICENSE-DATA",
        data.licence.notice(&data.title(), &authors.join(", ")),
    ));
    pieces.push(whole(".zenodo.json", zenodo::zenodo(&data)));
    pieces.push(whole("datacite.json", datacite::datacite(&data)));
    pieces.sort_by(|one, other| one.name.cmp(&other.name));
    pieces.push(whole(CRATE, ro_crate::ro_crate(&data, &pieces)));
    let lines: Vec<String> = (pieces.iter())
        .map(|piece| format!("{}  {}", piece.sha256, piece.name))
        .collect();
    pieces.push(whole(SUMS, lines.join("\n") + "\n"));
    if pieces.len() > FILES_MAX {
        return Err(PublicationError::TooMany {
            runs: data.runs.len(),
            files: pieces.len(),
            limit: FILES_MAX,
        });
    }
    Ok(Package { pieces })
}

fn of_run(place: usize, data: &DataSet<'_>, run: &PublishedRun, told: &Told) -> Result<Vec<Piece>, PublicationError> {
    let prefix = data.prefix(run);
    let path = told.directory.join(SUMS);
    let sums = fs::read_to_string(&path).map_err(|source| PublicationError::Io { path, source })?;
    let named = sums.lines().filter_map(|line| Some(line.split_once("  ")?.1));
    let beside = BESIDE.into_iter().filter(|name| told.directory.join(name).is_file());
    let mut pieces = Vec::new();
    for name in named.chain(beside) {
        let path = told.directory.join(name);
        pieces.push(Piece::file(format!("{prefix}{name}"), path, Some((place, role(name))))?);
    }
    let other = Some((place, Role::Other));
    // The run's own sums keep a name of their own, because the sums over everything take the plain one.
    pieces.push(Piece::text(format!("{}.{SUMS}", run.id), sums, other));
    for (name, text) in [
        ("report.html", &told.page),
        ("recompute.sql", &told.sql),
        ("recompute.py", &told.python),
    ] {
        pieces.push(Piece::text(format!("{prefix}{name}"), text.clone(), other));
    }
    Ok(pieces)
}

fn role(name: &str) -> Role {
    match name {
        "manifest.toml" => Role::Manifest,
        name if Path::new(name).extension().is_some_and(|ending| ending == "parquet") => Role::Table,
        _ => Role::Other,
    }
}

/// The ledgers of the directories that the runs lie in, each once.
fn ledgers(told: &[Told]) -> Result<Vec<Piece>, PublicationError> {
    let mut pieces: Vec<Piece> = Vec::new();
    for directory in told.iter().map(|told| &told.directory) {
        let Some(path) = fs::canonicalize(directory)
            .ok()
            .and_then(|directory| Some(directory.parent()?.join("LEDGER.jsonl")))
            .filter(|path| path.is_file())
        else {
            continue;
        };
        let name = match pieces.len() {
            0 => "LEDGER.jsonl".to_owned(),
            before => format!("LEDGER-{}.jsonl", before + 1),
        };
        let piece = Piece::file(name, path, None)?;
        if pieces.iter().all(|other| other.sha256 != piece.sha256) {
            pieces.push(piece);
        }
    }
    Ok(pieces)
}
