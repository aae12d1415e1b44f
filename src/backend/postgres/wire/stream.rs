//! The three things that bytes travel over.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::backend::postgres::PgError;
use crate::backend::postgres::target::{Host, Target};
use crate::backend::postgres::tls;

/// A connected byte stream.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// Connects over TCP (without delaying small writes) or a Unix socket. Tries each address that a name has.
    pub(super) fn connect(target: &Target) -> Result<Self, PgError> {
        let connected = match (&target.host, target.socket_path()) {
            (Host::Name(name), _) => connect_tcp(name, target.port, target.connect_timeout).map(Self::Tcp),
            (Host::Socket(_), path) => UnixStream::connect(path.unwrap_or_default()).map(Self::Unix),
        };
        connected.map_err(|cause| PgError::Connect {
            address: target.address(),
            cause,
        })
    }

    /// Sets how long a read or a write may wait.
    pub(super) fn set_deadline(&self, deadline: Duration) -> io::Result<()> {
        let deadline = Some(deadline);
        match self {
            Self::Tcp(tcp) => tcp
                .set_read_timeout(deadline)
                .and_then(|()| tcp.set_write_timeout(deadline)),
            Self::Unix(unix) => unix
                .set_read_timeout(deadline)
                .and_then(|()| unix.set_write_timeout(deadline)),
            Self::Tls(tls) => tls
                .sock
                .set_read_timeout(deadline)
                .and_then(|()| tls.sock.set_write_timeout(deadline)),
        }
    }

    /// Goes on under TLS. Only TCP does.
    pub(super) fn encrypt(self, config: Arc<ClientConfig>, target: &Target) -> Result<Self, PgError> {
        let fail = |reason: String| PgError::Tls {
            address: target.address(),
            reason,
        };
        let (Self::Tcp(mut tcp), Host::Name(name)) = (self, &target.host) else {
            return Err(fail("only a TCP connection can be encrypted".to_owned()));
        };
        let name = ServerName::try_from(name.clone()).map_err(|error| fail(error.to_string()))?;
        let mut tls = ClientConnection::new(config, name).map_err(|error| fail(error.to_string()))?;
        while tls.is_handshaking() {
            tls.complete_io(&mut tcp).map_err(|error| fail(explain(&error)))?;
        }
        Ok(Self::Tls(Box::new(StreamOwned::new(tls, tcp))))
    }

    /// Acknowledges what was read at once. The kernel goes back to delaying by itself, so this holds for one read.
    pub(super) fn acknowledge(&self) {
        #[cfg(target_os = "linux")]
        if let Self::Tcp(tcp) = self {
            // Where it is refused, the acknowledgement comes late, and the fork's counter tells.
            let _ = std::os::linux::net::TcpStreamExt::set_quickack(tcp, true);
        }
    }

    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

fn connect_tcp(name: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (name, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(tcp) => {
                tcp.set_nodelay(true)?;
                return Ok(tcp);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn explain(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    inner.map_or_else(|| error.to_string(), tls::explain)
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.read(buffer),
            Self::Unix(unix) => unix.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.write(buffer),
            Self::Unix(unix) => unix.write(buffer),
            Self::Tls(tls) => tls.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(tcp) => tcp.flush(),
            Self::Unix(unix) => unix.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}
