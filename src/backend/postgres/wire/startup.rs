//! From a target to a session that is ready: connection, TLS, authentication.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;

use super::flight::transaction_status;
use super::link::{Link, unsendable};
use super::message::{self, Message};
use super::stream::Stream;
use super::{ServerState, TransactionStatus};
use crate::backend::postgres::PgError;
use crate::backend::postgres::target::{Secret, Target};
use crate::backend::postgres::tls::{self, TlsPolicy};

/// The name under which the server lists this program's sessions.
const APPLICATION_NAME: &str = "preview-cost";

const AUTH_OK: i32 = 0;
const AUTH_CLEARTEXT: i32 = 3;
const AUTH_MD5: i32 = 5;
const AUTH_SASL: i32 = 10;
const AUTH_SASL_CONTINUE: i32 = 11;
const AUTH_SASL_FINAL: i32 = 12;

/// Connects, encrypts, authenticates, and waits until the server is ready.
pub(super) fn start(target: &Target, deadline: Duration) -> Result<(Link, ServerState), PgError> {
    let unreachable = |cause| PgError::Connect {
        address: target.address(),
        cause,
    };
    let policy = TlsPolicy::of(target)?;
    let stream = Stream::connect(target)?;
    stream.set_deadline(target.connect_timeout).map_err(unreachable)?;
    let stream = negotiate_tls(stream, policy, target)?;
    let mut link = Link::new(stream, target.connect_timeout).map_err(unreachable)?;

    send_startup(&mut link, target)?;
    authenticate(&mut link, target)?;
    let server = await_ready(&mut link, target)?;

    link.set_deadline(deadline).map_err(unreachable)?;
    link.forget_traffic();
    Ok((link, server))
}

fn negotiate_tls(mut stream: Stream, policy: TlsPolicy, target: &Target) -> Result<Stream, PgError> {
    let (config, required) = match policy {
        TlsPolicy::Never => return Ok(stream),
        TlsPolicy::IfOffered(config) => (config, false),
        TlsPolicy::Always(config) => (config, true),
    };
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    // Exactly one byte is read: whatever a stranger slipped in after it is left to the TLS handshake, and fails there.
    let mut answer = [0];
    stream
        .write_all(&request)
        .and_then(|()| stream.read_exact(&mut answer))
        .map_err(|cause| PgError::Connect {
            address: target.address(),
            cause,
        })?;
    match answer {
        [b'S'] => stream.encrypt(config, target),
        [b'N'] if required => Err(tls::not_offered(target)),
        [b'N'] => Ok(stream),
        _ => Err(PgError::Protocol(format!(
            "{} does not answer as a PostgreSQL server",
            target.address()
        ))),
    }
}

fn send_startup(link: &mut Link, target: &Target) -> Result<(), PgError> {
    let fixed = [
        ("user", target.user.as_str()),
        ("database", target.dbname.as_str()),
        ("application_name", APPLICATION_NAME),
        ("client_encoding", "UTF8"),
    ];
    let options = target.options.as_deref().map(|options| ("options", options));
    frontend::startup_message(fixed.into_iter().chain(options), link.begin()).map_err(unsendable)?;
    link.expect_ready();
    link.send_part()
}

/// Answers the server's questions until it is content.
fn authenticate(link: &mut Link, target: &Target) -> Result<(), PgError> {
    let mut scram = Scram::Unused;
    loop {
        let message = receive(link, target)?;
        if message.tag != message::AUTHENTICATION {
            continue;
        }
        let (kind, body) = message::int(message.body).ok_or_else(malformed)?;
        let mut answer = BytesMut::new();
        match kind {
            AUTH_OK => return scram.check_finished(target),
            AUTH_CLEARTEXT => {
                frontend::password_message(password(target)?.reveal().as_bytes(), &mut answer).map_err(unsendable)?;
            }
            AUTH_MD5 => {
                let salt = *body.first_chunk::<4>().ok_or_else(malformed)?;
                let hash = md5_hash(target.user.as_bytes(), password(target)?.reveal().as_bytes(), salt);
                frontend::password_message(hash.as_bytes(), &mut answer).map_err(unsendable)?;
            }
            AUTH_SASL => scram.begin(body, target, &mut answer)?,
            AUTH_SASL_CONTINUE => scram.proceed(body, target, &mut answer)?,
            AUTH_SASL_FINAL => {
                scram.finish(body, target)?;
                continue;
            }
            other => return Err(unsupported(target, &format!("method {other}"))),
        }
        link.begin().extend_from_slice(&answer);
        link.send_part()?;
    }
}

/// The client's side of SCRAM-SHA-256, which also proves the server's knowledge of the password.
enum Scram {
    Unused,
    Running(Box<ScramSha256>),
    Proven,
}

impl Scram {
    fn begin(&mut self, mechanisms: &[u8], target: &Target, answer: &mut BytesMut) -> Result<(), PgError> {
        if !mechanisms
            .split(|&byte| byte == 0)
            .any(|name| name == SCRAM_SHA_256.as_bytes())
        {
            return Err(unsupported(target, "a SASL mechanism other than SCRAM-SHA-256"));
        }
        let password = password(target)?.reveal().as_bytes();
        let scram = ScramSha256::new(password, ChannelBinding::unsupported());
        frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), answer).map_err(unsendable)?;
        *self = Self::Running(Box::new(scram));
        Ok(())
    }

    fn proceed(&mut self, body: &[u8], target: &Target, answer: &mut BytesMut) -> Result<(), PgError> {
        let Self::Running(scram) = self else {
            return Err(malformed());
        };
        scram.update(body).map_err(|error| scram_failed(target, &error))?;
        frontend::sasl_response(scram.message(), answer).map_err(unsendable)
    }

    fn finish(&mut self, body: &[u8], target: &Target) -> Result<(), PgError> {
        let Self::Running(scram) = self else {
            return Err(malformed());
        };
        scram.finish(body).map_err(|error| scram_failed(target, &error))?;
        *self = Self::Proven;
        Ok(())
    }

    /// A server that breaks off SCRAM and lets us in has proved nothing.
    fn check_finished(&self, target: &Target) -> Result<(), PgError> {
        match self {
            Self::Unused | Self::Proven => Ok(()),
            Self::Running(_) => Err(PgError::Authentication {
                address: target.address(),
                reason: "the server did not prove that it knows the password; do not trust it".to_owned(),
            }),
        }
    }
}

/// Takes in what follows authentication.
fn await_ready(link: &mut Link, target: &Target) -> Result<ServerState, PgError> {
    let mut server = ServerState {
        parameters: BTreeMap::new(),
        process_id: 0,
        status: TransactionStatus::Idle,
    };
    loop {
        let message = receive(link, target)?;
        match message.tag {
            message::BACKEND_KEY_DATA => {
                server.process_id = message::int(message.body).ok_or_else(malformed)?.0;
            }
            message::READY_FOR_QUERY => {
                server.status = transaction_status(message)?;
                return Ok(server);
            }
            _ => server.absorb(message)?,
        }
    }
}

/// The next message, unless it is the server's refusal. A protocol negotiation needs no answer.
fn receive<'a>(link: &'a mut Link, target: &Target) -> Result<Message<'a>, PgError> {
    let message = link.receive()?;
    match message.tag {
        message::ERROR_RESPONSE => Err(PgError::refused(
            target.address(),
            Box::new(message::server_error(message.body)),
        )),
        _ => Ok(message),
    }
}

fn password(target: &Target) -> Result<&Secret, PgError> {
    target.password.as_ref().ok_or_else(|| PgError::no_password(target))
}

fn unsupported(target: &Target, what: &str) -> PgError {
    PgError::Authentication {
        address: target.address(),
        reason: format!("the server asks for {what}; supported are trust, password, md5 and scram-sha-256"),
    }
}

fn scram_failed(target: &Target, error: &std::io::Error) -> PgError {
    PgError::Authentication {
        address: target.address(),
        reason: format!("SCRAM failed: {error}"),
    }
}

fn malformed() -> PgError {
    PgError::Protocol("the server sent a malformed authentication message".to_owned())
}
