//! Bytes and links: files against the sums, rows against the chain.

use std::path::Path;

use super::finding::{Finding, Outcome};
use super::outcome_of;
use crate::archive::{self, Archive, Inventory};

/// Faults of the chain that are told one by one.
const FAULTS_TOLD: usize = 5;

/// Every file that SHA256SUMS names; `None` where there are no such sums, as in a run that was not sealed.
pub(super) fn inventory(directory: &Path) -> Option<Finding> {
    match archive::inventory(directory) {
        Ok(None) => None,
        Ok(Some(inventory)) => Some(of_inventory(inventory, directory)),
        Err(error) => Some(Finding::new("files", outcome_of(&error), error.to_string())),
    }
}

/// The files of a packed directory against its own sums: what lies beside the runs' files too.
pub fn of_pack(directory: &Path) -> Finding {
    inventory(directory).unwrap_or_else(|| {
        let detail =
            "there is no SHA256SUMS of the whole directory, so that only the runs' own files are held against sums";
        Finding::new("files", Outcome::Noted, detail)
    })
}

fn of_inventory(inventory: Inventory, directory: &Path) -> Finding {
    let finding = |outcome, detail| Finding::new("files", outcome, detail);
    let Inventory {
        intact,
        changed,
        missing,
    } = inventory;
    if !changed.is_empty() {
        let detail = format!("not what SHA256SUMS says: {}", changed.join(", "));
        return finding(Outcome::Tampered, detail);
    }
    if missing.is_empty() {
        return finding(Outcome::Ok, format!("{intact} files are what SHA256SUMS says"));
    }
    let detail = format!(
        "{intact} files are what SHA256SUMS says, and these are not here: {}; fetch them into {} and verify again",
        missing.join(", "),
        directory.display()
    );
    finding(Outcome::Unverifiable, detail)
}

/// Rows and facts against the chain.
pub(super) fn chain(archive: &Archive) -> Vec<Finding> {
    let finding = |outcome, detail| Finding::new("chain", outcome, detail);
    let Some(chain) = archive.chain() else {
        let detail = "this run was archived before runs had a chain (schema 1.0): its files hold together, and whoever \
                      changes one can write its sums anew";
        return vec![finding(Outcome::Unverifiable, detail.to_owned())];
    };
    match archive.chain_faults() {
        Err(error) => vec![finding(outcome_of(&error), error.to_string())],
        Ok(faults) if faults.is_empty() => {
            let root = archive.root().map_or_else(
                || "not sealed yet, so there is no root".to_owned(),
                |root| format!("root {root}"),
            );
            let entries = chain.entries.len();
            vec![finding(
                Outcome::Ok,
                format!("{entries} entries, each names the one before, and the rows are those that they name; {root}"),
            )]
        }
        Ok(faults) => faults
            .iter()
            .take(FAULTS_TOLD)
            .map(|fault| {
                finding(
                    Outcome::Tampered,
                    format!("chain.jsonl:{}: {}", fault.line, fault.problem),
                )
            })
            .collect(),
    }
}
