//! What `verify` found, a line a check.

use serde::Serialize;

use crate::verification::{Finding, Outcome, worst};

/// A run and what was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// How the run was named, or its id.
    pub run: String,
    /// Its root, where it has one.
    pub root: Option<String>,
    /// One a check.
    pub findings: Vec<Finding>,
}

#[derive(Serialize)]
struct RunWire<'a> {
    run: &'a str,
    root: Option<&'a str>,
    outcome: &'static str,
    findings: Vec<FindingWire<'a>>,
}

#[derive(Serialize)]
struct FindingWire<'a> {
    check: &'static str,
    outcome: &'static str,
    detail: &'a str,
}

/// The findings of several runs, for people.
pub fn findings(runs: &[Findings]) -> String {
    let line =
        |Finding { check, outcome, detail }: &Finding| format!("  {:<12}  {check:<8}  {detail}", outcome.as_str());
    let told = runs.iter().flat_map(|run| {
        let head = format!("{}: {}", run.run, overall(&run.findings));
        std::iter::once(head).chain(run.findings.iter().map(line))
    });
    told.flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// The same for a program.
pub fn findings_json(runs: &[Findings]) -> String {
    let wire: Vec<RunWire<'_>> = runs.iter().map(RunWire::of).collect();
    let mut text = serde_json::to_string_pretty(&wire).unwrap_or_default();
    text.push('\n');
    text
}

/// The worst of all; a note is no fault.
fn overall(findings: &[Finding]) -> &'static str {
    match worst(findings) {
        Outcome::Noted => Outcome::Ok.as_str(),
        outcome => outcome.as_str(),
    }
}

impl<'a> RunWire<'a> {
    fn of(run: &'a Findings) -> Self {
        Self {
            run: &run.run,
            root: run.root.as_deref(),
            outcome: overall(&run.findings),
            findings: run
                .findings
                .iter()
                .map(|finding| FindingWire {
                    check: finding.check,
                    outcome: finding.outcome.as_str(),
                    detail: &finding.detail,
                })
                .collect(),
        }
    }
}
