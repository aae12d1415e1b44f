//! SQLite's server byte by byte: what PostgreSQL's own server does with a message, with half of one, and with one that lies.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use preview_cost::backend::sqlite::served::{Served, ServedAt};
use preview_cost::workload::Shape;

use crate::sqlite::model;
use crate::{DEADLINE, exe};

/// A connection of bytes.
struct Raw(TcpStream);

/// One answer: its tag and its body.
type Answer = (u8, Vec<u8>);

fn served() -> Served {
    Served::start(exe(), &model(3, Shape::Kv), &ServedAt::Tcp).unwrap()
}

/// The start of a session with a database of this name; of none, where there is no name.
pub fn start(database: Option<&str>) -> Vec<u8> {
    let database = database.map(|name| format!("database\0{name}\0")).unwrap_or_default();
    let body = format!("user\0any\0{database}\0");
    let length = u32::try_from(body.len() + 8).unwrap();
    [length.to_be_bytes().as_slice(), b"\0\x03\0\0", body.as_bytes()].concat()
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], length.to_be_bytes().as_slice(), body].concat()
}

fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

fn parse(sql: &str) -> Vec<u8> {
    message(b'P', format!("\0{sql}\0\0\0").as_bytes())
}

/// Binds the nameless portal to the nameless statement with these texts, and wishes for results in this form.
fn bind(texts: &[&str], form: u8) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 0, 0, u8::try_from(texts.len()).unwrap()];
    for text in texts {
        body.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
        body.extend(text.as_bytes());
    }
    body.extend([0, 1, 0, form]);
    message(b'B', &body)
}

fn execute() -> Vec<u8> {
    message(b'E', b"\0\0\0\0\0")
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

impl Raw {
    fn silent(server: &Served) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.target().port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    fn started(server: &Served) -> Self {
        let mut raw = Self::silent(server);
        raw.say(&start(Some(&server.target().dbname)));
        raw.answers();
        raw
    }

    fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// Answers up to the one that says that the server is ready, or to the end.
    fn answers(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(answer) = self.answer() {
            let is_last = answer.0 == b'Z';
            answers.push(answer);
            if is_last {
                break;
            }
        }
        answers
    }

    /// The next answer; `None` at the end.
    fn answer(&mut self) -> Option<Answer> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.0.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    fn ask(&mut self, messages: &[Vec<u8>]) -> Vec<Answer> {
        self.say(&messages.concat());
        self.answers()
    }
}

fn tags(answers: &[Answer]) -> String {
    answers.iter().map(|(tag, _)| char::from(*tag)).collect()
}

/// SQLSTATE of the one error among the answers.
fn code(answers: &[Answer]) -> String {
    let (_, body) = answers.iter().find(|(tag, _)| *tag == b'E').expect("an error");
    let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&b'C'));
    String::from_utf8(field.unwrap()[1..].to_vec()).unwrap()
}

/// The rows, each a list of values.
fn rows(answers: &[Answer]) -> Vec<Vec<Option<Vec<u8>>>> {
    let row = |body: &[u8]| {
        let mut rest = &body[2..];
        let mut values = Vec::new();
        while let Some((length, tail)) = rest.split_first_chunk::<4>() {
            // A length of −1 stands for a null.
            let length = usize::try_from(i32::from_be_bytes(*length)).ok();
            values.push(length.map(|length| tail[..length].to_vec()));
            rest = &tail[length.unwrap_or_default()..];
        }
        values
    };
    answers
        .iter()
        .filter(|(tag, _)| *tag == b'D')
        .map(|(_, body)| row(body))
        .collect()
}

fn text(answers: &[Answer]) -> String {
    let rows = rows(answers);
    String::from_utf8(rows[0][0].clone().expect("a value")).unwrap()
}

/// The type that a column is said to have.
fn announced(answers: &[Answer]) -> u32 {
    let (_, body) = answers.iter().find(|(tag, _)| *tag == b'T').expect("a description");
    let name_ends = 2 + body[2..].iter().position(|byte| *byte == 0).unwrap() + 1;
    u32::from_be_bytes(body[name_ends + 6..name_ends + 10].try_into().unwrap())
}

#[test]
fn encryption_is_refused_and_the_start_goes_on() {
    let server = served();
    let mut raw = Raw::silent(&server);
    for wish in [80_877_104u32, 80_877_103] {
        raw.say(&[8u32.to_be_bytes(), wish.to_be_bytes()].concat());
        let mut letter = [0];
        raw.0.read_exact(&mut letter).unwrap();
        assert_eq!(&letter, b"N");
    }
    raw.say(&start(Some(&server.target().dbname)));
    let answers = raw.answers();
    assert!(
        tags(&answers).starts_with('R') && tags(&answers).ends_with("KZ"),
        "{}",
        tags(&answers)
    );
    assert_eq!(answers.last().unwrap().1, b"I");
}

#[test]
fn nobody_is_let_in_without_the_key() {
    let server = served();
    let key = server.target().dbname.clone();
    let longer = format!("{key}0");
    let guesses = [None, Some(""), Some("main"), Some(&key[1..]), Some(longer.as_str())];
    for guess in guesses {
        let mut raw = Raw::silent(&server);
        raw.say(&[start(guess), query("CREATE TABLE planted (a)")].concat());
        let answers = raw.answers();
        assert_eq!(
            (tags(&answers).as_str(), code(&answers).as_str()),
            ("E", "28000"),
            "{guess:?}"
        );
    }
    let mut raw = Raw::started(&server);
    assert_eq!(code(&raw.ask(&[query("SELECT * FROM planted")])), "42601");
    let other = served();
    assert_ne!(key, other.target().dbname, "each server has its own");
}

#[test]
fn messages_may_come_byte_by_byte() {
    let server = served();
    let mut raw = Raw::silent(&server);
    let script = [
        start(Some(&server.target().dbname)),
        parse("SELECT field_value FROM model_field WHERE name = $1"),
        bind(&["growth_1"], 0),
        execute(),
        sync(),
    ];
    for byte in script.concat() {
        raw.say(&[byte]);
        // Else the kernel may join what was written apart.
        std::thread::sleep(Duration::from_micros(200));
    }
    raw.answers();
    let answers = raw.answers();
    assert_eq!(tags(&answers), "12DCZ");
    assert_eq!(text(&answers), "0.05");
}

#[test]
fn parameters_go_by_their_numbers() {
    let server = served();
    let mut raw = Raw::started(&server);
    let mut said = |sql: &str, texts: &[&str]| raw.ask(&[parse(sql), bind(texts, 0), execute(), sync()]);
    assert_eq!(
        text(&said("SELECT $2 || '$1' || $1 /* $3 */ || $2 -- $4", &["a", "b"])),
        "b$1ab"
    );
    assert_eq!(text(&said("SELECT ?2 || ?1", &["a", "b"])), "ba");
    // A number that is left out is still a parameter.
    assert_eq!(text(&said("SELECT $3 || $1", &["a", "b", "c"])), "ca");
    let eleven: Vec<String> = (1..=11).map(|number| format!("<{number}>")).collect();
    let eleven: Vec<&str> = eleven.iter().map(String::as_str).collect();
    assert_eq!(text(&said("SELECT $11 || $1 || $10", &eleven)), "<11><1><10>");
    for texts in [["a"].as_slice(), &["a", "b", "c"]] {
        assert_eq!(code(&said("SELECT $1 || $2", texts)), "08P01", "{} given", texts.len());
    }
    assert_eq!(code(&said("SELECT :name", &[])), "42P02");
}

#[test]
fn after_an_error_everything_is_skipped_up_to_the_sync() {
    let server = served();
    let mut raw = Raw::started(&server);
    let answers = raw.ask(&[parse("SELEKT"), query("CREATE TABLE skipped (a)"), execute(), sync()]);
    assert_eq!(tags(&answers), "EZ");
    assert_eq!(code(&raw.ask(&[query("SELECT * FROM skipped")])), "42601");
    let answers = raw.ask(&[query("SELECT 1; SELEKT; SELECT 2")]);
    assert_eq!(tags(&answers), "TDCEZ");
}

#[test]
fn an_empty_statement_is_answered_as_one() {
    let server = served();
    let mut raw = Raw::started(&server);
    for sql in ["", "  -- nothing", ";"] {
        let answers = raw.ask(&[parse(sql), bind(&[], 0), message(b'D', b"P\0"), execute(), sync()]);
        assert_eq!(tags(&answers), "12nIZ", "{sql:?}");
        assert_eq!(tags(&raw.ask(&[query(sql)])), "IZ", "{sql:?}");
    }
    assert_eq!(code(&raw.ask(&[parse("SELECT 1; SELECT 2"), sync()])), "42601");
}

#[test]
fn what_is_described_comes_in_the_type_that_was_said() {
    let server = served();
    let mut raw = Raw::started(&server);
    let mut said = |sql: &str| {
        let answers = raw.ask(&[parse(sql), bind(&[], 1), message(b'D', b"P\0"), execute(), sync()]);
        (announced(&answers), rows(&answers)[0][0].clone().unwrap())
    };
    let (kind, bytes) = said("SELECT field_value FROM model_field WHERE name = 'growth_1'");
    assert_eq!((kind, bytes), (701, 0.05f64.to_be_bytes().to_vec()));
    let (kind, bytes) = said("SELECT count(*) FROM model_field");
    assert_eq!((kind, bytes), (25, b"14".to_vec()));
    let (kind, bytes) = said("SELECT 2 * field_value FROM model_field WHERE name = 'growth_1'");
    assert_eq!((kind, bytes), (25, b"0.1".to_vec()));
}

#[test]
fn tags_count_whatever_stands_before_the_word() {
    let server = served();
    let mut raw = Raw::started(&server);
    let mut tag = |sql: &str| {
        let answers = raw.ask(&[query(sql)]);
        let (_, body) = answers.iter().find(|(tag, _)| *tag == b'C').expect("a tag");
        String::from_utf8(body[..body.len() - 1].to_vec()).unwrap()
    };
    let update = "UPDATE model_field SET field_value = 0.05 WHERE name = 'growth_1'";
    assert_eq!(tag(&format!("/* why */ -- and how\n {update}")), "UPDATE 1");
    assert_eq!(tag(&format!("SELECT/*{}*/1", "x".repeat(40_000))), "SELECT 1");
    assert_eq!(tag("begin;"), "BEGIN");
    assert_eq!(tag("ROLLBACK"), "ROLLBACK");
}

#[test]
fn a_transaction_is_its_sessions_own() {
    let server = served();
    let (mut one, mut other) = (Raw::started(&server), Raw::started(&server));
    let update = "BEGIN IMMEDIATE; UPDATE model_field SET field_value = 9 WHERE name = 'growth_1'";
    let select = "SELECT field_value FROM model_field WHERE name = 'growth_1'";
    assert_eq!(one.ask(&[query(update)]).last().unwrap().1, b"T");
    assert_eq!(other.ask(&[sync()]).last().unwrap().1, b"I", "the other is in none");
    // It waits for the writer, as long as a wait for a lock may take.
    assert_eq!(code(&other.ask(&[query(select)])), "55P03");
    drop(other);
    let mut third = Raw::started(&server);
    assert_eq!(
        text(&one.ask(&[query(select)])),
        "9",
        "who leaves ends no transaction but his own"
    );
    // The writer goes while the third waits.
    third.say(&query(select));
    drop(one);
    assert_eq!(text(&third.answers()), "0.05");
}

#[test]
fn a_message_that_lies_ends_its_session_and_its_transaction_only() {
    let server = served();
    let mut witness = Raw::started(&server);
    let lies = [
        message(b'?', b""),
        b"Q\0\0\0\0".to_vec(),
        b"Q\x7f\xff\xff\xff".to_vec(),
        b"Q\xff\xff\xff\xff".to_vec(),
        message(b'Q', b"SELECT 1"),
        message(b'Q', b"SELECT '\xff'\0"),
        message(b'D', b""),
        message(b'C', b"S"),
        message(b'E', b"\0\0\0"),
        message(b'P', b"\0SELECT 1\0\0\x09"),
        message(b'B', b"\0\0\0\x09\0\0"),
        message(b'B', b"\0\0\0\0\0\x01\0\0\xff\xff"),
        message(b'B', b"\0\0\0\0\0\0\0\x01"),
    ];
    for lie in lies {
        let mut raw = Raw::started(&server);
        raw.ask(&[query("BEGIN IMMEDIATE; DELETE FROM model_field")]);
        raw.say(&lie);
        let answers = raw.answers();
        assert_eq!(
            (tags(&answers).as_str(), code(&answers).as_str()),
            ("E", "08P01"),
            "{lie:?}"
        );
        assert_eq!(
            text(&witness.ask(&[query("SELECT count(*) FROM model_field")])),
            "14",
            "{lie:?}"
        );
    }
}
