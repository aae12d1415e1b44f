//! A password goes to the server and nowhere else: not to a file, a message, or the list of processes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::processes::{command_line, family};
use crate::remains::{files_under, is_told_as_unfinished};
use crate::server::{Database, endless, role_with_password};
use crate::support::{Bench, Running};

use nix::sys::signal::Signal;

const SECRET: &str = "s3cr3t-5f1e9a7c";

/// Runs until some forks are on disk, looking at every process of the run all the while, then breaks it off.
fn run_and_look(bench: &Bench, command: &mut Command) {
    let mut running = Running::start(command);
    let supervisor = running.pid();
    let mut seen = Vec::new();
    running.until("three forks are on disk", || {
        for process in family(supervisor) {
            let words = command_line(process);
            assert!(!words.iter().any(|word| word.contains(SECRET)), "{words:?}");
            seen.push(words.get(1).cloned().unwrap_or_default());
        }
        (bench.parts() >= 3).then_some(())
    });
    assert!(
        seen.contains(&"run".to_owned()) && seen.contains(&"worker".to_owned()),
        "{seen:?}"
    );
    running.signal(Signal::SIGINT);
    let said = running.end().exits(130);
    assert!(!said.stdout.contains(SECRET) && !said.stderr.contains(SECRET));
    is_told_as_unfinished(&bench.only_run(), bench.parts());
    holds_no_secret(bench.path());
}

fn holds_no_secret(directory: &Path) {
    let files = files_under(directory);
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let bytes = fs::read(directory.join(&file)).unwrap();
        let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!found, "{file} holds the password");
    }
}

#[test]
fn a_password_in_the_url_stays_between_program_and_server() {
    let database = Database::new();
    role_with_password(database.name(), SECRET);
    let role = format!("{}:${{PASSWORD_OF_THE_TEST}}", database.name());
    let bench = Bench::new(endless(&database.manifest(&role)));
    run_and_look(&bench, bench.run().env("PASSWORD_OF_THE_TEST", SECRET));
}

#[test]
fn a_password_in_the_environment_stays_between_program_and_server() {
    let database = Database::new();
    role_with_password(database.name(), SECRET);
    let bench = Bench::new(endless(&database.manifest(database.name())));
    run_and_look(&bench, bench.run().env("PGPASSWORD", SECRET));
}

#[test]
fn a_sealed_run_holds_no_password_though_settings_are_archived() {
    let database = Database::new();
    role_with_password(database.name(), SECRET);
    let url = database.url(&format!("{}:{SECRET}", database.name()));
    let bench = Bench::new(database.manifest("postgres"));
    let mut command = bench.run();
    command
        .args(["--url", "${URL_OF_THE_TEST}"])
        .env("URL_OF_THE_TEST", url);
    let said = Running::start(&mut command).end().exits(0);
    assert!(!said.stdout.contains(SECRET) && !said.stderr.contains(SECRET));
    let files = files_under(&bench.only_run());
    assert_eq!(files.len(), 10, "{files:?}");
    for file in files {
        let text = fs::read(bench.only_run().join(&file)).unwrap();
        assert!(
            !text.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()),
            "{file}"
        );
    }
}
