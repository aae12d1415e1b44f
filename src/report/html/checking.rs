//! How a reader checks a run without trusting its author, and how a figure is cited.

use serde::Serialize;

use crate::analysis::Analysis;

/// What to type, and what to cite.
#[derive(Serialize)]
pub(super) struct Checking {
    run: String,
    root: Option<String>,
    manifest_sha256: String,
    program_version: String,
    primary: String,
    query: Option<String>,
}

pub(super) fn of(analysis: &Analysis) -> Checking {
    let facts = &analysis.facts;
    Checking {
        run: facts.run.clone(),
        root: facts.root.clone(),
        manifest_sha256: facts.manifest_sha256.clone(),
        program_version: facts.program_version.clone(),
        primary: facts.primary.clone(),
        query: analysis.primary().map(|cell| query(&cell.cell.id)),
    }
}

/// The median difference of a cell, in DuckDB's SQL. Its discrete quantile is the nearest rank.
fn query(cell: &str) -> String {
    format!(
        "SELECT quantile_disc(subject_ns - baseline_ns, 0.5) / 1e6 AS difference_ms\n\
         FROM 'pairs.parquet' JOIN 'cells.parquet' USING (cell)\n\
         WHERE id = '{}' AND phase = 'measured' AND status = 'ok';",
        cell.replace('\'', "''")
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_quote_in_a_name_does_not_end_the_string() {
        assert!(super::query("it's").contains("id = 'it''s' AND"));
    }
}
