//! Axes: which values they reach, how values become places, and which places are marked.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::ticks;

/// About how wide a letter is, in pixels of the page.
const LETTER: f64 = 7.5;

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios; values are above zero.
    Logarithmic,
}

/// An axis. Its marks are values with their words.
#[derive(Clone)]
pub(super) struct Axis {
    pub name: String,
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
    pub marks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis from the smallest to the largest value, with some air, and round marks.
    pub fn over(name: impl Into<String>, scale: Scale, low: f64, high: f64, wanted: usize) -> Self {
        let (low, high) = aired(scale, low, high);
        let places = match scale {
            Scale::Linear => ticks::linear(low, high, wanted),
            Scale::Logarithmic => ticks::logarithmic(low, high, wanted),
        };
        Self {
            name: name.into(),
            scale,
            low,
            high,
            marks: places.into_iter().map(|place| (place, ticks::told(place))).collect(),
        }
    }

    /// An axis with these ends and marks and nothing else.
    pub fn marked(name: impl Into<String>, low: f64, high: f64, marks: Vec<(f64, String)>) -> Self {
        Self {
            name: name.into(),
            scale: Scale::Linear,
            low,
            high,
            marks,
        }
    }

    /// The same axis with the marks whose words have room, on a page on which it is so many pixels long.
    pub fn spaced(&self, pixels: u32) -> Self {
        let share =
            |value: f64| (self.place(value) - self.place(self.low)) / (self.place(self.high) - self.place(self.low));
        let mut spaced = Self {
            marks: Vec::new(),
            ..self.clone()
        };
        let mut end = f64::NEG_INFINITY;
        for (value, words) in &self.marks {
            let width = words.chars().count() as f64 * LETTER;
            let start = share(*value) * f64::from(pixels) - width / 2.0;
            if start >= end {
                end = start + width + LETTER;
                spaced.marks.push((*value, words.clone()));
            }
        }
        spaced
    }

    /// The value, or the end of the axis that it lies beyond.
    pub fn clamp(&self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }

    /// The value as a place: equal distances of places are equal distances on the page.
    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.max(f64::MIN_POSITIVE).log10(),
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let (low, high) = (self.place(self.low), self.place(self.high));
        let share = (self.place(*value) - low) / (high - low);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.marks.iter().map(|mark| mark.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let mark = self.marks.iter().find(|mark| mark.0.to_bits() == value.to_bits());
        mark.map(|mark| mark.1.clone()).unwrap_or_default()
    }
}

/// A little more than from `low` to `high`; never nothing.
fn aired(scale: Scale, low: f64, high: f64) -> (f64, f64) {
    match scale {
        Scale::Linear if high > low => {
            let air = (high - low) * 0.04;
            (low - air, high + air)
        }
        Scale::Linear => (low - low.abs().max(1.0) * 0.1, low + low.abs().max(1.0) * 0.1),
        Scale::Logarithmic => {
            let air = (high / low).powf(0.04).max(1.05);
            (low / air, high * air)
        }
    }
}
