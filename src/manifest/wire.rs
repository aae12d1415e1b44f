//! The manifest as it is written: TOML values with their places, nothing checked beyond their types.
//!
//! serde's derive stops at the first fault and knows no places, so the document is walked by hand: wrong types and
//! unknown keys are all collected, and the walk goes on. Only a text that is not TOML is told as that and no more.

mod registration;

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::fault::Fault;

pub(super) use registration::{ClaimWire, NoveltyWire, RegistrationWire};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct At<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// Strings under keys of the author's choice, in the document's order.
pub(super) type Entries = Vec<(String, At<String>)>;

/// A number as written; integers stay exact.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

#[derive(Debug, Default)]
pub(super) struct Wire {
    pub name: Option<At<String>>,
    pub title: Option<At<String>>,
    pub question: Option<At<String>>,
    pub analysis: Option<At<String>>,
    pub backend: BackendWire,
    pub backends: Option<At<Vec<BackendWire>>>,
    pub grid: GridWire,
    pub measure: MeasureWire,
    pub figures: FiguresWire,
    pub registration: RegistrationWire,
    pub claims: Option<At<Vec<ClaimWire>>>,
}

#[derive(Debug, Default)]
pub(super) struct BackendWire {
    /// The table's own name, `backend` or `backends[0]`.
    pub path: String,
    pub span: Option<Range<usize>>,
    pub name: Option<At<String>>,
    pub engine: Option<At<String>>,
    pub socket: Option<At<String>>,
    pub storage: Option<At<String>>,
    pub journal_mode: Option<At<String>>,
    pub synchronous: Option<At<String>>,
    pub provision: Option<At<String>>,
    pub image: Option<At<String>>,
    pub url: Option<At<String>>,
    pub schema: Option<At<String>>,
    pub settings: Option<At<Entries>>,
}

#[derive(Debug, Default)]
pub(super) struct GridWire {
    pub span: Option<Range<usize>>,
    pub plans: Option<At<Vec<At<Number>>>>,
    pub schemas: Option<At<Vec<At<String>>>>,
    pub delay_us: Option<At<Vec<At<Number>>>>,
    pub subjects: Option<At<Vec<At<String>>>>,
    pub baseline: Option<At<String>>,
    pub control: Option<At<bool>>,
}

#[derive(Debug, Default)]
pub(super) struct MeasureWire {
    pub span: Option<Range<usize>>,
    pub months: Option<At<Number>>,
    pub previews: Option<At<Number>>,
    pub warmup: Option<At<Number>>,
    pub forks: Option<At<Number>>,
    pub seed: Option<At<Number>>,
    pub order: Option<At<String>>,
    pub steps: Option<At<String>>,
    pub processors: Option<At<String>>,
    pub timeout_ms: Option<At<Number>>,
}

#[derive(Debug, Default)]
pub(super) struct FiguresWire {
    pub span: Option<Range<usize>>,
    pub debounce_ms: Option<At<Number>>,
    pub resamples: Option<At<Number>>,
    pub margin_ms: Option<At<Number>>,
    pub distance_for: Option<At<Vec<At<String>>>>,
    pub primary: Option<At<String>>,
}

/// Collects faults while the document is walked.
pub(super) struct Reader<'s> {
    pub source: &'s str,
    pub faults: Vec<Fault>,
}

impl Reader<'_> {
    pub fn fault(&mut self, span: &Range<usize>, key: &str, message: impl Into<String>) {
        self.faults.push(Fault::at(self.source, span, key, message));
    }
}

/// Walks the text. The reader comes back with the faults so far, for the checks to add theirs; a text that is not TOML
/// has that one fault.
pub(super) fn read(source: &str) -> Result<(Wire, Reader<'_>), Vec<Fault>> {
    let mut reader = Reader {
        source,
        faults: Vec::new(),
    };
    let (document, errors) = DeTable::parse_recoverable(source);
    // What comes after a fault of the syntax is guesswork: a missing bracket alone would be told thirty times.
    let first = errors
        .iter()
        .min_by_key(|error| error.span().map_or(0, |span| span.start));
    if let Some(error) = first {
        reader.fault(
            &error.span().unwrap_or(0..0),
            "",
            format!("not TOML: {}", error.message()),
        );
        return Err(reader.faults);
    }
    let span = document.span();
    let mut root = Section::new("", span, document.into_inner());
    let mut wire = Wire {
        name: root.string(&mut reader, "name"),
        title: root.string(&mut reader, "title"),
        question: root.string(&mut reader, "question"),
        analysis: root.string(&mut reader, "analysis"),
        ..Wire::default()
    };
    if let Some(section) = root.section(&mut reader, "backend") {
        wire.backend = backend(section, &mut reader);
    }
    if let Some(At { value, span }) = root.sections(&mut reader, "backends") {
        let backends = value.into_iter().map(|section| backend(section, &mut reader));
        wire.backends = Some(At {
            value: backends.collect(),
            span,
        });
    }
    if let Some(section) = root.section(&mut reader, "grid") {
        wire.grid = grid(section, &mut reader);
    }
    if let Some(section) = root.section(&mut reader, "measure") {
        wire.measure = measure(section, &mut reader);
    }
    if let Some(section) = root.section(&mut reader, "figures") {
        wire.figures = figures(section, &mut reader);
    }
    if let Some(section) = root.section(&mut reader, "registration") {
        wire.registration = registration::registration(section, &mut reader);
    }
    if let Some(At { value, span }) = root.sections(&mut reader, "claims") {
        let claims = value
            .into_iter()
            .map(|section| registration::claim(section, &mut reader));
        wire.claims = Some(At {
            value: claims.collect(),
            span,
        });
    }
    root.end(&mut reader);
    Ok((wire, reader))
}

fn backend(mut section: Section<'_>, reader: &mut Reader<'_>) -> BackendWire {
    let wire = BackendWire {
        path: section.path.clone(),
        span: Some(section.span.clone()),
        name: section.string(reader, "name"),
        engine: section.string(reader, "engine"),
        socket: section.string(reader, "socket"),
        storage: section.string(reader, "storage"),
        journal_mode: section.string(reader, "journal_mode"),
        synchronous: section.string(reader, "synchronous"),
        provision: section.string(reader, "provision"),
        image: section.string(reader, "image"),
        url: section.string(reader, "url"),
        schema: section.string(reader, "schema"),
        settings: section.string_table(reader, "settings"),
    };
    section.end(reader);
    wire
}

fn grid(mut section: Section<'_>, reader: &mut Reader<'_>) -> GridWire {
    let wire = GridWire {
        span: Some(section.span.clone()),
        plans: section.numbers(reader, "plans"),
        schemas: section.strings(reader, "schemas"),
        delay_us: section.numbers(reader, "delay_us"),
        subjects: section.strings(reader, "subjects"),
        baseline: section.string(reader, "baseline"),
        control: section.boolean(reader, "control"),
    };
    section.end(reader);
    wire
}

fn measure(mut section: Section<'_>, reader: &mut Reader<'_>) -> MeasureWire {
    let wire = MeasureWire {
        span: Some(section.span.clone()),
        months: section.number(reader, "months"),
        previews: section.number(reader, "previews"),
        warmup: section.number(reader, "warmup"),
        forks: section.number(reader, "forks"),
        seed: section.number(reader, "seed"),
        order: section.string(reader, "order"),
        steps: section.string(reader, "steps"),
        processors: section.string(reader, "processors"),
        timeout_ms: section.number(reader, "timeout_ms"),
    };
    section.end(reader);
    wire
}

fn figures(mut section: Section<'_>, reader: &mut Reader<'_>) -> FiguresWire {
    let wire = FiguresWire {
        span: Some(section.span.clone()),
        debounce_ms: section.number(reader, "debounce_ms"),
        resamples: section.number(reader, "resamples"),
        margin_ms: section.number(reader, "margin_ms"),
        distance_for: section.strings(reader, "distance_for"),
        primary: section.string(reader, "primary"),
    };
    section.end(reader);
    wire
}

/// One table of the document. Keys are taken out as they are asked for; what is left at the end is unknown.
struct Section<'i> {
    path: String,
    span: Range<usize>,
    table: DeTable<'i>,
    asked: Vec<&'static str>,
}

impl<'i> Section<'i> {
    fn new(path: &str, span: Range<usize>, table: DeTable<'i>) -> Self {
        Self {
            path: path.to_owned(),
            span,
            table,
            asked: Vec::new(),
        }
    }

    fn key(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// Takes a key's value and converts it; a wrong type is a fault that names what was wanted and what came.
    fn take<T>(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        wanted: &str,
        convert: impl FnOnce(Spanned<DeValue<'i>>, &mut Reader<'_>) -> Result<T, &'static str>,
    ) -> Option<At<T>> {
        self.asked.push(key);
        let value = self.table.remove(key)?;
        let span = value.span();
        match convert(value, reader) {
            Ok(value) => Some(At { value, span }),
            Err(came) => {
                reader.fault(&span, &self.key(key), format!("must be {wanted}, but is {came}"));
                None
            }
        }
    }

    fn string(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<At<String>> {
        self.take(reader, key, "a string", |value, _| string(value.into_inner()))
    }

    fn boolean(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<At<bool>> {
        self.take(reader, key, "true or false", |value, _| match value.into_inner() {
            DeValue::Boolean(value) => Ok(value),
            other => Err(kind(&other)),
        })
    }

    fn number(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<At<Number>> {
        self.take(reader, key, "a number", |value, _| number(value.get_ref()))
    }

    /// A number, or an array of numbers.
    fn numbers(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<At<Vec<At<Number>>>> {
        let shown = self.key(key);
        self.take(reader, key, "a number or an array of numbers", |value, reader| {
            let span = value.span();
            list(value.into_inner(), span, reader, &shown, "a number", |value| {
                number(&value)
            })
        })
    }

    /// A string, or an array of strings.
    fn strings(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<At<Vec<At<String>>>> {
        let shown = self.key(key);
        self.take(reader, key, "a string or an array of strings", |value, reader| {
            let span = value.span();
            list(value.into_inner(), span, reader, &shown, "a string", string)
        })
    }

    /// A table of strings under keys of the author's choice.
    fn string_table(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<At<Entries>> {
        let shown = self.key(key);
        self.take(reader, key, "a table of strings", |value, reader| {
            let DeValue::Table(table) = value.into_inner() else {
                return Err("something else");
            };
            let mut entries = Vec::new();
            for (name, value) in table {
                let (name, span) = (name.into_inner().into_owned(), value.span());
                match string(value.into_inner()) {
                    Ok(value) => entries.push((name, At { value, span })),
                    Err(came) => {
                        reader.fault(
                            &span,
                            &format!("{shown}.{name}"),
                            format!("must be a string, but is {came}"),
                        );
                    }
                }
            }
            Ok(entries)
        })
    }

    fn section(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<Section<'i>> {
        let taken = self.take(reader, key, "a table", |value, _| match value.into_inner() {
            DeValue::Table(table) => Ok(table),
            other => Err(kind(&other)),
        })?;
        Some(Section::new(&self.key(key), taken.span, taken.value))
    }

    /// Reports every key that nobody asked for, with the nearest one that exists.
    fn end(self, reader: &mut Reader<'_>) {
        for name in self.table.keys() {
            let key = self.key(name.get_ref());
            let message = unknown(name, &self.asked);
            reader.fault(&name.span(), &key, message);
        }
    }
}

fn unknown(name: &Spanned<DeString<'_>>, known: &[&str]) -> String {
    match nearest(name.get_ref(), known) {
        Some(near) => format!("unknown key; did you mean `{near}`?"),
        None => format!("unknown key; known here: {}", known.join(", ")),
    }
}

/// The candidate that is most like `word`, if any is near enough to be a slip of the finger.
pub(super) fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    candidates
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// An array's items, or one item that stands `alone` without brackets.
fn list<'i, T>(
    value: DeValue<'i>,
    alone: Range<usize>,
    reader: &mut Reader<'_>,
    key: &str,
    wanted: &str,
    convert: impl Fn(DeValue<'i>) -> Result<T, &'static str>,
) -> Result<Vec<At<T>>, &'static str> {
    let DeValue::Array(array) = value else {
        return convert(value).map(|value| vec![At { value, span: alone }]);
    };
    let mut items = Vec::new();
    for item in array {
        let span = item.span();
        match convert(item.into_inner()) {
            Ok(value) => items.push(At { value, span }),
            Err(came) => reader.fault(&span, key, format!("must hold {wanted} here, but holds {came}")),
        }
    }
    Ok(items)
}

fn string(value: DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.into_owned()),
        other => Err(kind(&other)),
    }
}

fn number(value: &DeValue<'_>) -> Result<Number, &'static str> {
    match value {
        DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
            .map(Number::Integer)
            .map_err(|_| "an integer beyond all bounds"),
        DeValue::Float(float) => float
            .as_str()
            .parse()
            .map(Number::Float)
            .map_err(|_| "not a finite number"),
        other => Err(kind(other)),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
