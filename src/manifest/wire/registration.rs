//! The table `[registration]` and the tables `[[claims]]`, as they are written.

use std::ops::Range;

use toml::de::DeValue;

use super::{At, Number, Reader, Section, kind};

#[derive(Debug, Default)]
pub(in crate::manifest) struct RegistrationWire {
    pub span: Option<Range<usize>>,
    pub disproof: Option<At<String>>,
    pub estimand: Option<At<String>>,
    pub exclusions: Option<At<String>>,
    pub novelty: NoveltyWire,
}

#[derive(Debug, Default)]
pub(in crate::manifest) struct NoveltyWire {
    pub span: Option<Range<usize>>,
    pub date: Option<At<String>>,
    pub sources: Option<At<Vec<At<String>>>>,
    pub queries: Option<At<Vec<At<String>>>>,
    pub finding: Option<At<String>>,
}

#[derive(Debug)]
pub(in crate::manifest) struct ClaimWire {
    pub span: Range<usize>,
    pub id: Option<At<String>>,
    pub figure: Option<At<String>>,
    pub comparison: Option<At<String>>,
    pub value: Option<At<Number>>,
    pub factor: Option<At<Number>>,
    pub of: Option<At<String>>,
    pub margin: Option<At<Number>>,
    pub because: Option<At<String>>,
}

pub(super) fn registration(mut section: Section<'_>, reader: &mut Reader<'_>) -> RegistrationWire {
    let wire = RegistrationWire {
        span: Some(section.span.clone()),
        disproof: section.string(reader, "disproof"),
        estimand: section.string(reader, "estimand"),
        exclusions: section.string(reader, "exclusions"),
        novelty: match section.section(reader, "novelty") {
            Some(section) => novelty(section, reader),
            None => NoveltyWire::default(),
        },
    };
    section.end(reader);
    wire
}

fn novelty(mut section: Section<'_>, reader: &mut Reader<'_>) -> NoveltyWire {
    let wire = NoveltyWire {
        span: Some(section.span.clone()),
        date: section.date(reader, "date"),
        sources: section.strings(reader, "sources"),
        queries: section.strings(reader, "queries"),
        finding: section.string(reader, "finding"),
    };
    section.end(reader);
    wire
}

pub(super) fn claim(mut section: Section<'_>, reader: &mut Reader<'_>) -> ClaimWire {
    let wire = ClaimWire {
        span: section.span.clone(),
        id: section.string(reader, "id"),
        figure: section.string(reader, "figure"),
        comparison: section.string(reader, "comparison"),
        value: section.number(reader, "value"),
        factor: section.number(reader, "factor"),
        of: section.string(reader, "of"),
        margin: section.number(reader, "margin"),
        because: section.string(reader, "because"),
    };
    section.end(reader);
    wire
}

impl<'i> Section<'i> {
    /// A date, written as one or as a string; whether there is such a day is not looked at.
    fn date(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<At<String>> {
        let wanted = "a date, e.g. 2026-11-30";
        self.take(reader, key, wanted, |value, _| match value.into_inner() {
            DeValue::Datetime(date) => Ok(date.to_string()),
            DeValue::String(text) => Ok(text.into_owned()),
            other => Err(kind(&other)),
        })
    }

    /// Tables in double brackets, one after another; each is named by its place, from 0.
    pub(super) fn sections(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<At<Vec<Section<'i>>>> {
        let shown = self.key(key);
        self.take(reader, key, &format!("tables `[[{key}]]`"), |value, reader| {
            let array = match value.into_inner() {
                DeValue::Array(array) => array,
                other => return Err(kind(&other)),
            };
            let mut sections = Vec::new();
            for (place, item) in array.into_iter().enumerate() {
                let (span, shown) = (item.span(), format!("{shown}[{place}]"));
                match item.into_inner() {
                    DeValue::Table(table) => sections.push(Section::new(&shown, span, table)),
                    other => reader.fault(&span, &shown, format!("must be a table, but is {}", kind(&other))),
                }
            }
            Ok(sections)
        })
    }
}
