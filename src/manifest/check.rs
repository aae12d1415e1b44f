//! From what was written to what is meant: defaults, ranges and cross-checks, every fault at once.

use std::ops::{Range, RangeInclusive};

use super::fault::Fault;
use super::wire::{At, BackendWire, FiguresWire, GridWire, MeasureWire, Number, Reader, Wire, nearest};
use super::{
    Backend, FigureSettings, Grid, JournalMode, Manifest, ManifestSource, Measure, PairOrder, Server, Synchronous,
    UrlTemplate,
};
use crate::strategy::{Engine, StrategyName};
use crate::units::{Nanos, Seed};

/// The ranges that a manifest's numbers must lie in.
pub mod limits {
    use std::ops::RangeInclusive;

    /// `grid.plans`
    pub const PLANS: RangeInclusive<i128> = 1..=1_000_000;
    /// `measure.months`
    pub const MONTHS: RangeInclusive<i128> = 1..=10_000;
    /// `measure.previews`
    pub const PREVIEWS: RangeInclusive<i128> = 1..=10_000_000;
    /// `measure.warmup`
    pub const WARMUP: RangeInclusive<i128> = 0..=10_000_000;
    /// `measure.forks`
    pub const FORKS: RangeInclusive<i128> = 1..=10_000;
    /// `measure.seed`: what an integer column of the archive holds without a sign.
    pub const SEED: RangeInclusive<i128> = 0..=i64::MAX as i128;
    /// `measure.timeout_ms`
    pub const TIMEOUT_MS: RangeInclusive<i128> = 1..=3_600_000;
    /// `figures.resamples`
    pub const RESAMPLES: RangeInclusive<i128> = 100..=10_000_000;
    /// Longest time in milliseconds: a day.
    pub const MILLIS_MAX: f64 = 86_400_000.0;
}

/// Figures of a cell that can be the primary one: those with a headline interval.
const PRIMARY_FIGURES: [&str; 1] = ["difference.median"];

type Checked<T> = Option<T>;

/// Checks everything, even after the first fault.
pub(super) fn check(wire: Wire, mut reader: Reader<'_>) -> Result<Manifest, Vec<Fault>> {
    let name = name(wire.name, &mut reader);
    let title = text(wire.title, "title", &mut reader);
    let question = text(wire.question, "question", &mut reader);
    let backend_span = wire.backend.span.clone();
    let backend = backend(wire.backend, &mut reader);
    let engine = backend.as_ref().map(|backend| match backend {
        Backend::Postgres { .. } => Engine::Postgres,
        Backend::SqliteMemory | Backend::SqliteFile { .. } => Engine::Sqlite,
    });
    if backend_span.is_none() {
        reader.fault(
            &(0..0),
            "backend",
            "is missing; add a table `[backend]` with `engine = \"sqlite\"`",
        );
    }
    let grid = grid(wire.grid, engine, &mut reader);
    let measure = measure(wire.measure, &mut reader);
    let figures = figures(wire.figures, grid.as_ref(), &mut reader);
    let source = ManifestSource::new(reader.source);
    match (name, title, question, backend, grid, measure, figures) {
        (Some(name), Some(title), Some(question), Some(backend), Some(grid), Some(measure), Some(figures))
            if reader.faults.is_empty() =>
        {
            let analysis = wire
                .analysis
                .map(|text| text.value.trim().to_owned())
                .unwrap_or_default();
            Ok(Manifest {
                name,
                title,
                question,
                analysis,
                backend,
                grid,
                measure,
                figures,
                source,
            })
        }
        _ => Err(reader.faults),
    }
}

fn name(wire: Option<At<String>>, reader: &mut Reader<'_>) -> Checked<String> {
    let At { value, span } = required(wire, "name", &None, reader)?;
    let fits = value.len() <= 64
        && value.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        && value
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !fits {
        reader.fault(
            &span,
            "name",
            "must be 1 to 64 lower-case letters, digits and hyphens, e.g. \"pg-local\"",
        );
        return None;
    }
    Some(value)
}

fn text(wire: Option<At<String>>, key: &str, reader: &mut Reader<'_>) -> Checked<String> {
    let At { value, span } = required(wire, key, &None, reader)?;
    let value = value.trim().to_owned();
    if value.is_empty() {
        reader.fault(&span, key, "must not be empty");
        return None;
    }
    Some(value)
}

fn required<T>(
    wire: Option<At<T>>,
    key: &str,
    section: &Option<Range<usize>>,
    reader: &mut Reader<'_>,
) -> Checked<At<T>> {
    // A value of the wrong type has its own fault already; a second one would only confuse.
    if wire.is_none() && !reader.faults.iter().any(|fault| fault.key == key) {
        reader.fault(&section.clone().unwrap_or(0..0), key, "is missing");
    }
    wire
}

fn backend(wire: BackendWire, reader: &mut Reader<'_>) -> Checked<Backend> {
    wire.span.as_ref()?;
    let engine = required(wire.engine.clone(), "backend.engine", &wire.span, reader)?;
    match one_of(&engine, "backend.engine", &["sqlite", "postgres"], reader)? {
        "sqlite" => sqlite(wire, reader),
        _ => postgres(wire, reader),
    }
}

fn sqlite(wire: BackendWire, reader: &mut Reader<'_>) -> Checked<Backend> {
    let foreign = "belongs to `engine = \"postgres\"`";
    for (key, value) in [
        ("provision", &wire.provision),
        ("image", &wire.image),
        ("url", &wire.url),
        ("schema", &wire.schema),
    ] {
        refuse(value.as_ref(), key, foreign, reader);
    }
    refuse(wire.settings.as_ref(), "settings", foreign, reader);
    let storage = match &wire.storage {
        Some(storage) => one_of(storage, "backend.storage", &["memory", "file"], reader)?,
        None => "memory",
    };
    if storage == "memory" {
        let only = "belongs to `storage = \"file\"`";
        refuse(wire.journal_mode.as_ref(), "journal_mode", only, reader);
        refuse(wire.synchronous.as_ref(), "synchronous", only, reader);
        return Some(Backend::SqliteMemory);
    }
    let journal = required(wire.journal_mode, "backend.journal_mode", &wire.span, reader)?;
    let journal_mode = named(
        &journal,
        "backend.journal_mode",
        &JournalMode::ALL,
        JournalMode::as_str,
        reader,
    );
    let synchronous = match &wire.synchronous {
        Some(level) => named(
            level,
            "backend.synchronous",
            &Synchronous::ALL,
            Synchronous::as_str,
            reader,
        ),
        None => Some(Synchronous::Full),
    };
    let (journal_mode, synchronous) = (journal_mode?, synchronous?);
    if journal_mode == JournalMode::Off {
        reader.fault(
            &journal.span,
            "backend.journal_mode",
            "is \"off\", and without a journal SQLite cannot roll back; choose another mode",
        );
        return None;
    }
    Some(Backend::SqliteFile {
        journal_mode,
        synchronous,
    })
}

fn postgres(wire: BackendWire, reader: &mut Reader<'_>) -> Checked<Backend> {
    let foreign = "belongs to `engine = \"sqlite\"`";
    for (key, value) in [
        ("storage", &wire.storage),
        ("journal_mode", &wire.journal_mode),
        ("synchronous", &wire.synchronous),
    ] {
        refuse(value.as_ref(), key, foreign, reader);
    }
    let schema = match &wire.schema {
        Some(schema) => Some(schema_name(schema, reader)?),
        None => None,
    };
    let provision = match (&wire.provision, &wire.url) {
        (Some(provision), _) => one_of(
            provision,
            "backend.provision",
            &["ephemeral", "container", "url"],
            reader,
        )?,
        (None, Some(_)) => "url",
        (None, None) => {
            required::<String>(None, "backend.provision", &wire.span, reader);
            return None;
        }
    };
    if provision != "ephemeral" {
        refuse(
            wire.settings.as_ref(),
            "settings",
            "belongs to `provision = \"ephemeral\"`",
            reader,
        );
    }
    if provision != "container" {
        refuse(
            wire.image.as_ref(),
            "image",
            "belongs to `provision = \"container\"`",
            reader,
        );
    }
    if provision != "url" {
        refuse(wire.url.as_ref(), "url", "belongs to `provision = \"url\"`", reader);
    }
    let server = match provision {
        "ephemeral" => {
            let settings = wire.settings.map(|settings| settings.value).unwrap_or_default();
            Server::Ephemeral {
                settings: settings.into_iter().map(|(name, value)| (name, value.value)).collect(),
            }
        }
        "container" => Server::Container {
            image: image(required(wire.image, "backend.image", &wire.span, reader)?, reader)?,
        },
        _ => Server::Url(url(&required(wire.url, "backend.url", &wire.span, reader)?, reader)?),
    };
    Some(Backend::Postgres { server, schema })
}

fn image(image: At<String>, reader: &mut Reader<'_>) -> Checked<String> {
    let fits = !image.value.is_empty()
        && !image.value.starts_with('-')
        && image
            .value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-/:@".contains(c));
    if !fits {
        reader.fault(
            &image.span,
            "backend.image",
            "must be an image reference, e.g. \"postgres:16\"",
        );
        return None;
    }
    Some(image.value)
}

fn schema_name(schema: &At<String>, reader: &mut Reader<'_>) -> Checked<String> {
    let fits = schema.value.len() <= 63
        && schema
            .value
            .starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && schema
            .value
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !schema.value.starts_with("pg_");
    if !fits {
        let message = "must be a plain schema name: lower-case letters, digits and underscores, at most 63, not pg_…";
        reader.fault(&schema.span, "backend.schema", message);
        return None;
    }
    Some(schema.value.clone())
}

/// A manifest is archived verbatim, so it may not hold a password.
fn url(url: &At<String>, reader: &mut Reader<'_>) -> Checked<UrlTemplate> {
    let authority = url
        .value
        .split_once("://")
        .map_or("", |(_, rest)| rest.split(['/', '?']).next().unwrap_or(""));
    let userinfo = authority.rsplit_once('@').map_or("", |(userinfo, _)| userinfo);
    let in_userinfo = userinfo
        .split_once(':')
        .is_some_and(|(_, password)| !is_variable(password));
    let in_parameter = url.value.split(['?', '&', ' ']).any(|part| {
        part.trim_start()
            .strip_prefix("password=")
            .is_some_and(|password| !is_variable(password.trim_matches('\'')))
    });
    if in_userinfo || in_parameter {
        let message = "holds a password, and manifests are archived; put it into an environment variable and write \
                       ${NAME} in its place";
        reader.fault(&url.span, "backend.url", message);
        return None;
    }
    Some(UrlTemplate::new(&url.value))
}

fn is_variable(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'))
            .is_some_and(|n| !n.is_empty())
}

fn grid(wire: GridWire, engine: Option<Engine>, reader: &mut Reader<'_>) -> Checked<Grid> {
    if wire.span.is_none() {
        reader.fault(
            &(0..0),
            "grid",
            "is missing; add a table `[grid]` with plans, subjects and baseline",
        );
        return None;
    }
    let plans = required(wire.plans, "grid.plans", &wire.span, reader).and_then(|plans| plan_sizes(plans, reader));
    let subjects = required(wire.subjects, "grid.subjects", &wire.span, reader)
        .and_then(|subjects| strategies(&subjects, engine, reader));
    let baseline = required(wire.baseline, "grid.baseline", &wire.span, reader)
        .and_then(|baseline| strategy(&baseline, "grid.baseline", engine, reader));
    let control = wire.control.is_none_or(|control| control.value);
    Some(Grid {
        plans: plans?,
        subjects: subjects?,
        baseline: baseline?,
        control,
    })
}

fn plan_sizes(plans: At<Vec<At<Number>>>, reader: &mut Reader<'_>) -> Checked<Vec<u32>> {
    if plans.value.is_empty() {
        reader.fault(&plans.span, "grid.plans", "must name at least one size");
        return None;
    }
    let mut sizes = Vec::new();
    for size in &plans.value {
        let value = u32::try_from(integer(size, "grid.plans", &limits::PLANS, reader)?).ok()?;
        if sizes.contains(&value) {
            reader.fault(&size.span, "grid.plans", format!("names {value} twice"));
            return None;
        }
        sizes.push(value);
    }
    sizes.sort_unstable();
    Some(sizes)
}

fn strategies(
    subjects: &At<Vec<At<String>>>,
    engine: Option<Engine>,
    reader: &mut Reader<'_>,
) -> Checked<Vec<StrategyName>> {
    if subjects.value.is_empty() {
        reader.fault(&subjects.span, "grid.subjects", "must name at least one strategy");
        return None;
    }
    let mut names = Vec::new();
    for subject in &subjects.value {
        if let Some(name) = strategy(subject, "grid.subjects", engine, reader) {
            if names.contains(&name) {
                reader.fault(&subject.span, "grid.subjects", format!("names {} twice", name.as_str()));
            }
            names.push(name);
        }
    }
    (names.len() == subjects.value.len()).then_some(names)
}

fn strategy(name: &At<String>, key: &str, engine: Option<Engine>, reader: &mut Reader<'_>) -> Checked<StrategyName> {
    let found = named(name, key, &StrategyName::ALL, StrategyName::as_str, reader)?;
    if let Some(engine) = engine
        && !found.engines().contains(&engine)
    {
        let message = format!("is {}, which {} cannot do", found.as_str(), engine.as_str());
        reader.fault(&name.span, key, message);
        return None;
    }
    Some(found)
}

fn measure(wire: MeasureWire, reader: &mut Reader<'_>) -> Checked<Measure> {
    let months = whole(wire.months, "measure.months", &limits::MONTHS, 60, reader);
    let previews = whole(wire.previews, "measure.previews", &limits::PREVIEWS, 300, reader);
    let warmup = whole(wire.warmup, "measure.warmup", &limits::WARMUP, 80, reader);
    let forks = whole(wire.forks, "measure.forks", &limits::FORKS, 5, reader);
    let timeout_ms = whole(
        wire.timeout_ms,
        "measure.timeout_ms",
        &limits::TIMEOUT_MS,
        10_000,
        reader,
    );
    let seed = required(wire.seed, "measure.seed", &wire.span, reader)
        .and_then(|seed| integer(&seed, "measure.seed", &limits::SEED, reader));
    let order = match &wire.order {
        Some(order) => {
            let all = [PairOrder::Balanced, PairOrder::Coin];
            named(order, "measure.order", &all, PairOrder::as_str, reader)
        }
        None => Some(PairOrder::Balanced),
    };
    Some(Measure {
        months: u32::try_from(months?).ok()?,
        previews: u32::try_from(previews?).ok()?,
        warmup: u32::try_from(warmup?).ok()?,
        forks: u32::try_from(forks?).ok()?,
        seed: Seed(u64::try_from(seed?).ok()?),
        order: order?,
        timeout: Nanos(i64::try_from(timeout_ms? * 1_000_000).ok()?),
    })
}

fn figures(wire: FiguresWire, grid: Option<&Grid>, reader: &mut Reader<'_>) -> Checked<FigureSettings> {
    let debounce = millis(wire.debounce_ms, "figures.debounce_ms", 400.0, reader);
    let resamples = whole(wire.resamples, "figures.resamples", &limits::RESAMPLES, 10_000, reader);
    let margin = required(wire.margin_ms, "figures.margin_ms", &wire.span, reader)
        .and_then(|margin| millis(Some(margin), "figures.margin_ms", 0.0, reader));
    let primary = primary(wire.primary, grid?, reader);
    Some(FigureSettings {
        debounce: debounce?,
        resamples: u32::try_from(resamples?).ok()?,
        margin: margin?,
        primary: primary?,
    })
}

/// The primary figure; by default the difference of the first subject at the middle size.
fn primary(wire: Option<At<String>>, grid: &Grid, reader: &mut Reader<'_>) -> Checked<String> {
    let ids: Vec<String> = (grid.plans.iter())
        .flat_map(|&plans| grid.subjects.iter().map(move |&subject| grid.cell_id(plans, subject)))
        .flat_map(|cell| PRIMARY_FIGURES.map(|figure| format!("{cell}.{figure}")))
        .collect();
    let Some(primary) = wire else {
        let middle = grid.plans[(grid.plans.len() - 1) / 2];
        return Some(format!(
            "{}.{}",
            grid.cell_id(middle, grid.subjects[0]),
            PRIMARY_FIGURES[0]
        ));
    };
    let known: Vec<&str> = ids.iter().map(String::as_str).collect();
    one_of(&primary, "figures.primary", &known, reader).map(str::to_owned)
}

fn refuse<T>(value: Option<&At<T>>, key: &str, why: &str, reader: &mut Reader<'_>) {
    if let Some(value) = value {
        reader.fault(&value.span, &format!("backend.{key}"), why);
    }
}

/// The candidate that was named, or a fault that lists them.
fn one_of<'c>(word: &At<String>, key: &str, candidates: &[&'c str], reader: &mut Reader<'_>) -> Checked<&'c str> {
    if let Some(found) = candidates.iter().find(|candidate| **candidate == word.value) {
        return Some(found);
    }
    let hint = match nearest(&word.value, candidates) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("known: {}", candidates.join(", ")),
    };
    reader.fault(
        &word.span,
        key,
        format!("is {:?}, which is unknown; {hint}", word.value),
    );
    None
}

fn named<T: Copy>(
    word: &At<String>,
    key: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
    reader: &mut Reader<'_>,
) -> Checked<T> {
    let names: Vec<&str> = all.iter().map(|item| name(*item)).collect();
    let found = one_of(word, key, &names, reader)?;
    all.iter().copied().find(|item| name(*item) == found)
}

fn whole(
    wire: Option<At<Number>>,
    key: &str,
    range: &RangeInclusive<i128>,
    default: i128,
    reader: &mut Reader<'_>,
) -> Checked<i128> {
    match wire {
        Some(number) => integer(&number, key, range, reader),
        // A value of the wrong type has been reported and removed.
        None if reader.faults.iter().any(|fault| fault.key == key) => None,
        None => Some(default),
    }
}

fn integer(number: &At<Number>, key: &str, range: &RangeInclusive<i128>, reader: &mut Reader<'_>) -> Checked<i128> {
    match number.value {
        Number::Integer(value) if range.contains(&value) => Some(value),
        Number::Integer(value) => {
            let message = format!("is {value}, but must be from {} to {}", range.start(), range.end());
            reader.fault(&number.span, key, message);
            None
        }
        Number::Float(value) => {
            reader.fault(&number.span, key, format!("is {value}, but must be a whole number"));
            None
        }
    }
}

fn millis(wire: Option<At<Number>>, key: &str, default: f64, reader: &mut Reader<'_>) -> Checked<Nanos> {
    let Some(At { value, span }) = wire else {
        return Some(Nanos((default * 1e6).round() as i64));
    };
    let millis = match value {
        Number::Integer(value) => value as f64,
        Number::Float(value) => value,
    };
    if millis > 0.0 && millis <= limits::MILLIS_MAX {
        return Some(Nanos((millis * 1e6).round() as i64));
    }
    let message = format!(
        "is {millis} ms, but must be above 0 and at most {} ms",
        limits::MILLIS_MAX
    );
    reader.fault(&span, key, message);
    None
}

impl Grid {
    /// Id of a cell, e.g. `cell[plans=40]`; the subject is named where there are several.
    pub fn cell_id(&self, plans: u32, subject: StrategyName) -> String {
        format!("cell[{}]", self.coordinates(plans, subject))
    }

    /// Id of a control cell, e.g. `control[plans=40]`.
    pub fn control_id(&self, plans: u32, subject: StrategyName) -> String {
        format!("control[{}]", self.coordinates(plans, subject))
    }

    fn coordinates(&self, plans: u32, subject: StrategyName) -> String {
        match self.subjects.as_slice() {
            [_] => format!("plans={plans}"),
            _ => format!("plans={plans},subject={}", subject.as_str()),
        }
    }
}
