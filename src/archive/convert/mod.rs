//! Between typed rows and the columns of the schema: the one place where both are named side by side.

mod within_pairs;

use super::codec::{Frame, Value};
use super::rows::{
    CellRow, FactRow, ForkRow, ForkStatus, PairRow, PairStatus, Phase, PoolWork, Setting, SideRow, When,
};
use super::rows_digest;
use super::schema::{CELLS, ENVIRONMENT, FORKS, MANIFEST, PAIRS};
use crate::environment::{Fact, FactStatus};
use crate::plan::CellKind;
use crate::units::{CellIndex, ForkIndex, Nanos, PairIndex};

/// A row of a table that forks bring, with its cell and fork.
pub(super) type OfFork<T> = (CellIndex, ForkIndex, T);

/// What is wrong with a row: its place in the frame, and the words for it.
pub(super) type RowFault = (usize, String);

/// What is wrong with a pair that ended well and has no time.
pub(super) const OK_WITHOUT_TIME: &str = "status is ok, but a time is null";

/// What is wrong with a negative time. None gets past here, so that no difference of two can overflow.
pub(super) fn negative(name: &str, time: i64) -> String {
    format!("{name} is {time}, and no time is negative")
}

fn int(value: impl Into<i64>) -> Value {
    Value::Integer(Some(value.into()))
}

fn nanos(value: Option<Nanos>) -> Value {
    Value::Integer(value.map(|nanos| nanos.0))
}

fn text(value: &str) -> Value {
    Value::Text(Some(value.to_owned()))
}

/// One row of a frame, read value by value; every accessor says what is wrong where.
struct Row<'f> {
    frame: &'f Frame,
    row: usize,
}

impl<'f> Row<'f> {
    fn fault(&self, problem: String) -> RowFault {
        (self.row, problem)
    }

    fn maybe_integer(&self, name: &str) -> Option<i64> {
        self.frame.integers(name)[self.row]
    }

    fn integer<T: TryFrom<i64>>(&self, name: &str) -> Result<T, RowFault> {
        let value = self
            .maybe_integer(name)
            .ok_or_else(|| self.fault(format!("{name} is null")))?;
        T::try_from(value).map_err(|_| self.fault(format!("{name} is {value}, which is out of range")))
    }

    fn maybe<T: TryFrom<i64>>(&self, name: &str) -> Result<Option<T>, RowFault> {
        self.maybe_integer(name).map(|_| self.integer(name)).transpose()
    }

    fn nanos(&self, name: &str) -> Option<Nanos> {
        self.maybe_integer(name).map(Nanos)
    }

    fn maybe_text(&self, name: &str) -> Option<&'f str> {
        self.frame.texts(name)[self.row].as_deref()
    }

    fn text(&self, name: &str) -> Result<&'f str, RowFault> {
        self.maybe_text(name)
            .ok_or_else(|| self.fault(format!("{name} is null")))
    }

    fn boolean(&self, name: &str) -> Result<bool, RowFault> {
        self.frame.booleans(name)[self.row].ok_or_else(|| self.fault(format!("{name} is null")))
    }

    fn word<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, RowFault> {
        let word = self.text(name)?;
        parse(word).ok_or_else(|| self.fault(format!("{name} is {word:?}, which the schema does not know")))
    }
}

fn rows(frame: &Frame) -> impl Iterator<Item = Row<'_>> {
    (0..frame.rows()).map(move |row| Row { frame, row })
}

impl Setting {
    pub(super) fn frame(settings: &[Self]) -> Frame {
        let mut frame = Frame::empty(&MANIFEST);
        for Self {
            section,
            key,
            value,
            unit,
        } in settings
        {
            frame.push([text(section), text(key), text(value), text(unit)]);
        }
        frame
    }

    pub(super) fn rows(frame: &Frame) -> Result<Vec<Self>, RowFault> {
        rows(frame)
            .map(|row| {
                Ok(Self {
                    section: row.text("section")?.to_owned(),
                    key: row.text("key")?.to_owned(),
                    value: row.text("value")?.to_owned(),
                    unit: row.text("unit")?.to_owned(),
                })
            })
            .collect()
    }
}

impl FactRow {
    /// Digest of the facts that a session read then: those about the build, or all others.
    pub(super) fn digest(facts: &[Self], when: When, session: u32, of_build: bool) -> String {
        let chosen =
            |row: &&Self| (row.when, row.session) == (when, Some(session)) && (row.fact.scope == "build") == of_build;
        let chosen: Vec<Self> = facts.iter().filter(chosen).cloned().collect();
        rows_digest::of_frame(&Self::frame(&chosen))
    }

    pub(super) fn frame(facts: &[Self]) -> Frame {
        let mut frame = Frame::empty(&ENVIRONMENT);
        for Self { when, session, fact } in facts {
            frame.push([
                text(when.as_str()),
                text(&fact.scope),
                text(&fact.key),
                Value::Text(fact.value.clone()),
                Value::Text(fact.unit.clone()),
                text(fact.status.as_str()),
                text(&fact.source),
                Value::Integer(session.map(i64::from)),
            ]);
        }
        frame
    }

    pub(super) fn rows(frame: &Frame) -> Result<Vec<Self>, RowFault> {
        let status = |word: &str| {
            [
                FactStatus::Ok,
                FactStatus::Absent,
                FactStatus::Denied,
                FactStatus::Masked,
            ]
            .into_iter()
            .find(|status| status.as_str() == word)
        };
        rows(frame)
            .map(|row| {
                Ok(Self {
                    when: row.word("when", When::from_word)?,
                    session: row.maybe("session")?,
                    fact: Fact {
                        scope: row.text("scope")?.to_owned(),
                        key: row.text("key")?.to_owned(),
                        value: row.maybe_text("value").map(str::to_owned),
                        unit: row.maybe_text("unit").map(str::to_owned),
                        status: row.word("status", status)?,
                        source: row.text("source")?.to_owned(),
                    },
                })
            })
            .collect()
    }
}

impl CellRow {
    pub(super) fn frame(cells: &[Self]) -> Frame {
        let mut frame = Frame::empty(&CELLS);
        for cell in cells {
            frame.push([
                int(cell.cell.0),
                text(&cell.id),
                text(cell.kind.as_str()),
                text(&cell.backend),
                int(cell.plans),
                int(cell.months),
                Value::Integer(i64::try_from(cell.fields).ok()),
                text(&cell.subject),
                text(&cell.baseline),
                Value::Integer(cell.round_trips),
                Value::Text(cell.schema_shape.clone()),
                nanos(cell.path_delay),
                Value::Text(cell.backend_name.clone()),
            ]);
        }
        frame
    }

    pub(super) fn rows(frame: &Frame) -> Result<Vec<Self>, RowFault> {
        rows(frame)
            .map(|row| {
                Ok(Self {
                    cell: CellIndex(row.integer("cell")?),
                    id: row.text("id")?.to_owned(),
                    kind: row.word("kind", CellKind::from_word)?,
                    backend: row.text("backend")?.to_owned(),
                    plans: row.integer("plans")?,
                    months: row.integer("months")?,
                    fields: row.integer("fields")?,
                    subject: row.text("subject")?.to_owned(),
                    baseline: row.text("baseline")?.to_owned(),
                    round_trips: row.maybe_integer("round_trips"),
                    schema_shape: row.maybe_text("schema_shape").map(str::to_owned),
                    path_delay: row.nanos("path_delay_ns"),
                    backend_name: row.maybe_text("backend_name").map(str::to_owned),
                })
            })
            .collect()
    }
}

impl ForkRow {
    pub(super) fn frame(forks: &[Self]) -> Frame {
        let mut frame = Frame::empty(&FORKS);
        for fork in forks {
            let median = |which: usize| nanos(fork.medians.map(|medians| medians[which]));
            frame.push([
                int(fork.cell.0),
                int(fork.fork.0),
                int(fork.position),
                int(fork.pid),
                int(fork.started_unix_ns),
                int(fork.ended_unix_ns),
                text(fork.status.as_str()),
                Value::Text(fork.reason.clone()),
                int(fork.pairs_planned),
                int(fork.pairs_recorded),
                int(fork.pairs_ok),
                median(0),
                median(1),
                median(2),
                Value::Integer(fork.cpu_start),
                Value::Integer(fork.cpu_end),
                Value::Integer(fork.involuntary_switches),
                nanos(Some(fork.clock_resolution)),
                nanos(Some(fork.clock_overhead)),
                nanos(fork.distance_before),
                nanos(fork.distance_after),
                int(fork.table_bytes_start),
                Value::Integer(fork.table_bytes_end),
                Value::Integer(fork.dead_tuples_start),
                Value::Integer(fork.dead_tuples_end),
                Value::Integer(fork.autovacuums),
                Value::Boolean(fork.model_intact),
                Value::Integer(fork.session.map(i64::from)),
                nanos(fork.pool.map(|pool| pool.background)),
                Value::Integer(fork.pool.map(|pool| i64::from(pool.waits))),
                nanos(fork.pool.map(|pool| pool.wait)),
                Value::Integer(fork.steps_recorded.map(i64::from)),
                Value::Text(fork.steps_off.clone()),
                Value::Integer(fork.passages_recorded.map(i64::from)),
                nanos(fork.own_distances[0]),
                nanos(fork.own_distances[1]),
                Value::Integer(fork.delayed_acks),
            ]);
        }
        frame
    }

    pub(super) fn rows(frame: &Frame) -> Result<Vec<Self>, RowFault> {
        rows(frame).map(|row| Self::of(&row)).collect()
    }

    fn of(row: &Row<'_>) -> Result<Self, RowFault> {
        let medians = ["subject_median_ns", "baseline_median_ns", "difference_median_ns"];
        let medians = match medians.map(|name| row.nanos(name)) {
            [Some(subject), Some(baseline), Some(difference)] => Some([subject, baseline, difference]),
            _ => None,
        };
        Ok(Self {
            cell: CellIndex(row.integer("cell")?),
            fork: ForkIndex(row.integer("fork")?),
            position: row.integer("position")?,
            pid: row.integer("pid")?,
            session: row.maybe("session")?,
            started_unix_ns: row.integer("started_unix_ns")?,
            ended_unix_ns: row.integer("ended_unix_ns")?,
            status: row.word("status", ForkStatus::from_word)?,
            reason: row.maybe_text("reason").map(str::to_owned),
            pairs_planned: row.integer("pairs_planned")?,
            pairs_recorded: row.integer("pairs_recorded")?,
            pairs_ok: row.integer("pairs_ok")?,
            medians,
            cpu_start: row.maybe_integer("cpu_start"),
            cpu_end: row.maybe_integer("cpu_end"),
            involuntary_switches: row.maybe_integer("involuntary_switches"),
            clock_resolution: Nanos(row.integer("clock_resolution_ns")?),
            clock_overhead: Nanos(row.integer("clock_overhead_ns")?),
            distance_before: row.nanos("distance_before_ns"),
            distance_after: row.nanos("distance_after_ns"),
            table_bytes_start: row.integer("table_bytes_start")?,
            table_bytes_end: row.maybe_integer("table_bytes_end"),
            dead_tuples_start: row.maybe_integer("dead_tuples_start"),
            dead_tuples_end: row.maybe_integer("dead_tuples_end"),
            autovacuums: row.maybe_integer("autovacuums"),
            model_intact: row.frame.booleans("model_intact")[row.row],
            pool: PoolWork::of(row)?,
            steps_recorded: row.maybe("steps_recorded")?,
            steps_off: row.maybe_text("steps_off").map(str::to_owned),
            passages_recorded: row.maybe("passages_recorded")?,
            own_distances: ["subject_distance_ns", "baseline_distance_ns"].map(|name| row.nanos(name)),
            delayed_acks: row.maybe_integer("delayed_acks"),
        })
    }
}

impl PoolWork {
    fn of(row: &Row<'_>) -> Result<Option<Self>, RowFault> {
        let Some(background) = row.nanos("pool_background_ns") else {
            return Ok(None);
        };
        Ok(Some(Self {
            background,
            waits: row.integer("pool_waits")?,
            wait: Nanos(row.integer("pool_wait_ns")?),
        }))
    }
}

impl PairRow {
    pub(super) fn frame(cell: CellIndex, fork: ForkIndex, pairs: &[Self]) -> Frame {
        let mut frame = Frame::empty(&PAIRS);
        for pair in pairs {
            frame.push([
                int(cell.0),
                int(fork.0),
                int(pair.previewer),
                int(pair.pair.0),
                text(pair.phase.as_str()),
                Value::Boolean(Some(pair.subject_first)),
                Value::Float(pair.delta),
                nanos(pair.subject.start),
                nanos(pair.subject.time),
                nanos(pair.baseline.start),
                nanos(pair.baseline.time),
                Value::Text(pair.subject.answer.clone()),
                Value::Text(pair.baseline.answer.clone()),
                text(pair.status.as_str()),
                Value::Text(pair.reason.clone()),
            ]);
        }
        frame
    }

    /// The pairs of a frame, each with its cell and fork.
    pub(super) fn rows(frame: &Frame) -> Result<Vec<OfFork<Self>>, RowFault> {
        let of = |row: Row<'_>| {
            let side = |start: &str, time: &str, answer: &str| SideRow {
                start: row.nanos(start),
                time: row.nanos(time),
                answer: row.maybe_text(answer).map(str::to_owned),
            };
            let pair = Self {
                previewer: row.integer("previewer")?,
                pair: PairIndex(row.integer("pair")?),
                phase: row.word("phase", Phase::from_word)?,
                subject_first: row.boolean("subject_first")?,
                delta: row.frame.floats("delta")[row.row],
                subject: side("subject_start_ns", "subject_ns", "subject_answer"),
                baseline: side("baseline_start_ns", "baseline_ns", "baseline_answer"),
                status: row.word("status", PairStatus::from_word)?,
                reason: row.maybe_text("reason").map(str::to_owned),
            };
            if pair.status == PairStatus::Ok && (pair.subject.time.is_none() || pair.baseline.time.is_none()) {
                return Err(row.fault(OK_WITHOUT_TIME.to_owned()));
            }
            for (name, side) in [("subject_ns", &pair.subject), ("baseline_ns", &pair.baseline)] {
                if let Some(time) = side.time.filter(|time| time.0 < 0) {
                    return Err(row.fault(negative(name, time.0)));
                }
            }
            Ok((CellIndex(row.integer("cell")?), ForkIndex(row.integer("fork")?), pair))
        };
        rows(frame).map(of).collect()
    }
}
