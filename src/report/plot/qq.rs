//! Percentile against percentile: where in the distribution the two sides part.

use super::axis::{Axis, Scale};
use super::frame::{Drawn, Frame, Sheet};
use super::ink::Ink;
use super::{Gallery, PANEL, Plot, ReportError, Seen, Words, millis, plot};
use crate::analysis::QuantilePair;

/// Percentiles that are named, and how many pixels below their mark, so that names of marks that lie on each other don't.
const NAMED: [(u32, i32); 3] = [(50, 12), (95, 0), (99, -12)];

pub(super) fn gallery(seen: &[Seen<'_>]) -> Result<Gallery, ReportError> {
    Ok(Gallery {
        name: "qq",
        heading: "Percentile against percentile",
        reading:
            "The 1st to the 99th percentile of both sides' times, on logarithmic axes. On the diagonal both sides take \
                  as long; a line beside it is a constant factor, and a bend is a tail of one side alone."
                .to_owned(),
        plots: seen.iter().map(qq).collect::<Result<_, _>>()?,
    })
}

fn qq(seen: &Seen<'_>) -> Result<Plot, ReportError> {
    let (cell, quantiles) = (&seen.cell.cell, &seen.portrait.quantiles);
    let above = quantiles.iter().filter(|pair| pair.subject > pair.baseline).count();
    let which = match above {
        0 => "none".to_owned(),
        above if above == quantiles.len() => "each".to_owned(),
        above => above.to_string(),
    };
    let title = format!(
        "{}, {}'s percentile is above {}'s at {which} of {} percentiles.",
        seen.at(),
        cell.subject,
        cell.baseline,
        quantiles.len()
    );
    let description = format!(
        "Q–Q plot: percentiles of {} in ms against those of {}, with the diagonal on which both are equal.",
        cell.subject, cell.baseline
    );
    let drawn = frame(seen).draw(|sheet| paint(sheet, quantiles));
    plot(
        seen.name("qq"),
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
    let times = || {
        seen.portrait
            .quantiles
            .iter()
            .flat_map(|pair| [pair.subject, pair.baseline])
    };
    let low = millis(times().min().unwrap_or(1).max(1) as f64);
    let high = millis(times().max().unwrap_or(1).max(1) as f64);
    // Room for the names of the first and the last mark.
    let air = (high / low).powf(0.06);
    let (low, high) = (low / air, high * air);
    let axis = |side: &str| Axis::over(format!("{side}, ms"), Scale::Logarithmic, low, high, 5);
    Frame {
        size: PANEL,
        x: axis(&seen.cell.cell.baseline),
        y: axis(&seen.cell.cell.subject),
        legend: vec![(Ink::Subject, format!("percentiles at {}", seen.plans()))],
        y_width: 62,
    }
}

fn paint(sheet: &mut Sheet<'_, '_>, quantiles: &[QuantilePair]) -> Drawn {
    let (low, high) = sheet.ends();
    sheet.dashes((low, low), (high, high), Ink::Quiet)?;
    let at = |pair: &QuantilePair| (millis(pair.baseline.max(1) as f64), millis(pair.subject.max(1) as f64));
    for pair in quantiles {
        sheet.dot(at(pair), 4, Ink::Subject, 0.9)?;
    }
    for (percent, down) in NAMED {
        let Some(pair) = quantiles.iter().find(|pair| pair.percent == percent) else {
            continue;
        };
        sheet.ring(at(pair), 10, Ink::Text)?;
        let is_on_the_right = at(pair).0 > (low * high).sqrt();
        let aside = if is_on_the_right { -9 } else { 9 };
        sheet.words(format!("p{percent}"), at(pair), (aside, down))?;
    }
    Ok(())
}
