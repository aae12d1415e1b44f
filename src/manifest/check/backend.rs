//! The table `[backend]`: which keys belong together, and no password in any of them.

use super::Checked;
use super::values::{named, one_of, required};
use crate::backend::postgres::Target;
use crate::manifest::wire::{At, BackendWire, Reader};
use crate::manifest::{Backend, JournalMode, Server, Synchronous, UrlTemplate};

pub(super) fn backend(wire: BackendWire, reader: &mut Reader<'_>) -> Checked<Backend> {
    wire.span.as_ref()?;
    let engine = required(wire.engine.clone(), "backend.engine", wire.span.as_ref(), reader)?;
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
    let journal = required(wire.journal_mode, "backend.journal_mode", wire.span.as_ref(), reader)?;
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
            required::<String>(None, "backend.provision", wire.span.as_ref(), reader);
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
            image: image(
                required(wire.image, "backend.image", wire.span.as_ref(), reader)?,
                reader,
            )?,
        },
        _ => Server::Url(url(
            &required(wire.url, "backend.url", wire.span.as_ref(), reader)?,
            reader,
        )?),
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

/// A manifest is archived verbatim, so it may not hold a password, in whatever way it is written.
fn url(url: &At<String>, reader: &mut Reader<'_>) -> Checked<UrlTemplate> {
    let fault = if only_variables(&url.value) {
        None
    } else {
        match Target::passwords_in(&url.value) {
            Ok(passwords) if passwords.iter().all(|password| only_variables(password)) => None,
            Ok(_) => Some(
                "holds a password, and manifests are archived; put it into an environment variable and write ${NAME} \
                 in its place"
                    .to_owned(),
            ),
            // A password with a stray character in it may be what is malformed.
            Err(error) => Some(format!("is refused: {error}")),
        }
    };
    match fault {
        Some(message) => {
            reader.fault(&url.span, "backend.url", message);
            None
        }
        None => Some(UrlTemplate::new(&url.value)),
    }
}

/// Whether a text is nothing but `${NAME}`, once, several times or not at all.
fn only_variables(text: &str) -> bool {
    let mut rest = text;
    while let Some((name, tail)) = rest.strip_prefix("${").and_then(|after| after.split_once('}')) {
        if name.is_empty() {
            return false;
        }
        rest = tail;
    }
    rest.is_empty()
}

fn refuse<T>(value: Option<&At<T>>, key: &str, why: &str, reader: &mut Reader<'_>) {
    if let Some(value) = value {
        reader.fault(&value.span, &format!("backend.{key}"), why);
    }
}
