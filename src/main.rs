//! The program's edge: which subcommand, and the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "warden") {
        return preview_cost::backend::provision::warden::main();
    }
    ExitCode::SUCCESS
}
