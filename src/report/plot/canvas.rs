//! Where plotters draws: a small SVG writer.
//!
//! It writes classes instead of colours, so that one drawing suits light, dark and paper, and joins what is
//! drawn one after another in one kind of stroke, so that a plot of thousands of pairs stays small.

use std::convert::Infallible;
use std::fmt::Write;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontStyle,
    FontTransform,
};

use super::ink::Ink;

/// Bytes from which on a path is continued by another: browsers are slow to paint a path of very many parts.
const PATH_BYTES: usize = 1_500;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

/// Collects the elements of a drawing.
pub(super) struct Canvas<'a> {
    size: (u32, u32),
    elements: &'a mut String,
    strokes: Option<Strokes>,
}

/// Lines and points of one kind that were drawn one after another. A point is a line without length and with round ends.
struct Strokes {
    class: &'static str,
    width: u32,
    opacity: f64,
    path: String,
}

impl<'a> Canvas<'a> {
    pub fn new(size: (u32, u32), elements: &'a mut String) -> Self {
        Self {
            size,
            elements,
            strokes: None,
        }
    }

    /// Adds a path to those of its kind.
    fn stroke(&mut self, colour: BackendColor, width: u32, path: &str) {
        let (class, opacity) = (Ink::class_of(colour), colour.alpha);
        let same = |strokes: &Strokes| {
            let same_look = strokes.width == width && strokes.opacity.to_bits() == opacity.to_bits();
            strokes.class == class && same_look && strokes.path.len() < PATH_BYTES
        };
        if !self.strokes.as_ref().is_some_and(same) {
            self.end_strokes();
        }
        let strokes = self.strokes.get_or_insert_with(|| Strokes {
            class,
            width,
            opacity,
            path: String::new(),
        });
        strokes.path.push_str(path);
    }

    fn end_strokes(&mut self) {
        if let Some(strokes) = self.strokes.take() {
            let Strokes {
                class,
                width,
                opacity,
                path,
            } = strokes;
            let (width, opacity) = (StrokeWidth(width), Opacity(opacity));
            self.element(format_args!("<path class=\"s-{class}\"{width}{opacity} d=\"{path}\"/>"));
        }
    }

    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        self.end_strokes();
        // Writing to a string can't fail.
        let _ = writeln!(self.elements, "{element}");
    }
}

/// An attribute that is left out where it says nothing.
struct Opacity(f64);

impl std::fmt::Display for Opacity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < 1.0 {
            write!(f, " opacity=\"{}\"", self.0)?;
        }
        Ok(())
    }
}

/// The same for the width of a line.
struct StrokeWidth(u32);

impl std::fmt::Display for StrokeWidth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 != 1 {
            write!(f, " stroke-width=\"{}\"", self.0)?;
        }
        Ok(())
    }
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        self.end_strokes();
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, colour: BackendColor) -> Drawn {
        let class = Ink::class_of(colour);
        self.element(format_args!(
            "<rect class=\"f-{class}\" x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\"/>"
        ));
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        if style.color().alpha > 0.0 {
            self.stroke(style.color(), style.stroke_width(), &outline(path));
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        if style.color().alpha > 0.0 {
            let (class, opacity) = (Ink::class_of(style.color()), Opacity(style.color().alpha));
            self.element(format_args!(
                "<path class=\"f-{class}\"{opacity} d=\"{}z\"/>",
                outline(path)
            ));
        }
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S, fill: bool) -> Drawn {
        if style.color().alpha == 0.0 {
            return Ok(());
        }
        let class = Ink::class_of(style.color());
        let (paint, none) = if fill { ("f", "") } else { ("s", " fill=\"none\"") };
        let (width, height) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
        self.element(format_args!(
            "<rect class=\"{paint}-{class}\"{none}{} x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\"/>",
            Opacity(style.color().alpha),
            from.0.min(to.0),
            from.1.min(to.1),
        ));
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, (x, y): BackendCoord, radius: u32, style: &S, fill: bool) -> Drawn {
        if !fill {
            let class = Ink::class_of(style.color());
            let width = StrokeWidth(style.stroke_width());
            self.element(format_args!(
                "<circle class=\"s-{class}\" fill=\"none\"{width} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"
            ));
            return Ok(());
        }
        self.stroke(style.color(), 2 * radius, &format!("M{x} {y}h0"));
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Drawn {
        if text.is_empty() {
            return Ok(());
        }
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        let shift = match style.anchor().v_pos {
            VPos::Top => ".76em",
            VPos::Center => ".35em",
            VPos::Bottom => "-.25em",
        };
        let weight = match style.style() {
            FontStyle::Bold => " font-weight=\"600\"",
            _ => "",
        };
        let turn = match style.transform() {
            FontTransform::Rotate90 => format!(" transform=\"rotate(90 {x} {y})\""),
            FontTransform::Rotate180 => format!(" transform=\"rotate(180 {x} {y})\""),
            FontTransform::Rotate270 => format!(" transform=\"rotate(270 {x} {y})\""),
            FontTransform::None => String::new(),
        };
        self.element(format_args!(
            "<text class=\"f-{}\" x=\"{x}\" y=\"{y}\" dy=\"{shift}\" font-size=\"{}\" text-anchor=\"{anchor}\"{weight}{turn}>{}</text>",
            Ink::class_of(style.color()),
            style.size(),
            escaped(text),
        ));
        Ok(())
    }
}

/// A line through points, as the data of a path. Level and upright parts are told by the coordinate that changes.
fn outline(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut data = String::new();
    let mut last = None;
    for (x, y) in points {
        // Writing to a string can't fail.
        let _ = match last {
            None => write!(data, "M{x} {y}"),
            Some((_, level)) if level == y => write!(data, "H{x}"),
            Some((upright, _)) if upright == x => write!(data, "V{y}"),
            Some(_) => write!(data, "L{x} {y}"),
        };
        last = Some((x, y));
    }
    data
}

/// Text that may stand between tags and in attributes of XML and HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML has no way to hold the others.
            control if control.is_control() && !"\t\n\r".contains(control) => escaped.push('\u{FFFD}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use plotters::prelude::{Circle, IntoDrawingArea};
    use plotters::style::Color;

    use super::*;

    #[test]
    fn neighbouring_points_of_a_kind_are_one_path() {
        let mut elements = String::new();
        {
            let area = Canvas::new((10, 10), &mut elements).into_drawing_area();
            let points = [(1, 2, Ink::Subject), (3, 4, Ink::Subject), (5, 6, Ink::Baseline)];
            for (x, y, ink) in points {
                area.draw(&Circle::new((x, y), 2, ink.colour().filled())).unwrap();
            }
            area.present().unwrap();
        }
        let expected = "<path class=\"s-subject\" stroke-width=\"4\" d=\"M1 2h0M3 4h0\"/>\n\
                        <path class=\"s-baseline\" stroke-width=\"4\" d=\"M5 6h0\"/>\n";
        assert_eq!(elements, expected);
    }

    #[test]
    fn level_and_upright_parts_of_a_line_are_short() {
        assert_eq!(outline([(1, 2), (5, 2), (5, 9), (6, 10)]), "M1 2H5V9L6 10");
        assert_eq!(outline([]), "");
    }

    #[test]
    fn text_can_not_break_out() {
        assert_eq!(
            escaped("<a b='c'>\u{7}&\""),
            "&lt;a b=&#39;c&#39;&gt;\u{FFFD}&amp;&quot;"
        );
    }
}
