//! Facts about the machine, the build and the server, each with its status and its source.

mod fact;

pub use fact::{Fact, FactStatus};
