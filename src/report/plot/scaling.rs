//! The penalty against the size of the model, in both readings that a scaling can have: as a difference and as a ratio.

use super::axis::{Axis, Scale};
use super::frame::{Drawn, Frame, Sheet};
use super::ink::Ink;
use super::{Gallery, PANEL, Plot, ReportError, Seen, Words, millis, plot, slug};
use crate::analysis::{Analysis, Interval, Scaling};
use crate::report::run::growth;

/// Part of the axis over which a cell's forks are spread.
const SPREAD: f64 = 0.03;

pub(super) fn gallery(analysis: &Analysis, seen: &[Seen<'_>]) -> Result<Gallery, ReportError> {
    let mut plots = Vec::new();
    for (place, scaling) in analysis.scaling.iter().enumerate() {
        let of_sides: Vec<&Seen<'_>> = (seen.iter()).filter(|seen| scaling.line.has(&seen.cell.cell)).collect();
        plots.push(difference(place, scaling, &of_sides)?);
        plots.push(ratio(place, scaling, &of_sides)?);
    }
    Ok(Gallery {
        name: "scaling",
        heading: "Penalty against the number of plans",
        reading: "Small dots are the forks' medians; the ring with its bar is the median over all pairs with the 95 % \
                  interval over forks. The line is the fit. A difference that stays is a shrinking ratio, and a ratio that \
                  stays a growing difference: both readings are shown."
            .to_owned(),
        plots,
    })
}

fn name(kind: &str, place: usize, scaling: &Scaling) -> String {
    format!(
        "{kind}-{place}-{}-{}",
        slug(&scaling.line.subject),
        slug(&scaling.line.baseline)
    )
}

fn sizes(scaling: &Scaling) -> Axis {
    let last = f64::from(scaling.plans.last().copied().unwrap_or(1));
    let mut axis = Axis::over("plans", Scale::Linear, 0.0, last, 5);
    let marked = [0].iter().chain(&scaling.plans);
    axis.marks = marked.map(|&plans| (f64::from(plans), plans.to_string())).collect();
    axis
}

fn difference(place: usize, scaling: &Scaling, seen: &[&Seen<'_>]) -> Result<Plot, ReportError> {
    let description = format!(
        "The difference in ms at {} sizes with its intervals, and the fitted line.",
        scaling.plans.len()
    );
    let line = |plans: f64| millis(scaling.fixed.0 + scaling.per_plan.0 * plans);
    let frame = Frame {
        size: PANEL,
        x: sizes(scaling),
        y: penalties(scaling, seen, line(0.0)),
        legend: vec![(
            Ink::Difference,
            format!("{} − {}", scaling.line.subject, scaling.line.baseline),
        )],
        y_width: 62,
    };
    let drawn = frame.draw(|sheet| {
        let last = f64::from(scaling.plans.last().copied().unwrap_or(1));
        sheet.line(&[(0.0, line(0.0)), (last, line(last))], 3, Ink::Quiet, 1.0)?;
        for seen in seen {
            let medians: Vec<f64> = seen
                .portrait
                .forks
                .iter()
                .map(|fork| millis(fork.median as f64))
                .collect();
            spread(sheet, (f64::from(seen.cell.cell.plans), last), &medians)?;
        }
        for seen in seen {
            let Some(told) = &seen.cell.difference else { continue };
            let headline = told.headline().map(|headline| headline.map(millis));
            ring(
                sheet,
                f64::from(seen.cell.cell.plans),
                millis(told.median as f64),
                headline,
            )?;
        }
        Ok(())
    });
    plot(
        name("scaling", place, scaling),
        PANEL,
        Words {
            title: growth(scaling),
            description,
            ..Words::default()
        },
        drawn,
    )
}

fn penalties(scaling: &Scaling, seen: &[&Seen<'_>], fixed: f64) -> Axis {
    let mut values = vec![fixed];
    for seen in seen {
        values.extend(seen.portrait.forks.iter().map(|fork| millis(fork.median as f64)));
        let headline = seen.headline();
        values.extend(
            headline
                .into_iter()
                .flat_map(|headline| [millis(headline.low), millis(headline.high)]),
        );
    }
    let (low, high) = ends(&values);
    Axis::over(
        format!("{} − {}, ms", scaling.line.subject, scaling.line.baseline),
        Scale::Linear,
        low.min(0.0),
        high,
        5,
    )
}

fn ratio(place: usize, scaling: &Scaling, seen: &[&Seen<'_>]) -> Result<Plot, ReportError> {
    let ratios: Vec<(f64, f64, Option<Interval>)> = (seen.iter())
        .filter_map(|seen| {
            let difference = seen.cell.difference.as_ref()?;
            Some((
                f64::from(seen.cell.cell.plans),
                difference.ratio?,
                difference.ratio_interval,
            ))
        })
        .collect();
    let told: Vec<String> = (ratios.iter())
        .map(|(plans, ratio, _)| format!("{} at {plans:.0}", crate::report::format::factor(*ratio)))
        .collect();
    let title = format!(
        "Over the numbers of plans, {} takes {} times as long as {}.",
        scaling.line.subject,
        told.join(", ").replace(" ×", ""),
        scaling.line.baseline
    );
    let description = "The ratio of the two medians at each size with its 95 % interval over forks.".to_owned();
    let mut values = vec![1.0];
    for (_, ratio, interval) in &ratios {
        values.push(*ratio);
        values.extend(interval.iter().flat_map(|interval| [interval.low, interval.high]));
    }
    let (low, high) = ends(&values);
    let frame = Frame {
        size: PANEL,
        x: sizes(scaling),
        y: Axis::over("ratio of medians", Scale::Linear, low, high, 5),
        legend: vec![(
            Ink::Difference,
            format!("{} / {}", scaling.line.subject, scaling.line.baseline),
        )],
        y_width: 50,
    };
    let drawn = frame.draw(|sheet| {
        let last = f64::from(scaling.plans.last().copied().unwrap_or(1));
        sheet.line(&[(0.0, 1.0), (last, 1.0)], 2, Ink::Quiet, 1.0)?;
        ratios
            .iter()
            .try_for_each(|(plans, value, interval)| ring(sheet, *plans, *value, *interval))
    });
    plot(
        name("ratio", place, scaling),
        PANEL,
        Words {
            title,
            description,
            ..Words::default()
        },
        drawn,
    )
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Forks' values beside each other around their size.
fn spread(sheet: &mut Sheet<'_, '_>, (plans, last): (f64, f64), values: &[f64]) -> Drawn {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    for (place, value) in values.iter().enumerate() {
        let aside = (place as f64 - middle) / middle.max(1.0) * SPREAD * last;
        sheet.dot((plans + aside, *value), 5, Ink::Difference, 0.6)?;
    }
    Ok(())
}

fn ring(sheet: &mut Sheet<'_, '_>, plans: f64, value: f64, interval: Option<Interval>) -> Drawn {
    if let Some(Interval { low, high }) = interval {
        sheet.line(&[(plans, low), (plans, high)], 4, Ink::Text, 1.0)?;
    }
    sheet.ring((plans, value), 9, Ink::Text)
}
