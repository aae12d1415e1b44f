//! The rows of a run as the rest of the program sees them, typed and with units.
//!
//! Workers produce [`PairRow`]s and a [`ForkRow`]; analysis reads [`ForkPairs`]. How they lie on disk is the schema's
//! business.

use serde::{Deserialize, Serialize};

use super::schema::Table;
use crate::plan::CellKind;
use crate::step::Step;
use crate::units::{CellIndex, ForkIndex, Nanos, PairIndex};

/// Which part of a fork a pair belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the measured pairs; archived, not counted.
    Warmup,
    /// Counted.
    Measured,
}

/// How a pair ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairStatus {
    /// Both sides answered, and the same.
    Ok,
    /// Both sides answered, and not the same.
    Mismatch,
    /// A side did not answer in time.
    Timeout,
    /// A side gave no answer.
    Failed,
}

/// How a fork ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForkStatus {
    /// Every planned pair was tried.
    Ok,
    /// It broke off.
    Failed,
}

macro_rules! words {
    ($type:ident { $($variant:ident => $word:literal),+ }) => {
        impl $type {
            /// The word that stands in the archive.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value that a word of the archive stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words!(Phase { Warmup => "warmup", Measured => "measured" });
words!(PairStatus { Ok => "ok", Mismatch => "mismatch", Timeout => "timeout", Failed => "failed" });
words!(ForkStatus { Ok => "ok", Failed => "failed" });

/// Which of the two strategies of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairSide {
    /// The strategy that is priced.
    Subject,
    /// The strategy that it is priced against.
    Baseline,
}

impl PairSide {
    /// Both, subject first.
    pub const BOTH: [Self; 2] = [Self::Subject, Self::Baseline];
}

/// Which way something passes between driver and database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireWay {
    /// From the driver.
    ToServer,
    /// From the database.
    ToClient,
}

words!(PairSide { Subject => "subject", Baseline => "baseline" });
words!(WireWay { ToServer => "to-server", ToClient => "to-client" });

/// One side of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SideRow {
    /// When it started, since the fork's clock began; `None` if it was not tried.
    pub start: Option<Nanos>,
    /// How long it took; `None` if it gave no answer.
    pub time: Option<Nanos>,
    /// Digest of its answer.
    pub answer: Option<String>,
}

/// One pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairRow {
    /// Which of several concurrent previewers.
    pub previewer: u32,
    /// Place within the phase.
    pub pair: PairIndex,
    /// Warm-up or measured.
    pub phase: Phase,
    /// Whether the subject came first.
    pub subject_first: bool,
    /// The drag's growth delta.
    pub delta: f64,
    /// The subject's side.
    pub subject: SideRow,
    /// The baseline's side.
    pub baseline: SideRow,
    /// How it ended.
    pub status: PairStatus,
    /// Why it did not end well.
    pub reason: Option<String>,
}

/// A timed part of a preview. The parts of a preview follow each other without a gap, so that they add up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRow {
    /// Which of several concurrent previewers.
    pub previewer: u32,
    /// The preview's pair: its place within the phase.
    pub pair: PairIndex,
    /// Warm-up or measured.
    pub phase: Phase,
    /// The preview's side.
    pub side: PairSide,
    /// Place within the preview, from 0; a preview may come back to a step.
    pub place: u32,
    /// What was done.
    pub step: Step,
    /// How long it took.
    pub time: Nanos,
}

/// What a message or a burst of them belongs to, found by when it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WirePlace {
    /// Which of several concurrent previewers.
    pub previewer: u32,
    /// The preview's pair: its place within the phase.
    pub pair: PairIndex,
    /// Warm-up or measured.
    pub phase: Phase,
    /// The preview's side.
    pub side: PairSide,
    /// The step that was under way; `None` where steps are not recorded.
    pub step: Option<Step>,
}

/// What the proxy received in one read and passed on: a write of the other side as it arrived, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireRow {
    /// Which of the proxy's connections, from 0.
    pub connection: u32,
    /// Which way it went.
    pub way: WireWay,
    /// When it was received, since the fork's clock began; negative before that.
    pub received: Nanos,
    /// How long it was to be held.
    pub declared: Nanos,
    /// How long it was held.
    pub held: Nanos,
    /// Bytes.
    pub bytes: i64,
    /// Messages that ended in it, by type, e.g. `B4 E4 S1`.
    pub messages: String,
    /// Round trips that it began: changes from nothing awaited to something awaited.
    pub round_trips: u32,
    /// Whether it belongs to no preview's work: start-up, copy or flush, told apart.
    pub apart: Option<String>,
    /// The preview that was under way; `None` between previews.
    pub place: Option<WirePlace>,
}

/// One fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkRow {
    /// Its cell.
    pub cell: CellIndex,
    /// Its place within the cell.
    pub fork: ForkIndex,
    /// Its place within the run.
    pub position: u32,
    /// The process that measured it.
    pub pid: u32,
    /// Which process of the run had it measured: 0 the first, 1 that of the first resumption, …. `None` in archives that
    /// are older than that (schema 1.0), and until it is stored.
    pub session: Option<u32>,
    /// Wall clock at its start, nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: i64,
    /// Wall clock at its end, nanoseconds since 1970-01-01 UTC.
    pub ended_unix_ns: i64,
    /// How it ended.
    pub status: ForkStatus,
    /// Why it broke off.
    pub reason: Option<String>,
    /// Pairs that the manifest asks for, warm-up included.
    pub pairs_planned: u32,
    /// Pairs that were recorded.
    pub pairs_recorded: u32,
    /// Measured pairs with status ok.
    pub pairs_ok: u32,
    /// Nearest-rank medians over measured ok pairs: subject, baseline, difference.
    pub medians: Option<[Nanos; 3]>,
    /// Processor that the worker ran on before the pairs; `None` where unknown.
    pub cpu_start: Option<i64>,
    /// The same after the last pair.
    pub cpu_end: Option<i64>,
    /// Times that the worker was made to yield during the pairs; `None` where unknown.
    pub involuntary_switches: Option<i64>,
    /// Smallest step of the clock that was seen.
    pub clock_resolution: Nanos,
    /// Median cost of reading the clock.
    pub clock_overhead: Nanos,
    /// Median of empty round trips before the first pair; `None` in process.
    pub distance_before: Option<Nanos>,
    /// Median of empty round trips after the last pair; `None` in process.
    pub distance_after: Option<Nanos>,
    /// Bytes of the model's table or database before the first pair.
    pub table_bytes_start: i64,
    /// The same after the last pair; `None` if it could not be read.
    pub table_bytes_end: Option<i64>,
    /// Dead tuples before the first pair; `None` on SQLite.
    pub dead_tuples_start: Option<i64>,
    /// The same after the last pair.
    pub dead_tuples_end: Option<i64>,
    /// Autovacuum runs on the table during the fork; `None` on SQLite.
    pub autovacuums: Option<i64>,
    /// Whether the stored model was as it was seeded; `None` if it could not be read.
    pub model_intact: Option<bool>,
    /// What a pool did beside the previews; `None` where neither side has one.
    pub pool: Option<PoolWork>,
    /// Rows of this fork in `steps`; `None` in archives that are older than that (schema 1.1).
    pub steps_recorded: Option<u32>,
    /// Why steps were not recorded; `None` where they were.
    pub steps_off: Option<String>,
    /// Rows of this fork in `wire`; `None` where no proxy stood in the path.
    pub passages_recorded: Option<u32>,
    /// Medians of empty round trips over a side's own connection, subject and baseline; `None` for a side that uses the
    /// session that both share.
    pub own_distances: [Option<Nanos>; 2],
    /// Acknowledgements that this machine's kernel delayed while pairs were measured; `None` where nobody asked.
    pub delayed_acks: Option<i64>,
}

/// The steps of one fork's previews.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkSteps {
    /// The fork's cell.
    pub cell: CellIndex,
    /// The fork.
    pub fork: ForkIndex,
    /// Its steps, in the order of phase, pair, side and place; empty where none were recorded.
    pub steps: Vec<StepRow>,
}

/// What passed the proxy in one fork.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkWire {
    /// The fork's cell.
    pub cell: CellIndex,
    /// The fork.
    pub fork: ForkIndex,
    /// What passed, in the order in which it was received; empty without a proxy.
    pub passages: Vec<WireRow>,
}

/// All that one fork brings to the archive.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkPart {
    /// The fork.
    pub fork: ForkRow,
    /// Its pairs, warm-up first.
    pub pairs: Vec<PairRow>,
    /// The steps of its previews, in the order of the pairs.
    pub steps: Vec<StepRow>,
    /// What passed the proxy, in the order in which it was received; empty without one.
    pub passages: Vec<WireRow>,
}

impl ForkRow {
    /// How many rows the fork has in one of the tables that forks bring; `None` where it has no part in it.
    pub(super) fn rows_in(&self, table: &Table) -> Option<u32> {
        match table.name {
            "pairs" => Some(self.pairs_recorded),
            "steps" => self.steps_recorded,
            "wire" => self.passages_recorded,
            _ => None,
        }
    }
}

/// What a pool did beside the previews of a fork, warm-up included; of both sides, where both have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolWork {
    /// Time of the work, the first filling included.
    pub background: Nanos,
    /// Previews that waited because nothing was ready.
    pub waits: u32,
    /// How long they waited, within their own times.
    pub wait: Nanos,
}

/// The pairs of one fork, as columns.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkPairs {
    /// The fork's cell.
    pub cell: CellIndex,
    /// The fork.
    pub fork: ForkIndex,
    /// Its pairs, warm-up first, in the order in which they ran.
    pub pairs: Vec<PairRow>,
}

/// One cell as it was archived. Strategies are words here: an archive may hold ones that this program does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellRow {
    /// Its place in the plan.
    pub cell: CellIndex,
    /// Its name in figure ids.
    pub id: String,
    /// What it is there for.
    pub kind: CellKind,
    /// Where the model lives.
    pub backend: String,
    /// Plans in the model.
    pub plans: u32,
    /// Horizon of the projection.
    pub months: u32,
    /// Rows of the model.
    pub fields: u64,
    /// The strategy that is priced.
    pub subject: String,
    /// The strategy that it is priced against.
    pub baseline: String,
    /// Round trips that the subject takes beyond the baseline; `None` in process, or where it depends.
    pub round_trips: Option<i64>,
    /// How the model's table is laid out; `None` where the manifest asks for the study's alone.
    pub schema_shape: Option<String>,
    /// What the proxy adds to each round trip; `None` where no proxy stands in the path. Of a path cell, the baseline goes
    /// without.
    pub path_delay: Option<Nanos>,
    /// The backend's name in ids; `None` where the manifest has one.
    pub backend_name: Option<String>,
}

impl CellRow {
    /// Whether it prices a strategy against another.
    pub fn is_comparison(&self) -> bool {
        self.kind == CellKind::Comparison
    }

    /// Both sides of its differences; backend, schema and delay where they are named.
    pub fn sides(&self) -> String {
        format!("{} − {}{}", self.subject, self.baseline, self.further())
    }

    /// Backend, schema and delay where they are named, each with a comma before it, for people.
    pub fn further(&self) -> String {
        let named = self.backend_name.iter().chain(&self.schema_shape).cloned();
        let delay = self.path_delay.map(|delay| format!("+{} µs", delay.0 / 1_000));
        named
            .chain(delay)
            .fold(String::new(), |words, word| words + ", " + &word)
    }
}

/// One resolved value of the manifest, or a fact about the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Part of the manifest, or `run`, `program`.
    pub section: String,
    /// Name within the section.
    pub key: String,
    /// Value as text.
    pub value: String,
    /// Unit; empty where there is none.
    pub unit: String,
}

/// When a fact was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Before the first fork.
    Start,
    /// Before the first fork of a session that took the run up again.
    Resume,
    /// After the last fork.
    End,
}

words!(When { Start => "start", Resume => "resume", End => "end" });

/// A fact and when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactRow {
    /// Start or end of the run, or a resumption.
    pub when: When,
    /// Which process of the run read it, as in [`ForkRow::session`].
    pub session: Option<u32>,
    /// The fact.
    pub fact: crate::environment::Fact,
}
