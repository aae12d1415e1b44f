//! The schema that a run creates, marks as its own, and removes.

use super::failure::command_error;
use super::{Control, quoted, shape};
use crate::backend::postgres::{PgError, ServerError, template};

/// The comment by which a schema of ours is known.
const MARK: &str = "made by preview-cost; it is removed when its run ends";

const INSUFFICIENT_PRIVILEGE: &str = "42501";
const DUPLICATE_SCHEMA: &str = "42P06";
const DEPENDENT_OBJECTS: &str = "2BP01";

impl Control {
    /// Creates a schema and marks it as this program's.
    ///
    /// # Errors
    ///
    /// [`PgError::SchemaTaken`] if the name is in use, whoever used it; [`PgError::Privilege`], [`PgError::Name`],
    /// [`PgError::Server`] (e.g. for a reserved name), or any error of the connection. Nothing has been changed then.
    pub fn create_schema(&mut self, name: &str) -> Result<(), PgError> {
        let schema = quoted(name)?;
        // One message is one transaction: a schema without the mark is never left behind.
        let created = self.run(&format!(
            "CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS '{MARK}'"
        ));
        created.map_err(|error| match error {
            PgError::Server(server) if server.code == DUPLICATE_SCHEMA => PgError::SchemaTaken {
                schema: name.to_owned(),
            },
            PgError::Server(server) if server.code == INSUFFICIENT_PRIVILEGE => PgError::Privilege {
                role: self.user.clone(),
                action: "create a schema in this database (GRANT CREATE ON DATABASE would allow it)",
                server,
            },
            other => other,
        })
    }

    /// Removes a schema that [`create_schema`](Self::create_schema) made, and the model in it. One that is gone
    /// already is no error.
    ///
    /// # Errors
    ///
    /// [`PgError::SchemaNotEmpty`] if something else lives in it: that, and with it the schema, is left in place.
    /// [`PgError::SchemaForeign`] if it is not ours; or any error of the connection.
    pub fn drop_schema(&mut self, name: &str) -> Result<(), PgError> {
        let schema = quoted(name)?;
        if !self.schema_exists(name)? {
            return Ok(());
        }
        self.require_own_schema(name)?;
        self.run(&shape::drop(&schema))
            .map_err(|error| left_in_place(name, error))?;
        self.run(&format!("DROP SCHEMA {schema}"))
            .map_err(|error| left_in_place(name, error))
    }

    /// Removes a database that [`Template`](crate::backend::postgres::Template) made, and ends sessions in it. One that
    /// is gone already is no error.
    ///
    /// # Errors
    ///
    /// [`PgError::Name`] for a name that no such database has; what the server says; or any error of the connection.
    pub fn drop_database(&mut self, name: &str) -> Result<(), PgError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(template::PREFIX) || !name.chars().all(plain) {
            return Err(PgError::Name { name: name.to_owned() });
        }
        // Those in it, and those that are still making it for a client that is gone.
        let sessions = format!(
            "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
             WHERE pid <> pg_catalog.pg_backend_pid() \
             AND (datname = '{name}' OR state = 'active' AND query LIKE 'CREATE DATABASE %{name}%')"
        );
        self.run(&sessions)?;
        self.run(&format!("DROP DATABASE IF EXISTS {name}"))
    }

    fn schema_exists(&mut self, name: &str) -> Result<bool, PgError> {
        let sql = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
        Ok(self
            .client
            .query_opt(sql, &[&name])
            .map_err(|error| command_error(&error))?
            .is_some())
    }

    /// Checks the mark before anything in a schema is touched.
    pub(super) fn require_own_schema(&mut self, name: &str) -> Result<(), PgError> {
        let sql = "SELECT 1 FROM pg_catalog.pg_namespace \
                   WHERE nspname = $1 AND pg_catalog.obj_description(oid, 'pg_namespace') = $2";
        match self
            .client
            .query_opt(sql, &[&name, &MARK])
            .map_err(|error| command_error(&error))?
        {
            Some(_) => Ok(()),
            None => Err(PgError::SchemaForeign {
                schema: name.to_owned(),
            }),
        }
    }
}

fn left_in_place(schema: &str, error: PgError) -> PgError {
    match error {
        PgError::Server(server) if server.code == DEPENDENT_OBJECTS => {
            let ServerError { message, detail, .. } = *server;
            PgError::SchemaNotEmpty {
                schema: schema.to_owned(),
                detail: detail.unwrap_or(message).replace('\n', "; "),
            }
        }
        other => other,
    }
}
