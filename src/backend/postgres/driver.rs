//! A connection by way of a driver, `tokio-postgres`, for what a Rust service gets today.
//!
//! The runtime has one thread, this one: it runs while a preview waits, and sleeps in between.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PgError;
use super::control::{client_config, command_error, connect_error};
use super::target::Target;
use super::tls::TlsPolicy;

/// A client of the driver and what it needs to run.
#[derive(Debug)]
pub struct Driver {
    runtime: Runtime,
    /// The driver's own client; its futures are given to [`wait`](Self::wait).
    pub client: Client,
    deadline: Duration,
}

impl Driver {
    /// Connects under the same TLS rules as the measured session.
    ///
    /// # Errors
    /// As [`Control::connect`](super::Control::connect).
    pub fn connect(target: &Target, deadline: Duration) -> Result<Self, PgError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|cause| PgError::Connect {
                address: target.address(),
                cause,
            })?;
        let mut config = client_config(target);
        config.application_name("preview-cost driver");
        let client = match TlsPolicy::of(target)? {
            TlsPolicy::Never => open(&runtime, target, config.ssl_mode(SslMode::Disable), NoTls),
            TlsPolicy::IfOffered(tls) => {
                let tls = MakeRustlsConnect::new((*tls).clone());
                open(&runtime, target, config.ssl_mode(SslMode::Prefer), tls)
            }
            TlsPolicy::Always(tls) => {
                let tls = MakeRustlsConnect::new((*tls).clone());
                open(&runtime, target, config.ssl_mode(SslMode::Require), tls)
            }
        }?;
        Ok(Self {
            runtime,
            client,
            deadline,
        })
    }

    /// Runs a future to its end, which it must reach before the deadline.
    ///
    /// # Errors
    /// What the future returned, or [`PgError::Timeout`].
    pub fn wait<T>(&self, work: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, PgError> {
        wait(&self.runtime, self.deadline, work)
    }

    /// As [`wait`](Self::wait), for work that borrows the client.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn with_client<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, PgError> {
        wait(&self.runtime, self.deadline, work(&mut self.client))
    }
}

fn wait<T>(
    runtime: &Runtime,
    deadline: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, PgError> {
    match runtime.block_on(async { tokio::time::timeout(deadline, work).await }) {
        Ok(done) => done.map_err(|error| command_error(&error)),
        Err(_) => Err(PgError::Timeout { after: deadline }),
    }
}

fn open<T>(runtime: &Runtime, target: &Target, config: &Config, tls: T) -> Result<Client, PgError>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let connected = runtime.block_on(async { tokio::time::timeout(target.connect_timeout, config.connect(tls)).await });
    let Ok(connected) = connected else {
        return Err(PgError::Timeout {
            after: target.connect_timeout,
        });
    };
    let (client, connection) = connected.map_err(|error| connect_error(target, &error))?;
    // An error of the connection comes to the client's futures too.
    runtime.spawn(async {
        let _ = connection.await;
    });
    Ok(client)
}
