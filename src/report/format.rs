//! Numbers as people read them.

use crate::analysis::{Figure, Unit};
use crate::units::Nanos;

/// Decimals of a time in milliseconds at the finest: a nanosecond.
const DECIMALS_MAX: i32 = 6;
/// Digits that a time is told with.
const SIGNIFICANT: i32 = 3;

/// A time in ms with three significant digits, e.g. `6.54`, `0.0172`, `−0.135`; whole ms above 1 000.
pub fn milliseconds(nanos: f64) -> String {
    let millis = nanos / 1e6;
    if millis == 0.0 {
        return "0".to_owned();
    }
    let magnitude = millis.abs().log10().floor() as i32;
    let decimals = (SIGNIFICANT - 1 - magnitude).clamp(0, DECIMALS_MAX);
    let text = format!("{:.*}", decimals as usize, millis);
    // Rounding may carry into another digit (0.9996 → 1.000); one decimal less then says the same.
    text.replace('-', "−")
}

/// An interval of times in ms, e.g. `6.41–6.65`. Ends below zero are set apart by "to".
pub(super) fn interval(low: f64, high: f64) -> String {
    let dash = if low < 0.0 || high < 0.0 { " to " } else { "–" };
    format!("{}{dash}{}", milliseconds(low), milliseconds(high))
}

/// A share in per cent with three significant digits; 100 % only when it is exactly that.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent.abs() {
        0.0 => "0".to_owned(),
        100.0 => "100".to_owned(),
        p if p > 99.9 && p < 100.0 => floor(percent, 3),
        p if p >= 10.0 => format!("{percent:.1}"),
        p if p >= 1.0 => format!("{percent:.2}"),
        _ => format!("{percent:.3}"),
    };
    format!("{} %", text.replace('-', "−"))
}

/// Never rounds up: 99.9996 % of pairs is not all of them.
fn floor(value: f64, decimals: i32) -> String {
    let scale = 10f64.powi(decimals);
    format!("{:.*}", decimals as usize, (value * scale).floor() / scale)
}

/// How many times as long, with three significant digits.
pub(super) fn factor(ratio: f64) -> String {
    match ratio {
        r if r >= 100.0 => format!("{r:.0} ×"),
        r if r >= 10.0 => format!("{r:.1} ×"),
        r => format!("{r:.2} ×"),
    }
}

/// A count of round trips.
pub(super) fn trips(trips: f64) -> String {
    format!("{trips:.2}").replace('-', "−")
}

/// A figure's value as tables tell it, with its unit; `None` where it has no value.
pub fn figure_text(figure: &Figure) -> Option<String> {
    let value = figure.value?;
    let plain = |digits: usize| format!("{value:.digits$}").replace('-', "−");
    Some(match (figure.definition.unit, figure.definition.key) {
        (Unit::Nanos, _) => format!("{} ms", milliseconds(value)),
        (Unit::NanosPerPlan, _) => format!("{} ms a plan", milliseconds(value)),
        (Unit::Trips, _) => format!("{} round trips", trips(value)),
        (Unit::Pairs, _) => format!("{} pairs", plain(0)),
        (Unit::Bytes, _) => format!("{} bytes", plain(0)),
        (Unit::Forks, _) => format!("{} forks", plain(0)),
        (Unit::One, key) if key.ends_with("share") => percent(value),
        (Unit::One, "difference.ratio" | "noise_factor") => factor(value),
        (Unit::One, "verdict.p") => format!("{value:.2e}"),
        (Unit::One, _) => plain(2),
    })
}

/// A number in a unit of the archive, as tables tell it: times in ms.
pub(super) fn in_unit(value: f64, unit: &str) -> String {
    let plain = format!("{value:.4}");
    let plain = plain.trim_end_matches('0').trim_end_matches('.').replace('-', "−");
    match unit {
        "ns" => format!("{} ms", milliseconds(value)),
        "ns/plan" => format!("{} ms a plan", milliseconds(value)),
        "1" => plain,
        unit => format!("{plain} {unit}"),
    }
}

/// The same without rounding: what somebody wrote.
pub(super) fn exactly(value: f64, unit: &str) -> String {
    let told = |value: f64| value.to_string().replace('-', "−");
    match unit {
        "ns" => format!("{} ms", told(value / 1e6)),
        "ns/plan" => format!("{} ms a plan", told(value / 1e6)),
        "1" => told(value),
        unit => format!("{} {unit}", told(value)),
    }
}

/// A rough duration, e.g. `45 s`, `3 min`, `2.5 h`.
pub fn duration(nanos: Nanos) -> String {
    match nanos.as_secs_f64() {
        s if s < 90.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_significant_digits() {
        let cases = [
            (6_541_234.0, "6.54"),
            (17_234.0, "0.0172"),
            (-135_000.0, "−0.135"),
            (0.0, "0"),
            (12.0, "0.000012"),
            (123_456_789.0, "123"),
            (1_234_567_890.0, "1235"),
        ];
        for (nanos, text) in cases {
            assert_eq!(milliseconds(nanos), text);
        }
        assert_eq!(interval(6_410_000.0, 6_650_000.0), "6.41–6.65");
        assert_eq!(interval(-10_000.0, 20_000.0), "−0.0100 to 0.0200");
    }

    #[test]
    fn a_share_is_all_only_when_it_is_all() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.999_999), "99.999 %");
        assert_eq!(percent(0.994), "99.4 %");
        assert_eq!(percent(0.016_34), "1.63 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
