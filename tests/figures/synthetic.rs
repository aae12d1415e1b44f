//! A made-up run whose every byte is known: the archive's fixtures and the figures' snapshots are made from it.

use std::path::{Path, PathBuf};

use chrono::{TimeZone, Utc};
use preview_cost::archive::{
    CellRow, FactRow, ForkPart, ForkRow, ForkStatus, PairRow, PairStatus, Phase, RunIdentity, RunWriter, Setting,
    SideRow, When,
};
use preview_cost::digest;
use preview_cost::environment::{Fact, FactStatus};
use preview_cost::nearest_rank;
use preview_cost::plan::CellKind;
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
            let pairs = pairs(cell, fork);
            self.writer
                .part(ForkPart {
                    fork: fork_row(cell, fork, position as u32, &pairs),
                    pairs,
                    steps: Vec::new(),
                    passages: Vec::new(),
                })
                .unwrap();
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
        ("figures", "primary", "cell[plans=10].difference.median", ""),
        ("run", "id", run, ""),
        ("run", "forks_planned", "12", "forks"),
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
    let cell = |index: u32, plans: u32, is_control: bool| CellRow {
        cell: CellIndex(index),
        id: format!("{}[plans={plans}]", if is_control { "control" } else { "cell" }),
        kind: if is_control {
            CellKind::Control
        } else {
            CellKind::Comparison
        },
        backend: "postgres local".to_owned(),
        plans,
        months: 60,
        fields: u64::from(2 + 4 * plans),
        subject: "rollback".to_owned(),
        baseline: if is_control { "rollback" } else { "copy" }.to_owned(),
        round_trips: Some(if is_control { 0 } else { 3 }),
        schema_shape: None,
        path_delay: None,
        backend_name: None,
    };
    vec![
        cell(0, 10, false),
        cell(1, 40, false),
        cell(2, 10, true),
        cell(3, 40, true),
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
    let rollback = 700_000 + 5_000 * i64::from(cell.plans) + 2_000 * i64::from(fork);
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
