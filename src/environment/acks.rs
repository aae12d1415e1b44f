//! Acknowledgements that the kernel delayed: what makes a fast server look slow.
//!
//! A server that sends an answer in pieces without `TCP_NODELAY` waits, with each piece, for the acknowledgement of the one
//! before; the client's kernel holds that back for up to 40 ms. Where that happens, a time is the kernel's and not the
//! server's. Linux counts how often it happens, for all connections of a network namespace together.

use std::fs;

/// Where Linux counts.
const COUNTERS: &str = "/proc/net/netstat";

/// Acknowledgements that were delayed so far (`TcpExt: DelayedACKs`); `None` where nobody counts.
pub fn delayed_acks() -> Option<i64> {
    parse(&fs::read_to_string(COUNTERS).ok()?)
}

/// The counter is found by its name in the line before the values.
fn parse(text: &str) -> Option<i64> {
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|name| name == "DelayedACKs")?;
    values.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_by_its_name() {
        let text = "TcpExt: SyncookiesSent DelayedACKs Other\nTcpExt: 1 23 4\nIpExt: A\nIpExt: 5\n";
        assert_eq!(parse(text), Some(23));
        assert_eq!((parse("TcpExt: A\nTcpExt: 1\n"), parse("")), (None, None));
    }
}
