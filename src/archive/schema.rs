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

/// The forks that were measured.
pub(super) const FORKS: Table = Table {
    name: "forks",
    since: 0,
    columns: &[
        integer("cell", "", "the fork's cell"),
        integer("fork", "", "place within the cell, from 0"),
        integer("position", "", "place within the run, from 0"),
        integer("pid", "", "process that measured it"),
        integer(
            "started_unix_ns",
            "ns",
            "wall clock at the fork's start, since 1970-01-01 UTC",
        ),
        integer(
            "ended_unix_ns",
            "ns",
            "wall clock at the fork's end, since 1970-01-01 UTC",
        ),
        text("status", "ok, or failed: the fork broke off"),
        nullable(text("reason", "why it broke off; null when ok")),
        integer(
            "pairs_planned",
            "",
            "pairs that the manifest asks for, warm-up included",
        ),
        integer("pairs_recorded", "", "rows of this fork in `pairs`"),
        integer("pairs_ok", "", "measured pairs with status ok"),
        nullable(integer(
            "subject_median_ns",
            "ns",
            "nearest-rank median over measured ok pairs, as the fork saw it",
        )),
        nullable(integer(
            "baseline_median_ns",
            "ns",
            "nearest-rank median over measured ok pairs, as the fork saw it",
        )),
        nullable(integer(
            "difference_median_ns",
            "ns",
            "nearest-rank median of subject minus baseline over measured ok pairs, as the fork saw it",
        )),
        nullable(integer(
            "cpu_start",
            "",
            "processor that the worker ran on before the pairs; null where unknown",
        )),
        nullable(integer("cpu_end", "", "the same after the last pair")),
        nullable(integer(
            "involuntary_switches",
            "",
            "times that the worker was made to yield during the pairs; null where unknown",
        )),
        integer("clock_resolution_ns", "ns", "smallest step of the clock that was seen"),
        integer("clock_overhead_ns", "ns", "median cost of reading the clock"),
        nullable(integer(
            "distance_before_ns",
            "ns",
            "median of 200 empty round trips before; null in process",
        )),
        nullable(integer(
            "distance_after_ns",
            "ns",
            "median of 200 empty round trips after; null in process",
        )),
        integer(
            "table_bytes_start",
            "bytes",
            "size of the model's table (PostgreSQL) or database (SQLite) before",
        ),
        nullable(integer(
            "table_bytes_end",
            "bytes",
            "the same after the last pair; null if it could not be read",
        )),
        nullable(integer(
            "dead_tuples_start",
            "",
            "dead tuples that PostgreSQL counts before; null on SQLite",
        )),
        nullable(integer("dead_tuples_end", "", "the same after the last pair")),
        nullable(integer(
            "autovacuums",
            "",
            "times that PostgreSQL vacuumed the table by itself; null on SQLite",
        )),
        nullable(Column {
            name: "model_intact",
            kind: Kind::Boolean,
            nullable: true,
            unit: "",
            description: "whether the stored model, read back at the end, equals what was seeded; null if not reached",
            coding: Coding::Plain,
            since: 0,
        }),
        SESSION,
        since_1_1(integer(
            "pool_background_ns",
            "ns",
            "work that a pool did beside the previews, its first filling included, of both sides; null where there is none",
        )),
        since_1_1(integer(
            "pool_waits",
            "",
            "previews that waited because nothing was ready in the pool",
        )),
        since_1_1(integer(
            "pool_wait_ns",
            "ns",
            "how long they waited; it is part of their times",
        )),
        since_1_2(integer("steps_recorded", "", "rows of this fork in `steps`")),
        since_1_2(text("steps_off", "why steps were not recorded; null where they were")),
        since_1_2(integer(
            "passages_recorded",
            "",
            "rows of this fork in `wire`; null where no proxy stood in the path",
        )),
        since_1_2(integer(
            "subject_distance_ns",
            "ns",
            "median of 200 empty round trips over the subject's own connection, after the last pair; null where it uses \
             the session that both sides share",
        )),
        since_1_2(integer("baseline_distance_ns", "ns", "the same for the baseline")),
        since_1_2(integer(
            "delayed_acks",
            "",
            "acknowledgements that this machine's kernel delayed while pairs were measured; null where nobody asked",
        )),
    ],
};

/// Every pair, in the order of cell, fork, phase and pair; nothing is left out.
pub(super) const PAIRS: Table = Table {
    name: "pairs",
    since: 0,
    columns: &[
        integer("cell", "", "the pair's cell"),
        integer("fork", "", "the pair's fork"),
        integer(
            "previewer",
            "",
            "which of several concurrent previewers; 0 where there is one",
        ),
        integer("pair", "", "place within the phase, from 0"),
        text("phase", "warmup or measured"),
        Column {
            name: "subject_first",
            kind: Kind::Boolean,
            nullable: false,
            unit: "",
            description: "whether the subject came first in this pair",
            coding: Coding::Plain,
            since: 0,
        },
        Column {
            name: "delta",
            kind: Kind::Float,
            nullable: false,
            unit: "1/month",
            description: "the drag's growth delta",
            coding: Coding::Plain,
            since: 0,
        },
        nullable(time(
            "subject_start_ns",
            "ns",
            "start of the subject, since the fork's clock began; null if not tried",
        )),
        nullable(time(
            "subject_ns",
            "ns",
            "time of the subject's preview; null if it gave no answer",
        )),
        nullable(time(
            "baseline_start_ns",
            "ns",
            "start of the baseline, since the fork's clock began; null if not tried",
        )),
        nullable(time(
            "baseline_ns",
            "ns",
            "time of the baseline's preview; null if it gave no answer",
        )),
        nullable(text(
            "subject_answer",
            "digest of the subject's answer, 32 hexadecimal digits",
        )),
        nullable(text(
            "baseline_answer",
            "digest of the baseline's answer, 32 hexadecimal digits",
        )),
        text("status", "ok, mismatch (answers differ), timeout, failed"),
        nullable(text("reason", "why the status is not ok")),
    ],
};

/// The steps of every preview, in the order of cell, fork, phase, pair, side and place.
pub(super) const STEPS: Table = Table {
    name: "steps",
    since: 2,
    columns: &[
        integer("cell", "", "the preview's cell"),
        integer("fork", "", "the preview's fork"),
        integer("previewer", "", "as in `pairs`"),
        integer("pair", "", "as in `pairs`"),
        text("phase", "warmup or measured"),
        text("side", "subject or baseline"),
        integer(
            "place",
            "",
            "place within the preview, from 0; the steps of a preview follow each other without a gap and add up to its time",
        ),
        text(
            "step",
            "write, read, compute, discard, or exchange: write, read and discard in one flight",
        ),
        time(
            "step_ns",
            "ns",
            "how long it took; of a preview that gave no answer, the steps that it came to",
        ),
    ],
};

/// What passed the proxy, in the order of cell, fork and arrival; nothing is left out.
pub(super) const WIRE: Table = Table {
    name: "wire",
    since: 2,
    columns: &[
        integer("cell", "", "the fork's cell"),
        integer("fork", "", "the fork"),
        integer("connection", "", "which of the proxy's connections, from 0"),
        text("way", "to-server or to-client"),
        time(
            "received_ns",
            "ns",
            "when the proxy had read it, since the fork's clock began; negative before",
        ),
        integer(
            "declared_ns",
            "ns",
            "how long it was to be held: half of the path's delay",
        ),
        time(
            "held_ns",
            "ns",
            "how long it was held: from when it had been read to when its write began",
        ),
        integer("bytes", "bytes", "bytes of one read"),
        text("messages", "messages that ended in it, by type, e.g. B4 E4 S1"),
        integer(
            "round_trips",
            "",
            "round trips that it began: from nothing awaited to an answer to Query, Sync or FunctionCall awaited",
        ),
        nullable(text(
            "apart",
            "what is counted apart from round trips: startup, copy, flush; null for the rest",
        )),
        nullable(integer(
            "previewer",
            "",
            "the preview that was under way; null between previews",
        )),
        nullable(integer("pair", "", "as in `pairs`; null between previews")),
        nullable(text("phase", "warmup or measured; null between previews")),
        nullable(text("side", "subject or baseline; null between previews")),
        nullable(text(
            "step",
            "the step that was under way; null between previews and where steps are not recorded",
        )),
    ],
};
