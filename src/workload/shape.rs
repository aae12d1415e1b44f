//! Schema shapes: the tables in which the same model may lie.
//!
//! The study has one, a row a field. The others ask by how much its choice moves the price.

/// How the model lies in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The study's: name and value, a row a field.
    #[default]
    Kv,
    /// The same with room in its pages, so that PostgreSQL can update in place of an index entry (HOT) and prune.
    KvFillfactor70,
    /// The same with two further indexes on the value.
    KvIndexed,
    /// A row a plan with a column a field; row −1 holds the global fields.
    Wide,
    /// Name and value, with a trigger that logs every update into a second table.
    KvTrigger,
}

impl Shape {
    /// Every shape there is.
    pub const ALL: [Self; 5] = [
        Self::Kv,
        Self::KvFillfactor70,
        Self::KvIndexed,
        Self::Wide,
        Self::KvTrigger,
    ];

    /// The manifest's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kv => "kv",
            Self::KvFillfactor70 => "kv-fillfactor70",
            Self::KvIndexed => "kv-indexed",
            Self::Wide => "wide",
            Self::KvTrigger => "kv-trigger",
        }
    }
}
