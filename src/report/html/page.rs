//! What stands on the page, in its order, filled into the template.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use super::checking::{self, Checking};
use super::surroundings;
use crate::analysis::{Analysis, Warning};
use crate::archive::{FactRow, Setting};
use crate::report::claims::{self, Starts};
use crate::report::error::ReportError;
use crate::report::plot::{Gallery, style_sheet};
use crate::report::{distance, run, steps};

/// The template's name; its ending makes the engine escape what is filled in.
const PAGE: &str = "page.html";

/// A run, ready to be told on a page.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// Its figures.
    pub analysis: &'a Analysis,
    /// Its plots.
    pub galleries: &'a [Gallery],
    /// The resolved manifest.
    pub settings: &'a [Setting],
    /// Facts about machine, build and server.
    pub facts: &'a [FactRow],
    /// Facts that are not at the end what they were at the start, as `scope.key`.
    pub changed: &'a [String],
    /// The manifest, verbatim.
    pub manifest: &'a str,
    /// The other starts under its registration; `None` where it has none, or no ledger lies beside it.
    pub starts: Option<&'a Starts>,
}

#[derive(Serialize)]
struct Page<'a> {
    style: &'static str,
    plot_style: String,
    title: &'a str,
    question: &'a str,
    prose: Vec<&'a str>,
    answer: Option<String>,
    measured: String,
    started: Option<&'a str>,
    is_finished: bool,
    state: &'static str,
    standing: String,
    is_exploratory: bool,
    starts: Option<String>,
    claims: Option<String>,
    claim_notes: Vec<String>,
    registration: Vec<(&'a str, &'a str)>,
    urgent: Vec<Finding<'a>>,
    findings: Vec<Finding<'a>>,
    differences: String,
    sides: String,
    steps: Option<String>,
    steps_legend: &'static str,
    path: Option<PathView>,
    growth: Vec<String>,
    legend: String,
    galleries: Vec<Pictures<'a>>,
    facts: String,
    all_facts: String,
    changed: &'a [String],
    manifest: &'a str,
    checking: Checking,
    version: &'static str,
}

#[derive(Serialize)]
struct Finding<'a> {
    code: &'a str,
    scope: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Pictures<'a> {
    name: &'a str,
    heading: &'a str,
    reading: &'a str,
    plots: Vec<Picture<'a>>,
}

#[derive(Serialize)]
struct Picture<'a> {
    name: &'a str,
    title: String,
    note: &'a str,
    is_wide: bool,
    svg: String,
}

/// What the distance adds, where a proxy stood in the way.
#[derive(Serialize)]
struct PathView {
    lines: Option<String>,
    sentences: Vec<String>,
    passed: String,
    costs: Vec<String>,
    legend: &'static str,
}

impl PathView {
    fn of(analysis: &Analysis) -> Self {
        Self {
            lines: (!analysis.distances.is_empty()).then(|| distance::lines_grid(analysis).html()),
            sentences: distance::sentences(analysis),
            passed: distance::wire_grid(analysis).html(),
            costs: distance::proxy_costs(analysis),
            legend: distance::LEGEND,
        }
    }
}

/// The page. The same run gives the same bytes.
///
/// # Errors
/// [`ReportError::Page`].
pub fn html(told: &Told<'_>) -> Result<String, ReportError> {
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.add_template(PAGE, include_str!("page.html"))?;
    let mut page = engine.get_template(PAGE)?.render(Serde(page(told)))?;
    page.push('\n');
    Ok(page)
}

fn page<'a>(told: &Told<'a>) -> Page<'a> {
    let Told {
        analysis,
        galleries,
        settings,
        facts,
        changed,
        manifest,
        starts,
    } = *told;
    let (urgent, findings): (Vec<&Warning>, Vec<&Warning>) = analysis
        .warnings
        .iter()
        .partition(|warning| warning.code == analysis.facts.state.as_str());
    Page {
        style: include_str!("page.css"),
        plot_style: style_sheet(),
        title: &analysis.facts.title,
        question: &analysis.facts.question,
        prose: paragraphs(setting(settings, "manifest", "analysis").unwrap_or_default()),
        answer: run::answer(analysis).map(|answer| bound(&answer)),
        measured: run::measured(analysis),
        started: setting(settings, "run", "started"),
        is_finished: !analysis.facts.state.is_provisional(),
        state: analysis.facts.state.as_str(),
        standing: claims::standing(analysis),
        is_exploratory: analysis.facts.standing.is_exploratory(),
        starts: starts.map(claims::starts),
        claims: claims::grid(analysis).map(|grid| grid.html()),
        claim_notes: claims::notes(analysis).iter().map(|note| bound(note)).collect(),
        registration: (settings.iter())
            .filter(|setting| setting.section == "registration")
            .map(|setting| (setting.key.as_str(), setting.value.as_str()))
            .collect(),
        urgent: urgent.into_iter().map(finding).collect(),
        findings: findings.into_iter().map(finding).collect(),
        differences: run::difference_grid(analysis).html(),
        sides: run::sides_grid(analysis).html(),
        steps: steps::are_there(analysis).then(|| steps::steps_grid(analysis).html()),
        steps_legend: steps::LEGEND,
        path: distance::are_there(analysis).then(|| PathView::of(analysis)),
        growth: analysis
            .scaling
            .iter()
            .map(|scaling| bound(&run::growth(scaling)))
            .collect(),
        legend: bound(&run::legend(analysis)),
        galleries: galleries.iter().map(pictures).collect(),
        facts: surroundings::chosen(facts, changed).html(),
        all_facts: surroundings::all(facts).html(),
        changed,
        manifest,
        checking: checking::of(analysis),
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn setting<'a>(settings: &'a [Setting], section: &str, key: &str) -> Option<&'a str> {
    let found = settings
        .iter()
        .find(|setting| setting.section == section && setting.key == key);
    found.map(|setting| setting.value.as_str())
}

fn paragraphs(text: &str) -> Vec<&str> {
    text.split("\n\n")
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect()
}

/// Keeps a number and its unit on one line.
fn bound(text: &str) -> String {
    text.replace(" %", "\u{a0}%").replace(" ms", "\u{a0}ms")
}

fn finding(warning: &Warning) -> Finding<'_> {
    Finding {
        code: warning.code,
        scope: &warning.scope,
        message: &warning.message,
    }
}

fn pictures(gallery: &Gallery) -> Pictures<'_> {
    Pictures {
        name: gallery.name,
        heading: gallery.heading,
        reading: &gallery.reading,
        plots: (gallery.plots.iter())
            .map(|plot| Picture {
                name: &plot.name,
                title: bound(&plot.title),
                note: &plot.note,
                is_wide: plot.is_wide(),
                svg: plot.inline(),
            })
            .collect(),
    }
}
