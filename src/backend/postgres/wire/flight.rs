//! Flights: what a strategy sends in one write and awaits in one go.

use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend::{self, BindError};

use super::link::unsendable;
use super::message::{self, Message};
use super::row::Row;
use super::{ServerState, TransactionStatus, WireSession};
use crate::backend::postgres::{PgError, ServerError};

/// The format code for binary values.
const BINARY: i16 = 1;

/// The type of a parameter, given when a statement is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamType {
    /// `bigint`.
    Int8,
    /// `text`; also for comparing with `varchar`.
    Text,
    /// `double precision`.
    Float8,
    /// `bigint[]`.
    Int8Array,
    /// `text[]`.
    TextArray,
    /// `double precision[]`.
    Float8Array,
}

impl ParamType {
    /// The type's object identifier, the same on every server.
    pub fn oid(self) -> u32 {
        match self {
            Self::Int8 => 20,
            Self::Text => 25,
            Self::Float8 => 701,
            Self::Int8Array => 1016,
            Self::TextArray => 1009,
            Self::Float8Array => 1022,
        }
    }
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Param<'a> {
    /// For [`ParamType::Int8`].
    Int8(i64),
    /// For [`ParamType::Text`]. No zero byte may be in it; the server refuses one.
    Text(&'a str),
    /// For [`ParamType::Float8`], sent bit for bit.
    Float8(f64),
    /// For [`ParamType::Int8Array`].
    Int8Array(&'a [i64]),
    /// For [`ParamType::TextArray`].
    TextArray(&'a [&'a str]),
    /// For [`ParamType::Float8Array`], each sent bit for bit.
    Float8Array(&'a [f64]),
    /// For any type.
    Null,
}

/// A prepared statement of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    index: usize,
}

impl Statement {
    pub(super) fn new(index: usize) -> Self {
        Self { index }
    }
}

/// What a landed flight did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Landing {
    /// Commands that the server completed.
    pub commands: u32,
    /// Rows inserted, updated, deleted or merged, by the server's own count.
    pub rows_affected: u64,
    /// Rows received.
    pub rows_returned: u64,
}

/// Prepared commands that will leave together. Dropping it sends nothing.
#[must_use = "a flight that is not landed is never sent"]
#[derive(Debug)]
pub struct Flight<'s> {
    session: &'s mut WireSession,
}

impl<'s> Flight<'s> {
    pub(super) fn new(session: &'s mut WireSession) -> Self {
        session.link.begin();
        Self { session }
    }

    /// Adds one execution of `statement` (Bind and Execute), which returns all its rows.
    ///
    /// # Errors
    ///
    /// [`PgError::Protocol`] if the statement is of another session or takes another number of parameters. The flight
    /// is then of no more use; drop it.
    pub fn execute(&mut self, statement: Statement, parameters: &[Param<'_>]) -> Result<(), PgError> {
        let WireSession { link, statements, .. } = &mut *self.session;
        let prepared = statements
            .get(statement.index)
            .ok_or_else(|| PgError::Protocol("a statement was prepared in another session".to_owned()))?;
        if prepared.parameters != parameters.len() {
            let (takes, given) = (prepared.parameters, parameters.len());
            return Err(PgError::Protocol(format!(
                "a statement takes {takes} parameters and was given {given}"
            )));
        }
        let out = link.out();
        let write = |parameter: &Param<'_>, out: &mut BytesMut| {
            match *parameter {
                Param::Int8(value) => out.put_i64(value),
                Param::Text(value) => out.put_slice(value.as_bytes()),
                Param::Float8(value) => out.put_f64(value),
                Param::Int8Array(values) => array(out, ParamType::Int8, values, 8, |out, value| out.put_i64(*value)),
                Param::TextArray(values) => {
                    array_header(out, ParamType::Text, values.len());
                    for value in values {
                        out.put_i32(value.len() as i32);
                        out.put_slice(value.as_bytes());
                    }
                }
                Param::Float8Array(values) => {
                    array(out, ParamType::Float8, values, 8, |out, value| out.put_f64(*value));
                }
                Param::Null => return Ok(IsNull::Yes),
            }
            Ok(IsNull::No)
        };
        frontend::bind("", &prepared.name, [BINARY], parameters, write, [BINARY], out).map_err(unbindable)?;
        frontend::execute("", 0, out).map_err(unsendable)
    }

    /// Sends everything with one Sync in one write, and reads the answer to its end. Each row goes to `on_row`, in
    /// order. After an error, of the server or of `on_row`, the rest of the answer is still read, so that the session
    /// stays usable; the first error is returned.
    ///
    /// # Errors
    ///
    /// [`PgError::Server`], which says how many commands had completed; what `on_row` returned; or any error of the
    /// connection.
    pub fn land<F>(self, on_row: F) -> Result<Landing, PgError>
    where
        F: FnMut(Row<'_>) -> Result<(), PgError>,
    {
        self.session.link.send_with_sync()?;
        self.session.land_answer(on_row)
    }
}

/// An array of one dimension whose elements all have `width` bytes.
fn array<T>(out: &mut BytesMut, of: ParamType, values: &[T], width: i32, put: impl Fn(&mut BytesMut, &T)) {
    array_header(out, of, values.len());
    for value in values {
        out.put_i32(width);
        put(out, value);
    }
}

/// One dimension, no nulls, the element's type, how many, counted from 1.
fn array_header(out: &mut BytesMut, of: ParamType, length: usize) {
    out.put_i32(1);
    out.put_i32(0);
    out.put_u32(of.oid());
    out.put_i32(length as i32);
    out.put_i32(1);
}

fn unbindable(error: BindError) -> PgError {
    match error {
        BindError::Conversion(error) => PgError::Protocol(format!("a parameter cannot be sent: {error}")),
        BindError::Serialization(error) => unsendable(error),
    }
}

impl WireSession {
    /// Reads one answer up to and including its `ReadyForQuery`.
    pub(super) fn land_answer<F>(&mut self, mut on_row: F) -> Result<Landing, PgError>
    where
        F: FnMut(Row<'_>) -> Result<(), PgError>,
    {
        let mut landing = Landing::default();
        let mut failure = None;
        loop {
            let message = self.link.receive()?;
            match message.tag {
                message::DATA_ROW => {
                    landing.rows_returned += 1;
                    if failure.is_none() {
                        failure = self
                            .columns
                            .row(message.body, landing.commands)
                            .and_then(&mut on_row)
                            .err();
                    }
                }
                message::COMMAND_COMPLETE => {
                    landing.commands += 1;
                    landing.rows_affected += message::rows_affected(message.body);
                }
                message::EMPTY_QUERY => landing.commands += 1,
                message::ERROR_RESPONSE => {
                    let server = ServerError {
                        completed: landing.commands,
                        ..message::server_error(message.body)
                    };
                    failure.get_or_insert(PgError::Server(Box::new(server)));
                }
                message::READY_FOR_QUERY => {
                    self.server.status = transaction_status(message)?;
                    return failure.map_or(Ok(landing), Err);
                }
                message::PARSE_COMPLETE | message::BIND_COMPLETE | message::NO_DATA | message::ROW_DESCRIPTION => {}
                _ => self.server.absorb(message)?,
            }
        }
    }
}

pub(super) fn transaction_status(message: Message<'_>) -> Result<TransactionStatus, PgError> {
    match message.body {
        b"I" => Ok(TransactionStatus::Idle),
        b"T" => Ok(TransactionStatus::Open),
        b"E" => Ok(TransactionStatus::Failed),
        _ => Err(PgError::Protocol(
            "the server reports an unknown transaction status".to_owned(),
        )),
    }
}

impl ServerState {
    /// Takes in what a server may say at any time.
    pub(super) fn absorb(&mut self, message: Message<'_>) -> Result<(), PgError> {
        match message.tag {
            message::PARAMETER_STATUS => {
                if let Some((name, value)) = message::parameter(message.body) {
                    self.parameters.insert(name.to_owned(), value.to_owned());
                }
                Ok(())
            }
            message::NOTICE_RESPONSE | message::NOTIFICATION => Ok(()),
            tag => Err(PgError::Protocol(format!(
                "the server sent an unexpected message {:?}",
                char::from(tag)
            ))),
        }
    }
}
