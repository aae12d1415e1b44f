//! What strategies make on a server is gone after a run and after Ctrl-C, and is found after `kill -9`.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;

use crate::remains::read;
use crate::server::Database;
use crate::support::{Bench, Running, SMALL, ask, edited, soon};

fn with_templates(database: &Database) -> String {
    with(database, "template")
}

fn with(database: &Database, subject: &str) -> String {
    edited(
        &database.manifest("postgres"),
        &[
            ("subjects = [\"rollback\"]", &format!("subjects = [\"{subject}\"]")),
            ("previews = 21", "previews = 2"),
            ("warmup = 4", "warmup = 1"),
            ("plans = [1, 3]", "plans = [1]"),
        ],
    )
}

fn without_end(database: &Database, subject: &str) -> String {
    edited(&with(database, subject), &[("forks = 2", "forks = 1000")])
}

/// The databases that a run has noted.
fn noted(run: &Path) -> Vec<String> {
    let text = fs::read_to_string(run.join("creations.jsonl")).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|line| Some(line.get("database")?.as_str()?.to_owned()))
        .collect()
}

/// Those of them that the server has.
fn there(database: &Database, names: &[String]) -> Vec<String> {
    let sql = "SELECT datname::text FROM pg_database WHERE datname = ANY ($1)";
    let rows = database.client().query(sql, &[&names]).unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Starts a run and waits until it has a database on the server.
fn started(bench: &Bench, database: &Database) -> (Running, Vec<String>) {
    let mut running = Running::start(&mut bench.run());
    let names = running.until("a database is made", || {
        let names = bench.runs().first().map(|run| noted(run)).unwrap_or_default();
        (!there(database, &names).is_empty()).then_some(names)
    });
    (running, names)
}

#[test]
fn a_run_with_templates_agrees_and_leaves_nothing() {
    let database = Database::new();
    let bench = Bench::new(with_templates(&database));
    let run = bench.measure();
    assert!(!run.join("creations.jsonl").exists());
    assert_eq!(database.contents(), ["public"]);
}

#[test]
fn a_pool_tells_its_background_work_and_leaves_nothing() {
    let database = Database::new();
    let bench = Bench::new(with(&database, "template-pool"));
    let run = bench.measure();
    assert!(!run.join("creations.jsonl").exists());
    assert_eq!(database.contents(), ["public"]);

    let (archive, _) = read(&run).unwrap();
    for fork in &archive.forks {
        let pool = fork.pool.expect("both the cell and its control have a pool");
        // Four clones at least were made, and no previews waited longer than the fork took.
        assert!(pool.background.0 > 0 && pool.wait.0 <= fork.ended_unix_ns - fork.started_unix_ns);
        assert_eq!(pool.waits == 0, pool.wait.0 == 0);
    }
    let table = ask(&mut bench.command(&["analyze", run.to_str().unwrap()]))
        .exits(0)
        .stdout;
    assert!(table.contains("a pool worked"), "{table}");
}

#[test]
fn after_an_interrupt_the_databases_are_gone() {
    for subject in ["template", "template-pool"] {
        let database = Database::new();
        let bench = Bench::new(without_end(&database, subject));
        let (running, names) = started(&bench, &database);
        running.signal(Signal::SIGINT);
        running.end().exits(130);
        assert!(there(&database, &names).is_empty());
        assert_eq!(database.contents(), ["public"]);
        assert!(!bench.only_run().join("creations.jsonl").exists());
    }
}

#[test]
fn what_a_kill_left_is_listed_and_removed_when_asked() {
    for subject in ["template", "template-pool"] {
        what_a_kill_leaves_is_removed(subject);
    }
}

fn what_a_kill_leaves_is_removed(subject: &str) {
    let database = Database::new();
    let bench = Bench::new(without_end(&database, subject));
    let (running, _) = started(&bench, &database);
    let alive = ask(&mut bench.command(&["clean"])).exits(0);
    assert!(alive.stdout.contains("is still run by process"), "{alive:#?}");
    running.signal(Signal::SIGKILL);
    running.end().dies_of(Signal::SIGKILL);
    let names = noted(&bench.only_run());
    assert!(database.contents().len() > 1);

    let listed = ask(&mut bench.command(&["clean"])).exits(0).stdout;
    assert!(names.iter().all(|name| listed.contains(name)), "{listed}");
    assert!(
        listed.contains("schema preview_cost_") && listed.contains("--yes"),
        "{listed}"
    );
    assert!(database.contents().len() > 1, "listing removes nothing");

    let removed = ask(&mut bench.command(&["clean", "--yes"])).exits(0).stdout;
    assert!(removed.contains("Removed"), "{removed}");
    assert!(there(&database, &names).is_empty());
    assert_eq!(database.contents(), ["public"]);
    let again = ask(&mut bench.command(&["clean", "--yes"])).exits(0).stdout;
    assert!(again.contains("No run"), "{again}");
}

#[test]
fn a_killed_runs_files_are_found() {
    let file = "engine = \"sqlite\"\nstorage = \"file\"\njournal_mode = \"wal\"";
    let manifest = edited(SMALL, &[("engine = \"sqlite\"\nstorage = \"memory\"", file)]);
    let bench = Bench::new(edited(
        &manifest,
        &[("previews = 21", "previews = 400"), ("forks = 2", "forks = 1000")],
    ));
    let mut running = Running::start(&mut bench.run());
    running.until("a fork is on disk", || (bench.parts() >= 1).then_some(()));
    running.signal(Signal::SIGKILL);
    running.end().dies_of(Signal::SIGKILL);
    let scratch = bench.only_run().join("scratch");
    assert!(scratch.is_dir());
    let removed = ask(&mut bench.command(&["clean", "--yes"])).exits(0).stdout;
    assert!(removed.contains("scratch") && !scratch.exists(), "{removed}");
    assert!(bench.only_run().join("manifest.toml").exists());
}

/// Some previews of a subject on a server that the run starts.
pub fn on_a_server_of_its_own(subject: &str) -> String {
    edited(
        SMALL,
        &[
            (
                "engine = \"sqlite\"\nstorage = \"memory\"",
                "engine = \"postgres\"\nprovision = \"ephemeral\"",
            ),
            (
                "subjects = [\"rollback\"]",
                &format!("subjects = [\"{subject}\"]\ncontrol = false"),
            ),
            ("previews = 21", "previews = 2"),
            ("warmup = 4", "warmup = 1"),
            ("plans = [1, 3]", "plans = [10, 40, 120]"),
            ("forks = 2", "forks = 1"),
        ],
    )
}

/// Directories of servers in the directory for temporary files.
pub fn server_directories(of: &Path) -> Vec<String> {
    let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().file_name());
    entries
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("preview-cost-pg-"))
        .collect()
}

#[test]
fn throwaway_servers_agree_and_leave_nothing_after_a_run_an_interrupt_and_a_kill() {
    let manifest = on_a_server_of_its_own("instance");
    let bench = Bench::new(manifest.clone());
    let temporary = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .tempdir()
        .unwrap();
    ask(bench.run().env("TMPDIR", temporary.path())).exits(0);
    assert!(server_directories(temporary.path()).is_empty());

    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let bench = Bench::new(edited(&manifest, &[("previews = 2", "previews = 1000")]));
        let mut running = Running::start(bench.run().env("TMPDIR", temporary.path()));
        // The run's own server, the prepared directory, and a throwaway server.
        running.until("a throwaway server", || {
            (server_directories(temporary.path()).len() == 3).then_some(())
        });
        running.signal(signal);
        if signal == Signal::SIGINT {
            running.end().exits(130);
        } else {
            running.end().dies_of(signal);
            let cleaned = ask(&mut bench.command(&["clean", "--yes"])).exits(0).stdout;
            assert!(cleaned.contains("preview-cost-pg-"), "{cleaned}");
        }
        soon("the wardens are done", || {
            server_directories(temporary.path()).is_empty().then_some(())
        });
    }
}

#[test]
fn a_role_that_may_make_no_database_is_told_so() {
    let database = Database::new();
    let role = format!("{}_guest", database.name());
    database.run(&format!(
        "CREATE ROLE {role} LOGIN; GRANT CREATE ON DATABASE {} TO {role}",
        database.name()
    ));
    let manifest = edited(
        &database.manifest(&role),
        &[("subjects = [\"rollback\"]", "subjects = [\"template\"]")],
    );
    let bench = Bench::new(manifest);
    let said = ask(&mut bench.run()).exits(3);
    let told = format!("template cannot be measured here: role {role} may make no database");
    assert!(
        said.stderr.contains(&told) && said.stderr.contains("CREATEDB"),
        "{said:#?}"
    );
    assert!(bench.runs().is_empty(), "{said:#?}");
    assert_eq!(database.contents(), ["public"]);
}

#[test]
fn strategies_are_listed_for_people_and_for_programs() {
    let bench = Bench::new("");
    let table = ask(&mut bench.command(&["strategies"])).exits(0).stdout;
    for line in ["rollback-pipelined", "gives up: may be stale", "stands for the study"] {
        assert!(table.contains(line), "{table}");
    }
    let json = ask(&mut bench.command(&["strategies", "--format", "json"]))
        .exits(0)
        .stdout;
    let entries: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert!(
        entries
            .iter()
            .any(|entry| entry["name"] == "template" && entry["round_trips"].is_null())
    );
}

#[test]
fn a_strategy_or_a_schema_that_a_backend_cannot_do_is_refused_with_the_reason() {
    for (from, to, reason) in [
        (
            "\"rollback\"",
            "\"file-clone\"",
            "which sqlite in memory cannot do: it copies a file",
        ),
        ("\"rollback\"", "\"template\"", "sqlite has no databases to copy"),
        (
            "plans = [1, 3]",
            "plans = [1]\nschemas = [\"kv-fillfactor70\"]",
            "only postgres has a fill factor",
        ),
        (
            "plans = [1, 3]",
            "plans = [1]\nschemas = [\"wid\"]",
            "did you mean \"wide\"?",
        ),
    ] {
        let bench = Bench::new(edited(SMALL, &[(from, to)]));
        let said = ask(&mut bench.command(&["plan", "m.toml"])).exits(2);
        assert!(said.stderr.contains(reason), "{}", said.stderr);
    }
}

#[test]
fn schemas_and_several_subjects_make_cells_with_ids_of_their_own() {
    let changes = [
        (
            "plans = [1, 3]",
            "plans = [1, 3]\nschemas = [\"kv\", \"wide\", \"kv-trigger\"]",
        ),
        (
            "subjects = [\"rollback\"]",
            "subjects = [\"rollback\", \"reenact\", \"backup\"]",
        ),
    ];
    let bench = Bench::new(edited(SMALL, &changes));
    let run = bench.measure();
    let csv = ask(&mut bench.command(&["analyze", run.to_str().unwrap(), "--format", "csv"]))
        .exits(0)
        .stdout;
    for id in [
        "cell[plans=1,schema=wide,subject=backup].difference.median",
        "control[plans=3,schema=kv,subject=reenact].difference.median",
        "scaling[subject=rollback,baseline=copy,schema=kv-trigger].fixed",
    ] {
        assert!(csv.contains(id), "{id}: {csv}");
    }
    let table = ask(&mut bench.command(&["analyze", run.to_str().unwrap()]))
        .exits(0)
        .stdout;
    assert!(table.contains("backup − copy, wide"), "{table}");
}
