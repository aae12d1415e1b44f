//! What strategies say to H2 where it has its own words. Names go as bytes, since its server has no binary form for text.

use std::fmt::Write as _;

use super::table::ModelTable;
use crate::workload::Overrides;

/// The session's table of overrides; its second column is always `field_value`, as there is one shape here.
pub(super) const OVERLAY: &str = "CREATE LOCAL TEMPORARY TABLE IF NOT EXISTS preview_override \
                                  (name varchar(64) PRIMARY KEY, field varchar(64), field_value double precision)";
pub(super) const EMPTY_OVERLAY: &str = "DELETE FROM preview_override";
pub(super) const FILL_OVERLAY: &str = "INSERT INTO preview_override VALUES ($1, $2, $3)";

/// The read with the overrides as parameters: name and value of each, in their order.
pub(super) fn reenacted(table: &ModelTable, overrides: &Overrides) -> String {
    let mut whens = String::new();
    for place in 0..overrides.len() {
        // Writing to a string does not fail.
        let _ = write!(whens, " WHEN ${} THEN ${}", 2 * place + 1, 2 * place + 2);
    }
    format!(
        "SELECT STRINGTOUTF8(name), CASE name{whens} ELSE field_value END FROM {}",
        table.name()
    )
}

/// The read with the table of overrides laid over the model.
pub(super) fn overlaid(table: &ModelTable) -> String {
    format!(
        "SELECT STRINGTOUTF8(m.name), CASE WHEN o.name IS NULL THEN m.field_value ELSE o.field_value END \
         FROM {} AS m LEFT JOIN preview_override AS o ON o.name = m.name",
        table.name()
    )
}
