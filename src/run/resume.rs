//! Going on with a run that broke off: the same manifest, the same executable, the forks that are missing.
//!
//! A fork that was in progress is measured anew, as the same fork. What the machine and the server are like now is
//! archived beside what they were like at the start.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::describe;
use super::stands::Stands;
use super::supervisor::{Observer, RunError, Summary, Supervisor, at, discretion, facts_before_a_fork};
use crate::archive::{Archive, FactRow, LostFork, ReadError, RunWriter, Setting, TakeUpError, TakenUp, When, recover};
use crate::environment::{self, Discretion};

/// The fact that tells one build of this program from another.
const EXECUTABLE: (&str, &str) = ("build", "executable.sha256");

/// Why a run can't be gone on with.
#[derive(Debug, Error)]
pub enum ResumeError {
    /// It is running, or sealed, or damaged.
    #[error(transparent)]
    TakeUp(#[from] TakeUpError),
    /// Another build of this program began it.
    #[error(
        "{} was begun by another build of this program, and forks of two builds are not one run\n\
         executable then: {then}\nexecutable now: {now}\n\
         start a new run; what there is of this one is sealed with: preview-cost recover {}",
        run.display(), run.display()
    )]
    OtherProgram {
        /// The run's directory.
        run: PathBuf,
        /// SHA-256 of the executable that began it.
        then: String,
        /// SHA-256 of this one.
        now: String,
    },
    /// The ledger that knows of the run's start is not beside it.
    #[error(
        "the LEDGER.jsonl beside {} has no line of its start, so that nobody could verify what is added now; \
         put the run back into the results directory that it was started in", run.display()
    )]
    NotInLedger {
        /// The run's directory.
        run: PathBuf,
    },
    /// What would be measured is not what was measured.
    #[error("{} was measured with {difference}", run.display())]
    OtherSetting {
        /// The run's directory.
        run: PathBuf,
        /// The first setting that differs, both its values, and what to do.
        difference: String,
    },
}

impl From<TakeUpError> for RunError {
    fn from(error: TakeUpError) -> Self {
        Self::Resume(error.into())
    }
}

impl Supervisor<'_> {
    /// Measures the forks that a run which broke off lacks, and seals it.
    ///
    /// # Errors
    /// [`RunError`]; what was measured before stays on disk.
    pub fn resume(self, run: &Path, observer: &mut dyn Observer) -> Result<Summary, RunError> {
        let TakenUp { mut writer, archive } = match RunWriter::take_up(run) {
            // Nothing is left to measure.
            Err(TakeUpError::Sealing { .. }) => return finish_sealing(run),
            taken => taken?,
        };
        self.require_the_same(run, &archive)?;
        if !writer.is_in_ledger(&archive).map_err(TakeUpError::from)? {
            return Err(ResumeError::NotInLedger { run: run.to_owned() }.into());
        }
        for LostFork { cell, fork } in writer.lost() {
            observer.warn(&format!(
                "fork {fork} of cell {cell} was measured before, and its part is gone or damaged: it is measured again, and \
                 the chain says so"
            ));
        }
        let mut summary = summary_of(&archive).map_err(TakeUpError::from)?;
        let stands = self.open(&mut writer, observer, go_on)?;
        let outcome = self.forks(&stands, &mut writer, &mut summary, observer);
        self.close(outcome, stands, writer, &summary, observer)
    }

    /// Holds that this program would go on with the very run that was begun.
    fn require_the_same(&self, run: &Path, archive: &Archive) -> Result<(), ResumeError> {
        let value = |rows: &[FactRow]| {
            let found = rows
                .iter()
                .find(|row| (row.fact.scope.as_str(), row.fact.key.as_str()) == EXECUTABLE);
            found
                .and_then(|row| row.fact.value.clone())
                .unwrap_or_else(|| "unknown".to_owned())
        };
        let (then, now) = (
            value(&archive.facts),
            value(&at(When::Resume, environment::build_facts(), &Discretion::default())),
        );
        if then != now || then == "unknown" {
            let run = run.to_owned();
            return Err(ResumeError::OtherProgram { run, then, now });
        }
        // What else the archive says of the run stands after the manifest.
        let now = describe::manifest_settings(self.manifest);
        let both = now
            .iter()
            .enumerate()
            .map(|(place, now)| (archive.settings.get(place), now));
        let Some((then, now)) = both.into_iter().find(|(then, now)| *then != Some(*now)) else {
            return Ok(());
        };
        let Setting { section, key, .. } = then.unwrap_or(now).clone();
        let hint = match section.as_str() {
            "backend" => "; if it was measured with --url, give the same --url again",
            _ => "; start a new run",
        };
        let then = then.map(|row| row.value.as_str()).unwrap_or_default();
        let now = &now.value;
        Err(ResumeError::OtherSetting {
            run: run.to_owned(),
            difference: format!("{section}.{key} = {then:?}, and now it would be {now:?}{hint}"),
        })
    }
}

fn finish_sealing(run: &Path) -> Result<Summary, RunError> {
    recover(run)?;
    let archive = Archive::open(run).map_err(TakeUpError::from)?;
    Ok(summary_of(&archive).map_err(TakeUpError::from)?)
}

fn go_on(stands: &Stands, writer: &mut RunWriter) -> Result<(), RunError> {
    let mut facts = facts_before_a_fork(stands, writer.directory())?;
    facts.extend(
        stands
            .schema()
            .map(|schema| environment::Fact::known("server", "schema", schema, "this run")),
    );
    Ok(writer.resume(at(When::Resume, facts, &discretion(stands)))?)
}

/// What the forks that are there have to say.
fn summary_of(archive: &Archive) -> Result<Summary, ReadError> {
    let mut summary = Summary {
        directory: archive.directory().to_owned(),
        ..Summary::default()
    };
    archive.for_each_fork(|fork| {
        let row = archive
            .forks
            .iter()
            .find(|row| (row.cell, row.fork) == (fork.cell, fork.fork));
        if let Some(row) = row {
            summary.count(row, &fork.pairs);
        }
    })?;
    Ok(summary)
}
