//! Large made-up runs: six cells of five forks, written through the program's own writer, a fork at a time.
//!
//! Times look like those of a real run: a level a fork, noise around it, and a tail of slow previews. Answers repeat after
//! a thousand pairs, so that a file is made in minutes; a real run's don't, and its file has about 32 bytes a pair more,
//! which `analyze` hashes and neither side of the comparison decodes.

use std::path::{Path, PathBuf};

use chrono::{TimeZone, Utc};
use preview_cost::archive::{
    CellRow, ForkPart, ForkRow, ForkStatus, PairRow, PairStatus, Phase, RunIdentity, RunWriter, Setting, SideRow,
};
use preview_cost::digest;
use preview_cost::nearest_rank;
use preview_cost::plan::CellKind;
use preview_cost::units::{CellIndex, ForkIndex, Nanos, PairIndex};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::support::Outcome;

const MANIFEST: &str = "# A made-up manifest of a large run: no program reads it back.\n";
const SIZES: [u32; 3] = [10, 40, 120];
const FORKS: u32 = 5;
const WARMUP: u32 = 80;
/// Answers before they repeat.
const ANSWERS: u32 = 1_000;

/// The run with this many measured pairs in all, made below `place` unless it is there.
pub fn run(place: &Path, pairs: u64) -> Outcome<PathBuf> {
    let results = place.join(format!("large-run-{pairs}"));
    let finished = |results: &Path| {
        let entries = std::fs::read_dir(results).ok()?;
        let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.find(|path| path.join("SHA256SUMS").is_file())
    };
    if let Some(run) = finished(&results) {
        return Ok(run);
    }
    if results.exists() {
        std::fs::remove_dir_all(&results)?;
    }
    write(&results, pairs)?;
    finished(&results).ok_or_else(|| "the large run was not sealed".into())
}

fn write(results: &Path, pairs: u64) -> Outcome {
    let sha256 = digest::of_bytes(MANIFEST);
    let started = Utc.timestamp_opt(1_796_040_000, 0).single();
    let mut writer = RunWriter::create(
        results,
        &RunIdentity {
            name: "large",
            manifest_text: MANIFEST,
            manifest_sha256: &sha256,
            started: started.ok_or("no such time")?,
        },
    )?;
    let cells = cells();
    let settings = settings(writer.run(), &sha256, cells.len() as u32 * FORKS);
    writer.announce(&settings, &cells, Vec::new())?;
    let of_fork = u32::try_from(pairs / (cells.len() as u64 * u64::from(FORKS)))?;
    let answers: Vec<String> = (0..ANSWERS)
        .map(|answer| digest::of_bytes(answer.to_le_bytes())[..32].to_owned())
        .collect();
    let mut position = 0;
    for fork in 0..FORKS {
        for cell in &cells {
            let pairs = self::pairs(cell, position, of_fork, &answers);
            writer.part(ForkPart {
                fork: fork_row(cell, ForkIndex(fork), position, &pairs),
                pairs,
                steps: Vec::new(),
                passages: Vec::new(),
            })?;
            position += 1;
        }
    }
    Ok(writer.seal(Vec::new())?)
}

fn settings(run: &str, sha256: &str, forks: u32) -> Vec<Setting> {
    let forks = forks.to_string();
    [
        ("manifest", "name", "large"),
        ("manifest", "title", "A made-up large run"),
        ("manifest", "question", "How long does analysis take?"),
        ("manifest", "sha256", sha256),
        ("backend", "label", "made up"),
        ("program", "version", env!("CARGO_PKG_VERSION")),
        ("figures", "debounce", "200000000"),
        ("figures", "margin", "100000"),
        ("figures", "resamples", "10000"),
        ("figures", "primary", "cell[plans=40].difference.median"),
        ("measure", "seed", "1"),
        ("run", "id", run),
        ("run", "forks_planned", &forks),
    ]
    .map(|(section, key, value)| Setting {
        section: section.to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
        unit: String::new(),
    })
    .to_vec()
}

fn cells() -> Vec<CellRow> {
    let kinds = [false, true].into_iter();
    let each = kinds.flat_map(|is_control| SIZES.map(|plans| (is_control, plans)));
    (0..)
        .zip(each)
        .map(|(index, (is_control, plans))| CellRow {
            cell: CellIndex(index),
            id: format!("{}[plans={plans}]", if is_control { "control" } else { "cell" }),
            kind: if is_control {
                CellKind::Control
            } else {
                CellKind::Comparison
            },
            backend: "made up".to_owned(),
            plans,
            months: 60,
            fields: u64::from(2 + 4 * plans),
            subject: "rollback".to_owned(),
            baseline: if is_control { "rollback" } else { "copy" }.to_owned(),
            round_trips: None,
            schema_shape: None,
            path_delay: None,
            backend_name: None,
        })
        .collect()
}

/// The pairs of a fork; noise follows from its place in the run.
fn pairs(cell: &CellRow, position: u32, count: u32, answers: &[String]) -> Vec<PairRow> {
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(position));
    let level = 2_000_000 + i64::from(cell.plans) * 20_000 + (random.next_u64() % 100_000) as i64;
    let penalty = if cell.kind == CellKind::Control { 0 } else { 600_000 };
    let mut clock = 0;
    let mut side = |extra: i64, answer: &str| {
        let bits = random.next_u64();
        // Two uniforms and, once in 64 times, a wide third.
        let noise = (bits & 0x3_ffff) as i64 + (bits >> 18 & 0x3_ffff) as i64;
        let slow = if bits >> 58 == 0 {
            (bits >> 36 & 0x3f_ffff) as i64
        } else {
            0
        };
        let time = level + extra + noise + slow;
        let start = clock;
        clock += time + 1_000;
        SideRow {
            start: Some(Nanos(start)),
            time: Some(Nanos(time)),
            answer: Some(answer.to_owned()),
        }
    };
    let warmup = (0..WARMUP).map(|pair| (Phase::Warmup, pair));
    warmup
        .chain((0..count).map(|pair| (Phase::Measured, pair)))
        .map(|(phase, pair)| {
            let answer = &answers[(pair % ANSWERS) as usize];
            PairRow {
                previewer: 0,
                pair: PairIndex(pair),
                phase,
                subject_first: (pair ^ position).is_multiple_of(2),
                delta: 0.001 * f64::from(pair),
                subject: side(penalty, answer),
                baseline: side(0, answer),
                status: PairStatus::Ok,
                reason: None,
            }
        })
        .collect()
}

fn fork_row(cell: &CellRow, fork: ForkIndex, position: u32, pairs: &[PairRow]) -> ForkRow {
    let measured = || pairs.iter().filter(|pair| pair.phase == Phase::Measured);
    let time = |side: &SideRow| side.time.unwrap_or_default().0;
    let median = |of: &dyn Fn(&PairRow) -> i64| nearest_rank::median(&mut measured().map(of).collect::<Vec<_>>());
    let medians = [
        median(&|pair| time(&pair.subject)),
        median(&|pair| time(&pair.baseline)),
        median(&|pair| time(&pair.subject) - time(&pair.baseline)),
    ];
    ForkRow {
        cell: cell.cell,
        fork,
        position,
        pid: 1,
        session: None,
        started_unix_ns: 0,
        ended_unix_ns: 1,
        status: ForkStatus::Ok,
        reason: None,
        pairs_planned: pairs.len() as u32,
        pairs_recorded: pairs.len() as u32,
        pairs_ok: measured().count() as u32,
        medians: medians
            .iter()
            .all(Option::is_some)
            .then(|| medians.map(|median| Nanos(median.unwrap_or_default()))),
        cpu_start: None,
        cpu_end: None,
        involuntary_switches: None,
        clock_resolution: Nanos(1),
        clock_overhead: Nanos(25),
        distance_before: None,
        distance_after: None,
        table_bytes_start: 0,
        table_bytes_end: None,
        dead_tuples_start: None,
        dead_tuples_end: None,
        autovacuums: None,
        model_intact: Some(true),
        pool: None,
        steps_recorded: Some(0),
        steps_off: None,
        passages_recorded: None,
        own_distances: [None, None],
        delayed_acks: None,
    }
}
