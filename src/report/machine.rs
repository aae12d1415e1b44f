//! Every figure for machines: JSON and CSV, unrounded.

use serde::Serialize;
use serde_json::{Number, Value};

use crate::analysis::{Analysis, Figure, Warning, figures};

/// Version of the JSON document.
const JSON_VERSION: &str = "1.0";

#[derive(Serialize)]
struct Document<'a> {
    version: &'static str,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    id: &'a str,
    name: &'a str,
    title: &'a str,
    question: &'a str,
    backend: &'a str,
    manifest_sha256: &'a str,
    program_version: &'a str,
    state: &'static str,
    primary: &'a str,
    warnings: Vec<Finding<'a>>,
    figures: Vec<Entry>,
}

#[derive(Serialize)]
struct Finding<'a> {
    code: &'a str,
    scope: &'a str,
    message: &'a str,
}

fn finding(warning: &Warning) -> Finding<'_> {
    Finding {
        code: warning.code,
        scope: &warning.scope,
        message: &warning.message,
    }
}

#[derive(Serialize)]
struct Entry {
    id: String,
    unit: &'static str,
    value: Value,
    low: Value,
    high: Value,
    estimator: &'static str,
    provisional: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<String>,
}

/// A JSON document with every figure of every run.
pub fn json(runs: &[Analysis]) -> String {
    let document = Document {
        version: JSON_VERSION,
        runs: runs.iter().map(run).collect(),
    };
    // The document holds strings and finite numbers only.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn run(analysis: &Analysis) -> Run<'_> {
    let facts = &analysis.facts;
    Run {
        id: &facts.run,
        name: &facts.name,
        title: &facts.title,
        question: &facts.question,
        backend: &facts.backend,
        manifest_sha256: &facts.manifest_sha256,
        program_version: &facts.program_version,
        state: facts.state.as_str(),
        primary: &facts.primary,
        warnings: analysis.warnings.iter().map(finding).collect(),
        figures: figures(analysis).into_iter().map(entry).collect(),
    }
}

fn entry(figure: Figure) -> Entry {
    let (low, high) = figure.interval.map(|interval| (interval.low, interval.high)).unzip();
    Entry {
        id: figure.id,
        unit: figure.definition.unit.as_str(),
        value: number(figure.value),
        low: number(low),
        high: number(high),
        estimator: figure.definition.estimator,
        provisional: figure.provisional,
        withheld: figure.withheld,
    }
}

/// A number, without a decimal point where it is whole; null where there is none.
fn number(value: Option<f64>) -> Value {
    let Some(value) = value else { return Value::Null };
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A line a figure, with a heading.
pub fn csv(runs: &[Analysis]) -> String {
    let mut text = String::from("run,state,id,unit,value,low,high,estimator,withheld\n");
    for analysis in runs {
        for figure in figures(analysis) {
            let state = analysis.facts.state.as_str().to_owned();
            let entry = entry(figure);
            let withheld = entry.withheld.unwrap_or_default();
            let numbers = [&entry.value, &entry.low, &entry.high].map(|value| match value {
                Value::Null => String::new(),
                value => value.to_string(),
            });
            let [value, low, high] = numbers;
            let fields = [
                analysis.facts.run.clone(),
                state,
                entry.id,
                entry.unit.to_owned(),
                value,
                low,
                high,
                entry.estimator.to_owned(),
                withheld,
            ];
            text.push_str(&fields.map(|field| quoted(&field)).join(","));
            text.push('\n');
        }
    }
    text
}

/// RFC 4180: quotes where a field needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
