//! `plan`: says what would be measured, and touches nothing.

use std::fs;
use std::path::Path;

use crate::support::{Bench, SMALL, ask, edited, program};

#[test]
fn a_plan_tells_cells_forks_order_and_duration_and_touches_nothing() {
    let bench = Bench::new(SMALL);
    let said = ask(&mut bench.command(&["plan", "m.toml"])).exits(0);
    assert_eq!(said.stderr, "");
    assert_eq!(bench.files(), ["m.toml"]);
    insta::assert_snapshot!(said.stdout);
    let again = ask(&mut bench.command(&["plan", "m.toml"])).exits(0);
    assert_eq!(again.stdout, said.stdout);
}

#[test]
fn every_experiment_that_is_shipped_can_be_planned() {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut names = Vec::new();
    for entry in fs::read_dir(experiments).unwrap() {
        let path = entry.unwrap().path();
        let said = ask(program().arg("plan").arg(&path)).exits(0);
        assert!(
            said.stdout.contains("Order of the forks:") && said.stderr.is_empty(),
            "{said:#?}"
        );
        names.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(
        names,
        [
            "delay-pg",
            "embedded-vs-server",
            "h2",
            "ladder-pg",
            "ladder-pg-clones",
            "ladder-sqlite",
            "pg-local",
            "pg16-docker",
            "placebo",
            "schemas-pg",
            "sqlite-file",
            "sqlite-memory"
        ]
    );
}

#[test]
fn controls_can_be_switched_off_and_several_subjects_named() {
    let change = (
        "subjects = [\"rollback\"]",
        "subjects = [\"rollback\", \"copy\"]\ncontrol = false",
    );
    let bench = Bench::new(edited(SMALL, &[change]));
    let text = ask(&mut bench.command(&["plan", "m.toml"])).exits(0).stdout;
    assert!(
        text.contains("cell[plans=1,subject=rollback]") && text.contains("cell[plans=3,subject=copy]"),
        "{text}"
    );
    assert!(!text.contains("control["), "{text}");
    assert!(
        text.contains("4 cells × 2 forks × (4 warm-up + 21 measured pairs), balanced order, seed 7."),
        "{text}"
    );
}
