//! Every figure of a run, with its id: what can be cited, compared and checked.

use super::definition::{
    CELL_FIGURES, DISTANCE_FIGURES, DISTANCE_FOR, Definition, SCALING_FIGURES, STEP_FIGURES, WIRE_FIGURES,
};
use super::distance::Distances;
use super::interval::Interval;
use super::scaling::Scaling;
use super::steps::{CellSteps, StepSummary};
use super::summary::{Analysis, CellSummary, Difference, Quantile, Side};
use super::wire::CellWire;

/// A number that is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// E.g. `cell[plans=40].difference.median`.
    pub id: String,
    /// What it is.
    pub definition: &'static Definition,
    /// The number; `None` where it is withheld or does not exist.
    pub value: Option<f64>,
    /// Its interval, where it has one.
    pub interval: Option<Interval>,
    /// Why there is no number.
    pub withheld: Option<String>,
    /// Whether it comes from a run in which forks may be missing.
    pub provisional: bool,
    /// Whether its run confirms nothing, since it is not under a registration.
    pub exploratory: bool,
}

/// What every figure of a run is marked with.
#[derive(Clone, Copy)]
struct Stamps {
    provisional: bool,
    exploratory: bool,
}

/// What is known of a figure before it has its id.
#[derive(Default)]
struct Told {
    value: Option<f64>,
    interval: Option<Interval>,
    withheld: Option<String>,
}

impl Told {
    fn value(value: Option<f64>) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    fn with(value: Option<f64>, interval: Option<Interval>) -> Self {
        Self {
            value,
            interval,
            withheld: None,
        }
    }
}

/// Every figure of a run, cell by cell, then over the sizes.
pub fn figures(analysis: &Analysis) -> Vec<Figure> {
    let stamps = Stamps {
        provisional: analysis.facts.state.is_provisional(),
        exploratory: analysis.facts.standing.is_exploratory(),
    };
    let of_cells = analysis.cells.iter().flat_map(|cell| {
        CELL_FIGURES
            .iter()
            .map(move |definition| figure(&cell.cell.id, definition, of_cell(cell, definition.key), stamps))
    });
    let of_steps = analysis.cells.iter().flat_map(|cell| {
        cell.steps.iter().flat_map(move |steps| {
            let told = STEP_FIGURES
                .iter()
                .filter_map(move |definition| Some((definition, of_step(steps, definition.key)?)));
            told.map(move |(definition, told)| figure(&cell.cell.id, definition, told, stamps))
        })
    });
    let of_wire = analysis.cells.iter().flat_map(|cell| {
        cell.wire.iter().flat_map(move |wire| {
            WIRE_FIGURES
                .iter()
                .map(move |definition| figure(&cell.cell.id, definition, of_path(wire, definition.key), stamps))
        })
    });
    let of_distance = analysis
        .distances
        .iter()
        .flat_map(move |distances| over_distance(distances, stamps));
    let of_scaling = analysis.scaling.iter().flat_map(|scaling| {
        let id = format!("scaling[{}]", scaling.line.id());
        SCALING_FIGURES
            .iter()
            .map(move |definition| figure(&id, definition, of_sizes(scaling, definition.key), stamps))
    });
    of_cells
        .chain(of_steps)
        .chain(of_wire)
        .chain(of_scaling)
        .chain(of_distance)
        .collect()
}

fn figure(of: &str, definition: &'static Definition, told: Told, stamps: Stamps) -> Figure {
    let Told {
        value,
        interval,
        withheld,
    } = told;
    Figure {
        id: format!("{of}.{}", definition.key),
        definition,
        value,
        interval,
        withheld,
        provisional: stamps.provisional,
        exploratory: stamps.exploratory,
    }
}

/// `None` for a step, or a side's, that the cell does not have.
fn of_step(steps: &CellSteps, key: &str) -> Option<Told> {
    let value = match *key.split('.').collect::<Vec<_>>() {
        ["steps", "difference", "whole"] => steps.whole,
        ["steps", "difference", word] => find_step(steps, word)?.part,
        ["steps", side, word, what] => {
            let step = find_step(steps, word)?;
            let time = if side == "subject" { step.subject } else { step.baseline }?;
            if what == "p50" { time.median as f64 } else { time.share }
        }
        _ => return None,
    };
    Some(Told::value(Some(value)))
}

fn find_step<'a>(steps: &'a CellSteps, word: &str) -> Option<&'a StepSummary> {
    steps.steps.iter().find(|step| step.step.as_str() == word)
}

fn of_path(wire: &CellWire, key: &str) -> Told {
    let overshoot = |place: usize| Told::value(wire.overshoot.map(|overshoot| overshoot[place] as f64));
    let (subject, baseline) = (&wire.subject, &wire.baseline);
    match key {
        "wire.subject.trips" => Told::value(Some(subject.mean_trips)),
        "wire.subject.trips.min" => Told::value(Some(f64::from(subject.trips.0))),
        "wire.subject.trips.max" => Told::value(Some(f64::from(subject.trips.1))),
        "wire.subject.bytes.to_server" => Told::value(Some(subject.bytes[0])),
        "wire.subject.bytes.to_client" => Told::value(Some(subject.bytes[1])),
        "wire.baseline.trips" => Told::value(Some(baseline.mean_trips)),
        "wire.added" => Told::value(wire.added.map(|added| added as f64)),
        "wire.overshoot.p50" => overshoot(0),
        "wire.overshoot.p99" => overshoot(1),
        _ => Told::default(),
    }
}

fn over_distance(distances: &Distances, stamps: Stamps) -> Vec<Figure> {
    let of = format!("distance[{}]", distances.id());
    let told = |key: &str| match key {
        "round_trips" => Told::with(Some(distances.round_trips.0), distances.round_trips.1),
        "at_no_delay" => Told::with(Some(distances.at_no_delay.0), distances.at_no_delay.1),
        "counted" => Told::value(distances.counted),
        _ => Told::default(),
    };
    let fitted = DISTANCE_FIGURES
        .iter()
        .map(|definition| figure(&of, definition, told(definition.key), stamps));
    let answers = distances.answers.iter().map(|answer| {
        let (value, interval) = answer.distance.unzip();
        let mut asked = figure(&of, &DISTANCE_FOR, Told::with(value, interval.flatten()), stamps);
        asked.id = format!("{}[{}]", asked.id, answer.penalty);
        asked
    });
    fitted.chain(answers).collect()
}

fn of_cell(cell: &CellSummary, key: &str) -> Told {
    match key {
        "forks" => Told::value(Some(cell.forks as f64)),
        "pairs.ok" => Told::value(Some(cell.pairs as f64)),
        "pairs.uncounted" => Told::value(Some(cell.uncounted as f64)),
        "distance.median" => Told::value(cell.distance.map(|distance| distance as f64)),
        "difference.trips" => Told::value(cell.trips),
        "difference.budget_share" => Told::value(cell.budget_share),
        "noise_floor" => Told::value(cell.noise_floor.map(|floor| floor.difference)),
        "noise_factor" => Told::value(cell.noise_floor.and_then(|floor| floor.factor)),
        "verdict.p" => Told::value(cell.verdict.and_then(|(_, p)| p)),
        "forks_needed" => Told::value(cell.forks_needed.map(f64::from)),
        _ => match key.split_once('.') {
            Some(("subject", key)) => of_side(&cell.subject, key),
            Some(("baseline", key)) => of_side(&cell.baseline, key),
            _ => cell
                .difference
                .as_ref()
                .map(|difference| of_difference(difference, key))
                .unwrap_or_default(),
        },
    }
}

fn of_side(side: &Side, key: &str) -> Told {
    let bound =
        |bound: fn(&(i64, i64)) -> i64| Told::value(side.fork_medians.as_ref().map(|range| bound(range) as f64));
    match key {
        "p50" => of_quantile(side.p50),
        "p95" => of_quantile(side.p95),
        "p99" => of_quantile(side.p99),
        "fork_median.min" => bound(|range| range.0),
        "fork_median.max" => bound(|range| range.1),
        _ => Told::default(),
    }
}

fn of_quantile(quantile: Quantile) -> Told {
    match quantile {
        Quantile::Value { value, interval } => Told::with(Some(value as f64), interval),
        Quantile::TooFew { pairs } => Told {
            withheld: Some(format!(
                "withheld: no interval of order statistics holds it with {pairs} pairs"
            )),
            ..Told::default()
        },
    }
}

fn of_difference(difference: &Difference, key: &str) -> Told {
    let median = Some(difference.median as f64);
    match key {
        "difference.median" => Told::with(median, difference.headline()),
        "difference.median.within_session" => Told::with(median, Some(difference.pooled)),
        "difference.of_medians" => Told::value(Some(difference.of_medians as f64)),
        "difference.fork_mean" => Told::with(difference.over_forks.map(|mean| mean.value), difference.two_level),
        "difference.slower_share" => Told::with(Some(difference.slower_share), difference.slower_interval),
        "difference.ratio" => Told::with(difference.ratio, difference.ratio_interval),
        "difference.order_effect" => Told::with(
            difference.order_effect.map(|(effect, _)| effect),
            difference.order_effect.and_then(|(_, interval)| interval),
        ),
        "difference.autocorrelation" => Told::value(difference.autocorrelation),
        "pairs.effective" => Told::value(difference.effective_pairs),
        _ => Told::default(),
    }
}

fn of_sizes(scaling: &Scaling, key: &str) -> Told {
    let (value, interval) = if key == "fixed" {
        scaling.fixed
    } else {
        scaling.per_plan
    };
    Told::with(Some(value), interval)
}

#[cfg(test)]
mod tests {
    use super::super::evidence::State;
    use super::super::evidence::{CellSample, Evidence, ForkSample, RunFacts};
    use super::super::steps::StepsByCell;
    use super::super::wire::Wires;
    use super::*;
    use crate::archive::{CellRow, ForkRow, ForkStatus, Standing};
    use crate::plan::CellKind;
    use crate::units::{CellIndex, ForkIndex, Nanos};

    fn evidence() -> Evidence {
        let cell = |index: u32, plans: u32, kind: CellKind| {
            let is_control = kind == CellKind::Control;
            let forks: Vec<ForkRow> = (0..5).map(|fork| fork_row(index, fork)).collect();
            let sample = ForkSample {
                subject: (0..400).map(|pair| 1_000_000 + pair).collect(),
                baseline: vec![100_000; 400],
                subject_first: (0..400).map(|pair| pair % 2 == 0).collect(),
                ..ForkSample::default()
            };
            CellSample {
                cell: CellRow {
                    cell: CellIndex(index),
                    id: format!("{}[plans={plans}]", if is_control { "control" } else { "cell" }),
                    kind,
                    backend: "x".to_owned(),
                    plans,
                    months: 1,
                    fields: 1,
                    subject: "rollback".to_owned(),
                    baseline: if is_control { "rollback" } else { "copy" }.to_owned(),
                    round_trips: None,
                    schema_shape: None,
                    path_delay: None,
                    backend_name: None,
                },
                samples: vec![sample; forks.len()],
                forks,
            }
        };
        let facts = RunFacts {
            run: "r".to_owned(),
            name: "n".to_owned(),
            title: "t".to_owned(),
            question: "q".to_owned(),
            backend: "b".to_owned(),
            manifest_sha256: String::new(),
            root: None,
            program_version: String::new(),
            debounce: Nanos(400_000_000),
            distance_for: Vec::new(),
            margin: Nanos(50_000),
            resamples: 100,
            seed: 1,
            primary: "cell[plans=10].difference.median".to_owned(),
            forks_planned: 15,
            state: State::Finished,
            standing: Standing::unregistered(),
            claims: Vec::new(),
        };
        Evidence {
            facts,
            changed: Vec::new(),
            wires: Wires::new(),
            steps: StepsByCell::default(),
            cells: vec![
                cell(0, 10, CellKind::Comparison),
                cell(1, 40, CellKind::Comparison),
                cell(2, 10, CellKind::Control),
            ],
        }
    }

    fn fork_row(cell: u32, fork: u32) -> ForkRow {
        ForkRow {
            cell: CellIndex(cell),
            fork: ForkIndex(fork),
            position: cell * 5 + fork,
            pid: 1,
            session: None,
            started_unix_ns: 0,
            ended_unix_ns: 1,
            status: ForkStatus::Ok,
            reason: None,
            pairs_planned: 400,
            pairs_recorded: 400,
            pairs_ok: 400,
            medians: Some([
                Nanos(1_000_199 + i64::from(fork)),
                Nanos(100_000),
                Nanos(900_199 + i64::from(fork)),
            ]),
            cpu_start: None,
            cpu_end: None,
            involuntary_switches: None,
            clock_resolution: Nanos(1),
            clock_overhead: Nanos(1),
            distance_before: Some(Nanos(100_000)),
            distance_after: None,
            table_bytes_start: 0,
            table_bytes_end: None,
            dead_tuples_start: None,
            dead_tuples_end: None,
            autovacuums: None,
            model_intact: Some(true),
            pool: None,
            steps_recorded: None,
            steps_off: None,
            passages_recorded: None,
            own_distances: [None, None],
            delayed_acks: None,
        }
    }

    /// A key that no arm answers would be a figure that never has a value.
    #[test]
    fn every_defined_figure_is_told() {
        let analysis = super::super::analyze(&evidence(), false);
        let told = figures(&analysis);
        let compared: Vec<&Figure> = told
            .iter()
            .filter(|figure| figure.id.starts_with("cell[plans=10]"))
            .collect();
        for definition in CELL_FIGURES {
            let figure = compared
                .iter()
                .find(|figure| figure.definition.key == definition.key)
                .unwrap();
            assert!(figure.value.is_some(), "{} has no value", figure.id);
        }
        assert_eq!(
            told.iter().filter(|figure| figure.id.starts_with("scaling[")).count(),
            SCALING_FIGURES.len()
        );
        let mut ids: Vec<&str> = told.iter().map(|figure| figure.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), told.len(), "ids are unique");
        for figure in &told {
            assert_eq!(
                super::super::definition_of(&figure.id),
                Some(figure.definition),
                "{}",
                figure.id
            );
        }
    }
}
