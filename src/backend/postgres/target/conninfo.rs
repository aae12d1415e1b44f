//! The two syntaxes of a connection string, taken apart into parameters.
//!
//! `postgres::Config` parses both too, but knows three of the five TLS modes and no root certificate; once those have
//! to be taken out beforehand, the string has been taken apart already.

use std::fmt::Write;

use super::TargetError;

/// One `name=value` of a connection string, decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) value: String,
}

type Parameters = Vec<Parameter>;

fn parameter(name: &str, value: String) -> Parameter {
    Parameter {
        name: name.to_owned(),
        value,
    }
}

/// All parameters of a connection string, in order.
pub(super) fn parameters(text: &str) -> Result<Parameters, TargetError> {
    if text.contains('\0') {
        return Err(TargetError::Syntax("it holds a zero byte"));
    }
    match ["postgres://", "postgresql://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
    {
        Some(rest) => url(rest),
        None if text.contains("://") => Err(TargetError::Syntax(
            "a URL must start with postgres:// or postgresql://",
        )),
        None => key_values(text),
    }
}

fn url(rest: &str) -> Result<Parameters, TargetError> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    if tail.contains('@') {
        // Most likely a password with a raw `/` or `?`; reading on would take parts of it for a database's name.
        return Err(TargetError::Syntax(
            "write @, / and ? in a user, password or value as %40, %2F and %3F",
        ));
    }
    let mut found = Vec::new();
    let place = match authority.rsplit_once('@') {
        Some((credentials, place)) => {
            let (user, password) = split_optional(credentials, ':');
            found.push(parameter("user", decode(user)?));
            if let Some(password) = password {
                found.push(parameter("password", decode(password)?));
            }
            place
        }
        None => authority,
    };
    host_and_port(place, &mut found)?;
    let (path, query) = split_optional(tail, '?');
    if let Some(dbname) = path.strip_prefix('/').filter(|dbname| !dbname.is_empty()) {
        found.push(parameter("dbname", decode(dbname)?));
    }
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or(TargetError::Syntax("a URL parameter lacks its ="))?;
        found.push(Parameter {
            name: checked_name(&decode(name)?)?,
            value: decode(value)?,
        });
    }
    Ok(found)
}

fn host_and_port(place: &str, found: &mut Parameters) -> Result<(), TargetError> {
    let (host, port) = if let Some(bracketed) = place.strip_prefix('[') {
        let (host, rest) = bracketed
            .split_once(']')
            .ok_or(TargetError::Syntax("an IPv6 address lacks its ]"))?;
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(port),
            None if rest.is_empty() => None,
            None => {
                return Err(TargetError::Syntax("after ] only a : and a port may follow"));
            }
        };
        (host, port)
    } else {
        split_optional(place, ':')
    };
    if !host.is_empty() {
        found.push(parameter("host", decode(host)?));
    }
    if let Some(port) = port.filter(|port| !port.is_empty()) {
        found.push(parameter("port", decode(port)?));
    }
    Ok(())
}

fn split_optional(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

fn key_values(text: &str) -> Result<Parameters, TargetError> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest
            .split_once('=')
            .ok_or(TargetError::Syntax("it is neither a URL nor a list of name=value"))?;
        let name = checked_name(name.trim())?;
        let (value, after) = take_value(after.trim_start())?;
        found.push(Parameter { name, value });
        rest = after.trim_start();
    }
    Ok(found)
}

/// Takes one value, quoted or plain, and returns it with what follows it.
fn take_value(text: &str) -> Result<(String, &str), TargetError> {
    let (quoted, body) = text.strip_prefix('\'').map_or((false, text), |body| (true, body));
    let mut value = String::new();
    let mut characters = body.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return Ok((value, &body[at + 1..])),
            space if !quoted && space.is_whitespace() => return Ok((value, &body[at..])),
            other => value.push(other),
        }
    }
    if quoted {
        Err(TargetError::Syntax("a quoted value lacks its closing quote"))
    } else {
        Ok((value, ""))
    }
}

/// A name that may stand in an error message: anything else might be a stray part of a password.
fn checked_name(name: &str) -> Result<String, TargetError> {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if plain && !name.is_empty() {
        Ok(name.to_owned())
    } else {
        Err(TargetError::Syntax(
            "a parameter's name holds something else than a-z, 0-9 and _ (quote values with spaces)",
        ))
    }
}

fn decode(text: &str) -> Result<String, TargetError> {
    const MALFORMED: TargetError = TargetError::Syntax("% must be followed by two hexadecimal digits, not 00");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or(MALFORMED)?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16).ok_or(MALFORMED);
        let decoded = digit(0)? * 16 + digit(1)?;
        bytes.push(u8::try_from(decoded).ok().filter(|&byte| byte != 0).ok_or(MALFORMED)?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| TargetError::Syntax("a decoded part is not UTF-8"))
}

/// Percent-encodes what has a meaning in a URL.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
