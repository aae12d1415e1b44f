//! Everything about a server that is not measured: set-up, checks and counters, through the `postgres` crate.
//!
//! Whatever this module creates lives in one schema that carries this program's mark as its comment. Nothing without
//! the mark is ever dropped, and nothing is ever dropped with `CASCADE`.

mod facts;
mod failure;
mod model;
mod schema;
mod shape;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use postgres::config::SslMode as ClientSslMode;
use postgres::tls::{MakeTlsConnect, TlsConnect};
use postgres::{Client, Config, NoTls, SimpleQueryMessage, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

pub use model::TableState;

pub(super) use self::failure::{command_error, connect_error};
use super::PgError;
use super::target::{Host, Target};
use super::tls::TlsPolicy;

const APPLICATION_NAME: &str = "preview-cost control";
/// No command here takes long; these end a wait for somebody else's lock, or for a server that hangs.
const LIMITS: &str = "SET lock_timeout = '10s'; SET statement_timeout = '60s'";
/// How long the network may be silent about sent bytes.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(30);
/// `server_version_num` of the oldest supported server.
const OLDEST_SUPPORTED: i32 = 120_000;

/// A session for set-up, checks and counters. It must be idle while something is measured.
pub struct Control {
    client: Client,
    user: String,
}

impl Control {
    /// Connects under the same TLS rules as the measured session.
    ///
    /// # Errors
    ///
    /// [`PgError::Connect`], [`PgError::Tls`], [`PgError::Authentication`], [`PgError::Refused`] or
    /// [`PgError::Timeout`].
    pub fn connect(target: &Target) -> Result<Self, PgError> {
        let mut config: Config = client_config(target).into();
        let client = match TlsPolicy::of(target)? {
            TlsPolicy::Never => connect_within(target, config.ssl_mode(ClientSslMode::Disable), NoTls),
            TlsPolicy::IfOffered(tls) => {
                let tls = MakeRustlsConnect::new((*tls).clone());
                connect_within(target, config.ssl_mode(ClientSslMode::Prefer), tls)
            }
            TlsPolicy::Always(tls) => {
                let tls = MakeRustlsConnect::new((*tls).clone());
                connect_within(target, config.ssl_mode(ClientSslMode::Require), tls)
            }
        }?;
        let mut control = Self {
            client,
            user: target.user.clone(),
        };
        control.run(LIMITS)?;
        Ok(control)
    }

    /// Checks that the server is one that can be measured: PostgreSQL 12 or newer, and taking writes.
    ///
    /// # Errors
    ///
    /// [`PgError::TooOld`] or [`PgError::ReadOnly`], or any error of the connection.
    pub fn require_supported(&mut self) -> Result<(), PgError> {
        let sql = "SELECT current_setting('server_version_num')::int4, pg_catalog.pg_is_in_recovery(), \
                   current_setting('transaction_read_only')::bool";
        let row = self.client.query_one(sql, &[]).map_err(|error| command_error(&error))?;
        let found: i32 = row.get(0);
        if found < OLDEST_SUPPORTED {
            return Err(PgError::TooOld { found });
        }
        if row.get(1) {
            return Err(PgError::ReadOnly {
                reason: "it is a standby in recovery",
            });
        }
        if row.get(2) {
            return Err(PgError::ReadOnly {
                reason: "its transactions are read-only by default",
            });
        }
        Ok(())
    }

    /// The server's major version.
    ///
    /// # Errors
    /// Any error of the connection.
    pub fn major_version(&mut self) -> Result<u32, PgError> {
        let sql = "SELECT current_setting('server_version_num')::int4 / 10000";
        let row = self.client.query_one(sql, &[]).map_err(|error| command_error(&error))?;
        Ok(row.get::<_, i32>(0).unsigned_abs())
    }

    /// The session's role, where it may make no databases.
    ///
    /// # Errors
    /// Any error of the connection.
    pub fn role_without_createdb(&mut self) -> Result<Option<String>, PgError> {
        let sql = "SELECT rolname::text FROM pg_catalog.pg_roles \
                   WHERE rolname = current_user AND NOT rolcreatedb AND NOT rolsuper";
        let row = self.client.query_opt(sql, &[]).map_err(|error| command_error(&error))?;
        Ok(row.map(|row| row.get(0)))
    }

    /// Ends the session and waits until the client has said goodbye.
    pub fn close(self) {
        // A connection that is gone is as good as closed.
        let _ = self.client.close();
    }

    /// Runs statements without parameters, and drops their rows.
    fn run(&mut self, sql: &str) -> Result<(), PgError> {
        self.client.batch_execute(sql).map_err(|error| command_error(&error))
    }

    /// The rows of a query without parameters, as the text of their columns.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, PgError> {
        let messages = self.client.simple_query(sql).map_err(|error| command_error(&error))?;
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|index| row.get(index).map(str::to_owned)).collect())
            }
            _ => None,
        };
        Ok(messages.into_iter().filter_map(row).collect())
    }
}

/// The client's own time limit ends when the socket is open, and a server that is silent from then on would hold it for
/// ever. The thread that waits for such a server is left behind; it sleeps until the process ends.
fn connect_within<T>(target: &Target, config: &Config, tls: T) -> Result<Client, PgError>
where
    T: MakeTlsConnect<Socket> + Send + 'static,
    T::TlsConnect: Send,
    T::Stream: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    let (sender, connected) = mpsc::channel();
    let config = config.clone();
    thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = sender.send(config.connect(tls));
    });
    match connected.recv_timeout(target.connect_timeout) {
        Ok(client) => client.map_err(|error| connect_error(target, &error)),
        Err(_) => Err(PgError::Timeout {
            after: target.connect_timeout,
        }),
    }
}

pub(super) fn client_config(target: &Target) -> tokio_postgres::Config {
    let mut config = tokio_postgres::Config::new();
    match &target.host {
        Host::Name(name) => config.host(name),
        Host::Socket(directory) => config.host_path(directory),
    };
    config
        .port(target.port)
        .user(&target.user)
        .dbname(&target.dbname)
        .application_name(APPLICATION_NAME)
        .connect_timeout(target.connect_timeout)
        .tcp_user_timeout(NETWORK_TIMEOUT);
    if let Some(password) = &target.password {
        config.password(password.reveal());
    }
    if let Some(options) = &target.options {
        config.options(options);
    }
    config
}

/// A name as SQL may use it, whatever is in it.
///
/// # Errors
///
/// [`PgError::Name`] for a name that the server would cut short, so that two names could meet, or could not take.
fn quoted(name: &str) -> Result<String, PgError> {
    if name.is_empty() || name.len() > 63 || name.contains('\0') {
        return Err(PgError::Name { name: name.to_owned() });
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_or_refused() {
        assert_eq!(quoted("preview_cost").unwrap(), "\"preview_cost\"");
        assert_eq!(quoted("a\"; DROP SCHEMA b").unwrap(), "\"a\"\"; DROP SCHEMA b\"");
        for name in ["", "a\0b", &"x".repeat(64)] {
            assert!(matches!(quoted(name), Err(PgError::Name { .. })), "{name:?}");
        }
    }
}
