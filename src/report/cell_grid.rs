//! Tables of times, which all say how far away the database was.

use super::format::milliseconds;
use super::grid::Grid;
use crate::analysis::CellSummary;

/// A table with a row or more a cell. Its last column is the distance, and a row can't be added without its cell: a time
/// without the distance that it was measured over says nothing about another place.
pub(super) struct CellGrid(Grid);

impl CellGrid {
    /// A table under these headings, of which the first `left` are set to the left.
    pub fn new(headings: &[&str], left: usize) -> Self {
        let mut with_distance = headings.to_vec();
        with_distance.push("distance");
        Self(Grid::new(&with_distance, left))
    }

    /// Adds a row about a cell.
    pub fn row(&mut self, of: &CellSummary, mut cells: Vec<String>) {
        cells.push(distance(of));
        self.0.row(cells);
    }

    /// The table, done.
    pub fn grid(self) -> Grid {
        self.0
    }
}

/// How far away a cell's database was, in milliseconds a round trip.
fn distance(of: &CellSummary) -> String {
    of.distance
        .map_or("in process".to_owned(), |distance| milliseconds(distance as f64))
}
