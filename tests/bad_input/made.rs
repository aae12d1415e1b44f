//! Runs made through the program's own writer, whose every row a test may bend before it is written.

use std::path::{Path, PathBuf};

use chrono::{TimeZone, Utc};
use preview_cost::analysis::{self, Analysis, Analyst, Archived, Evidence, ForkSample, State};
use preview_cost::archive::{
    Archive, CellRow, Completeness, ForkPart, ForkRow, ForkStatus, PairRow, PairStatus, Phase, RunIdentity, RunWriter,
    Setting, SideRow,
};
use preview_cost::digest;
use preview_cost::nearest_rank;
use preview_cost::plan::CellKind;
use preview_cost::report::{self, Dialect};
use preview_cost::units::{CellIndex, ForkIndex, Nanos, PairIndex};

const MANIFEST: &str = "# A made-up manifest: no program reads it back.\n";

/// A run before it is written.
#[derive(Clone)]
pub struct Made {
    pub settings: Vec<Setting>,
    pub cells: Vec<CellRow>,
    pub forks: Vec<(ForkRow, Vec<PairRow>)>,
}

impl Made {
    /// Two cells and a control; every fork has two warm-up pairs and this many measured ones.
    pub fn plain(forks: u32, pairs: u32) -> Self {
        let cells = vec![cell(0, 10, false), cell(1, 40, false), cell(2, 10, true)];
        let rows = (0..forks).flat_map(|fork| cells.iter().map(move |cell| (fork, cell)));
        let forks = (0..).zip(rows);
        let forks = forks.map(|(position, (fork, cell))| {
            let phases = [(Phase::Warmup, 2), (Phase::Measured, pairs)];
            let each = phases
                .into_iter()
                .flat_map(|(phase, count)| (0..count).map(move |pair| (phase, pair)));
            let pairs: Vec<PairRow> = each.map(|(phase, index)| pair(cell, fork, phase, index)).collect();
            (fork_row(cell, fork, position), pairs)
        });
        let mut made = Self {
            forks: forks.collect(),
            settings: settings(),
            cells,
        };
        made.settle();
        made
    }

    /// Makes the forks' rows say what their pairs are.
    pub fn settle(&mut self) {
        for (fork, pairs) in &mut self.forks {
            fork.pairs_recorded = pairs.len() as u32;
            let counted: Vec<[i64; 2]> = pairs
                .iter()
                .filter(|pair| pair.phase == Phase::Measured && pair.status == PairStatus::Ok)
                .filter_map(|pair| Some([pair.subject.time?.0, pair.baseline.time?.0]))
                .collect();
            fork.pairs_ok = counted.len() as u32;
            let median =
                |of: fn(&[i64; 2]) -> i64| nearest_rank::median(&mut counted.iter().map(of).collect::<Vec<_>>());
            let medians = [
                median(|pair| pair[0]),
                median(|pair| pair[1]),
                median(|pair| pair[0].saturating_sub(pair[1])),
            ];
            fork.medians = medians[0]
                .is_some()
                .then(|| medians.map(|median| Nanos(median.unwrap())));
        }
    }

    /// Every pair of every fork.
    pub fn pairs(&mut self) -> impl Iterator<Item = &mut PairRow> {
        self.forks.iter_mut().flat_map(|(_, pairs)| pairs)
    }

    /// Sets a value of the resolved manifest.
    pub fn set(&mut self, section: &str, key: &str, value: &str) {
        let setting = self
            .settings
            .iter_mut()
            .find(|setting| setting.section == section && setting.key == key);
        value.clone_into(&mut setting.expect("the setting is there").value);
    }

    /// Writes and seals it; gives the run's directory.
    pub fn seal(&self, results: &Path) -> PathBuf {
        let sha256 = digest::of_bytes(MANIFEST);
        let identity = RunIdentity {
            name: "made",
            manifest_text: MANIFEST,
            manifest_sha256: &sha256,
            started: Utc.with_ymd_and_hms(2026, 11, 30, 12, 0, 0).unwrap(),
        };
        let mut writer = RunWriter::create(results, &identity).unwrap();
        writer.announce(&self.settings, &self.cells, Vec::new()).unwrap();
        for (fork, pairs) in &self.forks {
            writer
                .part(ForkPart {
                    fork: fork.clone(),
                    pairs: pairs.clone(),
                    steps: Vec::new(),
                    passages: Vec::new(),
                })
                .unwrap();
        }
        writer.seal(Vec::new()).unwrap();
        writer.directory().to_owned()
    }
}

fn settings() -> Vec<Setting> {
    [
        ("manifest", "name", "made"),
        ("manifest", "title", "A made-up run"),
        ("manifest", "question", "What if it is bent?"),
        ("manifest", "sha256", "0"),
        ("backend", "label", "made up"),
        ("program", "version", "0.1.0"),
        ("figures", "debounce", "200000000"),
        ("figures", "margin", "100000"),
        ("figures", "resamples", "200"),
        ("figures", "primary", "cell[plans=40].difference.median"),
        ("measure", "seed", "1"),
        ("run", "id", "made"),
        ("run", "forks_planned", "9"),
    ]
    .map(|(section, key, value)| Setting {
        section: section.to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
        unit: String::new(),
    })
    .to_vec()
}

pub fn cell(index: u32, plans: u32, is_control: bool) -> CellRow {
    CellRow {
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
    }
}

fn pair(cell: &CellRow, fork: u32, phase: Phase, index: u32) -> PairRow {
    let side = |which: u32| {
        let noise = ((u64::from(index * 7 + fork * 31 + which) * 2_654_435_761) >> 7) % 10_000;
        SideRow {
            start: Some(Nanos(i64::from(index) * 100_000)),
            time: Some(Nanos(50_000 + i64::from(cell.plans + 20 * which) * 100 + noise as i64)),
            answer: Some("0".repeat(32)),
        }
    };
    PairRow {
        previewer: 0,
        pair: PairIndex(index),
        phase,
        subject_first: index.is_multiple_of(2),
        delta: 0.001 * f64::from(index),
        subject: side(1),
        baseline: side(0),
        status: PairStatus::Ok,
        reason: None,
    }
}

fn fork_row(cell: &CellRow, fork: u32, position: u32) -> ForkRow {
    ForkRow {
        cell: cell.cell,
        fork: ForkIndex(fork),
        position,
        pid: 1,
        session: None,
        started_unix_ns: 0,
        ended_unix_ns: 1,
        status: ForkStatus::Ok,
        reason: None,
        pairs_planned: 0,
        pairs_recorded: 0,
        pairs_ok: 0,
        medians: None,
        cpu_start: None,
        cpu_end: None,
        involuntary_switches: None,
        clock_resolution: Nanos(1),
        clock_overhead: Nanos(25),
        distance_before: Some(Nanos(30_000)),
        distance_after: Some(Nanos(31_000)),
        table_bytes_start: 8_192,
        table_bytes_end: Some(8_192),
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

fn archived(archive: &Archive) -> Archived<'_> {
    Archived {
        settings: &archive.settings,
        cells: &archive.cells,
        forks: &archive.forks,
        facts: &archive.facts,
        root: archive.root(),
        state: match archive.completeness {
            Completeness::Sealed => State::Finished,
            Completeness::Incomplete => State::Incomplete,
            Completeness::Unfinished => State::Unfinished,
        },
    }
}

/// A run's figures by way of its columns, or what is wrong with it.
pub fn by_columns(run: &Path, threads: usize) -> Result<Analysis, String> {
    let archive = Archive::open(run).map_err(|error| error.to_string())?;
    let mut analyst = Analyst::new(archived(&archive), false, threads).map_err(|error| error.to_string())?;
    let mut fault = None;
    let read = archive.for_each_fork_times(threads, |times| {
        fault = fault.take().or(analyst.add(times).err());
        Ok::<(), preview_cost::archive::ReadError>(())
    });
    read.map_err(|error| error.to_string())?;
    match fault {
        Some(fault) => Err(fault.to_string()),
        None => Ok(analyst.finish()),
    }
}

/// The same by way of its rows, all in memory.
pub fn by_rows(run: &Path) -> Result<Analysis, String> {
    let archive = Archive::open(run).map_err(|error| error.to_string())?;
    let mut samples = Vec::new();
    let read = archive.for_each_fork(|fork| samples.push(ForkSample::from(fork)));
    read.map_err(|error| error.to_string())?;
    let evidence = Evidence::gather(archived(&archive), samples).map_err(|error| error.to_string())?;
    Ok(analysis::analyze(&evidence, false))
}

/// Everything that can be told of figures.
pub fn told(analysis: &Analysis) -> String {
    let analyses = std::slice::from_ref(analysis);
    [
        report::tables(analysis, Dialect::Terminal),
        report::json(analyses),
        report::csv(analyses),
    ]
    .concat()
}
