//! Axes with units around a drawing, and the few marks that plots are made of.

use std::convert::Infallible;

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::prelude::{
    Cartesian2d, ChartBuilder, Circle, DashedLineSeries, DrawingArea, DrawingAreaErrorKind, EmptyElement,
    IntoDrawingArea, PathElement, Rectangle, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, TRANSPARENT, TextStyle};

use super::axis::Axis;
use super::canvas::Canvas;
use super::ink::Ink;

/// What drawing can end in; the canvas itself can't fail.
pub(super) type Fault = DrawingAreaErrorKind<Infallible>;
/// Whether it was drawn.
pub(super) type Drawn = Result<(), Fault>;

/// Units of a drawing in a pixel of the page: drawings have whole coordinates.
pub(super) const SCALE: u32 = 2;
const TEXT_SIZE: u32 = 12 * SCALE;
/// Pixels left and right of a drawing.
const MARGIN: u32 = 14;
const LEGEND_HEIGHT: u32 = 26 * SCALE;

/// A drawing with two axes and a line of words above.
pub(super) struct Frame {
    /// Width and height in pixels of the page.
    pub size: (u32, u32),
    pub x: Axis,
    pub y: Axis,
    /// What the colours stand for.
    pub legend: Vec<(Ink, String)>,
    /// Pixels that the words of the y axis take.
    pub y_width: u32,
}

impl Frame {
    /// Draws axes and grid, then what `paint` adds. The elements of an SVG.
    pub fn draw(&self, paint: impl FnOnce(&mut Sheet<'_, '_>) -> Drawn) -> Result<String, Fault> {
        let mut elements = String::new();
        {
            let size = (self.size.0 * SCALE, self.size.1 * SCALE);
            let area = Canvas::new(size, &mut elements).into_drawing_area();
            self.legend(&area)?;
            let x = self.x.spaced(self.size.0 - self.y_width - MARGIN);
            let mut chart = ChartBuilder::on(&area)
                .margin_top(LEGEND_HEIGHT)
                .margin_right((MARGIN - 2) * SCALE)
                .margin_left(2 * SCALE)
                .x_label_area_size(40 * SCALE)
                .y_label_area_size(self.y_width * SCALE)
                .build_cartesian_2d(x, self.y.clone())?;
            let quiet = text(Ink::Quiet);
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .bold_line_style(Ink::Grid.colour())
                .axis_style(Ink::Quiet.colour())
                .label_style(quiet.clone())
                .axis_desc_style(quiet)
                .x_desc(&self.x.name)
                .y_desc(&self.y.name)
                .draw()?;
            let (x, y) = (&self.x, &self.y);
            paint(&mut Sheet { chart, x, y })?;
            area.present()?;
        }
        Ok(elements)
    }

    fn legend(&self, area: &DrawingArea<Canvas<'_>, Shift>) -> Drawn {
        let mut x = (self.y_width / 2 * SCALE) as i32;
        let y = (LEGEND_HEIGHT / 2) as i32;
        for (ink, words) in &self.legend {
            let radius = 4 * SCALE as i32;
            area.draw(&Circle::new((x, y), radius, ink.colour().filled()))?;
            let start = x + 2 * radius;
            let style = text(Ink::Text).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(words.clone(), (start, y), style))?;
            x = start + (words.chars().count() as f64 * f64::from(TEXT_SIZE) * 0.55) as i32 + 3 * radius;
        }
        Ok(())
    }
}

fn text(ink: Ink) -> TextStyle<'static> {
    ("sans-serif", TEXT_SIZE).into_font().color(&ink.colour())
}

/// The drawing within its axes. Marks are given in values; a value beyond an axis is drawn at its end.
pub(super) struct Sheet<'a, 'b> {
    chart: ChartContext<'a, Canvas<'b>, Cartesian2d<Axis, Axis>>,
    x: &'a Axis,
    y: &'a Axis,
}

impl Sheet<'_, '_> {
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.clamp(x), self.y.clamp(y))
    }

    /// A dot with a diameter in pixels.
    pub fn dot(&mut self, at: (f64, f64), diameter: u32, ink: Ink, opacity: f64) -> Drawn {
        let dot = Circle::new(self.at(at), diameter * SCALE / 2, ink.colour().mix(opacity).filled());
        self.chart.plotting_area().draw(&dot)
    }

    /// A ring with a diameter in pixels.
    pub fn ring(&mut self, at: (f64, f64), diameter: u32, ink: Ink) -> Drawn {
        let ring = Circle::new(self.at(at), diameter * SCALE / 2, ink.colour().stroke_width(SCALE));
        self.chart.plotting_area().draw(&ring)
    }

    /// A line with a width in half pixels.
    pub fn line(&mut self, points: &[(f64, f64)], width: u32, ink: Ink, opacity: f64) -> Drawn {
        let points: Vec<(f64, f64)> = points.iter().map(|&point| self.at(point)).collect();
        let line = PathElement::new(points, ink.colour().mix(opacity).stroke_width(width));
        self.chart.plotting_area().draw(&line)
    }

    /// A dashed line between two points.
    pub fn dashes(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) -> Drawn {
        self.dashed(&[from, to], 2, ink)
    }

    /// A dashed line through points, with a width in half pixels.
    pub fn dashed(&mut self, points: &[(f64, f64)], width: u32, ink: Ink) -> Drawn {
        let points: Vec<(f64, f64)> = points.iter().map(|&point| self.at(point)).collect();
        let (dash, style) = (4 * SCALE, ink.colour().stroke_width(width));
        self.chart
            .draw_series(DashedLineSeries::new(points, dash, dash, style))?;
        Ok(())
    }

    /// Ends of the x axis.
    pub fn ends(&self) -> (f64, f64) {
        (self.x.low, self.x.high)
    }

    /// A filled rectangle between two corners.
    pub fn field(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, opacity: f64) -> Drawn {
        let field = Rectangle::new([self.at(from), self.at(to)], ink.colour().mix(opacity).filled());
        self.chart.plotting_area().draw(&field)
    }

    /// Words beside a point, so many pixels to the right and down.
    pub fn words(&mut self, words: impl Into<String>, at: (f64, f64), (right, down): (i32, i32)) -> Drawn {
        let side = if right < 0 { HPos::Right } else { HPos::Left };
        let style = text(Ink::Text).pos(Pos::new(side, VPos::Center));
        let aside = (right * SCALE as i32, down * SCALE as i32);
        let words = EmptyElement::at(self.at(at)) + Text::new(words.into(), aside, style);
        self.chart.plotting_area().draw(&words)
    }
}
