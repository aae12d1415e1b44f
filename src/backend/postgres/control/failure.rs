//! Errors of the `postgres` crate in this program's words.

use std::error::Error as _;
use std::io;

use postgres::error::DbError;

use crate::backend::postgres::target::Target;
use crate::backend::postgres::{PgError, ServerError, tls};

/// An error that came while connecting.
pub(in crate::backend::postgres) fn connect_error(target: &Target, error: &postgres::Error) -> PgError {
    let address = target.address();
    if let Some(server) = error.as_db_error() {
        return PgError::refused(address, Box::new(server_error(server)));
    }
    let source = error.source();
    if let Some(cause) = source.and_then(|source| source.downcast_ref::<io::Error>()) {
        return match cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(handshake) => PgError::Tls {
                address,
                reason: tls::explain(handshake),
            },
            None => PgError::Connect {
                address,
                cause: copy_of(cause),
            },
        };
    }
    // The crate keeps its error kinds to itself; its words are all there is to tell them apart.
    let said = source.map_or_else(|| error.to_string(), ToString::to_string);
    match error.to_string().as_str() {
        "error performing TLS handshake" if said == "server does not support TLS" => tls::not_offered(target),
        "error performing TLS handshake" => PgError::Tls { address, reason: said },
        "timeout waiting for server" => PgError::Timeout {
            after: target.connect_timeout,
        },
        "connection closed" => PgError::Connect {
            address,
            cause: io::ErrorKind::ConnectionAborted.into(),
        },
        "invalid configuration" if said == "password missing" => PgError::no_password(target),
        _ => PgError::Authentication { address, reason: said },
    }
}

/// An error that came from a command.
pub(in crate::backend::postgres) fn command_error(error: &postgres::Error) -> PgError {
    if let Some(server) = error.as_db_error() {
        let server = Box::new(server_error(server));
        // 57P01 to 57P03: an administrator, a crash or a shutdown ended the session.
        return if server.code.starts_with("57P") {
            PgError::Lost {
                cause: io::ErrorKind::ConnectionAborted.into(),
                server: Some(server),
            }
        } else {
            PgError::Server(server)
        };
    }
    if let Some(cause) = error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        return PgError::Lost {
            cause: copy_of(cause),
            server: None,
        };
    }
    if error.is_closed() {
        return PgError::Lost {
            cause: io::ErrorKind::ConnectionAborted.into(),
            server: None,
        };
    }
    let source = error.source().map_or_else(String::new, |source| format!(": {source}"));
    PgError::Protocol(format!("{error}{source}"))
}

fn server_error(error: &DbError) -> ServerError {
    ServerError {
        severity: error.severity().to_owned(),
        code: error.code().code().to_owned(),
        message: error.message().to_owned(),
        detail: error.detail().map(str::to_owned),
        hint: error.hint().map(str::to_owned),
        completed: 0,
    }
}

fn copy_of(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(
        || io::Error::new(error.kind(), error.to_string()),
        io::Error::from_raw_os_error,
    )
}
