//! The tables `[backend]` and `[[backends]]`: which keys belong together, and no password in any of them.

use std::ops::Range;

use super::values::{named, one_of, required};
use super::{Checked, is_short_name};
use crate::backend::postgres::Target;
use crate::manifest::wire::{At, BackendWire, Reader};
use crate::manifest::{Backend, JournalMode, NamedBackend, Server, Socket, Storage, Synchronous, UrlTemplate};

/// The tables' backends: `[backend]` alone, or each of `[[backends]]` with a name of its own.
pub(super) fn backends(
    one: &BackendWire,
    several: Option<At<Vec<BackendWire>>>,
    reader: &mut Reader<'_>,
) -> Checked<Vec<NamedBackend>> {
    let Some(several) = several else {
        if one.span.is_none() {
            let message = "is missing; add a table `[backend]` with `engine = \"sqlite\"`";
            reader.fault(&(0..0), "backend", message);
            return None;
        }
        refuse(one, one.name.as_ref(), "name", "belongs to `[[backends]]`", reader);
        let backend = backend(one, reader)?;
        return Some(vec![NamedBackend { name: None, backend }]);
    };
    if let Some(span) = &one.span {
        let message = "stands beside `[[backends]]`; make it one of them";
        reader.fault(span, "backend", message);
        return None;
    }
    if several.value.is_empty() {
        reader.fault(&several.span, "backends", "must hold at least one table");
        return None;
    }
    let checked: Vec<Checked<NamedBackend>> = several
        .value
        .into_iter()
        .map(|wire| named_backend(&wire, reader))
        .collect();
    let backends: Vec<NamedBackend> = checked.into_iter().collect::<Checked<_>>()?;
    distinct(&backends, &several.span, reader)?;
    Some(backends)
}

fn named_backend(wire: &BackendWire, reader: &mut Reader<'_>) -> Checked<NamedBackend> {
    let name = required(wire.name.clone(), &wire.key("name"), wire.span.as_ref(), reader);
    let name = name.and_then(|name| {
        let fits = is_short_name(&name.value);
        if !fits {
            let message = "must be 1 to 64 lower-case letters, digits and hyphens, e.g. \"memory\"";
            reader.fault(&name.span, &wire.key("name"), message);
        }
        fits.then_some(name.value)
    });
    let backend = backend(wire, reader);
    Some(NamedBackend {
        name: Some(name?),
        backend: backend?,
    })
}

/// Names are what cells are told apart by; and what is left on somebody else's server is removed from one of them.
fn distinct(backends: &[NamedBackend], span: &Range<usize>, reader: &mut Reader<'_>) -> Checked<()> {
    for (place, named) in backends.iter().enumerate() {
        if backends[..place].iter().any(|other| other.name == named.name) {
            let message = format!("names {:?} twice", named.name.as_deref().unwrap_or_default());
            reader.fault(span, "backends", message);
            return None;
        }
    }
    let is_guest = |named: &&NamedBackend| {
        matches!(
            named.backend,
            Backend::Postgres {
                server: Server::Url(_),
                ..
            }
        )
    };
    if backends.iter().filter(is_guest).count() > 1 {
        let message = "hold two with `provision = \"url\"`, and a run is the guest of one server at most";
        reader.fault(span, "backends", message);
        return None;
    }
    Some(())
}

fn backend(wire: &BackendWire, reader: &mut Reader<'_>) -> Checked<Backend> {
    let key = wire.key("engine");
    let engine = required(wire.engine.clone(), &key, wire.span.as_ref(), reader)?;
    match one_of(&engine, &key, &["sqlite", "postgres", "h2"], reader)? {
        "sqlite" => sqlite(wire, reader),
        "postgres" => postgres(wire, reader),
        _ => h2(wire, reader),
    }
}

fn h2(wire: &BackendWire, reader: &mut Reader<'_>) -> Checked<Backend> {
    let before = reader.faults.len();
    refuse_sqlites(wire, reader);
    refuse_postgres(wire, reader);
    let why = "is not a choice: H2 is reached over TCP, through its server for PostgreSQL's protocol";
    refuse(wire, wire.socket.as_ref(), "socket", why, reader);
    (reader.faults.len() == before).then_some(Backend::H2)
}

fn sqlite(wire: &BackendWire, reader: &mut Reader<'_>) -> Checked<Backend> {
    refuse_postgres(wire, reader);
    let socket = match &wire.socket {
        Some(word) => Some(named(word, &wire.key("socket"), &Socket::ALL, Socket::as_str, reader)?),
        None => None,
    };
    let storage = match &wire.storage {
        Some(storage) => one_of(storage, &wire.key("storage"), &["memory", "file"], reader)?,
        None => "memory",
    };
    if storage == "memory" {
        let only = "belongs to `storage = \"file\"`";
        refuse(wire, wire.journal_mode.as_ref(), "journal_mode", only, reader);
        refuse(wire, wire.synchronous.as_ref(), "synchronous", only, reader);
        let storage = Storage::Memory;
        return Some(Backend::Sqlite { storage, socket });
    }
    let key = wire.key("journal_mode");
    let journal = required(wire.journal_mode.clone(), &key, wire.span.as_ref(), reader)?;
    let journal_mode = named(&journal, &key, &JournalMode::ALL, JournalMode::as_str, reader);
    let synchronous = match &wire.synchronous {
        Some(level) => named(
            level,
            &wire.key("synchronous"),
            &Synchronous::ALL,
            Synchronous::as_str,
            reader,
        ),
        None => Some(Synchronous::Full),
    };
    let (journal_mode, synchronous) = (journal_mode?, synchronous?);
    if journal_mode == JournalMode::Off {
        let message = "is \"off\", and without a journal SQLite cannot roll back; choose another mode";
        reader.fault(&journal.span, &key, message);
        return None;
    }
    let storage = Storage::File {
        journal_mode,
        synchronous,
    };
    Some(Backend::Sqlite { storage, socket })
}

fn postgres(wire: &BackendWire, reader: &mut Reader<'_>) -> Checked<Backend> {
    refuse_sqlites(wire, reader);
    let schema = match &wire.schema {
        Some(schema) => Some(schema_name(schema, &wire.key("schema"), reader)?),
        None => None,
    };
    let key = wire.key("provision");
    let provision = match (&wire.provision, &wire.url) {
        (Some(provision), _) => one_of(provision, &key, &["ephemeral", "container", "url"], reader)?,
        (None, Some(_)) => "url",
        (None, None) => {
            required::<String>(None, &key, wire.span.as_ref(), reader);
            return None;
        }
    };
    let socket = match &wire.socket {
        Some(word) => named(word, &wire.key("socket"), &Socket::ALL, Socket::as_str, reader)?,
        None => Socket::Tcp,
    };
    if provision != "ephemeral" {
        let only = "belongs to `provision = \"ephemeral\"`";
        refuse(wire, wire.settings.as_ref(), "settings", only, reader);
        refuse(wire, wire.socket.as_ref(), "socket", only, reader);
    }
    if provision != "container" {
        let only = "belongs to `provision = \"container\"`";
        refuse(wire, wire.image.as_ref(), "image", only, reader);
    }
    if provision != "url" {
        refuse(
            wire,
            wire.url.as_ref(),
            "url",
            "belongs to `provision = \"url\"`",
            reader,
        );
    }
    let server = server(wire, provision, reader)?;
    Some(Backend::Postgres { server, schema, socket })
}

fn server(wire: &BackendWire, provision: &str, reader: &mut Reader<'_>) -> Checked<Server> {
    match provision {
        "ephemeral" => {
            let settings = wire.settings.as_ref().map(|settings| settings.value.clone());
            let settings = settings.unwrap_or_default().into_iter();
            Some(Server::Ephemeral {
                settings: settings.map(|(name, value)| (name, value.value)).collect(),
            })
        }
        "container" => {
            let key = wire.key("image");
            let named = required(wire.image.clone(), &key, wire.span.as_ref(), reader)?;
            image(named, &key, reader).map(|image| Server::Container { image })
        }
        _ => {
            let key = wire.key("url");
            let given = required(wire.url.clone(), &key, wire.span.as_ref(), reader)?;
            url(&given, &key, reader).map(Server::Url)
        }
    }
}

/// Keys that only SQLite knows.
fn refuse_sqlites(wire: &BackendWire, reader: &mut Reader<'_>) {
    for (key, value) in [
        ("storage", &wire.storage),
        ("journal_mode", &wire.journal_mode),
        ("synchronous", &wire.synchronous),
    ] {
        refuse(wire, value.as_ref(), key, "belongs to `engine = \"sqlite\"`", reader);
    }
}

/// Keys that only PostgreSQL knows.
fn refuse_postgres(wire: &BackendWire, reader: &mut Reader<'_>) {
    let foreign = "belongs to `engine = \"postgres\"`";
    for (key, value) in [
        ("provision", &wire.provision),
        ("image", &wire.image),
        ("url", &wire.url),
        ("schema", &wire.schema),
    ] {
        refuse(wire, value.as_ref(), key, foreign, reader);
    }
    refuse(wire, wire.settings.as_ref(), "settings", foreign, reader);
}

fn image(image: At<String>, key: &str, reader: &mut Reader<'_>) -> Checked<String> {
    let fits = !image.value.is_empty()
        && !image.value.starts_with('-')
        && image
            .value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-/:@".contains(c));
    if !fits {
        reader.fault(&image.span, key, "must be an image reference, e.g. \"postgres:16\"");
        return None;
    }
    Some(image.value)
}

fn schema_name(schema: &At<String>, key: &str, reader: &mut Reader<'_>) -> Checked<String> {
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
        reader.fault(&schema.span, key, message);
        return None;
    }
    Some(schema.value.clone())
}

/// A manifest is archived verbatim, so it may not hold a password, in whatever way it is written.
fn url(url: &At<String>, key: &str, reader: &mut Reader<'_>) -> Checked<UrlTemplate> {
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
            reader.fault(&url.span, key, message);
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

fn refuse<T>(wire: &BackendWire, value: Option<&At<T>>, key: &str, why: &str, reader: &mut Reader<'_>) {
    if let Some(value) = value {
        reader.fault(&value.span, &wire.key(key), why);
    }
}

impl BackendWire {
    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }
}
