//! Measuring: a supervisor that spawns one worker a fork, and the worker that measures.
//!
//! Supervisor and workers are the same executable. A worker is a fresh process, measures one cell once, and hands its
//! rows over when the last pair is done; the supervisor stores them durably before it starts the next. Only one worker
//! measures at a time, and the supervisor opens no connection meanwhile.

mod acks;
mod attendant;
mod clean;
mod describe;
mod detour;
mod measure;
mod needs;
mod on_h2;
mod on_postgres;
mod on_served;
mod on_sqlite;
mod over_wire;
mod placement;
pub mod protocol;
mod registration;
mod resume;
mod scheduling;
mod stand;
mod stands;
mod supervisor;
mod worker;

pub use attendant::ForkFailure;
pub use clean::{CleanError, Leftover, leftovers};
pub use describe::manifest_settings;
pub use registration::{OtherText, RegistrationError, Wish, require_whole, standing};
pub use resume::ResumeError;
pub use stand::StandError;
pub use supervisor::{Interrupt, Observer, RunError, Summary, Supervisor};
pub use worker::main as worker_main;
