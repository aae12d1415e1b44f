//! A target in the making: what the connection string said, then what the environment adds.

use std::path::PathBuf;
use std::time::Duration;

use super::{DEFAULT_CONNECT_TIMEOUT, Host, RootCert, Secret, SslMode, Surroundings, Target, TargetError, pgpass};

const DEFAULT_PORT: u16 = 5432;

/// What a connection string said, before the environment completes it.
#[derive(Default)]
pub(super) struct Draft {
    host: Option<Host>,
    port: Option<u16>,
    user: Option<String>,
    password: Option<Secret>,
    passfile: Option<PathBuf>,
    dbname: Option<String>,
    sslmode: Option<SslMode>,
    sslrootcert: Option<RootCert>,
    connect_timeout: Option<Duration>,
    options: Option<String>,
}

impl Draft {
    /// Takes one parameter; a later one of the same name wins, as with libpq.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), TargetError> {
        match name {
            "host" => self.host = parse_host(value)?,
            "port" => self.port = Some(parse_port(&value)?),
            "user" => self.user = non_empty(value),
            "password" => self.password = non_empty(value).map(Secret::new),
            "passfile" => self.passfile = non_empty(value).map(PathBuf::from),
            "dbname" => self.dbname = non_empty(value),
            "sslmode" => self.sslmode = Some(parse_sslmode(&value)?),
            "ssl" if value == "true" => self.sslmode = Some(SslMode::Require),
            "sslrootcert" => self.sslrootcert = parse_root(value),
            "connect_timeout" => self.connect_timeout = Some(parse_timeout(&value)?),
            "options" => self.options = non_empty(value),
            "channel_binding" => check_channel_binding(&value)?,
            _ => {
                return Err(TargetError::Unknown { name: name.to_owned() });
            }
        }
        Ok(())
    }

    pub(super) fn complete(self, surroundings: &Surroundings) -> Result<Target, TargetError> {
        let Self {
            host,
            port,
            user,
            password,
            passfile,
            dbname,
            sslmode,
            sslrootcert,
            connect_timeout,
            options,
        } = self;
        let host = host.ok_or(TargetError::Missing {
            what: "host",
            advice: "name a host, an address, or the directory of a Unix socket",
        })?;
        let user = user.or_else(|| surroundings.user.clone()).ok_or(TargetError::Missing {
            what: "user",
            advice: "name one, because the operating system knows no name for this user",
        })?;
        let (sslmode, sslrootcert) = decide_tls(sslmode, sslrootcert, surroundings)?;
        let mut target = Target {
            host,
            port: port.unwrap_or(DEFAULT_PORT),
            dbname: dbname.unwrap_or_else(|| user.clone()),
            user,
            password: password.or_else(|| surroundings.password.clone()),
            sslmode,
            sslrootcert,
            connect_timeout: connect_timeout.unwrap_or(DEFAULT_CONNECT_TIMEOUT),
            options,
            ignored_passfile: None,
        };
        if target.password.is_none()
            && let Some(path) = passfile.or_else(|| surroundings.passfile())
        {
            match pgpass::look_up(&path, &target) {
                pgpass::Finding::Password(password) => target.password = Some(password),
                pgpass::Finding::Nothing => {}
                pgpass::Finding::Ignored => target.ignored_passfile = Some(path),
            }
        }
        Ok(target)
    }
}

/// libpq's rules: `system` implies and demands verify-full; otherwise a root certificate in the home directory counts.
fn decide_tls(
    mode: Option<SslMode>,
    root: Option<RootCert>,
    surroundings: &Surroundings,
) -> Result<(SslMode, Option<RootCert>), TargetError> {
    if root == Some(RootCert::System) {
        return match mode {
            None | Some(SslMode::VerifyFull) => Ok((SslMode::VerifyFull, root)),
            Some(_) => Err(TargetError::BadValue {
                name: "sslmode",
                expected: "verify-full where sslrootcert is system",
            }),
        };
    }
    let mode = mode.unwrap_or(SslMode::Prefer);
    let checks = matches!(mode, SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull);
    let root = root.or_else(|| surroundings.root_certificate().filter(|_| checks).map(RootCert::File));
    Ok((mode, root))
}

fn non_empty(value: String) -> Option<String> {
    Some(value).filter(|value| !value.is_empty())
}

fn parse_host(value: String) -> Result<Option<Host>, TargetError> {
    if value.contains(',') {
        return Err(TargetError::BadValue {
            name: "host",
            expected: "one host: lists of hosts are not supported",
        });
    }
    if value.contains(['@', '\0']) || (value.contains('/') && !value.starts_with('/')) {
        return Err(TargetError::BadValue {
            name: "host",
            expected: "a host name, an address or an absolute directory",
        });
    }
    Ok(non_empty(value).map(|value| {
        if value.starts_with('/') {
            Host::Socket(value.into())
        } else {
            Host::Name(value)
        }
    }))
}

fn parse_port(value: &str) -> Result<u16, TargetError> {
    match value.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(TargetError::BadValue {
            name: "port",
            expected: "one number from 1 to 65535",
        }),
    }
}

fn parse_sslmode(value: &str) -> Result<SslMode, TargetError> {
    SslMode::parse(value).ok_or(TargetError::BadValue {
        name: "sslmode",
        expected: "disable, prefer, require, verify-ca or verify-full",
    })
}

fn parse_root(value: String) -> Option<RootCert> {
    non_empty(value).map(|value| {
        if value == "system" {
            RootCert::System
        } else {
            RootCert::File(value.into())
        }
    })
}

fn parse_timeout(value: &str) -> Result<Duration, TargetError> {
    match value.parse::<u32>() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds.into())),
        _ => Err(TargetError::BadValue {
            name: "connect_timeout",
            expected: "a whole number of seconds, at least 1: every wait here has an end",
        }),
    }
}

/// Hosted servers hand out URLs with this parameter; only `require` asks for what this program cannot give.
fn check_channel_binding(value: &str) -> Result<(), TargetError> {
    match value {
        "disable" | "prefer" => Ok(()),
        _ => Err(TargetError::BadValue {
            name: "channel_binding",
            expected: "disable or prefer: channel binding is not implemented; use sslmode=verify-full instead",
        }),
    }
}
