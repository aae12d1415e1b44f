//! A plan for people: what would be measured, in which order, for about how long.

use std::fmt::Write;

use super::Dialect;
use super::format::duration;
use super::grid::Grid;
use crate::manifest::Manifest;
use crate::plan::Plan;

/// The plan of a manifest, ending in a line break.
pub fn plan(manifest: &Manifest, plan: &Plan) -> String {
    let measure = &manifest.measure;
    let mut cells = Grid::new(&["cell", "backend", "subject", "baseline", "fields", "pairs"], 4);
    for cell in plan.cells() {
        cells.row(vec![
            cell.id.clone(),
            cell.backend.clone(),
            cell.subject.to_string(),
            cell.baseline.to_string(),
            cell.fields().to_string(),
            (u64::from(measure.forks) * u64::from(measure.previews)).to_string(),
        ]);
    }
    let mut text = format!(
        "{}\n{}\n\n{}\n\n{} cells × {} forks × ({} warm-up + {} measured pairs), {} order, seed {}.\n",
        manifest.title,
        manifest.question,
        cells.render(Dialect::Terminal),
        plan.cells().len(),
        measure.forks,
        measure.warmup,
        measure.previews,
        measure.order.as_str(),
        measure.seed.0,
    );
    let _ = writeln!(
        text,
        "Takes about {} by nominal costs; nothing was measured or touched. Manifest SHA-256 {}.",
        duration(plan.expected_duration()),
        manifest.source.sha256
    );
    let _ = writeln!(text, "\nOrder of the forks:");
    for (position, slot) in plan.schedule().iter().enumerate() {
        let _ = writeln!(text, "{position:>5}  {} fork {}", plan.cell(slot.cell).id, slot.fork);
    }
    text
}
