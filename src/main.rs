//! preview-cost: the program's edge. Parses, dispatches, and turns errors into exit codes.

use std::process::ExitCode;

use clap::Parser;
use preview_cost::backend::provision::warden;
use preview_cost::backend::sqlite::served;
use preview_cost::cli::{Cli, Command};
use preview_cost::command::{
    CommandError, analyze, cite, clean, compare, doctor, generate, pack, plan, proxy, recompute, recover, register,
    report, run, strategies, tell, verify,
};
use preview_cost::exit::Exit;
use preview_cost::path;
use preview_cost::run::worker_main;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Run(args) => run::execute(&args),
        Command::Recover(args) => recover::execute(&args),
        Command::Plan(args) => plan::execute(&args),
        Command::Register(args) => register::execute(&args),
        Command::Analyze(args) => analyze::execute(&args),
        Command::Compare(args) => compare::execute(&args),
        Command::Recompute(args) => recompute::execute(&args),
        Command::Report(args) => report::execute(&args),
        Command::Strategies(args) => strategies::execute(&args),
        Command::Clean(args) => clean::execute(&args),
        Command::Proxy(args) => proxy::execute(&args),
        Command::Verify(args) => verify::execute(&args),
        Command::Pack(args) => pack::execute(&args),
        Command::Cite(args) => cite::execute(&args),
        Command::Generate(args) => generate::execute(&args),
        Command::Doctor(args) => doctor::execute(&args),
        Command::Worker => return worker_main(),
        Command::SqliteServer => return served::main(),
        Command::PathProxy => return path::child::main(),
        Command::Warden => return warden::main(),
    };
    outcome.unwrap_or_else(|error| fail(&error)).into()
}

fn fail(error: &CommandError) -> Exit {
    tell(error);
    error.exit()
}
