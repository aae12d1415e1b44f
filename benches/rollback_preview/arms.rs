//! The arms of the comparison, and the rounds in which they take turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use preview_cost::backend::postgres::wire::WireSession;
use preview_cost::backend::postgres::{Param, ParamType, PostgresSession, Statement, Target, Updates};
use preview_cost::step::Steps;
use preview_cost::strategy::{self, StrategyName};
use preview_cost::workload::{Inputs, Overrides, Workload, delta_of};

use crate::echo::{Echo, Exchange};
use crate::pgbench::Pgbench;
use crate::placement::Placement;
use crate::server::{SCHEMA, Server};
use crate::support::Outcome;
use crate::{MONTHS, PLANS, PREVIEWS, WARMUP};

const DEADLINE: Duration = Duration::from_secs(10);
/// Drags of a fork.
const DRAGS: u32 = 300;
const BEGIN: &str = "BEGIN";
const ROLLBACK: &str = "ROLLBACK";
/// Statements that are prepared, each a logged duration: select, begin, update, rollback.
const PREPARED: usize = 4;

/// What takes its turn in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// The strategy as a run measures it.
    Preview,
    /// Its flights and checks, without the computation.
    Flights,
    /// The other client.
    Pgbench,
    /// The computation alone.
    Computation,
    /// Bytes to and fro.
    PingPongs,
    /// What the server says that it took.
    Server,
}

impl Arm {
    const ALL: [Self; 6] = [
        Self::Preview,
        Self::Flights,
        Self::Pgbench,
        Self::Computation,
        Self::PingPongs,
        Self::Server,
    ];

    /// As a line says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preview => "preview, computation included",
            Self::Flights => "flights: the preview without its computation",
            Self::Pgbench => "pgbench -M prepared, same flights, no computation",
            Self::Computation => "computation alone, on inputs read before",
            Self::PingPongs => "three bare ping-pongs of the same sizes",
            Self::Server => "server: Bind and Execute by log_duration",
        }
    }

    /// As a ratio says it.
    pub fn short(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Flights => "flights",
            Self::Pgbench => "pgbench",
            Self::Computation => "computation",
            Self::PingPongs => "ping-pongs",
            Self::Server => "server",
        }
    }
}

/// What an arm took, round after round.
pub struct Sample {
    /// Which.
    pub arm: Arm,
    /// Each counted preview.
    pub nanos: Vec<i64>,
    /// Processor time of the server for one, where it was taken.
    pub server_cpu_ns: i64,
}

/// Lets the arms take turns for some rounds.
pub fn interleave(server: &mut Server, placement: &Placement, rounds: usize) -> Outcome<Vec<Sample>> {
    let workload = Workload::new(PLANS, MONTHS);
    let rows: Vec<(String, f64)> = workload.rows().map(|(name, value)| (name.to_owned(), value)).collect();
    let drags: Vec<Overrides> = (0..DRAGS).map(|drag| workload.overrides(delta_of(drag))).collect();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    server.make_table(&rows)?;
    let turn = Turn {
        echo: Echo::start(sizes(&server.target, &drags[0])?, placement)?,
        pgbench: Pgbench::new(place.path(), &drags[1])?,
        workload,
        drags,
    };
    let mut samples = Arm::ALL.map(|arm| Sample {
        arm,
        nanos: Vec::new(),
        server_cpu_ns: 0,
    });
    let mut cpu_ns = 0;
    for round in 0..rounds {
        server.make_table(&rows)?;
        for step in 0..samples.len() {
            let sample = &mut samples[(round + step) % Arm::ALL.len()];
            server.vacuum()?;
            let nanos = turn.take(sample.arm, server, &mut cpu_ns)?;
            sample.nanos.extend_from_slice(&nanos[WARMUP..]);
        }
    }
    for sample in &mut samples {
        sample.server_cpu_ns = cpu_ns / (rounds * PREVIEWS) as i64;
    }
    Ok(samples.into())
}

/// What all turns share.
struct Turn {
    echo: Echo,
    pgbench: Pgbench,
    workload: Workload,
    drags: Vec<Overrides>,
}

impl Turn {
    fn take(&self, arm: Arm, server: &mut Server, cpu_ns: &mut i64) -> Outcome<Vec<i64>> {
        let count = WARMUP + PREVIEWS;
        match arm {
            Arm::Preview => self.preview(&server.target, count),
            Arm::Flights => {
                let mut flights = Flights::open(&server.target, &self.workload)?;
                let mut nanos = self.timed(WARMUP, |overrides| flights.preview(&self.workload, overrides))?;
                let before = server.session_cpu_ns()?;
                nanos.extend(self.timed(PREVIEWS, |overrides| flights.preview(&self.workload, overrides))?);
                *cpu_ns += server.session_cpu_ns()? - before;
                Ok(nanos)
            }
            Arm::Pgbench => self.pgbench.run(&server.target, count),
            Arm::Computation => {
                let mut inputs = self.workload.stored().clone();
                self.timed(count, |overrides| {
                    overrides.apply_to(&mut inputs);
                    Ok(self.workload.project(&inputs))
                })
            }
            Arm::PingPongs => self.echo.ping(count),
            Arm::Server => self.logged(server, count),
        }
    }

    fn timed<T>(&self, count: usize, mut preview: impl FnMut(&Overrides) -> Outcome<T>) -> Outcome<Vec<i64>> {
        let mut nanos = Vec::with_capacity(count);
        for overrides in self.drags.iter().cycle().take(count) {
            let begun = Instant::now();
            black_box(preview(black_box(overrides))?);
            nanos.push(begun.elapsed().as_nanos() as i64);
        }
        Ok(nanos)
    }

    fn preview(&self, target: &Target, count: usize) -> Outcome<Vec<i64>> {
        let mut session = PostgresSession::connect(target, SCHEMA, &self.workload, DEADLINE)?;
        let mut rollback = strategy::on_postgres(StrategyName::Rollback, &mut session, &self.workload)?;
        self.timed(count, |overrides| {
            Ok(rollback.preview(&mut session, overrides, &mut Steps::off())?)
        })
    }

    /// Sums of what the server logs for each preview.
    fn logged(&self, server: &Server, count: usize) -> Outcome<Vec<i64>> {
        let target = Target {
            options: Some("-c log_duration=on".to_owned()),
            ..server.target.clone()
        };
        let start = server.log_end()?;
        let mut flights = Flights::open(&target, &self.workload)?;
        self.timed(count, |overrides| flights.preview(&self.workload, overrides))?;
        let durations = server.durations_from(start)?;
        // Bind and Execute of BEGIN, the updates, the select and ROLLBACK.
        let each = 2 * (3 + self.drags[0].len());
        if durations.len() != PREPARED + count * each {
            return Err(format!("the server logged {} durations for {count} previews", durations.len()).into());
        }
        Ok(durations[PREPARED..]
            .chunks(each)
            .map(|preview| preview.iter().sum())
            .collect())
    }
}

/// The rollback strategy's statements and checks, without its computation.
struct Flights {
    session: PostgresSession,
    begin: Statement,
    updates: Updates,
    rollback: Statement,
}

impl Flights {
    fn open(target: &Target, workload: &Workload) -> Outcome<Self> {
        let mut session = PostgresSession::connect(target, SCHEMA, workload, DEADLINE)?;
        Ok(Self {
            begin: session.prepare(BEGIN, &[])?,
            updates: session.prepare_updates(workload)?,
            rollback: session.prepare(ROLLBACK, &[])?,
            session,
        })
    }

    fn preview(&mut self, workload: &Workload, overrides: &Overrides) -> Outcome<Inputs> {
        let mut write = self.session.flight();
        write.execute(self.begin, &[])?;
        for field in overrides {
            self.updates.execute(&mut write, field)?;
        }
        if write.land(|_| Ok(()))?.rows_affected != overrides.len() as u64 {
            return Err("the write touched other rows".into());
        }
        let inputs = self.session.read_model(workload)?;
        let mut discard = self.session.flight();
        discard.execute(self.rollback, &[])?;
        discard.land(|_| Ok(()))?;
        Ok(inputs)
    }
}

/// Bytes of the preview's three flights and their answers.
fn sizes(target: &Target, overrides: &Overrides) -> Outcome<Vec<Exchange>> {
    let mut session = WireSession::connect(target, DEADLINE)?;
    let table = format!("\"{SCHEMA}\".model_field");
    let select = session.prepare(&format!("SELECT name, field_value FROM {table}"), &[])?;
    let begin = session.prepare(BEGIN, &[])?;
    let update = format!("UPDATE {table} SET field_value = $2 WHERE name = $1");
    let update = session.prepare(&update, &[ParamType::Text, ParamType::Float8])?;
    let rollback = session.prepare(ROLLBACK, &[])?;

    let mut write = vec![(begin, Vec::new())];
    write.extend(overrides.iter().map(|field| {
        let parameters = vec![Param::Text(&field.name), Param::Float8(field.value)];
        (update, parameters)
    }));
    let flights = [write, vec![(select, Vec::new())], vec![(rollback, Vec::new())]];
    let mut exchanges = Vec::new();
    for commands in flights {
        let before = session.traffic();
        let mut flight = session.flight();
        for (statement, parameters) in &commands {
            flight.execute(*statement, parameters)?;
        }
        flight.land(|_| Ok(()))?;
        let after = session.traffic();
        exchanges.push(Exchange {
            request: (after.bytes_sent - before.bytes_sent) as usize,
            reply: (after.bytes_received - before.bytes_received) as usize,
        });
    }
    Ok(exchanges)
}
