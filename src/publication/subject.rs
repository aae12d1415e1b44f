//! What a publication says of each run, and of all of them as one data set.

use std::path::Path;

use chrono::{DateTime, SecondsFormat};

use super::citation::Citation;
use super::error::PublicationError;
use super::licence::Licence;
use crate::analysis::RunFacts;
use crate::archive::{Archive, Completeness};

/// A sealed run, as it is told to the public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedRun {
    /// Its id.
    pub id: String,
    /// The experiment's name.
    pub name: String,
    /// The experiment's title.
    pub title: String,
    /// What the experiment asks.
    pub question: String,
    /// Where the model lived.
    pub backend: String,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// When its last fork ended, likewise.
    pub ended: String,
    /// SHA-256 of its manifest.
    pub manifest_sha256: String,
    /// SHA-256 of its `SHA256SUMS`.
    pub seal: String,
    /// Root of its integrity chain; `None` for a run of before there were chains.
    pub root: Option<String>,
    /// Version of the program that measured it.
    pub program_version: String,
    /// SHA-256 of that program's executable, where it is archived.
    pub executable_sha256: Option<String>,
}

impl PublishedRun {
    /// What a run's archive says for publication; `seal` is the SHA-256 of its `SHA256SUMS`.
    ///
    /// # Errors
    /// A run that is unfinished, or has neither a start nor a fork.
    pub fn of(directory: &Path, archive: &Archive, facts: &RunFacts, seal: String) -> Result<Self, PublicationError> {
        if archive.completeness != Completeness::Sealed {
            return Err(PublicationError::Unfinished {
                run: directory.to_owned(),
            });
        }
        let mut settings = archive.settings.iter();
        let started = settings.find(|setting| (setting.section.as_str(), setting.key.as_str()) == ("run", "started"));
        let told = |ns: i64| DateTime::from_timestamp_nanos(ns).to_rfc3339_opts(SecondsFormat::Secs, true);
        let first = archive.forks.iter().map(|fork| fork.started_unix_ns).min();
        let started = started
            .map(|setting| setting.value.clone())
            .filter(|started| DateTime::parse_from_rfc3339(started).is_ok())
            .or_else(|| first.map(told))
            .ok_or_else(|| PublicationError::Undated {
                run: directory.to_owned(),
            })?;
        let ended = archive.forks.iter().map(|fork| fork.ended_unix_ns).max().map(told);
        let mut built = archive.facts.iter().map(|row| &row.fact);
        let executable = built.find(|fact| fact.scope == "build" && fact.key == "executable.sha256");
        Ok(Self {
            id: facts.run.clone(),
            name: facts.name.clone(),
            title: facts.title.clone(),
            question: facts.question.clone(),
            backend: facts.backend.clone(),
            ended: ended.unwrap_or_else(|| started.clone()),
            started,
            manifest_sha256: facts.manifest_sha256.clone(),
            seal,
            root: archive.root().map(str::to_owned),
            program_version: facts.program_version.clone(),
            executable_sha256: executable.and_then(|fact| fact.value.clone()),
        })
    }

    /// The day on which it started, `YYYY-MM-DD`.
    pub fn date(&self) -> &str {
        &self.started[..10]
    }

    /// The hash to quote, and what it is the hash of. A chain's root covers more than the sums do.
    pub fn hash(&self) -> (&str, &'static str) {
        match &self.root {
            Some(root) => (root, "root: SHA-256 of the last line of chain.jsonl"),
            None => (&self.seal, "seal: SHA-256 of the run's SHA256SUMS"),
        }
    }
}

/// Runs as one data set, with who publishes it and under which licence.
#[derive(Debug, Clone, Copy)]
pub struct DataSet<'a> {
    /// Its runs, in the order in which they are named.
    pub runs: &'a [PublishedRun],
    /// The software's citation; its authors are the data's.
    pub citation: &'a Citation,
    /// The data's licence.
    pub licence: Licence,
}

impl DataSet<'_> {
    /// What the data set is called.
    pub fn title(&self) -> String {
        match self.runs {
            [run] => format!("{}: every raw pair", run.title),
            runs => {
                let mut names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                format!(
                    "Every raw pair of {} preview-cost runs: {}",
                    runs.len(),
                    names.join(", ")
                )
            }
        }
    }

    /// What it holds, as paragraphs.
    pub fn description(&self) -> Vec<String> {
        let mut paragraphs = vec![
            "Every raw pair of paired, interleaved and forked measurements, warm-up and failures included, as Parquet \
             files, with the machine, the server, the build and the manifest. Every figure follows from these files \
             alone; scripts for DuckDB and for Python compute them without the software."
                .to_owned(),
        ];
        paragraphs.extend(self.runs.iter().map(|run| {
            let (hash, of) = run.hash();
            format!(
                "Run {} on {}, measured by preview-cost {}: {} {hash} ({of})",
                run.id, run.backend, run.program_version, run.question
            )
        }));
        paragraphs
    }

    /// The day of its last run.
    pub fn date(&self) -> &str {
        self.runs.iter().map(PublishedRun::date).max().unwrap_or_default()
    }

    /// The day of its first run.
    pub fn first_date(&self) -> &str {
        self.runs.iter().map(PublishedRun::date).min().unwrap_or_default()
    }

    /// Its version: the run that is its last.
    pub fn version(&self) -> &str {
        let last = self.runs.iter().max_by_key(|run| (&run.started, &run.id));
        last.map_or("", |run| run.id.as_str())
    }

    /// Words to find it by.
    pub fn keywords(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.citation.keywords.iter().map(String::as_str).collect();
        words.push("raw measurements");
        words
    }
}
