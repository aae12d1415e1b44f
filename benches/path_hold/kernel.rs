//! The proxy's delay beside the kernel's: two network namespaces, and `tc netem` on both ends of the line between them.

use std::fs::File;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, setns};
use preview_cost::path::{Delay, Endpoint};

use crate::echo::{self, Client};
use crate::proxy;
use crate::support::{Outcome, line, median, micros, verdict};

/// What either end holds, and what the proxy adds to a whole trip.
const EACH_WAY: &str = "1ms";
const WHOLE_TRIP: &str = "2ms";
/// How far the two may be apart, as a share of the kernel's.
const APART: f64 = 0.05;

const SERVER: &str = "10.213.0.1";
const CLIENT: &str = "10.213.0.2";

/// Compares what a trip is longer by; an error says why this machine can't.
pub fn compare(trips: usize) -> Outcome {
    let ends = Ends::new()?;
    let server = within(&ends.server, || echo::serve(&format!("{SERVER}:0")))?;
    let through_proxy = |delay: &str| -> Outcome<i64> {
        let proxy = proxy(&server, Delay::parse(delay)?)?;
        typical(proxy.endpoint(), trips)
    };
    // What is between the two is the same in all four.
    let (proxy_without, proxy_with) = within(&ends.client, || Ok((through_proxy("0")?, through_proxy(WHOLE_TRIP)?)))?;
    let kernel_without = within(&ends.client, || typical(&server, trips))?;
    ends.delay()?;
    let kernel_with = within(&ends.client, || typical(&server, trips))?;
    let (by_proxy, by_kernel) = (proxy_with - proxy_without, kernel_with - kernel_without);
    line(
        &format!("{WHOLE_TRIP} by the proxy: a trip is longer by"),
        &micros(by_proxy),
    );
    line(
        &format!("{EACH_WAY} each way by tc netem: a trip is longer by"),
        &micros(by_kernel),
    );
    let apart = (by_proxy as f64 / by_kernel as f64 - 1.0).abs();
    verdict("how far the two are apart / allowed", apart / APART, 1.0);
    Ok(())
}

/// The median round trip, ns.
fn typical(to: &Endpoint, trips: usize) -> Outcome<i64> {
    let mut client = Client::connect(to)?;
    let times: Vec<i64> = (0..trips).map(|_| client.trip()).collect::<Outcome<_>>()?;
    median(&times)
}

/// Two network namespaces with a line between them; they go with the value.
struct Ends {
    server: String,
    client: String,
}

impl Ends {
    fn new() -> Outcome<Self> {
        let name = |end: &str| format!("preview-cost-{}-{end}", std::process::id());
        let ends = Self {
            server: name("server"),
            client: name("client"),
        };
        for namespace in [&ends.server, &ends.client] {
            ip(&["netns", "add", namespace])?;
            ip(&["-n", namespace, "link", "set", "lo", "up"])?;
        }
        let line = [
            "-n",
            &ends.server,
            "link",
            "add",
            "line",
            "type",
            "veth",
            "peer",
            "name",
            "line",
        ];
        ip(&[line.as_slice(), &["netns", &ends.client]].concat())?;
        for (namespace, address) in [(&ends.server, SERVER), (&ends.client, CLIENT)] {
            ip(&[
                "-n",
                namespace,
                "address",
                "add",
                &format!("{address}/24"),
                "dev",
                "line",
            ])?;
            ip(&["-n", namespace, "link", "set", "line", "up"])?;
        }
        Ok(ends)
    }

    fn delay(&self) -> Outcome {
        for namespace in [&self.server, &self.client] {
            let netem = ["qdisc", "add", "dev", "line", "root", "netem", "delay", EACH_WAY];
            told("tc", &[["-n", namespace].as_slice(), &netem].concat())?;
        }
        Ok(())
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        for namespace in [&self.server, &self.client] {
            // What was not made can't be removed.
            let _ = ip(&["netns", "delete", namespace]);
        }
    }
}

/// Does something in a thread, and in what that starts, as if this machine were in the namespace.
fn within<T: Send>(namespace: &str, what: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    let entered = || -> Outcome<T> {
        let namespace = File::open(format!("/run/netns/{namespace}"))?;
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        what()
    };
    // Errors of other crates can't cross threads; their words can.
    let done = thread::scope(|scope| scope.spawn(|| entered().map_err(|error| error.to_string())).join());
    Ok(done.map_err(|_| "the measuring thread panicked")??)
}

fn ip(arguments: &[&str]) -> Outcome {
    told("ip", arguments)
}

fn told(program: &str, arguments: &[&str]) -> Outcome {
    let said = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if said.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&said.stderr);
    Err(format!("{program} {}: {}", arguments.join(" "), why.trim().replace('\n', " ")).into())
}
