//! The strategies for people: a table of what they cost by their make, then what each does and gives up.

use std::fmt::Write;

use super::Dialect;
use super::grid::Grid;

/// One strategy in words.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its name in manifests.
    pub name: String,
    /// The engines that can do it.
    pub engines: String,
    /// Round trips of a preview.
    pub trips: String,
    /// What a preview writes.
    pub writes: String,
    /// What it does.
    pub sentence: String,
    /// Whose practice it is.
    pub stands_for: String,
    /// What it gives up against a write that is committed.
    pub gives_up: String,
}

/// The list, ending in a line break.
pub fn strategies(all: &[Listed]) -> String {
    let mut grid = Grid::new(&["strategy", "engines", "trips on postgres", "writes a preview"], 4);
    for strategy in all {
        grid.row(vec![
            strategy.name.clone(),
            strategy.engines.clone(),
            strategy.trips.clone(),
            strategy.writes.clone(),
        ]);
    }
    let mut text = format!("{}\n", grid.render(Dialect::Terminal));
    for strategy in all {
        // Writing to a string does not fail.
        let _ = writeln!(text, "\n{}: {}", strategy.name, strategy.sentence);
        let _ = writeln!(text, "  stands for {}", strategy.stands_for);
        let gives_up = if strategy.gives_up.is_empty() {
            "nothing"
        } else {
            &strategy.gives_up
        };
        let _ = writeln!(text, "  gives up: {gives_up}");
    }
    text
}
