//! Where an axis is marked, and how its marks are told.

/// Round places of a linear axis between two ends: about `wanted` of them, a power of ten times 1, 2 or 5 apart.
pub(super) fn linear(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return vec![low];
    }
    let rough = span / wanted as f64;
    let decade = 10f64.powf(rough.log10().floor());
    let ends = |step: f64| ((low / step).ceil() as i64, (high / step).floor() as i64);
    let surplus = |step: f64| (ends(step).1 - ends(step).0 + 1).abs_diff(wanted as i64);
    let steps = [0.5, 1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
    let step = steps
        .into_iter()
        .min_by_key(|step| surplus(*step))
        .unwrap_or(10.0 * decade);
    let (first, last) = ends(step);
    (first..=last).map(|place| place as f64 * step).collect()
}

/// Round places of a logarithmic axis between two ends above zero. A short axis is marked as a linear one.
pub(super) fn logarithmic(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let every = |factors: &[f64]| -> Vec<f64> {
        (first..=last)
            .flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)))
            .filter(|place| (low..=high).contains(place))
            .collect()
    };
    let finest = every(&[1.0, 2.0, 5.0]);
    let middle = every(&[1.0, 3.0]);
    let decades = every(&[1.0]);
    match () {
        () if finest.len() < 3 => linear(low, high, wanted),
        () if finest.len() <= wanted + 2 => finest,
        () if middle.len() <= wanted + 2 => middle,
        () => decades,
    }
}

/// A mark in plain digits, as few as its size needs.
pub(super) fn told(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (3 - magnitude).clamp(0, 9) as usize;
    let digits = format!("{value:.decimals$}");
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    digits.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(places: &[f64]) -> Vec<String> {
        places.iter().map(|&place| told(place)).collect()
    }

    #[test]
    fn places_are_round() {
        assert_eq!(
            labels(&linear(-0.013, 0.042, 5)),
            ["−0.01", "0", "0.01", "0.02", "0.03", "0.04"]
        );
        assert_eq!(labels(&linear(0.3, 2.81, 5)), ["0.5", "1", "1.5", "2", "2.5"]);
        assert_eq!(labels(&linear(-12.0, 31.0, 4)), ["−10", "0", "10", "20", "30"]);
        assert_eq!(
            labels(&logarithmic(0.07, 12.0, 5)),
            ["0.1", "0.2", "0.5", "1", "2", "5", "10"]
        );
        assert_eq!(
            labels(&logarithmic(0.001, 900.0, 5)),
            ["0.001", "0.01", "0.1", "1", "10", "100"]
        );
        assert_eq!(labels(&logarithmic(0.28, 0.44, 4)), ["0.3", "0.35", "0.4"]);
        assert_eq!(labels(&linear(3.0, 3.0, 4)), ["3"]);
    }

    #[test]
    fn marks_are_told_in_few_digits() {
        assert_eq!(
            labels(&[-0.25, 0.000_1, 1_500.0, 40.0]),
            ["−0.25", "0.0001", "1500", "40"]
        );
    }
}
