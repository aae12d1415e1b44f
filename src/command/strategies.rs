//! `strategies`: the ways to a preview that can be measured, and what is known of each.

use serde::Serialize;

use super::{CommandError, print};
use crate::cli::{StrategiesArgs, StrategiesFormat};
use crate::exit::Exit;
use crate::report::{self, Listed};
use crate::strategy::StrategyName;

/// One strategy as JSON.
#[derive(Serialize)]
struct Entry {
    name: &'static str,
    engines: Vec<&'static str>,
    on: Vec<&'static str>,
    round_trips: Option<u32>,
    writes: &'static str,
    sentence: &'static str,
    stands_for: &'static str,
    gives_up: String,
}

/// Lists every strategy.
///
/// # Errors
/// [`CommandError::Output`].
pub fn execute(args: &StrategiesArgs) -> Result<Exit, CommandError> {
    let entries: Vec<Entry> = StrategyName::ALL.iter().map(|name| entry(*name)).collect();
    let text = match args.format {
        StrategiesFormat::Table => report::strategies(&entries.iter().map(listed).collect::<Vec<_>>()),
        StrategiesFormat::Json => {
            let mut text =
                serde_json::to_string_pretty(&entries).map_err(|error| CommandError::Output(error.into()))?;
            text.push('\n');
            text
        }
    };
    print(&text)?;
    Ok(Exit::Ok)
}

fn entry(name: StrategyName) -> Entry {
    let facts = name.facts();
    Entry {
        name: name.as_str(),
        engines: facts.engines().iter().map(|engine| engine.as_str()).collect(),
        on: facts.on.iter().map(|ground| ground.as_str()).collect(),
        round_trips: facts.round_trips,
        writes: facts.writes,
        sentence: facts.sentence,
        stands_for: facts.stands_for,
        gives_up: facts.gives_up(),
    }
}

fn listed(entry: &Entry) -> Listed {
    let is_postgres = entry.engines.contains(&"postgres");
    let trips = match entry.round_trips {
        _ if !is_postgres => "in process".to_owned(),
        Some(trips) => trips.to_string(),
        None => "depends".to_owned(),
    };
    Listed {
        name: entry.name.to_owned(),
        engines: entry.engines.join(", "),
        trips,
        writes: entry.writes.to_owned(),
        sentence: entry.sentence.to_owned(),
        stands_for: entry.stands_for.to_owned(),
        gives_up: entry.gives_up.clone(),
    }
}
