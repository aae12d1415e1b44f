//! Single values: required ones, words out of a list, numbers within a range. Each says what is wrong with it.

use std::ops::{Range, RangeInclusive};

use super::{Checked, limits};
use crate::manifest::wire::{At, Number, Reader, nearest};
use crate::units::Nanos;

pub(super) fn required<T>(
    wire: Option<At<T>>,
    key: &str,
    section: Option<&Range<usize>>,
    reader: &mut Reader<'_>,
) -> Checked<At<T>> {
    // A value of the wrong type has its own fault already; a second one would only confuse.
    if wire.is_none() && !reader.faults.iter().any(|fault| fault.key == key) {
        reader.fault(&section.cloned().unwrap_or(0..0), key, "is missing");
    }
    wire
}

/// The candidate that was named, or a fault that lists them.
pub(super) fn one_of<'c>(
    word: &At<String>,
    key: &str,
    candidates: &[&'c str],
    reader: &mut Reader<'_>,
) -> Checked<&'c str> {
    if let Some(found) = candidates.iter().find(|candidate| **candidate == word.value) {
        return Some(found);
    }
    let hint = match nearest(&word.value, candidates) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("known: {}", candidates.join(", ")),
    };
    reader.fault(
        &word.span,
        key,
        format!("is {:?}, which is unknown; {hint}", word.value),
    );
    None
}

pub(super) fn named<T: Copy>(
    word: &At<String>,
    key: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
    reader: &mut Reader<'_>,
) -> Checked<T> {
    let names: Vec<&str> = all.iter().map(|item| name(*item)).collect();
    let found = one_of(word, key, &names, reader)?;
    all.iter().copied().find(|item| name(*item) == found)
}

pub(super) fn whole(
    wire: Option<At<Number>>,
    key: &str,
    range: &RangeInclusive<i128>,
    default: i128,
    reader: &mut Reader<'_>,
) -> Checked<i128> {
    match wire {
        Some(number) => integer(&number, key, range, reader),
        // A value of the wrong type has been reported and removed.
        None if reader.faults.iter().any(|fault| fault.key == key) => None,
        None => Some(default),
    }
}

pub(super) fn integer(
    number: &At<Number>,
    key: &str,
    range: &RangeInclusive<i128>,
    reader: &mut Reader<'_>,
) -> Checked<i128> {
    match number.value {
        Number::Integer(value) if range.contains(&value) => Some(value),
        Number::Integer(value) => {
            let message = format!("is {value}, but must be from {} to {}", range.start(), range.end());
            reader.fault(&number.span, key, message);
            None
        }
        Number::Float(value) => {
            reader.fault(&number.span, key, format!("is {value}, but must be a whole number"));
            None
        }
    }
}

pub(super) fn millis(wire: Option<At<Number>>, key: &str, default: f64, reader: &mut Reader<'_>) -> Checked<Nanos> {
    let Some(At { value, span }) = wire else {
        return Some(Nanos((default * 1e6).round() as i64));
    };
    let millis = match value {
        Number::Integer(value) => value as f64,
        Number::Float(value) => value,
    };
    if (limits::MILLIS_MIN..=limits::MILLIS_MAX).contains(&millis) {
        return Some(Nanos((millis * 1e6).round() as i64));
    }
    let message = format!(
        "is {millis} ms, but must be from {} to {} ms",
        limits::MILLIS_MIN,
        limits::MILLIS_MAX
    );
    reader.fault(&span, key, message);
    None
}
