//! The tables that forks bring: their own rows, their pairs, the steps of these and what passed the proxy.

use super::{Coding, Column, Kind, SESSION, Table, integer, nullable, since_1_1, since_1_2, text, time};

/// The forks that were measured.
pub(in crate::archive) const FORKS: Table = Table {
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
pub(in crate::archive) const PAIRS: Table = Table {
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
pub(in crate::archive) const STEPS: Table = Table {
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
pub(in crate::archive) const WIRE: Table = Table {
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
