//! Bent archives under a true seal: whatever a file holds, the answer is figures or words, never a panic.
//!
//! Two ways to bend: bytes of the fixture's Parquet files, and values of rows that are then written properly, which come
//! much further. Each case follows from its number alone. A few thousand are tried as an ordinary test; with `FUZZ_MINUTES`
//! they go on for so long, from case `FUZZ_FIRST`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use preview_cost::archive::{ForkStatus, PairStatus, Phase};
use preview_cost::units::{CellIndex, ForkIndex, Nanos};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::made::{Made, by_columns, by_rows, told};
use crate::sealing::seal_again;

const FIXTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/schema-1.1/20261130T120000Z-synthetic-7c76d6b7"
);
const TABLES: [&str; 5] = ["cells", "environment", "forks", "manifest", "pairs"];
const EXTREMES: [i64; 9] = [
    i64::MIN,
    i64::MIN + 1,
    i64::MAX,
    i64::MAX - 1,
    -1,
    0,
    1,
    u32::MAX as i64,
    1 << 53,
];

/// Tries case after case: this many, or as long as `FUZZ_MINUTES` says. Gives how many gave figures.
fn try_cases(ordinary: u64, one: impl Fn(&mut ChaCha8Rng) -> bool) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("FUZZ_FIRST").unwrap_or(0);
    let until = number("FUZZ_MINUTES").map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let goes_on = |case| until.map_or(case < first + ordinary, |until| Instant::now() < until);
    let (mut case, mut figures) = (first, 0u64);
    while goes_on(case) {
        let mut random = ChaCha8Rng::seed_from_u64(case);
        match catch_unwind(AssertUnwindSafe(|| one(&mut random))) {
            Ok(gave_figures) => figures += u64::from(gave_figures),
            Err(panic) => {
                eprintln!("case {case}: FUZZ_FIRST={case} shows it again");
                std::panic::resume_unwind(panic);
            }
        }
        case += 1;
    }
    println!("{} cases, {figures} of them with figures", case - first);
}

/// Reads a run in every way. What the rows say, the columns must say too, whatever the number of threads.
fn read(run: &Path) -> bool {
    let by_columns =
        [1, 3].map(|threads| by_columns(run, threads).map(|analysis| format!("{analysis:?}{}", told(&analysis))));
    assert_eq!(by_columns[0], by_columns[1], "the number of threads makes a difference");
    let [by_columns, _] = by_columns;
    match by_rows(run) {
        Ok(analysis) => assert_eq!(
            by_columns.as_deref(),
            Ok(format!("{analysis:?}{}", told(&analysis)).as_str())
        ),
        Err(words) => assert!(!words.is_empty()),
    }
    by_columns.is_ok()
}

fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    (random.next_u64() % bound.max(1) as u64) as usize
}

#[test]
fn bent_bytes_give_words_or_figures() {
    let directory = tempfile::tempdir().unwrap();
    let files: Vec<(PathBuf, Vec<u8>)> = TABLES
        .map(|table| format!("{table}.parquet"))
        .into_iter()
        .map(|name| {
            (
                directory.path().join(&name),
                fs::read(Path::new(FIXTURE).join(&name)).unwrap(),
            )
        })
        .collect();
    for name in ["manifest.toml", "chain.jsonl"] {
        fs::copy(Path::new(FIXTURE).join(name), directory.path().join(name)).unwrap();
    }
    for (path, whole) in &files {
        fs::write(path, whole).unwrap();
    }
    try_cases(2_000, |random| {
        let (path, whole) = &files[below(random, files.len())];
        fs::write(path, bent(whole, random)).unwrap();
        seal_again(directory.path());
        let gave_figures = read(directory.path());
        fs::write(path, whole).unwrap();
        gave_figures
    });
}

/// Up to four changes, half of them in the file's own description, where a byte says most.
fn bent(whole: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=below(random, 4) {
        let length = bytes.len();
        let described = bytes
            .last_chunk::<8>()
            .map_or(0, |end| u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize);
        let place = match below(random, 2) {
            0 => below(random, length),
            _ => length.saturating_sub(8 + below(random, described.min(length))),
        };
        let place = place.min(length.saturating_sub(1));
        match below(random, 8) {
            0..3 => bytes[place] ^= 1 << below(random, 8),
            3 => bytes[place] = random.next_u64() as u8,
            4 => {
                let extreme = EXTREMES[below(random, EXTREMES.len())].to_le_bytes();
                let end = (place + 1 + below(random, 8)).min(length);
                bytes[place..end].copy_from_slice(&extreme[..end - place]);
            }
            5 => drop(bytes.drain(place..(place + 1 + below(random, 16)).min(length))),
            6 => bytes.insert(place, random.next_u64() as u8),
            _ => {
                let from = below(random, length);
                let count = below(random, 64).min(length - from).min(length - place);
                bytes.copy_within(from..from + count, place);
            }
        }
    }
    bytes
}

#[test]
fn bent_values_give_words_or_figures() {
    let directory = tempfile::tempdir().unwrap();
    let results = directory.path().join("results");
    try_cases(150, |random| {
        let mut made = Made::plain(1 + below(random, 4) as u32, below(random, 30) as u32);
        for _ in 0..=below(random, 6) {
            bend(&mut made, random);
        }
        if below(random, 8) > 0 {
            made.settle();
        }
        let gave_figures = read(&made.seal(&results));
        fs::remove_dir_all(&results).unwrap();
        gave_figures
    });
}

fn bend(made: &mut Made, random: &mut ChaCha8Rng) {
    let extreme = EXTREMES[below(random, EXTREMES.len())];
    let unsigned = extreme as u32;
    let chosen = below(random, 19);
    let (forks, cells) = (made.forks.len(), made.cells.len());
    let cell = below(random, cells);
    let Some((fork, pairs)) = made.forks.get_mut(below(random, forks)) else {
        return;
    };
    let many = 1 + below(random, pairs.len());
    match chosen {
        0 => pairs
            .iter_mut()
            .take(many)
            .for_each(|pair| pair.subject.time = Some(Nanos(extreme))),
        1 => pairs
            .iter_mut()
            .take(many)
            .for_each(|pair| pair.baseline.time = Some(Nanos(extreme))),
        2 => pairs
            .iter_mut()
            .take(many)
            .for_each(|pair| pair.subject.start = Some(Nanos(extreme))),
        3 => pairs.iter_mut().take(many).for_each(|pair| {
            (pair.status, pair.subject.time) = (PairStatus::Failed, None);
        }),
        4 => pairs.iter_mut().take(many).for_each(|pair| {
            (pair.status, pair.baseline.time) = (PairStatus::Timeout, None);
        }),
        5 => pairs
            .iter_mut()
            .take(many)
            .for_each(|pair| pair.status = PairStatus::Mismatch),
        6 => pairs.iter_mut().take(many).for_each(|pair| pair.phase = Phase::Warmup),
        7 => pairs.clear(),
        8 => pairs.truncate(1),
        9 => fork.medians = Some([Nanos(extreme); 3]),
        10 => (fork.clock_resolution, fork.clock_overhead) = (Nanos(extreme), Nanos(extreme)),
        11 => (fork.distance_before, fork.distance_after) = (Some(Nanos(extreme)), Some(Nanos(extreme))),
        12 => (fork.started_unix_ns, fork.ended_unix_ns) = (extreme, extreme),
        13 => (fork.status, fork.pairs_planned) = (ForkStatus::Failed, unsigned),
        14 => (fork.table_bytes_start, fork.table_bytes_end) = (extreme, Some(extreme)),
        15 => {
            let cell = &mut made.cells[cell];
            (cell.plans, cell.months, cell.round_trips) = (unsigned, unsigned, Some(extreme));
        }
        16 => made.cells[cell].cell = CellIndex(unsigned),
        17 => fork.fork = ForkIndex(unsigned),
        _ => {
            let keys = [
                ("figures", "debounce"),
                ("figures", "margin"),
                ("measure", "seed"),
                ("run", "forks_planned"),
                ("figures", "primary"),
            ];
            let (section, key) = keys[below(random, keys.len())];
            made.set(section, key, &extreme.to_string());
        }
    }
}
