//! The worker: takes one order, measures one fork, hands over its rows.

use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;

use chrono::Utc;

use super::clock::{Clock, ClockLimits};
use super::measure::{self, BrokenOff, Recorder, Sides};
use super::protocol::{ForkOrder, PAIRS_PER_MESSAGE, Place, Report};
use super::scheduling::Scheduling;
use super::{on_postgres, on_sqlite};
use crate::archive::{ForkRow, ForkStatus, PairRow, PairStatus, Phase, PoolWork};
use crate::backend::{BackgroundWork, Session};
use crate::manifest::PairOrder;
use crate::nearest_rank;
use crate::plan::order;
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
            let (row, pairs) = fork.finish();
            for chunk in pairs.chunks(PAIRS_PER_MESSAGE) {
                say(&Report::Pairs(chunk.to_vec()))?;
            }
            say(&Report::Fork(Box::new(row)))
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
    pairs: Vec<PairRow>,
    reason: Option<String>,
    measured: bool,
    background: Option<BackgroundWork>,
    /// Set by the backend's side of the fork.
    pub conditions: Conditions,
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
            pairs: Vec::new(),
            reason: None,
            measured: false,
            background: None,
            conditions: Conditions {
                start: nothing,
                end: None,
                intact: None,
            },
        }
    }

    /// Distance, warm-up, measured pairs, distance. What goes wrong is kept with the fork.
    pub fn measure<S: Session>(
        &mut self,
        workload: &Workload,
        session: &mut S,
        subject: Box<dyn Strategy<S>>,
        baseline: Box<dyn Strategy<S>>,
    ) {
        self.measured = true;
        self.distance[0] = self.take_distance(session);
        let mut sides = Sides { subject, baseline };
        let capacity = self.order.warmup as usize + self.order.previews as usize;
        self.scheduling[0] = Scheduling::now();
        let mut recorder = Recorder::new(self.clock, capacity, self.progress);
        let phases = [
            (Phase::Warmup, self.order.warmup),
            (Phase::Measured, self.order.previews),
        ];
        let outcome = phases.into_iter().try_for_each(|(phase, pairs)| {
            recorder.phase(
                phase,
                &subject_first(self.order, phase, pairs),
                workload,
                session,
                &mut sides,
            )
        });
        self.pairs = recorder.into_pairs();
        self.background = sides.background();
        self.scheduling[1] = Scheduling::now();
        match outcome {
            Ok(()) => self.distance[1] = self.take_distance(session),
            Err(BrokenOff(reason)) => self.broken_off(reason),
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

    fn finish(self) -> (ForkRow, Vec<PairRow>) {
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
            steps_recorded: Some(0),
            steps_off: None,
            passages_recorded: None,
            own_distances: [None, None],
            delayed_acks: None,
        };
        (row, self.pairs)
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
