//! Every figure for machines: JSON and CSV, unrounded.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Number, Value};

use crate::analysis::{Analysis, ClaimVerdict, Figure, RunFacts, Warning, figures};
use crate::archive::Standing;
use crate::manifest::Threshold;

/// Version of the JSON document.
const JSON_VERSION: &str = "1.1";

/// Every figure of every run, as `preview-cost analyze --format json` prints it.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "preview-cost analysis")]
struct Document<'a> {
    version: &'static str,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Run<'a> {
    id: &'a str,
    name: &'a str,
    title: &'a str,
    question: &'a str,
    backend: &'a str,
    manifest_sha256: &'a str,
    root: Option<&'a str>,
    program_version: &'a str,
    #[schemars(extend("enum" = ["finished", "unfinished"]))]
    state: &'static str,
    primary: &'a str,
    exploratory: bool,
    standing: Stands<'a>,
    claims: Vec<Judged<'a>>,
    warnings: Vec<Finding<'a>>,
    figures: Vec<Entry>,
}

#[derive(Serialize, JsonSchema)]
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

#[derive(Serialize, JsonSchema)]
struct Entry {
    id: String,
    unit: &'static str,
    #[schemars(with = "Option<f64>")]
    value: Value,
    #[schemars(with = "Option<f64>")]
    low: Value,
    #[schemars(with = "Option<f64>")]
    high: Value,
    estimator: &'static str,
    provisional: bool,
    exploratory: bool,
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

/// JSON Schema (2020-12) of what [`json`] gives.
pub fn json_schema() -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<Document<'_>>();
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
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
        root: facts.root.as_deref(),
        program_version: &facts.program_version,
        state: facts.state.as_str(),
        primary: &facts.primary,
        exploratory: facts.standing.is_exploratory(),
        standing: stands(&facts.standing),
        claims: analysis.claims.iter().map(|verdict| judged(verdict, facts)).collect(),
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
        exploratory: figure.exploratory,
        withheld: figure.withheld,
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Stands<'a> {
    Confirmatory {
        registration: &'a str,
        seq: u64,
        at: &'a str,
        commit: &'a str,
        manifest_committed: &'a str,
        start: u64,
    },
    Exploratory {
        reason: &'a str,
    },
}

fn stands(standing: &Standing) -> Stands<'_> {
    match standing {
        Standing::Exploratory { reason } => Stands::Exploratory { reason },
        Standing::Confirmatory(registered) => Stands::Confirmatory {
            registration: &registered.line,
            seq: registered.seq,
            at: &registered.at,
            commit: &registered.commit,
            manifest_committed: &registered.manifest_committed,
            start: registered.start,
        },
    }
}

#[derive(Serialize, JsonSchema)]
struct Judged<'a> {
    id: &'a str,
    figure: &'a str,
    unit: &'a str,
    comparison: &'static str,
    #[serde(flatten)]
    threshold: ThresholdEntry<'a>,
    margin: Value,
    because: Option<&'a str>,
    observed: Value,
    low: Value,
    high: Value,
    contrast: Option<Contrast>,
    verdict: &'static str,
    why: &'a str,
    provisional: bool,
    exploratory: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ThresholdEntry<'a> {
    Value { value: Value },
    Times { factor: Value, of: &'a str },
}

#[derive(Serialize, JsonSchema)]
struct Contrast {
    value: Value,
    low: Value,
    high: Value,
}

fn judged<'a>(verdict: &'a ClaimVerdict, facts: &RunFacts) -> Judged<'a> {
    let claim = &verdict.claim;
    let (low, high) = verdict.interval.map(|interval| (interval.low, interval.high)).unzip();
    Judged {
        id: &claim.id,
        figure: &claim.figure,
        unit: &claim.unit,
        comparison: claim.comparison.as_str(),
        threshold: match &claim.threshold {
            Threshold::Value(value) => ThresholdEntry::Value {
                value: number(Some(*value)),
            },
            Threshold::Times { factor, of } => ThresholdEntry::Times {
                factor: number(Some(*factor)),
                of,
            },
        },
        margin: number(Some(claim.margin)),
        because: claim.because.as_deref(),
        observed: number(verdict.observed),
        low: number(low),
        high: number(high),
        contrast: verdict.contrast.map(|(value, interval)| Contrast {
            value: number(Some(value)),
            low: number(Some(interval.low)),
            high: number(Some(interval.high)),
        }),
        verdict: verdict.outcome.as_str(),
        why: &verdict.why,
        provisional: facts.state.is_provisional(),
        exploratory: facts.standing.is_exploratory(),
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
    let mut text = String::from("run,state,id,unit,value,low,high,estimator,withheld,exploratory\n");
    for analysis in runs {
        for figure in figures(analysis) {
            let state = analysis.facts.state.as_str().to_owned();
            let entry = entry(figure);
            let exploratory = entry.exploratory.to_string();
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
                exploratory,
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
