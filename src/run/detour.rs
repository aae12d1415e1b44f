//! The proxy in the path of one fork: started before its sessions, ended after them, and what passed sorted by preview.
//!
//! Proxy and worker read the same clock, and a client waits for its answers. So whatever a preview sends and gets is
//! received by the proxy while the preview lasts, and while the step lasts that it belongs to. What comes between previews
//! belongs to none.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::archive::{PairRow, PairSide, StepRow, WirePlace, WireRow, WireWay};
use crate::backend::BackendError;
use crate::backend::postgres::target::Host;
use crate::backend::postgres::{Dialect, Target};
use crate::clock::Clock;
use crate::path::child::PathProxy;
use crate::path::{Delay, Endpoint, Passage, PathError, Way};
use crate::step::Step;
use crate::units::Nanos;

/// A proxy that stands in the path to a server.
pub(super) struct Detour {
    proxy: PathProxy,
    /// Where a Unix socket of the proxy lies.
    _directory: Option<TempDir>,
    /// The server by way of the proxy.
    pub target: Target,
}

impl Detour {
    /// Starts a proxy before `target`, of the same kind of socket. It acknowledges at once what a server in this dialect
    /// sends, where the client would have to.
    pub fn to(target: &Target, dialect: Dialect, delay: Nanos) -> Result<Self, BackendError> {
        let exe = std::env::current_exe().map_err(|error| unable(&error))?;
        let (to, listen, directory) = ends(target)?;
        let delay = Delay::of_round_trip(delay);
        let proxy = PathProxy::start_before(&exe, &listen, &to, delay, dialect.sends_in_pieces())
            .map_err(|error| unable(&error))?;
        let target = target.clone();
        let target = match proxy.endpoint() {
            Endpoint::Tcp { host, port } => Target {
                host: Host::Name(host.clone()),
                port: *port,
                ..target
            },
            Endpoint::Unix(path) => target.by_socket(&path.parent().map(PathBuf::from).unwrap_or_default()),
        };
        Ok(Self {
            proxy,
            _directory: directory,
            target,
        })
    }

    /// Ends the proxy; gives what passed.
    pub fn finish(self) -> Result<Vec<Passage>, PathError> {
        self.proxy.finish()
    }
}

/// Where the server is, and where the proxy is to listen.
fn ends(target: &Target) -> Result<(Endpoint, Endpoint, Option<TempDir>), BackendError> {
    match (&target.host, target.socket_path()) {
        (_, Some(path)) => {
            let directory = tempfile::Builder::new()
                .prefix("preview-cost-path-")
                .tempdir()
                .map_err(|error| unable(&error))?;
            let listen = directory.path().join(path.file_name().unwrap_or_default());
            Ok((Endpoint::Unix(path), Endpoint::Unix(listen), Some(directory)))
        }
        (Host::Name(host), None) => {
            let to = Endpoint::Tcp {
                host: host.clone(),
                port: target.port,
            };
            let listen = Endpoint::Tcp {
                host: "127.0.0.1".to_owned(),
                port: 0,
            };
            Ok((to, listen, None))
        }
        (Host::Socket(_), None) => Err(BackendError::Unable("a socket without a path".to_owned())),
    }
}

fn unable(error: &dyn std::error::Error) -> BackendError {
    BackendError::Unable(error.to_string())
}

/// A preview and when it lasted.
struct Span {
    start: Nanos,
    end: Nanos,
    place: WirePlace,
    /// Its steps and when each ended.
    steps: Vec<(Step, Nanos)>,
}

/// Sorts passages by the preview and the step that they belong to.
pub(super) fn sorted(passages: Vec<Passage>, clock: Clock, pairs: &[PairRow], steps: &[StepRow]) -> Vec<WireRow> {
    let spans = spans(pairs, steps);
    passages
        .into_iter()
        .map(|passage| {
            let received = clock.told(passage.received);
            // The last one that had begun.
            let next = spans.partition_point(|span| span.start <= received);
            let span = next.checked_sub(1).map(|place| &spans[place]);
            let place = span.filter(|span| received < span.end).map(|span| span.at(received));
            row(&passage, received, place)
        })
        .collect()
}

impl Span {
    fn at(&self, moment: Nanos) -> WirePlace {
        let step = self.steps.iter().find(|(_, end)| moment < *end);
        WirePlace {
            step: step.map(|(step, _)| *step),
            ..self.place
        }
    }
}

/// Every preview that was tried, in the order in which they ran.
fn spans(pairs: &[PairRow], steps: &[StepRow]) -> Vec<Span> {
    let mut steps = steps.iter().peekable();
    let mut spans: Vec<Span> = Vec::with_capacity(2 * pairs.len());
    for pair in pairs {
        for (side, row) in [(PairSide::Subject, &pair.subject), (PairSide::Baseline, &pair.baseline)] {
            let mut own = Vec::new();
            let key = (pair.phase, pair.pair, side);
            while let Some(step) = steps.next_if(|step| (step.phase, step.pair, step.side) == key) {
                own.push((step.step, step.time));
            }
            if let Some(start) = row.start {
                spans.push(span(start, row.time, own, place(pair, side)));
            }
        }
    }
    spans.sort_by_key(|span| span.start);
    spans
}

/// A preview that gave no answer lasted as long as the steps that it came to.
fn span(start: Nanos, time: Option<Nanos>, steps: Vec<(Step, Nanos)>, place: WirePlace) -> Span {
    let mut end = start;
    let steps: Vec<(Step, Nanos)> = steps
        .into_iter()
        .map(|(step, time)| {
            end = Nanos(end.0 + time.0);
            (step, end)
        })
        .collect();
    Span {
        start,
        end: time.map_or(end, |time| Nanos(start.0 + time.0)),
        place,
        steps,
    }
}

fn place(pair: &PairRow, side: PairSide) -> WirePlace {
    WirePlace {
        previewer: pair.previewer,
        pair: pair.pair,
        phase: pair.phase,
        side,
        step: None,
    }
}

fn row(passage: &Passage, received: Nanos, place: Option<WirePlace>) -> WireRow {
    WireRow {
        connection: passage.connection,
        way: match passage.way {
            Way::ToServer => WireWay::ToServer,
            Way::ToClient => WireWay::ToClient,
        },
        received,
        declared: passage.declared,
        held: passage.held(),
        bytes: i64::from(passage.bytes),
        messages: passage.messages.to_string(),
        round_trips: passage.round_trips,
        apart: passage.apart.map(|apart| apart.as_str().to_owned()),
        place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{PairStatus, Phase, SideRow};
    use crate::path::MessageCounts;
    use crate::units::PairIndex;

    fn pair(index: u32, [subject, baseline]: [(i64, Option<i64>); 2]) -> PairRow {
        let side = |(start, time): (i64, Option<i64>)| SideRow {
            start: Some(Nanos(start)),
            time: time.map(Nanos),
            answer: None,
        };
        PairRow {
            previewer: 0,
            pair: PairIndex(index),
            phase: Phase::Measured,
            subject_first: true,
            delta: 0.0,
            subject: side(subject),
            baseline: side(baseline),
            status: PairStatus::Ok,
            reason: None,
        }
    }

    fn step(index: u32, side: PairSide, place: u32, step: Step, time: i64) -> StepRow {
        StepRow {
            previewer: 0,
            pair: PairIndex(index),
            phase: Phase::Measured,
            side,
            place,
            step,
            time: Nanos(time),
        }
    }

    #[test]
    fn what_passes_belongs_to_the_step_in_which_it_was_received() {
        let clock = Clock::start();
        let zero = clock.told(Nanos(0)).0;
        // The baseline of the second pair ran first, and its subject failed after 20 ns.
        let pairs = [
            pair(0, [(100, Some(50)), (200, Some(10))]),
            pair(1, [(400, None), (300, Some(10))]),
        ];
        let steps = [
            step(0, PairSide::Subject, 0, Step::Write, 30),
            step(0, PairSide::Subject, 1, Step::Read, 20),
            step(0, PairSide::Baseline, 0, Step::Compute, 10),
            step(1, PairSide::Subject, 0, Step::Write, 20),
            step(1, PairSide::Baseline, 0, Step::Compute, 10),
        ];
        let at = |moment: i64| {
            let passage = Passage {
                connection: 0,
                way: Way::ToServer,
                received: Nanos(moment - zero),
                released: Nanos(moment - zero),
                declared: Nanos(0),
                bytes: 1,
                messages: MessageCounts::default(),
                round_trips: 1,
                apart: None,
            };
            let row = sorted(vec![passage], clock, &pairs, &steps).remove(0);
            assert_eq!(row.received, Nanos(moment));
            row.place.map(|place| (place.pair.0, place.side, place.step))
        };
        assert_eq!(at(99), None);
        assert_eq!(at(100), Some((0, PairSide::Subject, Some(Step::Write))));
        assert_eq!(at(129), Some((0, PairSide::Subject, Some(Step::Write))));
        assert_eq!(at(130), Some((0, PairSide::Subject, Some(Step::Read))));
        assert_eq!(at(150), None);
        assert_eq!(at(305), Some((1, PairSide::Baseline, Some(Step::Compute))));
        assert_eq!(at(419), Some((1, PairSide::Subject, Some(Step::Write))));
        assert_eq!(at(420), None);
    }
}
