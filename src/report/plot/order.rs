//! Run order: both sides' times as they came, so that warm-up, drift and changes of level are seen.

use super::axis::{Axis, Scale};
use super::frame::{Drawn, Frame, Sheet};
use super::ink::Ink;
use super::{Gallery, Plot, ReportError, Seen, WIDE, Words, millis, plot};
use crate::analysis::{ForkPortrait, Series};

/// Part of a fork's stretch of the axis that its pairs take.
const STRETCH: f64 = 0.94;
/// Part of the height that the tick of a change takes.
const TICK: f64 = 0.09;

pub(super) fn gallery(seen: &[Seen<'_>]) -> Result<Gallery, ReportError> {
    Ok(Gallery {
        name: "order",
        heading: "Times in the order in which they ran",
        reading: "Both sides' times, fork by fork, on a logarithmic axis. Warm-up is shaded: it is archived and not \
                  counted. A tick at the upper edge marks where the subject's level changed by more than 5 %, one at the \
                  lower edge where the baseline's did."
            .to_owned(),
        plots: seen.iter().map(order).collect::<Result<_, _>>()?,
    })
}

fn order(seen: &Seen<'_>) -> Result<Plot, ReportError> {
    let forks = &seen.portrait.forks;
    let unsteady = forks.iter().filter(|fork| fork.changes_after_warmup() > 0).count();
    let changes: usize = forks.iter().map(ForkPortrait::changes_after_warmup).sum();
    let seen_change = match changes {
        0 => format!(
            "in none of {} forks did a side's level change after the warm-up",
            forks.len()
        ),
        _ => format!(
            "a side's level changed after the warm-up in {unsteady} of {} forks, {changes} times in all",
            forks.len()
        ),
    };
    let title = format!("{}, {seen_change}.", seen.at());
    let note = match bucket_length(forks) {
        1 => String::new(),
        length => format!("A point is the median of up to {length} times in a row, a line their range."),
    };
    let description = format!(
        "Run-order plot of the times of {} and {} in ms, with {} forks beside each other.",
        seen.cell.cell.subject,
        seen.cell.cell.baseline,
        forks.len()
    );
    let drawn = frame(seen).draw(|sheet| {
        let (low, high) = range(forks);
        forks
            .iter()
            .enumerate()
            .try_for_each(|(place, fork)| paint(sheet, place as f64, fork, (low, high)))
    });
    plot(
        seen.name("order"),
        WIDE,
        Words {
            title,
            note,
            description,
        },
        drawn,
    )
}

fn bucket_length(forks: &[ForkPortrait]) -> usize {
    let buckets = forks.iter().flat_map(|fork| fork.subject.buckets.iter());
    buckets.map(|bucket| bucket.end - bucket.start).max().unwrap_or(1)
}

fn both(fork: &ForkPortrait) -> [(&Series, Ink); 2] {
    [(&fork.subject, Ink::Subject), (&fork.baseline, Ink::Baseline)]
}

/// From the shortest to the longest time, ms.
fn range(forks: &[ForkPortrait]) -> (f64, f64) {
    let buckets = || {
        forks
            .iter()
            .flat_map(|fork| both(fork).map(|(series, _)| &series.buckets))
            .flatten()
    };
    let low = buckets().map(|bucket| bucket.low).min().unwrap_or(1);
    let high = buckets().map(|bucket| bucket.high).max().unwrap_or(1);
    (millis(low.max(1) as f64), millis(high.max(1) as f64))
}

fn frame(seen: &Seen<'_>) -> Frame {
    let forks = &seen.portrait.forks;
    let (low, high) = range(forks);
    let marks = (forks.iter().enumerate())
        .map(|(place, fork)| (place as f64 + STRETCH / 2.0, fork.fork.to_string()))
        .collect();
    Frame {
        size: WIDE,
        x: Axis::marked("fork, and the order of pairs within it", 0.0, forks.len() as f64, marks),
        y: Axis::over("time, ms", Scale::Logarithmic, low, high, 5),
        legend: vec![
            (Ink::Subject, format!("{} at {}", seen.cell.cell.subject, seen.plans())),
            (Ink::Baseline, seen.cell.cell.baseline.clone()),
            (Ink::Shade, "warm-up".to_owned()),
        ],
        y_width: 62,
    }
}

fn paint(sheet: &mut Sheet<'_, '_>, left: f64, fork: &ForkPortrait, (low, high): (f64, f64)) -> Drawn {
    let length = fork.subject.length.max(fork.baseline.length).max(1) as f64;
    let at = |place: usize| left + STRETCH * place as f64 / length;
    sheet.field((left, low), (at(fork.warmup), high), Ink::Shade, 1.0)?;
    for (series, ink) in both(fork) {
        for bucket in series.buckets.iter().filter(|bucket| bucket.end - bucket.start > 1) {
            let x = f64::midpoint(at(bucket.start), at(bucket.end));
            let ends = [(x, millis(bucket.low as f64)), (x, millis(bucket.high as f64))];
            sheet.line(&ends, 1, ink, 0.3)?;
        }
        for bucket in &series.buckets {
            let x = f64::midpoint(at(bucket.start), at(bucket.end));
            sheet.dot((x, millis(bucket.median as f64)), 2, ink, 0.8)?;
        }
    }
    let edges = [
        (high, high / (high / low).powf(TICK)),
        (low, low * (high / low).powf(TICK)),
    ];
    for ((series, ink), (edge, end)) in both(fork).into_iter().zip(edges) {
        for change in &series.changes {
            let x = at(change.at);
            sheet.line(&[(x, edge), (x, end)], 3, ink, 1.0)?;
        }
    }
    if fork.differences.values.is_empty() {
        sheet.words("no pair counts", (left, high), (4, 8))?;
    }
    Ok(())
}
