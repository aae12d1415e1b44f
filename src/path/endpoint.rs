//! Where a path begins or ends: a TCP address or a Unix socket, and streams of either kind.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::PathError;

/// A TCP address or a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// TCP; to listen on port 0 is to take a free one.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// Reads `HOST:PORT`, an IPv6 address in brackets, or an absolute path.
    ///
    /// # Errors
    /// [`PathError::Address`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let wrong = || PathError::Address { text: text.to_owned() };
        if text.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(text)));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let bracketed = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let host = bracketed.unwrap_or(host);
        if host.is_empty() || (bracketed.is_none() && host.contains(':')) {
            return Err(wrong());
        }
        Ok(Self::Tcp {
            host: host.to_owned(),
            port: port.parse().map_err(|_| wrong())?,
        })
    }

    pub(super) fn connect(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Self::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
        }
    }

    /// Listens, and says where.
    pub(super) fn listen(&self) -> io::Result<(Listener, Self)> {
        match self {
            Self::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port))?;
                let port = listener.local_addr()?.port();
                let host = host.clone();
                Ok((Listener::Tcp(listener), Self::Tcp { host, port }))
            }
            Self::Unix(path) => Ok((Listener::Unix(UnixListener::bind(path)?), self.clone())),
        }
    }

    /// Removes the file of a Unix socket that was listened on.
    pub fn remove_socket(&self) {
        if let Self::Unix(path) = self {
            // It may be gone.
            let _ = fs::remove_file(path);
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What takes connections.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Self::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

/// A connection of either kind.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(true),
            Self::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    /// Acknowledges what was read at once, for a server that waits for it; holds for one read.
    pub fn acknowledge(&self) {
        #[cfg(target_os = "linux")]
        if let Self::Tcp(stream) = self {
            // Where it is refused, the acknowledgement comes late, and the kernel counts that.
            let _ = std::os::linux::net::TcpStreamExt::set_quickack(stream, true);
        }
    }

    /// Tells the other end that nothing more comes.
    pub fn finish(&self) {
        // The other end may be gone, and then it knows.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).read(buffer),
            Stream::Unix(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).write(bytes),
            Stream::Unix(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in ["127.0.0.1:6432", "localhost:0", "[::1]:5432", "/tmp/.s.PGSQL.5432"] {
            assert_eq!(Endpoint::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "5432", ":5432", "host:", "host:99999", "::1:5432", "relative/path"] {
            assert!(Endpoint::parse(text).is_err(), "{text:?}");
        }
    }
}
