//! The tables of a run: names, types, units, encodings and what each column means.
//!
//! These definitions are the single source for the writer, the reader's checks and the metadata inside the files.
//! Integers are signed 64-bit, since other tools read unsigned ones badly; units stand in the names.
//!
//! # Versions
//! A reader reads every archive of its own major version. A minor version adds files, and columns that may be null: a
//! column that a file is too old to have reads as null.
//! * 1.0: manifest, environment, cells, forks, pairs.
//! * 1.1: `chain.jsonl`; `cells.schema_shape`; `session` in environment and forks, and the word `resume` in
//!   `environment.when`; `pool_background_ns`, `pool_waits` and `pool_wait_ns` in forks.
//! * 1.2: `steps.parquet` and `wire.parquet`; `path_delay_ns` and `backend_name` in cells, and the word `path` in `cells.kind`;
//!   `steps_recorded`, `steps_off`, `passages_recorded`, `subject_distance_ns`, `baseline_distance_ns` and
//!   `delayed_acks` in forks.

mod forks;

pub(super) use forks::{FORKS, PAIRS, STEPS, WIRE};

/// Version of the tables below, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.2";
/// The major version that this program reads.
pub const SCHEMA_MAJOR: u32 = 1;
/// The minor version that this program writes.
pub(super) const SCHEMA_MINOR: u32 = 2;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Signed 64-bit integer.
    Integer,
    /// IEEE double.
    Float,
    /// True or false.
    Boolean,
    /// UTF-8 text.
    Text,
}

/// How a column's values are laid out, chosen by measuring: counters pack as differences, repeated values as a
/// dictionary. Times of single previews are noise with spikes, which make differences wide: split into their bytes and
/// compressed, they take 8 % less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// `DELTA_BINARY_PACKED`.
    Delta,
    /// `BYTE_STREAM_SPLIT`.
    Split,
    /// Dictionary with run lengths.
    Dictionary,
    /// Plain values.
    Plain,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Name, with the unit where it has one.
    pub name: &'static str,
    /// Type of the values.
    pub kind: Kind,
    /// Whether a value may be missing; the description says when.
    pub nullable: bool,
    /// Unit; empty where there is none.
    pub unit: &'static str,
    /// What it means.
    pub description: &'static str,
    /// Layout on disk.
    pub coding: Coding,
    /// The minor version that brought it; an older file reads as null here.
    pub since: u32,
}

/// One table, a Parquet file of the same name.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Name without `.parquet`.
    pub name: &'static str,
    /// Columns, in order.
    pub columns: &'static [Column],
    /// The minor version that brought it; an older run has no such file.
    pub since: u32,
}

impl Table {
    /// The file's name.
    pub fn file_name(&self) -> String {
        format!("{}.parquet", self.name)
    }
}

const fn text(name: &'static str, description: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Text,
        nullable: false,
        unit: "",
        description,
        coding: Coding::Dictionary,
        since: 0,
    }
}

const fn integer(name: &'static str, unit: &'static str, description: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Integer,
        nullable: false,
        unit,
        description,
        coding: Coding::Delta,
        since: 0,
    }
}

/// When a preview began or how long it took.
const fn time(name: &'static str, unit: &'static str, description: &'static str) -> Column {
    Column {
        coding: Coding::Split,
        ..integer(name, unit, description)
    }
}

const fn nullable(column: Column) -> Column {
    Column {
        nullable: true,
        ..column
    }
}

/// A column that version 1.0 did not have.
const fn since_1_1(column: Column) -> Column {
    Column {
        since: 1,
        ..nullable(column)
    }
}

/// A column that version 1.1 did not have.
const fn since_1_2(column: Column) -> Column {
    Column {
        since: 2,
        ..nullable(column)
    }
}

/// The tables whose rows forks bring, each with its own part while the run lasts.
pub(super) const FORK_TABLES: [&Table; 3] = [&PAIRS, &STEPS, &WIRE];

/// Which process of a run that was resumed wrote a row.
const SESSION: Column = Column {
    since: 1,
    ..nullable(integer(
        "session",
        "",
        "which process of the run: 0 the first, 1 that of the first resumption, …",
    ))
};

/// Every table of a run, in the order in which DESIGN lists them.
pub const TABLES: [&Table; 7] = [&MANIFEST, &ENVIRONMENT, &CELLS, &PAIRS, &STEPS, &FORKS, &WIRE];

/// The tables that a run of this minor version has.
pub(super) fn tables_of(minor: u32) -> impl Iterator<Item = &'static Table> {
    TABLES.into_iter().filter(move |table| table.since <= minor)
}

/// The resolved manifest and what ran it, as long rows.
pub(super) const MANIFEST: Table = Table {
    name: "manifest",
    since: 0,
    columns: &[
        text("section", "part of the manifest, or `run`, `program`"),
        text("key", "name within the section"),
        text("value", "value as text; defaults are filled in"),
        text("unit", "unit of a numeric value; empty where there is none"),
    ],
};

/// Facts about machine, build and server.
pub(super) const ENVIRONMENT: Table = Table {
    name: "environment",
    since: 0,
    columns: &[
        text(
            "when",
            "`start` or `end` of the run, or `resume` of one that had broken off",
        ),
        text(
            "scope",
            "what the fact is about: host, build, server, provision, sqlite",
        ),
        text("key", "name within the scope"),
        nullable(text("value", "value as text; null unless the status is ok")),
        nullable(text("unit", "unit of a numeric value; null where there is none")),
        text(
            "status",
            "ok, absent (this machine has none), denied (not readable), masked (hidden on purpose)",
        ),
        text("source", "where it was read"),
        SESSION,
    ],
};

/// The cells of the plan.
pub(super) const CELLS: Table = Table {
    name: "cells",
    since: 0,
    columns: &[
        integer("cell", "", "place in the plan, from 0; pairs and forks refer to it"),
        text("id", "name in figure ids"),
        text(
            "kind",
            "comparison; control: the subject against itself; path: the subject through the proxy against itself without",
        ),
        text("backend", "where the model lives"),
        integer("plans", "", "plans in the model"),
        integer("months", "", "horizon of the projection"),
        integer("fields", "", "rows of the model"),
        text("subject", "the strategy that is priced"),
        text("baseline", "the strategy that it is priced against"),
        nullable(integer(
            "round_trips",
            "",
            "round trips that the subject takes beyond the baseline; null in process, or where it depends",
        )),
        Column {
            since: 1,
            ..nullable(text(
                "schema_shape",
                "how the model's table is laid out; null where the manifest asks for the study's alone",
            ))
        },
        since_1_2(integer(
            "path_delay_ns",
            "ns",
            "what the proxy adds to each round trip, half of it each way; null where no proxy stands in the path; of a \
             cell of kind path, the baseline goes without",
        )),
        since_1_2(text(
            "backend_name",
            "the backend's name in ids; null where the manifest has one backend",
        )),
    ],
};
