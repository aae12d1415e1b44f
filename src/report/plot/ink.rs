//! What is drawn in which colour: the palette of Okabe and Ito, which colour-blind readers can tell apart, in a shade for
//! light and one for dark surroundings.

use std::fmt::Write;

use plotters::style::RGBColor;
use plotters_backend::BackendColor;

/// What a mark stands for. Marks carry this as a class, so that a style sheet can colour them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// Text.
    Text,
    /// Text that stands back, and axes.
    Quiet,
    /// Grid lines.
    Grid,
    /// The stretch of a warm-up.
    Shade,
    /// The subject.
    Subject,
    /// The baseline.
    Baseline,
    /// Subject minus baseline.
    Difference,
    /// The subject against itself.
    Control,
    /// An interval.
    Interval,
}

/// Every ink with its class, its light and its dark shade.
const INKS: [(Ink, &str, u32, u32); 9] = [
    (Ink::Text, "text", 0x1B_1F24, 0xE6_E9ED),
    (Ink::Quiet, "quiet", 0x59_636E, 0xA5_AEB8),
    (Ink::Grid, "grid", 0xE1_E5E9, 0x31_3840),
    (Ink::Shade, "shade", 0xED_EFF2, 0x26_2C33),
    (Ink::Subject, "subject", 0x00_72B2, 0x56_B4E9),
    (Ink::Baseline, "baseline", 0xD5_5E00, 0xE6_9F00),
    (Ink::Difference, "difference", 0x00_9E73, 0x1F_B58A),
    (Ink::Control, "control", 0xB8_5F92, 0xCC_79A7),
    (Ink::Interval, "interval", 0x00_0000, 0xFF_FFFF),
];

impl Ink {
    /// The colour by which the canvas knows this ink again: its light shade.
    pub fn colour(self) -> RGBColor {
        let light = INKS.iter().find(|ink| ink.0 == self).map_or(0, |ink| ink.2);
        let [_, red, green, blue] = light.to_be_bytes();
        RGBColor(red, green, blue)
    }

    /// The class of a colour.
    pub fn class_of(colour: BackendColor) -> &'static str {
        let (red, green, blue) = colour.rgb;
        let light = u32::from_be_bytes([0, red, green, blue]);
        INKS.iter().find(|ink| ink.2 == light).map_or("text", |ink| ink.1)
    }
}

/// The style sheet of plots on a page, which may be dark; on paper they are light.
pub(crate) fn style_sheet() -> String {
    let mut sheet = light_sheet();
    sheet.push_str("@media screen and (prefers-color-scheme:dark){\n");
    rules(&mut sheet, |ink| ink.3);
    sheet.push_str("}\n");
    sheet
}

/// The style sheet of a plot on white.
pub(super) fn light_sheet() -> String {
    let mut sheet = String::from(
        ".plot text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}\n\
         .plot path{fill:none;stroke-linecap:round;stroke-linejoin:round}\n",
    );
    rules(&mut sheet, |ink| ink.2);
    sheet
}

fn rules(sheet: &mut String, shade: impl Fn(&(Ink, &str, u32, u32)) -> u32) {
    for ink in &INKS {
        let (class, shade) = (ink.1, shade(ink));
        let _ = writeln!(
            sheet,
            ".plot .f-{class}{{fill:#{shade:06x}}}.plot .s-{class}{{stroke:#{shade:06x}}}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ink_is_known_again_by_its_colour() {
        for (ink, class, _, _) in INKS {
            let RGBColor(red, green, blue) = ink.colour();
            let rgb = (red, green, blue);
            assert_eq!(Ink::class_of(BackendColor { alpha: 1.0, rgb }), class);
        }
    }
}
