//! Per-fork strips: every fork's differences side by side, so that the spread between forks can be held against the
//! spread within one.

use super::axis::{Axis, Scale};
use super::frame::{Drawn, Frame, Sheet};
use super::ink::Ink;
use super::{Gallery, PANEL, Plot, ReportError, Seen, Words, between, beyond, millis, plot};
use crate::analysis::ForkPortrait;
use crate::report::format::interval;

/// Part of a fork's stretch of the axis that its pairs take.
const STRIP: f64 = 0.72;

pub(super) fn gallery(seen: &[Seen<'_>]) -> Result<Gallery, ReportError> {
    Ok(Gallery {
        name: "strips",
        heading: "Differences, fork by fork",
        reading:
            "A dot is a pair, and left to right within a fork is the order in which pairs ran. The heavy bar is the \
                  fork's median, the box its quartiles, and the band across is the 95 % interval over forks."
                .to_owned(),
        plots: seen.iter().map(strips).collect::<Result<_, _>>()?,
    })
}

fn strips(seen: &Seen<'_>) -> Result<Plot, ReportError> {
    let (low, high) = seen.portrait.fork_medians;
    let headline = seen.headline();
    let within = headline.map(|headline| {
        format!(
            "; the 95 % interval over forks is {} ms",
            interval(headline.low, headline.high)
        )
    });
    let title = format!(
        "{}, the forks' medians of {} {}{}.",
        seen.at(),
        seen.sides(),
        between(low as f64, high as f64),
        within.unwrap_or_default()
    );
    let every = seen
        .portrait
        .forks
        .iter()
        .map(|fork| fork.differences.every)
        .max()
        .unwrap_or(1);
    let thinned = match every {
        1 => String::new(),
        every => format!(" One pair in {every} is drawn."),
    };
    let note = format!("{}{thinned}", beyond(seen.portrait.window, seen.cell.pairs));
    let note = note.trim_start().to_owned();
    let description = format!(
        "Strip plot with {} forks beside each other; the vertical axis is {} in ms.",
        seen.portrait.forks.len(),
        seen.sides()
    );
    let drawn = frame(seen).draw(|sheet| paint(sheet, seen));
    plot(
        seen.name("strips"),
        PANEL,
        Words {
            title,
            note,
            description,
        },
        drawn,
    )
}

fn frame(seen: &Seen<'_>) -> Frame {
    let forks = &seen.portrait.forks;
    let window = seen.portrait.window;
    let marks = (forks.iter().enumerate())
        .map(|(place, fork)| (place as f64 + 0.5, fork.fork.to_string()))
        .collect();
    Frame {
        size: PANEL,
        x: Axis::marked("fork", 0.0, forks.len() as f64, marks),
        y: Axis::over(
            "difference, ms",
            Scale::Linear,
            millis(window.low as f64),
            millis(window.high as f64),
            5,
        ),
        legend: vec![(Ink::Difference, format!("{} at {}", seen.sides(), seen.plans()))],
        y_width: 62,
    }
}

fn paint(sheet: &mut Sheet<'_, '_>, seen: &Seen<'_>) -> Drawn {
    let forks = &seen.portrait.forks;
    let width = forks.len() as f64;
    if let Some(headline) = seen.headline() {
        let (low, high) = (millis(headline.low), millis(headline.high));
        sheet.field((0.0, low), (width, high), Ink::Interval, 0.12)?;
    }
    if seen.portrait.window.low < 0 && seen.portrait.window.high > 0 {
        sheet.line(&[(0.0, 0.0), (width, 0.0)], 2, Ink::Quiet, 1.0)?;
    }
    let reach = |place: usize| (place as f64 + 0.5 - STRIP / 2.0, place as f64 + 0.5 + STRIP / 2.0);
    for (place, fork) in forks.iter().enumerate() {
        dots(sheet, fork, reach(place))?;
    }
    forks
        .iter()
        .enumerate()
        .try_for_each(|(place, fork)| summary(sheet, fork, reach(place)))
}

fn dots(sheet: &mut Sheet<'_, '_>, fork: &ForkPortrait, (left, right): (f64, f64)) -> Drawn {
    let last = fork.differences.values.len().saturating_sub(1).max(1) as f64;
    for (place, difference) in fork.differences.values.iter().enumerate() {
        let x = left + (right - left) * place as f64 / last;
        sheet.dot((x, millis(*difference as f64)), 2, Ink::Difference, 0.7)?;
    }
    Ok(())
}

fn summary(sheet: &mut Sheet<'_, '_>, fork: &ForkPortrait, (left, right): (f64, f64)) -> Drawn {
    let (low, high) = (millis(fork.quartiles.0 as f64), millis(fork.quartiles.1 as f64));
    let median = millis(fork.median as f64);
    let corners = [(left, low), (right, low), (right, high), (left, high), (left, low)];
    sheet.line(&corners, 2, Ink::Text, 0.8)?;
    sheet.line(&[(left, median), (right, median)], 6, Ink::Text, 1.0)
}
