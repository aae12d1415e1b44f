//! Distribution functions of the differences, with the control's: how much of the difference is more than noise.

use super::axis::{Axis, Scale};
use super::frame::{Drawn, Frame, Sheet};
use super::ink::Ink;
use super::{Gallery, PANEL, Plot, ReportError, Seen, Words, millis, plot};
use crate::analysis::Step;
use crate::report::format::percent;

pub(super) fn gallery(seen: &[Seen<'_>]) -> Result<Gallery, ReportError> {
    Ok(Gallery {
        name: "ecdf",
        heading: "Distribution of the differences",
        reading: "The share of pairs whose difference is at most as large as the axis says: heavy over all pairs, thin for \
                  each fork. The dashed line is the control, the subject against itself; were there no difference, both \
                  would lie on each other."
            .to_owned(),
        plots: seen.iter().map(ecdf).collect::<Result<_, _>>()?,
    })
}

fn ecdf(seen: &Seen<'_>) -> Result<Plot, ReportError> {
    let cell = &seen.cell.cell;
    let slower = seen
        .cell
        .difference
        .as_ref()
        .map(|difference| percent(difference.slower_share));
    let title = format!(
        "{}, {} takes longer than {} in {} of pairs.",
        seen.at(),
        cell.subject,
        cell.baseline,
        slower.unwrap_or_default()
    );
    let control = match &seen.portrait.control {
        Some(_) => " A second curve is that of the control.",
        None => " The run has no control.",
    };
    let description = format!(
        "Empirical distribution function of {} in ms over {} pairs, rising from 0 to 100 %.{control}",
        seen.sides(),
        seen.cell.pairs
    );
    let drawn = frame(seen).draw(|sheet| paint(sheet, seen));
    plot(
        seen.name("ecdf"),
        PANEL,
        Words {
            title,
            description,
            ..Words::default()
        },
        drawn,
    )
}

fn frame(seen: &Seen<'_>) -> Frame {
    let window = seen.portrait.window;
    let control = seen.portrait.control.as_ref().map(|control| control.window);
    let low = control.map_or(window.low, |control| control.low.min(window.low));
    let high = control.map_or(window.high, |control| control.high.max(window.high));
    let marks = [0, 25, 50, 75, 100].map(|share| (f64::from(share), format!("{share}")));
    let mut legend = vec![(Ink::Difference, format!("{} at {}", seen.sides(), seen.plans()))];
    if control.is_some() {
        legend.push((Ink::Control, "control".to_owned()));
    }
    Frame {
        size: PANEL,
        x: Axis::over(
            "difference, ms",
            Scale::Linear,
            millis(low as f64),
            millis(high as f64),
            5,
        ),
        y: Axis::marked("share of pairs, %", 0.0, 100.0, marks.to_vec()),
        legend,
        y_width: 50,
    }
}

fn paint(sheet: &mut Sheet<'_, '_>, seen: &Seen<'_>) -> Drawn {
    let ends = sheet.ends();
    sheet.line(&[(0.0, 0.0), (0.0, 100.0)], 2, Ink::Quiet, 1.0)?;
    for fork in &seen.portrait.forks {
        sheet.line(&stairs(&fork.distribution, ends), 2, Ink::Difference, 0.6)?;
    }
    if let Some(control) = &seen.portrait.control {
        sheet.dashed(&stairs(&control.distribution, ends), 4, Ink::Control)?;
    }
    sheet.line(&stairs(&seen.portrait.distribution, ends), 5, Ink::Difference, 1.0)
}

/// A distribution function as a line between two ends: level up to each value, and up at it.
fn stairs(steps: &[Step], (low, high): (f64, f64)) -> Vec<(f64, f64)> {
    let mut share = 0.0;
    let mut line = vec![(low, 0.0)];
    for step in steps {
        let (value, next) = (millis(step.value as f64), step.share * 100.0);
        if value > high {
            break;
        }
        if value < low {
            line[0].1 = next;
        } else {
            line.extend([(value, share), (value, next)]);
        }
        share = next;
    }
    line.push((high, share));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_are_cut_at_the_ends_of_the_axis() {
        let step = |value, share| Step { value, share };
        let steps = [step(1_000_000, 0.25), step(2_000_000, 0.5), step(9_000_000, 1.0)];
        let line = stairs(&steps, (1.5, 5.0));
        assert_eq!(line, [(1.5, 25.0), (2.0, 25.0), (2.0, 50.0), (5.0, 50.0)]);
    }
}
