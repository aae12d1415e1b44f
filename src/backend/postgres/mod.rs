//! PostgreSQL.
pub mod target;
