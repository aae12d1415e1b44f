//! What the server says about itself, each fact with its status.

use super::Control;
use crate::backend::postgres::PgError;
use crate::environment::{Fact, FactStatus};

const SCOPE: &str = "server";

/// Facts that are one value each: key, unit, query.
const PROBES: &[(&str, Option<&str>, &str)] = &[
    ("version", None, "SELECT pg_catalog.version()"),
    ("server_version_num", None, "SHOW server_version_num"),
    ("data_checksums", None, "SHOW data_checksums"),
    ("is_superuser", None, "SHOW is_superuser"),
    ("encoding", None, "SHOW server_encoding"),
    (
        "collation",
        None,
        "SELECT datcollate FROM pg_catalog.pg_database WHERE datname = current_database()",
    ),
    (
        "character_type",
        None,
        "SELECT datctype FROM pg_catalog.pg_database WHERE datname = current_database()",
    ),
    ("in_recovery", None, "SELECT pg_catalog.pg_is_in_recovery()"),
    (
        "uptime",
        Some("s"),
        "SELECT floor(extract(epoch FROM now() - pg_catalog.pg_postmaster_start_time()))::int8",
    ),
];

/// Everything that somebody set. What the control session set for itself is not the server's.
const SETTINGS: &str = "SELECT name, setting, unit, source FROM pg_catalog.pg_settings \
                        WHERE source NOT IN ('default', 'session') ORDER BY name COLLATE \"C\"";

const SEES_ALL_SETTINGS: &str = "SELECT pg_catalog.pg_has_role('pg_read_all_settings', 'USAGE')";

impl Control {
    /// Facts about the server in scope `server`: version, checksums, encoding, the session's privileges, uptime, and
    /// every setting that differs from its default as `setting.<name>`, with the place where it was set in `source`.
    /// Settings that may hold a secret or a path are masked.
    ///
    /// # Errors
    ///
    /// Only errors of the connection: what the server does not tell is a fact with the status denied or absent.
    pub fn server_facts(&mut self) -> Result<Vec<Fact>, PgError> {
        let mut facts = Vec::new();
        for &(key, unit, sql) in PROBES {
            facts.push(self.probe(key, unit, sql)?);
        }
        match self.rows(SETTINGS) {
            Ok(rows) => facts.extend(rows.into_iter().filter_map(setting)),
            Err(error) => facts.push(Fact::unknown(SCOPE, "settings", unknown_status(error)?, "pg_settings")),
        }
        let all = self.probe("settings.complete", None, SEES_ALL_SETTINGS)?;
        if all.value.as_deref() != Some("t") {
            // Such settings are not rows without a value: they are missing from the view.
            facts.push(Fact::unknown(
                SCOPE,
                "settings.superuser_only",
                FactStatus::Denied,
                "pg_settings",
            ));
        }
        Ok(facts)
    }

    fn probe(&mut self, key: &str, unit: Option<&str>, sql: &str) -> Result<Fact, PgError> {
        let value = match self.rows(sql) {
            Ok(rows) => rows.into_iter().flatten().next().flatten(),
            Err(error) => return Ok(Fact::unknown(SCOPE, key, unknown_status(error)?, sql)),
        };
        let fact = value.map_or_else(
            || Fact::unknown(SCOPE, key, FactStatus::Absent, sql),
            |value| Fact::known(SCOPE, key, value, sql),
        );
        Ok(match unit {
            Some(unit) => fact.in_unit(unit),
            None => fact,
        })
    }
}

fn unknown_status(error: PgError) -> Result<FactStatus, PgError> {
    match error {
        PgError::Server(server) if server.code == "42501" => Ok(FactStatus::Denied),
        PgError::Server(_) => Ok(FactStatus::Absent),
        other => Err(other),
    }
}

fn setting(row: Vec<Option<String>>) -> Option<Fact> {
    let [name, value, unit, source] = row.try_into().ok()?;
    let name = name?;
    let key = format!("setting.{name}");
    let source = format!("pg_settings: {}", source.unwrap_or_default());
    let fact = match value {
        _ if may_hold_a_secret(&name) => Fact::unknown(SCOPE, &key, FactStatus::Masked, &source),
        Some(value) => Fact::known(SCOPE, &key, value, &source),
        None => Fact::unknown(SCOPE, &key, FactStatus::Absent, &source),
    };
    Some(match unit {
        Some(unit) => fact.in_unit(&unit),
        None => fact,
    })
}

/// Whether a setting's value may be a secret, or a path, which tells more than a figure needs.
fn may_hold_a_secret(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "command",
        "conninfo",
        "passphrase",
        "password",
        "secret",
        "token",
        "key",
        "file",
        "director",
        "path",
    ];
    // They hold one of the words, but neither a secret nor a path.
    const HARMLESS: [&str; 4] = [
        "password_encryption",
        "search_path",
        "max_files_per_process",
        "log_file_mode",
    ];
    let named = PARTS.iter().any(|part| name.contains(part)) && !HARMLESS.contains(&name);
    named || name == "ssl_crl_dir"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_paths_are_masked_and_figures_are_not() {
        for name in [
            "ssl_passphrase_command",
            "primary_conninfo",
            "archive_command",
            "data_directory",
            "hba_file",
            "ssl_key_file",
            "unix_socket_directories",
            "ssl_crl_dir",
            "vault.token",
            "dynamic_library_path",
        ] {
            assert!(may_hold_a_secret(name), "{name}");
        }
        for name in [
            "fsync",
            "shared_buffers",
            "synchronous_commit",
            "search_path",
            "password_encryption",
            "max_files_per_process",
        ] {
            assert!(!may_hold_a_secret(name), "{name}");
        }
    }

    #[test]
    fn a_setting_keeps_its_unit_and_says_where_it_was_set() {
        let row = ["shared_buffers", "16384", "8kB", "configuration file"].map(|text| Some(text.to_owned()));
        let fact = setting(row.to_vec()).unwrap();
        assert_eq!(
            (fact.key.as_str(), fact.value.as_deref()),
            ("setting.shared_buffers", Some("16384"))
        );
        assert_eq!(
            (fact.unit.as_deref(), fact.source.as_str()),
            (Some("8kB"), "pg_settings: configuration file")
        );
    }

    #[test]
    fn a_masked_setting_has_no_value() {
        let row = ["primary_conninfo", "password=hunter2", "", "configuration file"].map(|text| Some(text.to_owned()));
        let fact = setting(row.to_vec()).unwrap();
        assert_eq!((fact.status, fact.value), (FactStatus::Masked, None));
    }
}
