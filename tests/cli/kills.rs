//! Kill -9 at random moments: of the supervisor, of the worker, of both, of all, while measuring, sealing, resuming and
//! recovering. Whatever was durable when the blow fell is in the archive at the end, and the archive holds.
//!
//! `KILL_LOOPS` says how many times (200 if not set), `KILL_SEED` repeats the choices of another time; the moments
//! themselves are the machine's.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use preview_cost::archive::{Archive, ChainEntry, Completeness, When};
use preview_cost::verification::{Outcome, verify};

use crate::processes::{child_as, family};
use crate::remains::{ends_in, files_under, ledger};
use crate::support::{Bench, SMALL, ask, edited};

const FORKS: u32 = 6;
const LOOPS: u64 = 200;

fn tiny() -> String {
    let changes = [
        ("plans = [1, 3]", "plans = [1]"),
        ("previews = 21", "previews = 5"),
        ("warmup = 4", "warmup = 1"),
        ("forks = 2", "forks = 3"),
    ];
    edited(SMALL, &changes)
}

/// `SplitMix64`, Steele, Lea and Flood 2014.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

#[test]
fn nothing_durable_is_lost_whenever_the_blow_falls() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("KILL_SEED").unwrap_or(now.as_nanos() as u64);
    let loops = number("KILL_LOOPS").unwrap_or(LOOPS);
    println!("KILL_SEED={seed} KILL_LOOPS={loops}");
    let usual = (0..3).map(|_| {
        let begun = Instant::now();
        Bench::quick(tiny()).measure();
        begun.elapsed()
    });
    let usual = usual.min().unwrap();
    let next = AtomicU64::new(0);
    let ends: Mutex<BTreeMap<&str, u32>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= loops {
                        break;
                    }
                    let dice = Dice(seed.wrapping_add(place.wrapping_mul(0x5851_f42d_4c95_7f2d)));
                    *ends.lock().unwrap().entry(one(dice, usual)).or_default() += 1;
                }
            });
        }
    });
    let ends = ends.into_inner().unwrap();
    println!("{ends:?}");
    // Of 200, each kind comes about often; were one missing, the blows would fall beside the run.
    for end in ["complete", "resumed", "incomplete"] {
        assert!(loops < LOOPS || ends.contains_key(end), "{ends:?}");
    }
}

/// One run from its start to its recovery; tells how it ended.
fn one(mut dice: Dice, usual: Duration) -> &'static str {
    let bench = Bench::quick(tiny());
    let mut durable = BTreeSet::new();
    struck(&mut bench.run(), &bench, &mut dice, usual);
    let Some(run) = bench.runs().into_iter().next() else {
        return "nothing";
    };
    durable.extend(durable_in(&run));
    for _ in 0..dice.below(4) {
        let command = &mut bench.command(if dice.below(2) == 0 {
            &["recover"]
        } else {
            &["run", "--resume"]
        });
        struck(command.arg(&run), &bench, &mut dice, usual);
        durable.extend(durable_in(&run));
    }
    if !run.exists() {
        // An earlier recovery found that nothing had been announced.
        assert_eq!(durable, BTreeSet::new());
        return "withdrawn";
    }
    if dice.below(4) == 0 {
        ask(bench.command(&["run", "--resume"]).arg(&run));
        durable.extend(durable_in(&run));
    }
    ask(bench.command(&["recover"]).arg(&run)).exits(0);
    let end = if run.exists() {
        holds(&bench, &run, &durable)
    } else {
        assert_eq!(durable, BTreeSet::new());
        "withdrawn"
    };
    if bench.results().join("LEDGER.jsonl").exists() {
        ledger(&bench.results(), None);
    }
    end
}

/// Runs a command and strikes at a moment that the dice choose. It may have ended before.
fn struck(command: &mut Command, bench: &Bench, dice: &mut Dice, usual: Duration) {
    let mut child = command
        .process_group(0)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut wait_until = |moment: &dyn Fn() -> bool| {
        while !moment() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_micros(200));
        }
    };
    let begun = Instant::now();
    let (delay, short) = (usual.mul_f64(dice.below(1000) as f64 / 1000.0), dice.below(25_000));
    let short = Duration::from_micros(short);
    match dice.below(4) {
        0 => wait_until(&|| begun.elapsed() >= delay),
        1 => wait_until(&|| begun.elapsed() >= short),
        // A while after a part was stored; after the last one, tables and seal are written.
        after => {
            let parts = bench.parts() + 1 + dice.below(3) as usize;
            let parts = if after == 2 {
                FORKS as usize
            } else {
                parts.min(FORKS as usize)
            };
            wait_until(&|| bench.parts() >= parts);
            let stored = Instant::now();
            wait_until(&|| stored.elapsed() >= short);
        }
    }
    let supervisor = child.id().cast_signed();
    let mut victims = match dice.below(4) {
        0 => vec![supervisor],
        1 => child_as(supervisor, "worker").into_iter().collect(),
        2 => [Some(supervisor), child_as(supervisor, "worker")]
            .into_iter()
            .flatten()
            .collect(),
        _ => family(supervisor),
    };
    if child.try_wait().unwrap().is_some() {
        victims.clear();
    }
    for victim in victims {
        // It may be gone by now; the supervisor is not reaped before this function ends, so its number is its own.
        let _ = kill(Pid::from_raw(victim), Signal::SIGKILL);
    }
    child.wait().unwrap();
}

/// Places of the forks whose parts are durable, by what lies in the directory alone.
fn durable_in(run: &Path) -> BTreeSet<u32> {
    if run.join("SHA256SUMS").exists() {
        return Archive::open(run)
            .unwrap()
            .forks
            .iter()
            .map(|fork| fork.position)
            .collect();
    }
    let parts = files_under(&run.join("parts")).into_iter();
    parts
        .filter(|name| ends_in(name, "sums"))
        .map(|name| name[..5].parse().unwrap())
        .collect()
}

fn holds(bench: &Bench, run: &Path, durable: &BTreeSet<u32>) -> &'static str {
    let archive = Archive::open(run).unwrap();
    assert_eq!(archive.chain_faults().unwrap(), []);
    let mut forks = 0;
    archive.for_each_fork(|_| forks += 1).unwrap();
    assert_eq!(forks, archive.forks.len());
    let places: BTreeSet<u32> = archive.forks.iter().map(|fork| fork.position).collect();
    assert_eq!(places.len(), forks, "no fork stands twice");
    assert!(places.iter().all(|place| *place < FORKS));
    assert!(
        places.is_superset(durable),
        "{durable:?} were durable, and {places:?} are there"
    );
    let entries = &archive.chain().unwrap().entries;
    let has_end = matches!(
        entries[entries.len() - 2],
        ChainEntry::Environment { when: When::End, .. }
    );
    let expected = if forks == FORKS as usize && has_end {
        Completeness::Sealed
    } else {
        Completeness::Incomplete
    };
    assert_eq!(archive.completeness, expected);
    let Some(ChainEntry::Seal { lost, .. }) = entries.last() else {
        panic!("the chain is sealed")
    };
    assert_eq!(lost, &[], "a kill loses nothing that the chain names");
    let findings = verify(run).findings;
    assert!(
        findings.iter().all(|finding| finding.outcome != Outcome::Tampered),
        "{findings:?}"
    );
    let states = ledger(&bench.results(), Some(run));
    assert_eq!(states[0], "started");
    assert!(
        ["finished", "recovered"].contains(&states[states.len() - 1].as_str()),
        "{states:?}"
    );
    let left = files_under(run);
    assert_eq!(left.len(), 10, "{left:?}");
    let sums = fs::read(run.join("SHA256SUMS")).unwrap();
    ask(bench.command(&["recover"]).arg(run)).exits(0);
    assert_eq!(fs::read(run.join("SHA256SUMS")).unwrap(), sums);
    assert_eq!(ledger(&bench.results(), Some(run)), states);
    match expected {
        Completeness::Sealed if states.iter().any(|state| state == "resumed") => "resumed",
        Completeness::Sealed => "complete",
        _ => "incomplete",
    }
}
