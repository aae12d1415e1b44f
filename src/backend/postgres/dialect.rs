//! What engines that speak PostgreSQL's protocol do not share: their SQL, where strategies meet it.

/// The SQL of an engine behind PostgreSQL's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL itself.
    Postgres,
    /// SQLite, served by this program.
    Sqlite,
    /// H2, by its own server.
    H2,
}

impl Dialect {
    /// Begins a transaction that will write. SQLite takes its lock at once, as it does in the worker's process.
    pub fn begin(self) -> &'static str {
        match self {
            Self::Postgres | Self::H2 => "BEGIN",
            Self::Sqlite => "BEGIN IMMEDIATE",
        }
    }

    /// A column of names as a result. H2's server has no binary form for text, and has one for bytes.
    pub(super) fn name(self, column: &str) -> String {
        match self {
            Self::Postgres | Self::Sqlite => column.to_owned(),
            Self::H2 => format!("STRINGTOUTF8({column})"),
        }
    }

    /// A column of values as a result, as a double.
    pub(super) fn value(self, column: &str) -> String {
        match self {
            // The cast costs nothing where the column is of that type, as it is unless somebody altered the table.
            Self::Postgres => format!("{column}::float8"),
            Self::Sqlite | Self::H2 => column.to_owned(),
        }
    }

    /// A double as text within a statement. Rust writes the shortest decimal that is read back as the same double.
    pub(super) fn double(self, value: f64) -> String {
        match self {
            Self::Postgres | Self::H2 => format!("'{value}'::float8"),
            Self::Sqlite => format!("{value:?}"),
        }
    }

    /// Makes doubles come as text that is read back as the same double; `None` where they always do.
    pub(super) fn exact_text(self) -> Option<&'static str> {
        match self {
            // The default since version 12; a role or a database may have another.
            Self::Postgres => Some("SET extra_float_digits = 1"),
            Self::Sqlite | Self::H2 => None,
        }
    }

    /// Whether the server sends answers in pieces and lets the kernel hold each back (no `TCP_NODELAY`), so that the client
    /// must acknowledge at once.
    pub fn sends_in_pieces(self) -> bool {
        self == Self::H2
    }

    /// Whether the server counts what sessions do, and must be asked to.
    pub(super) fn counts(self) -> bool {
        self == Self::Postgres
    }
}
