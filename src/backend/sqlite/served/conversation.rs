//! One client: start-up, then messages, answered when the client waits for an answer.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use bytes::BytesMut;
use pgwire::error::PgWireError;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{Bind, BindComplete, CloseComplete, Describe, Parse, ParseComplete};
use pgwire::messages::response::{
    EmptyQueryResponse, ErrorResponse, GssEncResponse, ReadyForQuery, SslResponse, TransactionStatus,
};
use pgwire::messages::startup::{Authentication, BackendKeyData, ParameterStatus, SecretKey, Startup};
use pgwire::messages::{
    DecodeContext, PgWireBackendMessage as Answer, PgWireFrontendMessage as Message, SslNegotiationMetaMessage,
};
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::{Batch, Connection};

use super::database::Session;
use super::statement::{self, Answers, Form, Portal, Prepared, Refusal};
use super::values;
use super::{Door, frame};

/// What a client must know of a server, and what it is told.
const PARAMETERS: [(&str, &str); 4] = [
    ("server_version", "16.0 (SQLite)"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("standard_conforming_strings", "on"),
];
const READ_BYTES: usize = 64 << 10;

/// Either kind of socket.
pub(super) trait Client: Read + Write {}
impl<T: Read + Write> Client for T {}

/// A conversation with a client.
pub(super) struct Conversation<C> {
    client: C,
    /// What the client must call the database.
    key: Arc<str>,
    session: Session,
    received: BytesMut,
    answers: Gathered,
    context: DecodeContext,
    statements: HashMap<String, Arc<Prepared>>,
    portals: HashMap<String, Portal>,
    /// After an error, messages are skipped up to the next Sync.
    skips: bool,
}

/// Answers that leave together.
#[derive(Default)]
struct Gathered(BytesMut);

impl Answers for Gathered {
    fn add(&mut self, answer: Answer) {
        // No message here is longer than the protocol allows, which is the one thing that fails.
        let _ = answer.encode(&mut self.0);
    }
}

/// What to do after a message.
#[derive(PartialEq, Eq)]
enum Next {
    More,
    Send,
    Leave,
}

impl<C: Client> Conversation<C> {
    pub fn new(client: C, door: Door) -> Self {
        Self {
            client,
            key: door.key,
            session: Session::with(door.database),
            received: BytesMut::with_capacity(READ_BYTES),
            answers: Gathered::default(),
            context: DecodeContext::default(),
            statements: HashMap::new(),
            portals: HashMap::new(),
            skips: false,
        }
    }

    /// Answers until the client leaves.
    pub fn hold(mut self) {
        // A client that is gone hears nothing.
        let _ = self.answer_all();
    }

    fn answer_all(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            while let Some(message) = self.next()? {
                match self.take(message) {
                    Next::More => {}
                    Next::Send => self.send()?,
                    Next::Leave => return self.send(),
                }
            }
            match self.client.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => self.received.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next message, once it is there whole. After one that is none, nothing can be understood.
    fn next(&mut self) -> io::Result<Option<Message>> {
        match self.read() {
            Ok(message) => Ok(message),
            Err(refusal) => {
                self.refuse("FATAL", &refusal);
                self.send()?;
                Err(io::Error::new(ErrorKind::InvalidData, refusal.message))
            }
        }
    }

    fn read(&mut self) -> Result<Option<Message>, Refusal> {
        let Some(mut cut) = frame::cut(&mut self.received, self.context.awaiting_frontend_startup)? else {
            return Ok(None);
        };
        let wrong = |error: PgWireError| Refusal::new("08P01", error.to_string());
        // Anything but a wish for encryption is the start.
        self.context.awaiting_frontend_ssl = self.context.awaiting_frontend_startup;
        let mut message = Message::decode(&mut cut, &self.context).map_err(wrong)?;
        if let Some(Message::SslNegotiation(SslNegotiationMetaMessage::None)) = message {
            self.context.awaiting_frontend_ssl = false;
            message = Message::decode(&mut cut, &self.context).map_err(wrong)?;
        }
        match message {
            Some(message) => Ok(Some(message)),
            None => Err(Refusal::new("08P01", "a message is shorter than it must be")),
        }
    }

    fn send(&mut self) -> io::Result<()> {
        self.client.write_all(&self.answers.0)?;
        self.answers.0.clear();
        Ok(())
    }

    fn take(&mut self, message: Message) -> Next {
        match message {
            Message::SslNegotiation(wish) => self.negotiate(&wish),
            Message::Startup(start) => self.welcome(&start),
            Message::Terminate(_) | Message::CancelRequest(_) => Next::Leave,
            Message::Sync(_) => {
                self.skips = false;
                self.ready();
                Next::Send
            }
            _ if self.skips => Next::More,
            Message::Flush(_) => Next::Send,
            Message::Query(query) => {
                self.simple(&query.query);
                self.ready();
                Next::Send
            }
            other => {
                if let Err(refusal) = self.extended(other) {
                    self.refuse("ERROR", &refusal);
                    self.skips = true;
                }
                Next::More
            }
        }
    }

    fn negotiate(&mut self, wish: &SslNegotiationMetaMessage) -> Next {
        match wish {
            SslNegotiationMetaMessage::PostgresSsl(_) => self.answers.add(Answer::SslResponse(SslResponse::Refuse)),
            SslNegotiationMetaMessage::PostgresGss(_) => {
                self.answers.add(Answer::GssEncResponse(GssEncResponse::Refuse));
            }
            SslNegotiationMetaMessage::None => return Next::More,
        }
        Next::Send
    }

    fn welcome(&mut self, start: &Startup) -> Next {
        if start.parameters.get("database").map(String::as_str) != Some(&*self.key) {
            let message = "this server is for the run that started it";
            self.refuse("FATAL", &Refusal::new("28000", message));
            return Next::Leave;
        }
        self.context.awaiting_frontend_startup = false;
        self.answers.add(Answer::Authentication(Authentication::Ok));
        for (name, value) in PARAMETERS {
            let status = ParameterStatus::new(name.to_owned(), value.to_owned());
            self.answers.add(Answer::ParameterStatus(status));
        }
        let key = BackendKeyData::new(std::process::id().cast_signed(), SecretKey::I32(0));
        self.answers.add(Answer::BackendKeyData(key));
        self.ready();
        Next::Send
    }

    fn ready(&mut self) {
        let status = if self.session.is_open() {
            TransactionStatus::Transaction
        } else {
            TransactionStatus::Idle
        };
        self.answers.add(Answer::ReadyForQuery(ReadyForQuery::new(status)));
    }

    fn refuse(&mut self, severity: &str, refusal: &Refusal) {
        let fields = vec![
            (b'S', severity.to_owned()),
            (b'V', severity.to_owned()),
            (b'C', refusal.code.to_owned()),
            (b'M', refusal.message.clone()),
        ];
        self.answers.add(Answer::ErrorResponse(ErrorResponse::new(fields)));
    }

    fn extended(&mut self, message: Message) -> Result<(), Refusal> {
        match message {
            Message::Parse(parse) => self.parse(parse),
            Message::Bind(bind) => self.bind(&bind),
            Message::Describe(describe) => self.describe(&describe),
            Message::Execute(execute) => {
                let name = execute.name.unwrap_or_default();
                let portal = self.portals.get(&name).ok_or_else(|| unknown("portal", &name))?;
                portal.execute(&self.session, &mut self.answers)
            }
            Message::Close(close) => {
                let name = close.name.unwrap_or_default();
                if close.target_type == b'S' {
                    self.statements.remove(&name);
                } else {
                    self.portals.remove(&name);
                }
                self.answers.add(Answer::CloseComplete(CloseComplete::new()));
                Ok(())
            }
            _ => Err(Refusal::new("0A000", "this server does not know that message")),
        }
    }

    fn parse(&mut self, parse: Parse) -> Result<(), Refusal> {
        let prepared = Prepared::of(&*self.session.turn()?, parse.query, parse.type_oids)?;
        self.statements
            .insert(parse.name.unwrap_or_default(), Arc::new(prepared));
        self.answers.add(Answer::ParseComplete(ParseComplete::new()));
        Ok(())
    }

    fn bind(&mut self, bind: &Bind) -> Result<(), Refusal> {
        let name = bind.statement_name.clone().unwrap_or_default();
        let prepared = self.statements.get(&name).ok_or_else(|| unknown("statement", &name))?;
        let (given, wanted) = (bind.parameters.len(), prepared.types.len());
        if given != wanted {
            let message = format!("{given} parameters came where the statement has {wanted}");
            return Err(Refusal::new("08P01", message));
        }
        let parameters = bind.parameters.iter().enumerate().map(|(place, bytes)| {
            let kind = prepared.types.get(place).copied().unwrap_or_default();
            let is_binary = values::is_binary(&bind.parameter_format_codes, place);
            values::parameter(bytes.as_deref(), kind, is_binary)
        });
        let portal = Portal {
            parameters: parameters.collect::<Result<_, _>>()?,
            prepared: Arc::clone(prepared),
            formats: bind.result_column_format_codes.clone(),
        };
        self.portals
            .insert(bind.portal_name.clone().unwrap_or_default(), portal);
        self.answers.add(Answer::BindComplete(BindComplete::new()));
        Ok(())
    }

    fn describe(&mut self, describe: &Describe) -> Result<(), Refusal> {
        let name = describe.name.clone().unwrap_or_default();
        let is_statement = describe.target_type == b'S';
        let (prepared, formats) = if is_statement {
            let prepared = self.statements.get(&name).ok_or_else(|| unknown("statement", &name))?;
            (&**prepared, [].as_slice())
        } else {
            let portal = self.portals.get(&name).ok_or_else(|| unknown("portal", &name))?;
            (&*portal.prepared, portal.formats.as_slice())
        };
        let row = prepared.described(&self.session, formats)?;
        if is_statement {
            let types = prepared.types.clone();
            self.answers
                .add(Answer::ParameterDescription(ParameterDescription::new(types)));
        }
        self.answers.add(match row {
            Some(row) => Answer::RowDescription(row),
            None => Answer::NoData(NoData::new()),
        });
        Ok(())
    }

    /// Statements as text, each cut off by SQLite itself. After an error the rest is skipped.
    fn simple(&mut self, sql: &str) {
        let ran = match self.session.turn() {
            Ok(turn) => simple(&turn, sql, &mut self.answers),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = ran {
            self.refuse("ERROR", &refusal);
        }
    }
}

fn simple(database: &Connection, sql: &str, answers: &mut Gathered) -> Result<(), Refusal> {
    let mut batch = Batch::new(database, sql);
    let mut any = false;
    while let Some(mut statement) = batch.next()? {
        any = true;
        if let Some(row) = statement::described(&statement, &[]) {
            answers.add(Answer::RowDescription(row));
        }
        let text = statement.expanded_sql().unwrap_or_default();
        statement::run(&mut statement, &text, Form::default(), database, answers)?;
    }
    if !any {
        answers.add(Answer::EmptyQueryResponse(EmptyQueryResponse::new()));
    }
    Ok(())
}

fn unknown(what: &str, name: &str) -> Refusal {
    Refusal::new("26000", format!("there is no {what} {name:?}"))
}
