//! Figures to pictures. What is drawn are rows of the archive and figures of the analysis; nothing is computed here but
//! where a mark goes on the page.
//!
//! Each plot says in its title what is seen, in numbers, and the same again to those who listen to it.

mod axis;
mod canvas;
mod distance;
mod ecdf;
mod frame;
mod ink;
mod order;
mod qq;
mod scaling;
mod strips;
mod ticks;

use super::error::ReportError;
use super::format::milliseconds;
use crate::analysis::{Analysis, CellSummary, Difference, Interval, Portrait, Window};

pub(super) use canvas::escaped;
pub(super) use ink::style_sheet;

/// A picture of figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// Its name, which can stand in an anchor and in a file's name.
    pub name: String,
    /// What is seen.
    pub title: String,
    /// What it leaves out; empty where it shows everything.
    pub note: String,
    /// How to read it, for those who can't see it.
    pub description: String,
    size: (u32, u32),
    elements: String,
}

/// Plots of one kind, a cell each or over all cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gallery {
    /// Its name, which can stand in an anchor.
    pub name: &'static str,
    /// What the plots are about.
    pub heading: &'static str,
    /// How to read them.
    pub reading: String,
    /// The plots.
    pub plots: Vec<Plot>,
}

impl Plot {
    /// The plot as a file of its own, on white: nobody knows what it will be laid on.
    pub fn file(&self) -> String {
        let sheet = format!(
            "<style>\n{}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            ink::light_sheet()
        );
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n",
            self.svg(" xmlns=\"http://www.w3.org/2000/svg\"", &sheet)
        )
    }

    /// The plot as part of a page that has the style sheet.
    pub fn inline(&self) -> String {
        self.svg("", "")
    }

    /// Whether it needs the whole width of a page.
    pub fn is_wide(&self) -> bool {
        self.size.0 > PANEL.0
    }

    fn svg(&self, namespace: &str, sheet: &str) -> String {
        let (name, (width, height)) = (&self.name, self.size);
        let (units_wide, units_high) = (width * frame::SCALE, height * frame::SCALE);
        format!(
            "<svg{namespace} class=\"plot\" role=\"img\" aria-labelledby=\"{name}-title {name}-desc\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {units_wide} {units_high}\">\n<title id=\"{name}-title\">{}</title>\n\
             <desc id=\"{name}-desc\">{}</desc>\n{sheet}{}</svg>",
            escaped(&self.title),
            escaped(format!("{} {}", self.description, self.note).trim_end()),
            self.elements
        )
    }
}

/// Width and height of a plot that stands beside others, in pixels.
const PANEL: (u32, u32) = (370, 290);
/// The same of one that has a row for itself.
const WIDE: (u32, u32) = (1070, 270);

/// A cell that answers the question, with what it looks like.
#[derive(Clone, Copy)]
struct Seen<'a> {
    place: usize,
    cell: &'a CellSummary,
    portrait: &'a Portrait,
}

impl Seen<'_> {
    /// E.g. `strips-0-cell-plans-10`.
    fn name(&self, kind: &str) -> String {
        format!("{kind}-{}-{}", self.place, slug(&self.cell.cell.id))
    }

    /// E.g. `At 40 plans`.
    fn at(&self) -> String {
        format!("At {}", self.plans())
    }

    /// E.g. `40 plans`.
    fn plans(&self) -> String {
        plans(self.cell)
    }

    fn headline(&self) -> Option<Interval> {
        self.cell.difference.as_ref().and_then(Difference::headline)
    }

    /// E.g. `rollback − copy`.
    fn sides(&self) -> String {
        sides(self.cell)
    }
}

fn plans(cell: &CellSummary) -> String {
    match cell.cell.plans {
        1 => "1 plan".to_owned(),
        plans => format!("{plans} plans"),
    }
}

fn sides(cell: &CellSummary) -> String {
    cell.cell.sides()
}

/// Letters and digits in words with hyphens.
fn slug(id: &str) -> String {
    let words = id.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_lowercase()
}

/// All plots of a run; `portraits` are its cells'. A gallery without plots is left out.
///
/// # Errors
/// [`ReportError::Plot`].
pub fn galleries(analysis: &Analysis, portraits: &[Option<Portrait>]) -> Result<Vec<Gallery>, ReportError> {
    let seen: Vec<Seen<'_>> = (analysis.cells.iter().zip(portraits).enumerate())
        .filter(|(_, (cell, _))| cell.cell.is_comparison())
        .filter_map(|(place, (cell, portrait))| {
            let portrait = portrait.as_ref()?;
            Some(Seen { place, cell, portrait })
        })
        .collect();
    let mut galleries = vec![
        strips::gallery(&seen)?,
        order::gallery(&seen)?,
        ecdf::gallery(&seen)?,
        qq::gallery(&seen)?,
        scaling::gallery(analysis, &seen)?,
        distance::gallery(analysis)?,
    ];
    galleries.retain(|gallery| !gallery.plots.is_empty());
    Ok(galleries)
}

/// What is said about a plot.
#[derive(Default)]
struct Words {
    title: String,
    note: String,
    description: String,
}

fn plot(name: String, size: (u32, u32), told: Words, drawn: Result<String, frame::Fault>) -> Result<Plot, ReportError> {
    let Words {
        title,
        note,
        description,
    } = told;
    match drawn {
        Ok(elements) => Ok(Plot {
            name,
            title,
            note,
            description,
            size,
            elements,
        }),
        Err(fault) => Err(ReportError::Plot {
            plot: name,
            reason: fault.to_string(),
        }),
    }
}

fn millis(nanos: f64) -> f64 {
    nanos / 1e6
}

/// `lie between 1 and 2 ms`, or `is 1 ms` where both are told the same.
fn between(low: f64, high: f64) -> String {
    let (low, high) = (milliseconds(low), milliseconds(high));
    if low == high {
        format!("are all {low} ms")
    } else {
        format!("lie between {low} and {high} ms")
    }
}

/// How many marks lie beyond a window, as a sentence, or nothing.
fn beyond(window: Window, pairs: usize) -> String {
    match window.below + window.above {
        0 => String::new(),
        outside => format!("{outside} of {pairs} pairs lie beyond the axis."),
    }
}
