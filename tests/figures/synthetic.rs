//! A made-up run whose every byte is known: the archive's fixtures and the figures' snapshots are made from it.

use std::path::{Path, PathBuf};

use chrono::{TimeZone, Utc};
use preview_cost::archive::{
    CellRow, FactRow, ForkPart, ForkRow, ForkStatus, PairRow, PairSide, PairStatus, Phase, RunIdentity, RunWriter,
    Setting, SideRow, StepRow, When, WirePlace, WireRow, WireWay,
};
use preview_cost::digest;
use preview_cost::environment::{Fact, FactStatus};
use preview_cost::nearest_rank;
use preview_cost::plan::CellKind;
use preview_cost::step::Step;
use preview_cost::units::{CellIndex, ForkIndex, Nanos, PairIndex};

pub const MANIFEST: &str = "# A made-up manifest: no program reads it back.\nname = \"synthetic\"\n";
pub const FORKS: u32 = 3;
const PAIRS: u32 = 120;
const WARMUP: u32 = 4;

/// A run of two sizes with their controls. One pair failed and one came out different.
pub struct Synthetic {
    writer: RunWriter,
}

impl Synthetic {
    pub fn start(results: &Path) -> Self {
        let sha256 = digest::of_bytes(MANIFEST);
        let started = Utc.with_ymd_and_hms(2026, 11, 30, 12, 0, 0).unwrap();
        let identity = RunIdentity {
            name: "synthetic",
            manifest_text: MANIFEST,
            manifest_sha256: &sha256,
            started,
        };
        let mut writer = RunWriter::create(results, &identity).unwrap();
        let settings = settings(writer.run(), &sha256);
        writer.announce(&settings, &cells(), facts(When::Start)).unwrap();
        Self { writer }
    }

    pub fn directory(&self) -> PathBuf {
        self.writer.directory().to_owned()
    }

    /// Stores forks of every cell, as the supervisor would.
    pub fn forks(mut self, forks: u32) -> Self {
        let cells = cells();
        for (position, (fork, cell)) in (0..forks)
            .flat_map(|fork| cells.iter().map(move |cell| (fork, cell)))
            .enumerate()
        {
            self.writer.part(part(cell, fork, position as u32)).unwrap();
        }
        self
    }

    pub fn seal(mut self) -> PathBuf {
        self.writer.seal(facts(When::End)).unwrap();
        self.writer.directory().to_owned()
    }
}

fn settings(run: &str, sha256: &str) -> Vec<Setting> {
    [
        ("manifest", "name", "synthetic", ""),
        ("manifest", "title", "A made-up run", ""),
        ("manifest", "question", "What do figures look like?", ""),
        ("manifest", "sha256", sha256, ""),
        ("backend", "label", "postgres local", ""),
        ("measure", "seed", "7", ""),
        ("figures", "debounce", "400000000", "ns"),
        ("figures", "margin", "50000", "ns"),
        ("figures", "resamples", "1000", "resamples"),
        ("figures", "distance_for", "6.16ms, 1%", ""),
        ("figures", "primary", "cell[plans=10].difference.median", ""),
        ("run", "id", run, ""),
        ("run", "forks_planned", "18", "forks"),
        ("program", "version", "0.1.0", ""),
    ]
    .map(|(section, key, value, unit)| Setting {
        section: section.to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
        unit: unit.to_owned(),
    })
    .to_vec()
}

fn cells() -> Vec<CellRow> {
    let cell = |index: u32, plans: u32, kind: CellKind, delay: Option<i64>| CellRow {
        cell: CellIndex(index),
        id: format!(
            "{}[plans={plans}{}]",
            if kind == CellKind::Control { "control" } else { "cell" },
            delay.map_or_else(String::new, |delay| format!(",delay={}us", delay / 1_000))
        ),
        kind,
        backend: "postgres local".to_owned(),
        plans,
        months: 60,
        fields: u64::from(2 + 4 * plans),
        subject: "rollback".to_owned(),
        baseline: if kind == CellKind::Control { "rollback" } else { "copy" }.to_owned(),
        round_trips: Some(if kind == CellKind::Control { 0 } else { 3 }),
        schema_shape: None,
        path_delay: delay.map(Nanos),
        backend_name: None,
    };
    vec![
        cell(0, 10, CellKind::Comparison, None),
        cell(1, 40, CellKind::Comparison, None),
        cell(2, 10, CellKind::Control, None),
        cell(3, 40, CellKind::Control, None),
        cell(4, 10, CellKind::Comparison, Some(0)),
        cell(5, 10, CellKind::Comparison, Some(500_000)),
    ]
}

fn facts(when: When) -> Vec<FactRow> {
    vec![
        FactRow {
            when,
            session: None,
            fact: Fact::known("host", "memory.total", "1024", "nowhere").in_unit("bytes"),
        },
        FactRow {
            when,
            session: None,
            fact: Fact::unknown("host", "cpu.governor", FactStatus::Absent, "nowhere"),
        },
    ]
}

/// Some noise that is the same everywhere: a linear congruence, from 0 to 9 999 ns.
fn noise(cell: u32, fork: u32, pair: u32, side: u32) -> i64 {
    let mut state = u64::from(cell * 1_000_003 + fork * 10_007 + pair * 101 + side);
    for _ in 0..3 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }
    (state >> 33) as i64 % 10_000
}

fn pairs(cell: &CellRow, fork: u32) -> Vec<PairRow> {
    let phase = |phase: Phase, count: u32| (0..count).map(move |pair| (phase, pair));
    phase(Phase::Warmup, WARMUP)
        .chain(phase(Phase::Measured, PAIRS))
        .map(|(phase, pair)| self::pair(cell, fork, phase, pair))
        .collect()
}

fn pair(cell: &CellRow, fork: u32, phase: Phase, pair: u32) -> PairRow {
    let own = cell.cell.0;
    let delay = cell.path_delay.map_or(0, |delay| delay.0);
    let rollback = 700_000 + 5_000 * i64::from(cell.plans) + 2_000 * i64::from(fork) + 3 * delay;
    let copy = 1_000 * i64::from(cell.plans);
    let start = i64::from(pair) * 3_000_000;
    let side = |time: i64, which: u32, answer: char| SideRow {
        start: Some(Nanos(start + 1_000_000 * i64::from(which))),
        time: Some(Nanos(time + noise(own, fork, pair, which))),
        answer: Some(answer.to_string().repeat(32)),
    };
    let mut row = PairRow {
        previewer: 0,
        pair: PairIndex(pair),
        phase,
        subject_first: noise(own, fork, pair, 9) % 2 == 0,
        delta: 0.001 * f64::from(pair),
        subject: side(rollback, 0, 'a'),
        baseline: side(if cell.kind == CellKind::Control { rollback } else { copy }, 1, 'a'),
        status: PairStatus::Ok,
        reason: None,
    };
    match (own, fork, phase, pair) {
        (0, 1, Phase::Measured, 7) => {
            row.subject.time = None;
            row.subject.answer = None;
            row.status = PairStatus::Failed;
            row.reason = Some("subject: made up".to_owned());
        }
        (1, 2, Phase::Measured, 9) => {
            row.baseline.answer = Some("b".repeat(32));
            row.status = PairStatus::Mismatch;
            row.reason = Some("made up".to_owned());
        }
        _ => {}
    }
    row
}

fn part(cell: &CellRow, fork: u32, position: u32) -> ForkPart {
    let pairs = pairs(cell, fork);
    let (steps, passages) = (steps(cell, &pairs), passages(cell, fork, &pairs));
    ForkPart {
        fork: ForkRow {
            steps_recorded: Some(steps.len() as u32),
            passages_recorded: cell.path_delay.map(|_| passages.len() as u32),
            ..fork_row(cell, fork, position, &pairs)
        },
        pairs,
        steps,
        passages,
    }
}

/// Three steps of the rollback, and the copy's one.
fn steps(cell: &CellRow, pairs: &[PairRow]) -> Vec<StepRow> {
    let of_side = |pair: &PairRow, side: PairSide, time: i64| -> Vec<(Step, i64)> {
        if side == PairSide::Baseline && cell.kind == CellKind::Comparison {
            return vec![(Step::Compute, time)];
        }
        let write = time / 2 + i64::from(pair.pair.0 % 3);
        vec![
            (Step::Write, write),
            (Step::Read, time / 4),
            (Step::Discard, time - write - time / 4),
        ]
    };
    let mut rows = Vec::new();
    for pair in pairs {
        for (side, row) in [(PairSide::Subject, &pair.subject), (PairSide::Baseline, &pair.baseline)] {
            let steps = row.time.map(|time| of_side(pair, side, time.0)).unwrap_or_default();
            rows.extend((0u32..).zip(steps).map(|(place, (step, time))| StepRow {
                previewer: 0,
                pair: pair.pair,
                phase: pair.phase,
                side,
                place,
                step,
                time: Nanos(time),
            }));
        }
    }
    rows
}

/// Three round trips a rollback, each held on both ways, and a start-up before them.
fn passages(cell: &CellRow, fork: u32, pairs: &[PairRow]) -> Vec<WireRow> {
    let Some(delay) = cell.path_delay else {
        return Vec::new();
    };
    let row = |way, received: i64, place: Option<WirePlace>, over: i64| WireRow {
        connection: 0,
        way,
        received: Nanos(received),
        declared: Nanos(delay.0 / 2),
        held: Nanos(delay.0 / 2 + over),
        bytes: if way == WireWay::ToServer { 105 } else { 473 },
        messages: if way == WireWay::ToServer {
            "B4 E4 S1"
        } else {
            "24 C4 Z1"
        }
        .to_owned(),
        round_trips: u32::from(way == WireWay::ToServer && place.is_some()),
        apart: place.is_none().then(|| "startup".to_owned()),
        place,
    };
    let mut rows = vec![row(WireWay::ToServer, -1_000, None, 10)];
    for pair in pairs {
        let start = pair.subject.start.unwrap().0;
        for (trip, step) in (0..3).zip([Step::Write, Step::Read, Step::Discard]) {
            let place = WirePlace {
                previewer: 0,
                pair: pair.pair,
                phase: pair.phase,
                side: PairSide::Subject,
                step: Some(step),
            };
            let over = noise(cell.cell.0, fork, pair.pair.0, 20 + trip) / 10;
            let at = start + i64::from(trip) * 100_000;
            rows.push(row(WireWay::ToServer, at, Some(place), over));
            rows.push(row(WireWay::ToClient, at + 50_000, Some(place), over / 2));
        }
    }
    rows
}

fn fork_row(cell: &CellRow, fork: u32, position: u32, pairs: &[PairRow]) -> ForkRow {
    let times: Vec<(i64, i64)> = pairs
        .iter()
        .filter(|pair| pair.phase == Phase::Measured && pair.status == PairStatus::Ok)
        .map(|pair| (pair.subject.time.unwrap().0, pair.baseline.time.unwrap().0))
        .collect();
    let median = |value: fn(&(i64, i64)) -> i64| {
        Nanos(nearest_rank::median(&mut times.iter().map(value).collect::<Vec<_>>()).unwrap())
    };
    ForkRow {
        cell: cell.cell,
        fork: ForkIndex(fork),
        position,
        pid: 1_000 + position,
        session: None,
        started_unix_ns: 1_764_504_000_000_000_000 + i64::from(position) * 1_000_000_000,
        ended_unix_ns: 1_764_504_000_900_000_000 + i64::from(position) * 1_000_000_000,
        status: ForkStatus::Ok,
        reason: None,
        pairs_planned: WARMUP + PAIRS,
        pairs_recorded: pairs.len() as u32,
        pairs_ok: times.len() as u32,
        medians: Some([median(|t| t.0), median(|t| t.1), median(|t| t.0 - t.1)]),
        cpu_start: Some(0),
        cpu_end: Some(1),
        involuntary_switches: Some(3),
        clock_resolution: Nanos(20),
        clock_overhead: Nanos(25),
        distance_before: Some(Nanos(100_000 + i64::from(fork))),
        distance_after: Some(Nanos(100_010 + i64::from(fork))),
        table_bytes_start: 8_192,
        table_bytes_end: Some(65_536),
        dead_tuples_start: Some(0),
        dead_tuples_end: Some(496),
        autovacuums: Some(0),
        model_intact: Some(true),
        pool: None,
        steps_recorded: Some(0),
        steps_off: None,
        passages_recorded: None,
        own_distances: [None, None],
        delayed_acks: None,
    }
}
