//! The worker: takes one order, measures one fork, hands over its rows.

use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;

use chrono::Utc;

use super::acks::{self, DelayedAcks, Evidence};
use super::detour::{self, Detour};
use super::measure::{self, BrokenOff, Recorder, Sessions, Sides};
use super::protocol::{ForkOrder, Place, ROWS_PER_MESSAGE, Report};
use super::scheduling::Scheduling;
use super::{on_h2, on_postgres, on_served, on_sqlite};
use crate::archive::{ForkPart, ForkRow, ForkStatus, PairRow, PairStatus, Phase, PoolWork, StepRow, WireRow};
use crate::backend::{BackgroundWork, Session};
use crate::clock::{Clock, ClockLimits};
use crate::manifest::{PairOrder, StepsWish};
use crate::nearest_rank;
use crate::plan::order;
use crate::step::{self, Steps};
use crate::strategy::Strategy;
use crate::units::Nanos;
use crate::workload::Workload;

/// Runs a worker on the process's standard streams; the hidden subcommand [`super::protocol::WORKER`].
pub fn main() -> ExitCode {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line).is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(order) = serde_json::from_str::<ForkOrder>(&line) else {
        eprintln!("this subcommand is for preview-cost itself; see `preview-cost run --help`");
        return ExitCode::FAILURE;
    };
    end_with_the_supervisor();
    match serve(&order) {
        Ok(()) => ExitCode::SUCCESS,
        // The supervisor is gone, or it has stopped listening; nobody is left to tell.
        Err(_) => ExitCode::FAILURE,
    }
}

/// The supervisor holds the other end of standard input for as long as it lives. The thread sleeps in a read.
fn end_with_the_supervisor() {
    std::thread::spawn(|| {
        let mut rest = Vec::new();
        let _ = io::stdin().lock().read_to_end(&mut rest);
        std::process::exit(1);
    });
}

fn serve(order: &ForkOrder) -> io::Result<()> {
    let mut progress = |pairs| {
        // If the supervisor does not listen any more, the watching thread ends this process.
        let _ = say(&Report::Progress { pairs });
    };
    let mut fork = Fork::new(order, &mut progress);
    let outcome = match &order.place {
        Place::SqliteMemory | Place::SqliteFile { .. } => on_sqlite::run(order, &mut fork),
        Place::Served { socket, file } => on_served::run(order, *socket, file.as_ref(), &mut fork),
        Place::H2 { target } => on_h2::run(order, target, &mut fork),
        Place::Postgres {
            target,
            schema,
            creations,
        } => on_postgres::run(order, target, schema, creations, &mut fork),
    };
    match outcome {
        Err(error) if !fork.measured => say(&Report::Unable {
            message: error.to_string(),
        }),
        outcome => {
            if let Err(error) = outcome {
                fork.broken_off(error.to_string());
            }
            let part = fork.finish();
            for chunk in part.pairs.chunks(ROWS_PER_MESSAGE) {
                say(&Report::Pairs(chunk.to_vec()))?;
            }
            for chunk in part.steps.chunks(ROWS_PER_MESSAGE) {
                say(&Report::Steps(chunk.to_vec()))?;
            }
            for chunk in part.passages.chunks(ROWS_PER_MESSAGE) {
                say(&Report::Passages(chunk.to_vec()))?;
            }
            say(&Report::Fork(Box::new(part.fork)))
        }
    }
}

fn say(report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

/// What the backend says of its state at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    pub table_bytes: i64,
    pub dead_tuples: Option<i64>,
    pub autovacuums: Option<i64>,
}

/// The backend's state around the pairs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions {
    pub start: Stage,
    pub end: Option<Stage>,
    pub intact: Option<bool>,
}

/// A fork in the making.
pub(super) struct Fork<'a> {
    order: &'a ForkOrder,
    progress: &'a mut dyn FnMut(u32),
    clock: Clock,
    started_unix_ns: i64,
    limits: ClockLimits,
    distance: [Option<Nanos>; 2],
    scheduling: [Scheduling; 2],
    own_distances: [Option<Nanos>; 2],
    pairs: Vec<PairRow>,
    steps: Vec<StepRow>,
    steps_off: Option<String>,
    passages: Option<Vec<WireRow>>,
    reason: Option<String>,
    measured: bool,
    background: Option<BackgroundWork>,
    /// Set by the backend's side of the fork.
    pub conditions: Conditions,
    /// Whether delayed acknowledgements are counted; set by the backend's side of a fork that asks.
    pub watches_acks: bool,
    delayed_acks: Option<i64>,
}

impl<'a> Fork<'a> {
    fn new(order: &'a ForkOrder, progress: &'a mut dyn FnMut(u32)) -> Self {
        let clock = Clock::start();
        let nothing = Stage {
            table_bytes: 0,
            dead_tuples: None,
            autovacuums: None,
        };
        Self {
            order,
            progress,
            clock,
            started_unix_ns: unix_now(),
            limits: clock.limits(),
            distance: [None, None],
            scheduling: [Scheduling::default(); 2],
            own_distances: [None, None],
            pairs: Vec::new(),
            steps: Vec::new(),
            steps_off: None,
            passages: None,
            reason: None,
            measured: false,
            background: None,
            conditions: Conditions {
                start: nothing,
                end: None,
                intact: None,
            },
            watches_acks: false,
            delayed_acks: None,
        }
    }

    /// Distance, warm-up, measured pairs, distance. What goes wrong is kept with the fork.
    pub fn measure<S: Session>(
        &mut self,
        workload: &Workload,
        mut sessions: Sessions<'_, S>,
        subject: Box<dyn Strategy<S>>,
        baseline: Box<dyn Strategy<S>>,
    ) {
        self.measured = true;
        let at_start = DelayedAcks::now();
        self.distance[0] = self.take_distance(sessions.shared);
        let mut sides = Sides { subject, baseline };
        self.scheduling[0] = Scheduling::now();
        let before_pairs = DelayedAcks::now();
        let outcome = self.phases(workload, &mut sessions, &mut sides);
        let of_pairs = before_pairs.since();
        self.background = sides.background();
        self.scheduling[1] = Scheduling::now();
        match outcome {
            Ok(()) => {
                self.distance[1] = self.take_distance(sessions.shared);
                self.take_own_distances(&mut sides);
            }
            Err(BrokenOff(reason)) => self.broken_off(reason),
        }
        if self.watches_acks {
            self.delayed_acks = of_pairs;
            self.judge_acks(at_start.since().zip(of_pairs).map(|(all, pairs)| all - pairs));
        }
    }

    /// Breaks off where the times may be those of delayed acknowledgements.
    fn judge_acks(&mut self, delayed_of_trips: Option<i64>) {
        let delay = self.order.cell.path_delay.map_or(0, |delay| delay.0);
        let distances = self.distance.iter().chain(&self.own_distances).flatten();
        let times = self
            .pairs
            .iter()
            .flat_map(|pair| [pair.subject.time, pair.baseline.time]);
        let reason = acks::verdict(&Evidence {
            previews: 2 * self.pairs.len(),
            long: times.flatten().filter(|&time| acks::is_long(time)).count(),
            delayed: self.delayed_acks,
            trips: measure::DISTANCE_TRIPS * distances.clone().count(),
            is_far: distances
                .clone()
                .any(|distance| acks::is_long(Nanos(distance.0 - delay))),
            delayed_of_trips,
        });
        if let Some(reason) = reason {
            self.broken_off(reason);
        }
    }

    /// Warm-up and measured pairs. After the warm-up it is known whether the steps of previews can be noted.
    fn phases<S: Session>(
        &mut self,
        workload: &Workload,
        sessions: &mut Sessions<'_, S>,
        sides: &mut Sides<S>,
    ) -> Result<(), BrokenOff> {
        let order = self.order;
        let capacity = order.warmup as usize + order.previews as usize;
        let notes = match order.steps {
            StepsWish::Auto | StepsWish::On => Steps::by(self.clock),
            StepsWish::Off => {
                self.steps_off = Some(step::NOT_ASKED_FOR.to_owned());
                Steps::off()
            }
        };
        let mut recorder = Recorder::new(self.clock, notes, capacity, self.progress);
        let mut phase = |recorder: &mut Recorder<'_>, phase: Phase, pairs: u32| {
            let subject_first = subject_first(order, phase, pairs);
            recorder.phase(phase, &subject_first, workload, sessions, sides)
        };
        let mut outcome = phase(&mut recorder, Phase::Warmup, order.warmup);
        if order.steps == StepsWish::Auto && outcome.is_ok() {
            let given_up = recorder.give_up_costly_steps(self.limits.overhead);
            self.steps_off = self.steps_off.take().or(given_up);
        }
        if outcome.is_ok() {
            outcome = phase(&mut recorder, Phase::Measured, order.previews);
        }
        (self.pairs, self.steps) = recorder.into_rows();
        outcome
    }

    /// Takes what passed the proxy, once the sessions are closed.
    pub fn passed(&mut self, proxy: Detour) {
        match proxy.finish() {
            Ok(passages) => self.passages = Some(detour::sorted(passages, self.clock, &self.pairs, &self.steps)),
            Err(error) => self.broken_off(error.to_string()),
        }
    }

    fn take_own_distances<S>(&mut self, sides: &mut Sides<S>) {
        let both = [&mut sides.subject, &mut sides.baseline];
        let taken = both.map(|strategy| measure::own_distance(self.clock, strategy.as_mut()));
        for (place, taken) in taken.into_iter().enumerate() {
            match taken {
                Ok(distance) => self.own_distances[place] = distance,
                Err(error) => self.broken_off(format!("the distance could not be measured: {error}")),
            }
        }
    }

    fn take_distance<S: Session>(&mut self, session: &mut S) -> Option<Nanos> {
        measure::distance(self.clock, session).unwrap_or_else(|error| {
            self.broken_off(format!("the distance could not be measured: {error}"));
            None
        })
    }

    /// Notes why the fork broke off; the first reason stands.
    pub fn broken_off(&mut self, reason: String) {
        self.reason.get_or_insert(reason);
    }

    fn finish(self) -> ForkPart {
        let planned = self.order.warmup + self.order.previews;
        let complete = self.reason.is_none() && self.pairs.len() as u64 == u64::from(planned);
        let Conditions { start, end, intact } = self.conditions;
        let (pairs_ok, medians) = medians(&self.pairs);
        let row = ForkRow {
            cell: self.order.cell.index,
            fork: self.order.fork,
            position: self.order.position,
            pid: std::process::id(),
            session: None,
            started_unix_ns: self.started_unix_ns,
            ended_unix_ns: unix_now(),
            status: if complete { ForkStatus::Ok } else { ForkStatus::Failed },
            reason: self.reason,
            pairs_planned: planned,
            pairs_recorded: self.pairs.len() as u32,
            pairs_ok,
            medians,
            cpu_start: self.scheduling[0].cpu,
            cpu_end: self.scheduling[1].cpu,
            involuntary_switches: self.scheduling[1].switches_since(&self.scheduling[0]),
            clock_resolution: self.limits.resolution,
            clock_overhead: self.limits.overhead,
            distance_before: self.distance[0],
            distance_after: self.distance[1],
            table_bytes_start: start.table_bytes,
            table_bytes_end: end.map(|end| end.table_bytes),
            dead_tuples_start: start.dead_tuples,
            dead_tuples_end: end.and_then(|end| end.dead_tuples),
            autovacuums: end.and_then(|end| Some(end.autovacuums? - start.autovacuums?)),
            model_intact: intact,
            pool: self.background.map(pool_work),
            steps_recorded: Some(self.steps.len() as u32),
            steps_off: self.steps_off,
            passages_recorded: self.passages.as_ref().map(|passages| passages.len() as u32),
            own_distances: self.own_distances,
            delayed_acks: self.delayed_acks,
        };
        ForkPart {
            fork: row,
            pairs: self.pairs,
            steps: self.steps,
            passages: self.passages.unwrap_or_default(),
        }
    }
}

fn subject_first(order: &ForkOrder, phase: Phase, pairs: u32) -> Vec<bool> {
    let kind = if order.coin {
        PairOrder::Coin
    } else {
        PairOrder::Balanced
    };
    order::subject_first(kind, order.seed, &order.cell, order.fork, phase.as_str(), pairs)
}

/// Number of measured ok pairs; medians of subject, baseline and difference over them.
fn medians(pairs: &[PairRow]) -> (u32, Option<[Nanos; 3]>) {
    let counted = |pair: &&PairRow| pair.phase == Phase::Measured && pair.status == PairStatus::Ok;
    let times = pairs
        .iter()
        .filter(counted)
        .filter_map(|pair| Some((pair.subject.time?.0, pair.baseline.time?.0)));
    let (mut subject, mut baseline): (Vec<i64>, Vec<i64>) = times.unzip();
    let mut difference: Vec<i64> = subject
        .iter()
        .zip(&baseline)
        .map(|(subject, baseline)| subject - baseline)
        .collect();
    let medians = [&mut subject, &mut baseline, &mut difference].map(|values| nearest_rank::median(values).map(Nanos));
    let count = difference.len() as u32;
    match medians {
        [Some(subject), Some(baseline), Some(difference)] => (count, Some([subject, baseline, difference])),
        _ => (count, None),
    }
}

fn pool_work(work: BackgroundWork) -> PoolWork {
    PoolWork {
        background: work.time.into(),
        waits: work.waits,
        wait: work.waited.into(),
    }
}

fn unix_now() -> i64 {
    Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX)
}
