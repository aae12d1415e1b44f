//! preview-cost: from a manifest to an archived run and its figures.

pub mod analysis;
pub mod archive;
pub mod backend;
pub mod cli;
pub mod command;
pub mod digest;
pub mod environment;
pub mod exit;
pub mod manifest;
pub mod nearest_rank;
pub mod plan;
pub mod report;
pub mod run;
pub mod strategy;
pub mod units;
pub mod workload;
