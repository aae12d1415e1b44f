//! The tables that say what happened within a pair: the steps of its previews, and what passed on the wire.

use super::super::codec::{Frame, Value};
use super::super::rows::{PairSide, Phase, StepRow, WirePlace, WireRow, WireWay};
use super::super::schema::{STEPS, WIRE};
use super::{OfFork, Row, RowFault, int, nanos, negative, rows, text};
use crate::step::Step;
use crate::units::{CellIndex, ForkIndex, Nanos, PairIndex};

impl StepRow {
    pub(in crate::archive) fn frame(cell: CellIndex, fork: ForkIndex, steps: &[Self]) -> Frame {
        let mut frame = Frame::empty(&STEPS);
        for row in steps {
            frame.push([
                int(cell.0),
                int(fork.0),
                int(row.previewer),
                int(row.pair.0),
                text(row.phase.as_str()),
                text(row.side.as_str()),
                int(row.place),
                text(row.step.as_str()),
                nanos(Some(row.time)),
            ]);
        }
        frame
    }

    /// The steps of a frame, each with its cell and fork.
    pub(in crate::archive) fn rows(frame: &Frame) -> Result<Vec<OfFork<Self>>, RowFault> {
        let of = |row: Row<'_>| {
            let time: i64 = row.integer("step_ns")?;
            if time < 0 {
                return Err(row.fault(negative("step_ns", time)));
            }
            let step = Self {
                previewer: row.integer("previewer")?,
                pair: PairIndex(row.integer("pair")?),
                phase: row.word("phase", Phase::from_word)?,
                side: row.word("side", PairSide::from_word)?,
                place: row.integer("place")?,
                step: row.word("step", Step::from_word)?,
                time: Nanos(time),
            };
            Ok((CellIndex(row.integer("cell")?), ForkIndex(row.integer("fork")?), step))
        };
        rows(frame).map(of).collect()
    }
}

impl WireRow {
    pub(in crate::archive) fn frame(cell: CellIndex, fork: ForkIndex, passages: &[Self]) -> Frame {
        let mut frame = Frame::empty(&WIRE);
        for row in passages {
            let place = row.place;
            let word = |word: Option<&str>| Value::Text(word.map(str::to_owned));
            frame.push([
                int(cell.0),
                int(fork.0),
                int(row.connection),
                text(row.way.as_str()),
                nanos(Some(row.received)),
                nanos(Some(row.declared)),
                nanos(Some(row.held)),
                int(row.bytes),
                text(&row.messages),
                int(row.round_trips),
                Value::Text(row.apart.clone()),
                Value::Integer(place.map(|place| i64::from(place.previewer))),
                Value::Integer(place.map(|place| i64::from(place.pair.0))),
                word(place.map(|place| place.phase.as_str())),
                word(place.map(|place| place.side.as_str())),
                word(place.and_then(|place| place.step).map(Step::as_str)),
            ]);
        }
        frame
    }

    /// The passages of a frame, each with its cell and fork.
    pub(in crate::archive) fn rows(frame: &Frame) -> Result<Vec<OfFork<Self>>, RowFault> {
        let of = |row: Row<'_>| {
            let held: i64 = row.integer("held_ns")?;
            if held < 0 {
                return Err(row.fault(negative("held_ns", held)));
            }
            let passage = Self {
                connection: row.integer("connection")?,
                way: row.word("way", WireWay::from_word)?,
                received: Nanos(row.integer("received_ns")?),
                declared: Nanos(row.integer("declared_ns")?),
                held: Nanos(held),
                bytes: row.integer("bytes")?,
                messages: row.text("messages")?.to_owned(),
                round_trips: row.integer("round_trips")?,
                apart: row.maybe_text("apart").map(str::to_owned),
                place: WirePlace::of(&row)?,
            };
            Ok((
                CellIndex(row.integer("cell")?),
                ForkIndex(row.integer("fork")?),
                passage,
            ))
        };
        rows(frame).map(of).collect()
    }
}

impl WirePlace {
    fn of(row: &Row<'_>) -> Result<Option<Self>, RowFault> {
        let Some(pair) = row.maybe("pair")? else {
            return Ok(None);
        };
        let step = row.maybe_text("step").map(|_| row.word("step", Step::from_word));
        Ok(Some(Self {
            previewer: row.integer("previewer")?,
            pair: PairIndex(pair),
            phase: row.word("phase", Phase::from_word)?,
            side: row.word("side", PairSide::from_word)?,
            step: step.transpose()?,
        }))
    }
}
