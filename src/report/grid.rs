//! A table in either dialect.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::Dialect;
use super::plot::escaped;

/// Headings and rows of text; the first column is a label, the others are numbers.
pub(super) struct Grid {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    labels: usize,
}

impl Grid {
    /// `labels` is the number of columns, from the left, that hold words.
    pub fn new(headings: &[&str], labels: usize) -> Self {
        Self {
            headings: headings.iter().map(|heading| (*heading).to_owned()).collect(),
            rows: Vec::new(),
            labels,
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.headings.len(), "a row has a cell a heading");
        self.rows.push(cells);
    }

    /// The table, without a line break at its end. Its width depends on its content alone, not on the terminal: the
    /// same archive gives the same bytes.
    pub fn render(&self, dialect: Dialect) -> String {
        match dialect {
            Dialect::Terminal => self.terminal(),
            Dialect::Markdown => self.markdown(),
        }
    }

    fn terminal(&self) -> String {
        let mut table = Table::new();
        let rule = LineStyle::none().fill('─').junction('─');
        let style = TableStyle::new()
            .top_border(rule)
            .header_separator(rule)
            .bottom_border(rule);
        table
            .load_style(style)
            .set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(self.headings.clone());
        for row in &self.rows {
            table.add_row(row.clone());
        }
        for (place, column) in table.column_iter_mut().enumerate() {
            let alignment = if place < self.labels {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            };
            column.set_cell_alignment(alignment);
        }
        table
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The table for a page: rows have headings too, for those who listen to it.
    pub fn html(&self) -> String {
        let cell = |place: usize, tag: &str, scope: &str, text: &str| {
            let class = if place < self.labels { "" } else { " class=\"number\"" };
            format!("<{tag}{scope}{class}>{}</{tag}>", escaped(text))
        };
        let mut html = String::from("<table>\n<thead><tr>");
        for (place, heading) in self.headings.iter().enumerate() {
            html.push_str(&cell(place, "th", " scope=\"col\"", heading));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str("<tr>");
            for (place, text) in row.iter().enumerate() {
                html.push_str(&if place == 0 {
                    cell(place, "th", " scope=\"row\"", text)
                } else {
                    cell(place, "td", "", text)
                });
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n</table>");
        html
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells
                .iter()
                .map(|cell| cell.replace('|', "\\|").replace('\n', "<br>"))
                .collect();
            format!("| {} |", cells.join(" | "))
        };
        let rule: Vec<String> = (0..self.headings.len())
            .map(|place| if place < self.labels { "---" } else { "--:" }.to_owned())
            .collect();
        let mut lines = vec![line(&self.headings), format!("|{}|", rule.join("|"))];
        lines.extend(self.rows.iter().map(|row| line(row)));
        lines.join("\n")
    }
}
