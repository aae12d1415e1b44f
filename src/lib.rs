//! preview-cost prices ways to compute a what-if preview from a database, and archives every raw pair, so that anyone
//! can check every number that is published.
//!
//! A **manifest** says what an experiment asks. It is laid out as a **plan**: cells, forks and their order. A **run**
//! spawns a fresh worker a fork, which measures one cell in pairs: two strategies, the same overrides, back to back, in
//! a recorded order. Every pair goes to the **archive**, and every figure follows from the archive alone. **Verification**
//! computes again what can be computed again; a **publication** is what others check it from.
//!
//! ```text
//! manifest ──► plan ──► run (supervisor ─ worker ─► strategy ─► workload, backend) ──► archive ──► analysis ──► report
//!                        └─ environment   path (proxy)                                    └─ verification   publication ◄─┘
//! ```
//!
//! The rooms below stand in the order in which data flows through them, and none knows a later one; only `run` looks
//! ahead, to the archive that it writes. `tests/tidy` holds them to the arrows that matter most.

// What is shared by the rooms.
pub mod clock;
pub mod definition;
pub mod digest;
pub mod nearest_rank;
pub mod step;
pub mod units;

// What is previewed, where it lives, and the ways to a preview.
pub mod workload;
pub mod backend;
pub mod strategy;

// From a question to an exact list of work.
pub mod manifest;
pub mod plan;

// Measuring, what was measured on, and the way there.
pub mod environment;
pub mod path;
pub mod run;

// What is kept, what follows from it, and how it is told.
pub mod archive;
pub mod analysis;
pub mod verification;
pub mod report;
pub mod publication;

// The edge.
pub mod cli;
pub mod command;
pub mod exit;
