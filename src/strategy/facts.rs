//! What is known about a strategy before anything is measured: what it does, stands for, needs and gives up.

use super::Engine;

/// Where a model lives, as far as a strategy must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// SQLite in memory.
    SqliteMemory,
    /// SQLite on a file.
    SqliteFile,
    /// A PostgreSQL server of the run's own.
    PostgresOwn,
    /// Any other PostgreSQL server.
    PostgresOther,
    /// SQLite behind a socket.
    SqliteServed,
    /// H2 behind its own server for PostgreSQL's protocol.
    H2,
}

impl Ground {
    /// The engine.
    pub fn engine(self) -> Engine {
        match self {
            Self::SqliteMemory | Self::SqliteFile | Self::SqliteServed => Engine::Sqlite,
            Self::PostgresOwn | Self::PostgresOther => Engine::Postgres,
            Self::H2 => Engine::H2,
        }
    }

    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SqliteMemory => "sqlite in memory",
            Self::SqliteFile => "sqlite on a file",
            Self::PostgresOwn => "a postgres of the run's own",
            Self::PostgresOther => "a postgres that exists already",
            Self::SqliteServed => "sqlite behind a socket",
            Self::H2 => "h2",
        }
    }
}

/// All of SQLite.
pub(super) const SQLITE: &[Ground] = &[Ground::SqliteMemory, Ground::SqliteFile];
/// All of PostgreSQL.
pub(super) const POSTGRES: &[Ground] = &[Ground::PostgresOwn, Ground::PostgresOther];
/// Whatever speaks PostgreSQL's protocol and plain SQL.
pub(super) const WIRE: &[Ground] = &[
    Ground::PostgresOwn,
    Ground::PostgresOther,
    Ground::SqliteServed,
    Ground::H2,
];
/// Everything, each in its own words.
pub(super) const EVERYWHERE: &[Ground] = &[
    Ground::SqliteMemory,
    Ground::SqliteFile,
    Ground::PostgresOwn,
    Ground::PostgresOther,
    Ground::SqliteServed,
    Ground::H2,
];

/// Something that the database does to a write or a read, and that a strategy may leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Honour {
    /// What others committed since.
    Fresh,
    /// The column's own type: rounding, range.
    ColumnType,
    /// Triggers.
    Triggers,
    /// Constraints, generated columns and row security.
    Checks,
    /// Constraints that are deferred to the commit.
    Deferred,
}

impl Honour {
    /// Each, in the order in which they are told.
    pub const ALL: [Self; 5] = [
        Self::Fresh,
        Self::ColumnType,
        Self::Triggers,
        Self::Checks,
        Self::Deferred,
    ];

    /// What is given up where it is not honoured.
    fn loss(self) -> &'static str {
        match self {
            Self::Fresh => "may be stale",
            Self::ColumnType => "the column's type (rounding)",
            Self::Triggers => "triggers",
            Self::Checks => "constraints, generated columns and row security",
            Self::Deferred => "deferred constraints",
        }
    }
}

/// What a strategy needs beyond its ground, and what can be asked for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A role that may make databases.
    Databases,
    /// A server that clones a database through the log.
    ClonesThroughLog,
    /// A directory for servers on a file system that copies files by sharing their blocks.
    Reflink,
}

/// A write in a transaction that is rolled back.
pub(super) const WRITTEN: &[Honour] = &[Honour::Fresh, Honour::ColumnType, Honour::Triggers, Honour::Checks];

/// One strategy's facts.
#[derive(Debug)]
pub struct Facts {
    /// What it does, in one sentence.
    pub sentence: &'static str,
    /// Whose practice it is.
    pub stands_for: &'static str,
    /// Where it can be done.
    pub on: &'static [Ground],
    /// Why not elsewhere; empty where it can be done everywhere.
    pub why_not: &'static str,
    /// Round trips of one preview on PostgreSQL; `None` where it connects anew, which depends on the authentication.
    pub round_trips: Option<u32>,
    /// What one preview writes.
    pub writes: &'static str,
    /// What it does as the database would.
    pub honours: &'static [Honour],
    /// What else it gives up; may be empty.
    pub caveat: &'static str,
    /// What it needs of the place, checked before anything is measured.
    pub needs: &'static [Need],
    /// Nominal milliseconds of a preview beside its trips, for the estimate of a run.
    pub nominal_ms: f64,
}

impl Facts {
    /// The engines that can do it.
    pub fn engines(&self) -> Vec<Engine> {
        let mut engines: Vec<Engine> = self.on.iter().map(|ground| ground.engine()).collect();
        engines.sort_unstable();
        engines.dedup();
        engines
    }

    /// What it gives up, in words.
    pub fn gives_up(&self) -> String {
        let missing = Honour::ALL.iter().filter(|honour| !self.honours.contains(honour));
        let told = missing
            .map(|honour| honour.loss())
            .chain([self.caveat].into_iter().filter(|caveat| !caveat.is_empty()));
        told.collect::<Vec<_>>().join("; ")
    }

    /// Why it can't be done there; `None` where it can.
    pub fn refusal(&self, ground: Ground) -> Option<&'static str> {
        if self.on.contains(&ground) {
            return None;
        }
        Some(match ground {
            Ground::SqliteServed | Ground::H2 if self.on.contains(&Ground::PostgresOwn) => {
                "what it says to a server is PostgreSQL's own, and this one has another SQL"
            }
            Ground::SqliteServed | Ground::H2 => "it needs the engine in its own process",
            _ => self.why_not,
        })
    }
}
