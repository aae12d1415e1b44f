//! Claims for people: what each says, what came of it, and how the run stands to what was registered.

use super::Dialect;
use super::format::{exactly, in_unit};
use super::grid::Grid;
use crate::analysis::{Analysis, ClaimVerdict, Interval};
use crate::archive::{LedgerState, Standing};
use crate::manifest::{Claim, Comparison, Threshold};

const NONE: &str = "–";

/// The other starts under a run's registration, as the ledger beside it tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Starts {
    /// The run is among them.
    Listed {
        /// Which one it is, from 1.
        number: usize,
        /// The others, and where they stand.
        others: Vec<(String, Option<LedgerState>)>,
    },
    /// The ledger does not list the run.
    Unlisted,
    /// The ledger is not what it was.
    Broken,
}

/// What a claim says, e.g. `cell[plans=40].difference.median is at least 6 ms`.
pub fn claim(claim: &Claim) -> String {
    format!("{} {}", claim.figure, statement(claim))
}

/// What a claim says of its figure.
fn statement(claim: &Claim) -> String {
    let told = |value: f64| exactly(value, &claim.unit);
    let threshold = match &claim.threshold {
        Threshold::Value(value) => told(*value),
        Threshold::Times { factor, of } => format!("{factor} × {of}"),
    };
    let margin = match (claim.margin, claim.comparison) {
        (0.0, _) | (_, Comparison::Within) => String::new(),
        (margin, Comparison::AtLeast) => format!(" less {}", told(margin)),
        (margin, Comparison::AtMost) => format!(" plus {}", told(margin)),
    };
    match claim.comparison {
        Comparison::AtLeast => format!("is at least {threshold}{margin}"),
        Comparison::AtMost => format!("is at most {threshold}{margin}"),
        Comparison::Within => format!("lies within {} of {threshold}", told(claim.margin)),
    }
}

/// How the run stands to what was registered, in one sentence.
pub(super) fn standing(analysis: &Analysis) -> String {
    match &analysis.facts.standing {
        Standing::Exploratory { reason } => format!("Exploratory: {reason}, so nothing here confirms a claim."),
        Standing::Confirmatory(registered) => format!(
            "Registered {} before the run (start {} under this registration).",
            registered.at, registered.start
        ),
    }
}

/// What marks the name of a run that confirms nothing.
pub(super) fn stamp(analysis: &Analysis) -> &'static str {
    if analysis.facts.standing.is_exploratory() {
        " (exploratory)"
    } else {
        ""
    }
}

/// The start's number among all, and the others, in one sentence.
pub(super) fn starts(starts: &Starts) -> String {
    let (number, others) = match starts {
        Starts::Unlisted => return "The ledger beside the run does not list it under its registration.".to_owned(),
        Starts::Broken => {
            return "The ledger beside the run was altered: its lines do not follow from each other.".to_owned();
        }
        Starts::Listed { number, others } => (number, others),
    };
    let told = |(run, state): &(String, Option<LedgerState>)| {
        // A start without an end was cut off, or is still running.
        let state = match state {
            None | Some(LedgerState::Started) => "started, never ended",
            Some(state) => state.as_str(),
        };
        format!("{run} ({state})")
    };
    let others: Vec<String> = others.iter().map(told).collect();
    let named = if others.is_empty() {
        String::new()
    } else {
        format!("; the others: {}", others.join(", "))
    };
    format!("Start {number} of {} under this registration{named}.", others.len() + 1)
}

/// The claims with what came of them: a table and a sentence a claim; `None` where there are none.
pub(super) fn block(analysis: &Analysis, dialect: Dialect) -> Option<String> {
    let grid = grid(analysis)?.render(dialect);
    let bullet = if dialect == Dialect::Markdown { "- " } else { "" };
    let lines: Vec<String> = notes(analysis).iter().map(|note| format!("{bullet}{note}")).collect();
    Some(format!("{grid}\n\n{}", lines.join("\n")))
}

pub(super) fn grid(analysis: &Analysis) -> Option<Grid> {
    if analysis.claims.is_empty() {
        return None;
    }
    let mut grid = Grid::new(
        &["claim", "figure", "claimed", "observed", "95 % interval", "verdict"],
        3,
    );
    for verdict in &analysis.claims {
        let ClaimVerdict {
            claim,
            observed,
            interval,
            ..
        } = verdict;
        let told = |value: f64| in_unit(value, &claim.unit);
        grid.row(vec![
            claim.id.clone(),
            claim.figure.clone(),
            statement(claim),
            observed.map_or(NONE.to_owned(), told),
            interval.map_or(NONE.to_owned(), |interval| range(interval, &claim.unit)),
            outcome(verdict).to_owned(),
        ]);
    }
    Some(grid)
}

/// The verdict as a table tells it: what goes against a claim is as plain as what bears it out.
fn outcome(verdict: &ClaimVerdict) -> &'static str {
    use crate::analysis::Outcome::{Fails, Holds, Undecided};
    match verdict.outcome {
        Holds => "HOLDS",
        Fails => "FAILS",
        Undecided => "UNDECIDED",
    }
}

/// Why each verdict is what it is, claim by claim.
pub(super) fn notes(analysis: &Analysis) -> Vec<String> {
    analysis.claims.iter().map(note).collect()
}

fn note(verdict: &ClaimVerdict) -> String {
    let ClaimVerdict {
        claim,
        contrast,
        outcome,
        why,
        ..
    } = verdict;
    let contrast = match (contrast, &claim.threshold) {
        (Some((value, interval)), Threshold::Times { factor, of }) => format!(
            " The contrast, the figure less {factor} × {of}, is {} ({}).",
            in_unit(*value, &claim.unit),
            range(*interval, &claim.unit)
        ),
        _ => String::new(),
    };
    let because = claim
        .because
        .as_ref()
        .map(|because| format!(" Claimed because: {because}"));
    format!(
        "{} {}: {why}.{contrast}{}",
        claim.id,
        outcome.as_str(),
        because.unwrap_or_default()
    )
}

/// Of a figure that claims are about: what they say and what came of it, a text a claim.
pub(super) fn about<'a>(analysis: &'a Analysis, figure: &'a str) -> impl Iterator<Item = String> + 'a {
    let is_about = move |claim: &Claim| {
        let of = match &claim.threshold {
            Threshold::Times { of, .. } => Some(of.as_str()),
            Threshold::Value(_) => None,
        };
        claim.figure == figure || of == Some(figure)
    };
    let told = |verdict: &ClaimVerdict| {
        format!(
            "{}: {}: {}",
            verdict.claim.id,
            claim(&verdict.claim),
            verdict.outcome.as_str()
        )
    };
    analysis
        .claims
        .iter()
        .filter(move |verdict| is_about(&verdict.claim))
        .map(told)
}

fn range(interval: Interval, unit: &str) -> String {
    format!("{} to {}", in_unit(interval.low, unit), in_unit(interval.high, unit))
}
