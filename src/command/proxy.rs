//! `proxy`: stands between any PostgreSQL client and its server, and says at the end what passed.

use std::fmt::Write;
use std::sync::mpsc;
use std::thread;

use super::{CommandError, print, tell};
use crate::cli::ProxyArgs;
use crate::exit::Exit;
use crate::path::proxy::Proxy;
use crate::path::{Apart, Delay, Endpoint, Tally};

/// Serves until it is told to end.
///
/// # Errors
/// An address or a delay that can't be understood, or that can't be listened on or reached.
pub fn execute(args: &ProxyArgs) -> Result<Exit, CommandError> {
    let (listen, to) = (Endpoint::parse(&args.listen)?, Endpoint::parse(&args.to)?);
    let delay = Delay::parse(&args.delay)?;
    let proxy = Proxy::listen(&listen, &to, delay, false)?;
    let (sender, over) = mpsc::channel();
    ctrlc::set_handler(move || {
        // A second signal finds nobody who listens, and there is nothing to hurry.
        let _ = sender.send(());
    })?;
    tell(format_args!(
        "listening on {}, passing on to {to}, {} µs a round trip; Ctrl-C ends it and tells what passed",
        proxy.listens_on(),
        delay.round_trip().0 as f64 / 1e3
    ));
    thread::scope(|scope| {
        scope.spawn(|| proxy.serve());
        // The handler lives as long as the process.
        let _ = over.recv();
        proxy.listens_on().remove_socket();
        let told = told(&proxy.tally(), args.json);
        let outcome = print(&told);
        // Connections that are open end with the process.
        std::process::exit(i32::from(match outcome {
            Ok(()) => Exit::Ok.code(),
            Err(error) => {
                tell(&error);
                error.exit().code()
            }
        }));
    })
}

fn told(tally: &Tally, as_json: bool) -> String {
    if as_json {
        let mut value = serde_json::to_value(tally).unwrap_or_default();
        value["overshoot_p50_ns"] = tally.overshoot(1, 2).into();
        value["overshoot_p99_ns"] = tally.overshoot(99, 100).into();
        return format!("{value:#}\n");
    }
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:<22} {value}");
    };
    line("connections", tally.connections.to_string());
    line("round trips", tally.round_trips.to_string());
    line("client writes", tally.client_writes.to_string());
    line("server writes", tally.server_writes.to_string());
    line("bytes to server", tally.bytes_to_server.to_string());
    line("bytes to client", tally.bytes_to_client.to_string());
    line("messages to server", tally.messages_to_server.to_string());
    line("messages to client", tally.messages_to_client.to_string());
    for (name, what) in [
        ("start-up, reads", Apart::Startup),
        ("COPY, reads", Apart::Copy),
        ("Flush alone, reads", Apart::Flush),
        ("not understood, reads", Apart::Lost),
    ] {
        line(name, tally.told_apart(what).to_string());
    }
    line("cancel requests", tally.cancel_requests.to_string());
    line("TLS refused", tally.encryption_refused.to_string());
    line("connections failed", tally.failed.to_string());
    if let Some(why) = &tally.last_failure {
        line("the last of them", why.clone());
    }
    if let (Some(median), Some(most)) = (tally.overshoot(1, 2), tally.overshoot(99, 100)) {
        let micros = |nanos: i64| nanos as f64 / 1e3;
        line(
            "held longer than set",
            format!(
                "median at most {} µs, 99th percentile at most {} µs, longest {:.1} µs",
                micros(median),
                micros(most),
                micros(tally.overshoot_max_ns)
            ),
        );
    }
    text
}
