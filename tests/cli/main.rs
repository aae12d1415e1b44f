//! The program as a user meets it: the real executable, real files, a real PostgreSQL, and everything that can go
//! wrong with them. Each test holds the exit code, what is said, and what is on disk afterwards.

mod analyze;
mod clean;
mod damage;
mod damage_unfinished;
mod disk;
mod figures;
mod kills;
mod manifest;
mod mounts;
mod plan;
mod postgres;
mod postgres_faults;
mod postgres_refusals;
mod postgres_secrets;
mod power_cuts;
mod processes;
mod recovery;
mod registration;
mod remains;
mod repeat;
mod samples;
#[path = "../sealing/mod.rs"]
mod sealing;
mod server;
mod signals;
mod stand_ins;
mod steps;
mod support;
