//! Claims fixed before a run, and what comes of them: from `register` to each format that tells a verdict.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use preview_cost::digest;
use serde_json::Value;

use crate::remains::{analyze, ledger};
use crate::support::{Bench, SMALL, Said, ask, edited};

/// The worked example: claims that hold, fail and stay undecided on any machine.
const CLAIMS: &str = include_str!("../fixtures/claims.toml");
/// Its claims in their order, with their verdicts.
const VERDICTS: [(&str, &str); 5] = [
    ("takes-time", "holds"),
    ("no-time", "fails"),
    ("short-tail", "undecided"),
    ("grows", "holds"),
    ("all-there", "holds"),
];

#[track_caller]
fn register(bench: &Bench) -> Said {
    ask(&mut bench.command(&["register", "m.toml"])).exits(0)
}

fn lines(bench: &Bench) -> Vec<String> {
    let text = fs::read_to_string(bench.results().join("LEDGER.jsonl")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn json(run: &Path) -> Value {
    let document: Value = serde_json::from_str(&ask(&mut analyze(run, "json")).exits(0).stdout).unwrap();
    document["runs"][0].clone()
}

#[test]
fn a_text_is_registered_once_and_what_is_fixed_is_told() {
    let bench = Bench::new(CLAIMS);
    let said = register(&bench);
    let [line] = &lines(&bench)[..] else {
        panic!("one line: {said:#?}")
    };
    for told in [
        "Registered claims on 20",
        &format!("SHA-256 {}", digest::of_bytes(CLAIMS)),
        &format!("line 0 of results/LEDGER.jsonl, SHA-256 {}", digest::of_bytes(line)),
        "unknown; holds this very manifest: unknown",
        "takes-time: cell[plans=1].subject.p50 is at least 0.000001 ms",
        "short-tail: cell[plans=1].subject.p99 lies within 0.5 ms of 1 ms",
        "grows: cell[plans=3].baseline.p50 is at least 0.001 × cell[plans=1].baseline.p50",
        "all-there: cell[plans=3].pairs.ok is at least 43 pairs less 1 pairs",
        "Then: preview-cost run m.toml\n",
    ] {
        assert!(said.stdout.contains(told), "{told:?} is not told: {}", said.stdout);
    }
    let entry: Value = serde_json::from_str(line).unwrap();
    assert_eq!(entry["state"], "registered");
    assert_eq!(
        (&entry["name"], &entry["commit"]),
        (&"claims".into(), &"unknown".into())
    );
    let again = register(&bench);
    assert!(again.stdout.contains("was registered already"), "{}", again.stdout);
    assert!(again.stdout.contains(&digest::of_bytes(line)), "{}", again.stdout);
    assert_eq!(lines(&bench).len(), 1);
    assert_eq!(bench.files(), ["m.toml", "results/LEDGER.jsonl"]);
}

#[test]
fn a_manifest_without_claims_has_nothing_to_register() {
    let without = &CLAIMS[..CLAIMS.find("[[claims]]").unwrap()];
    for manifest in [SMALL, without] {
        let bench = Bench::new(manifest);
        let said = ask(&mut bench.command(&["register", "m.toml"])).exits(2);
        assert!(said.message().contains("has nothing to register"), "{said:#?}");
        assert_eq!(bench.files(), ["m.toml"]);
    }
}

#[test]
fn a_registered_run_is_confirmatory_and_its_claims_are_judged_in_every_format() {
    let bench = Bench::new(CLAIMS);
    register(&bench);
    let first = bench.measure();
    let said = ask(&mut bench.run()).exits(0);
    assert_eq!(said.exploratory, None);
    let second = bench.runs().into_iter().find(|run| *run != first).unwrap();
    assert!(said.stdout.starts_with("Registered 20"), "{}", said.stdout);

    for (run, start) in [(&first, 1), (&second, 2)] {
        let run = json(run);
        assert_eq!(
            (&run["exploratory"], &run["standing"]["kind"]),
            (&false.into(), &"confirmatory".into())
        );
        assert_eq!(run["standing"]["start"], start);
        let line = &lines(&bench)[0];
        assert_eq!(run["standing"]["registration"], digest::of_bytes(line));
        let figures = run["figures"].as_array().unwrap();
        assert!(figures.iter().all(|figure| figure["exploratory"] == false));
        let claims = run["claims"].as_array().unwrap();
        let told: Vec<(&str, &str)> = (claims.iter())
            .map(|claim| (claim["id"].as_str().unwrap(), claim["verdict"].as_str().unwrap()))
            .collect();
        assert_eq!(told, VERDICTS);
        let takes_time = &claims[0];
        let figure = figures
            .iter()
            .find(|figure| figure["id"] == takes_time["figure"])
            .unwrap();
        for (key, of_figure) in [
            ("observed", "value"),
            ("low", "low"),
            ("high", "high"),
            ("unit", "unit"),
        ] {
            assert_eq!(takes_time[key], figure[of_figure], "{takes_time:#}");
        }
        assert!(claims[2]["why"].as_str().unwrap().contains("withheld"), "{claims:#?}");
        assert!(claims[3]["contrast"]["low"].as_f64().unwrap() > 0.0, "{claims:#?}");
    }
    for format in ["table", "markdown"] {
        let text = ask(&mut analyze(&second, format)).exits(0).stdout;
        let first_line = text.lines().next().unwrap();
        assert!(
            first_line.contains("before the run (start 2 under this registration)."),
            "{text}"
        );
        for (id, verdict) in VERDICTS {
            let in_table = |line: &&str| line.contains(id) && line.contains(&verdict.to_uppercase());
            assert!(text.lines().any(|line| in_table(&line)), "{id} {verdict}: {text}");
        }
        assert!(!text.contains("xploratory"), "{text}");
    }
    let side_by_side = ask(bench.command(&["analyze"]).args([&first, &second])).exits(0).stdout;
    assert_eq!(side_by_side.matches("FAILS").count(), 2, "{side_by_side}");
    let explained = ask(analyze(&second, "table").args(["--explain", "cell[plans=1].baseline.p50"])).exits(0);
    assert!(
        explained
            .stdout
            .contains("grows: cell[plans=3].baseline.p50 is at least 0.001 ×"),
        "{explained:#?}"
    );
    let recorded = ledger(&bench.results(), None);
    assert_eq!(recorded, ["registered", "started", "finished", "started", "finished"]);
}

#[test]
fn a_page_tells_the_other_starts_also_those_that_were_aborted() {
    let bench = Bench::new(CLAIMS);
    register(&bench);
    let first = bench.measure();
    let aborted = bench.measure();
    let name = |run: &Path| run.file_name().unwrap().to_str().unwrap().to_owned();
    // As if the second had been killed: its ledger line of the end is not there, and the chain goes on without it.
    let mut kept = lines(&bench);
    kept.pop();
    fs::write(bench.results().join("LEDGER.jsonl"), kept.join("\n") + "\n").unwrap();
    fs::remove_dir_all(&aborted).unwrap();
    let third = ask(&mut bench.run()).exits(0);
    assert!(
        third.stdout.starts_with("Registered 20") && third.stdout.contains("(start 3 under"),
        "{third:#?}"
    );
    let page = |run: &Path| {
        ask(bench.command(&["report", "--force", "--out", "page.html"]).arg(run)).exits(0);
        fs::read_to_string(bench.path().join("page.html")).unwrap()
    };
    let text = page(&first);
    assert!(
        text.contains("Start 1 of 3 under this registration; the others: "),
        "{text}"
    );
    assert!(
        text.contains(&format!("{} (started, never ended)", name(&aborted))),
        "{text}"
    );
    assert!(text.contains(">FAILS</td>") && text.contains(">HOLDS</td>") && text.contains(">UNDECIDED</td>"));
    assert!(
        text.contains("Nobody reports how long nothing takes."),
        "what is written down beside the claims"
    );
    fs::remove_file(bench.results().join("LEDGER.jsonl")).unwrap();
    assert!(
        !page(&first).contains("Start 1 of"),
        "without a ledger there is nothing to say"
    );
}

#[test]
fn other_words_under_a_registered_name_are_refused_before_anything_is_created() {
    let bench = Bench::new(CLAIMS);
    register(&bench);
    let other = edited(CLAIMS, &[("value = 43", "value = 42")]);
    fs::write(bench.path().join("m.toml"), &other).unwrap();
    let before = (bench.files(), lines(&bench));
    let said = ask(&mut bench.run()).exits(2);
    let message = said.message();
    for told in [
        "is not what was registered as claims on 20",
        &digest::of_bytes(CLAIMS),
        &digest::of_bytes(&other),
        "Restore the file as it was",
        "preview-cost register m.toml --results results",
        "--exploratory",
    ] {
        assert!(message.contains(told), "{told:?} is not told: {message}");
    }
    assert_eq!(before, (bench.files(), lines(&bench)));

    // The three ways out.
    let said = ask(&mut bench.command(&["run", "m.toml", "--exploratory"])).exits(0);
    assert!(said.exploratory.unwrap().contains("--exploratory was given"));
    register(&bench);
    assert_eq!(ask(&mut bench.run()).exits(0).exploratory, None);
    fs::write(bench.path().join("m.toml"), CLAIMS).unwrap();
    assert_eq!(ask(&mut bench.run()).exits(0).exploratory, None);
    let entries: Vec<Value> = lines(&bench)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let starts: Vec<(bool, bool)> = (entries.iter())
        .filter(|entry| entry["state"] == "started")
        .map(|entry| (entry["exploratory"] == true, entry["registration"].is_string()))
        .collect();
    assert_eq!(starts, [(true, false), (false, true), (false, true)]);
}

#[test]
fn what_is_not_registered_is_marked_as_exploratory_in_every_format() {
    let bench = Bench::new(CLAIMS);
    let said = ask(&mut bench.run()).exits(0);
    let line = said.exploratory.clone().unwrap();
    assert!(line.contains("was not registered before the run") && line.contains("preview-cost register m.toml"));
    let run = bench.only_run();
    for format in ["table", "markdown"] {
        let text = ask(&mut analyze(&run, format)).exits(0).stdout;
        assert!(
            text.lines()
                .next()
                .unwrap()
                .contains("Exploratory: the manifest was not registered"),
            "{text}"
        );
        let answer = text.lines().find(|line| line.starts_with("At 1 plans, ")).unwrap();
        assert!(answer.trim_end().ends_with("; exploratory."), "{answer}");
    }
    let of_json = json(&run);
    assert_eq!(
        (&of_json["exploratory"], &of_json["standing"]["kind"]),
        (&true.into(), &"exploratory".into())
    );
    let all = |of: &str| {
        of_json[of]
            .as_array()
            .unwrap()
            .iter()
            .all(|entry| entry["exploratory"] == true)
    };
    assert!(all("figures") && all("claims"));
    let csv = ask(&mut analyze(&run, "csv")).exits(0).stdout;
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",true")), "{csv}");
    let pair = ask(bench.command(&["analyze"]).args([&run, &run])).exits(0).stdout;
    assert!(
        pair.contains("claims (exploratory)") && pair.contains(": Exploratory: "),
        "{pair}"
    );
    let compared = ask(bench.command(&["compare"]).args([&run, &run])).exits(0).stdout;
    assert!(
        compared.contains("A is run ") && compared.contains(" (exploratory)."),
        "{compared}"
    );
    let explained = ask(analyze(&run, "table").args(["--explain", "cell[plans=1].forks"]))
        .exits(0)
        .stdout;
    assert!(
        explained.contains("exploratory yes: the manifest was not registered"),
        "{explained}"
    );
    ask(bench.command(&["report", "--out", "page.html"]).arg(&run)).exits(0);
    let page = fs::read_to_string(bench.path().join("page.html")).unwrap();
    let (stamp, title) = (page.find("Exploratory: ").unwrap(), page.find("<h1>").unwrap());
    assert!(stamp < title && page.contains("; exploratory."));
}

#[test]
fn nothing_is_confirmed_in_a_ledger_that_was_altered() {
    let bench = Bench::new(CLAIMS);
    register(&bench);
    bench.measure();
    let mut altered = lines(&bench);
    altered[1] = altered[1].replace("started", "finished");
    fs::write(bench.results().join("LEDGER.jsonl"), altered.join("\n") + "\n").unwrap();
    for command in ["run", "register"] {
        let said = ask(&mut bench.command(&[command, "m.toml"])).exits(5);
        assert!(
            said.message()
                .contains("line 3 of results/LEDGER.jsonl does not follow"),
            "{said:#?}"
        );
    }
    assert_eq!(lines(&bench), altered);
    ask(&mut bench.command(&["run", "m.toml", "--exploratory"])).exits(0);
}

/// A proof of OpenTimestamps about a digest, without its attestations.
fn proof(sha256: &str) -> Vec<u8> {
    let mut bytes = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94\x01\x08".to_vec();
    bytes.extend((0..32).map(|place| u8::from_str_radix(&sha256[2 * place..2 * place + 2], 16).unwrap()));
    bytes
}

#[test]
fn evidence_of_when_is_held_against_the_manifest_and_kept_with_the_run() {
    let bench = Bench::new(CLAIMS);
    let evidence = bench.path().join("m.toml.ots");
    let (own, other) = (digest::of_bytes(CLAIMS), digest::of_bytes("another"));
    fs::write(&evidence, proof(&other)).unwrap();
    for command in ["register", "run"] {
        let said = ask(&mut bench.command(&[command, "m.toml"])).exits(2);
        let message = said.message();
        assert!(
            message.contains(&own) && message.contains(&other) && message.contains("m.toml.ots"),
            "{message}"
        );
        assert_eq!(bench.files(), ["m.toml", "m.toml.ots"]);
    }
    fs::write(&evidence, proof(&own)).unwrap();
    let said = register(&bench);
    assert!(
        said.stdout.contains("its signature or attestation is NOT checked"),
        "{said:#?}"
    );
    let run = bench.measure();
    assert_eq!(fs::read(run.join("manifest.toml.ots")).unwrap(), proof(&own));
    ask(&mut analyze(&run, "table")).exits(0);
}

const FAULTS: &[(&str, &[(&str, &str)])] = &[
    (
        "claims without a registration",
        &[
            ("[registration]\n", ""),
            (
                "disproof = \"\"\"\nA preview that takes no time would disprove `takes-time`;\none that takes a nanosecond at most would bear out `no-time`.\"\"\"\nestimand = \"The median time of a preview by rollback, over all measured pairs.\"\nexclusions = \"none\"\n\n[registration.novelty]\ndate = 2026-11-30\nsources = [\"the study\", \"its follow-up\"]\nqueries = [\"preview rollback cost\"]\nfinding = \"Nobody reports how long nothing takes.\"\n",
                "",
            ),
        ],
    ),
    (
        "half a registration",
        &[
            ("estimand = \"The", "estimate = \"The"),
            ("exclusions = \"none\"", "exclusions = \" \""),
            ("[registration.novelty]", "[registration.novel]"),
        ],
    ),
    (
        "a novelty check that says little",
        &[
            ("2026-11-30", "\"2026-02-30\""),
            ("[\"the study\", \"its follow-up\"]", "[]"),
            ("\"preview rollback cost\"", "7"),
            ("finding = \"Nobody", "found = \"Nobody"),
        ],
    ),
    ("a date with a time", &[("2026-11-30", "2026-11-30T10:00:00Z")]),
    (
        "names",
        &[
            ("\"takes-time\"", "\"Takes time\""),
            ("\"short-tail\"", "\"no-time\""),
            ("id = \"grows\"\n", ""),
        ],
    ),
    (
        "figures that the run won't have",
        &[
            ("\"cell[plans=1].subject.p50\"", "\"cell[plans=2].subject.p50\""),
            ("\"cell[plans=1].subject.p50\"", "\"cell[plans=1].subject.p51\""),
            ("figure = \"cell[plans=1].subject.p99\"\n", ""),
        ],
    ),
    (
        "comparisons",
        &[("\"at-least\"", "\"at-last\""), ("comparison = \"at-most\"\n", "")],
    ),
    (
        "numbers",
        &[
            ("value = 1\n", "value = \"1\"\n"),
            ("value = 1\n", "value = inf\n"),
            ("margin = 5e5\n", ""),
            ("factor = 0.001", "factor = 0"),
            ("margin = 1\n", "margin = -1\n"),
        ],
    ),
    (
        "a width of nothing",
        &[("margin = 5e5\n", "margin = 0\n"), ("value = 43\n", "")],
    ),
    (
        "both kinds of threshold, and half of one",
        &[
            ("value = 1\n", "value = 1\nfactor = 2\n"),
            ("of = \"cell[plans=1].baseline.p50\"\n", ""),
        ],
    ),
    (
        "multiples of what can't be compared",
        &[(
            "of = \"cell[plans=1].baseline.p50\"",
            "of = \"cell[plans=1].difference.ratio\"",
        )],
    ),
    (
        "a multiple of the same cell",
        &[(
            "of = \"cell[plans=1].baseline.p50\"",
            "of = \"cell[plans=3].subject.p50\"",
        )],
    ),
    ("an unknown key", &[("because = \"A clock", "becuase = \"A clock")]),
];

#[test]
fn every_fault_of_a_registration_is_told_with_its_place() {
    let mut told = String::new();
    for (what, changes) in FAULTS {
        let bench = Bench::new(edited(CLAIMS, changes));
        let said = ask(&mut bench.command(&["register", "m.toml"])).exits(2);
        let _ = write!(told, "## {what}\n{}\n", said.message());
        assert_eq!(bench.files(), ["m.toml"]);
    }
    insta::assert_snapshot!(told);
}
