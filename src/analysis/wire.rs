//! What passed the proxy: round trips a preview as the protocol knows them, and how well the path's delay was kept.

use std::collections::BTreeMap;

use crate::archive::{ForkWire, PairSide, Phase, WirePlace, WireRow, WireWay};
use crate::nearest_rank;
use crate::step::Step;
use crate::units::{CellIndex, ForkIndex};

/// The digests of the forks that had a proxy in their path.
pub type Wires = BTreeMap<(CellIndex, ForkIndex), WireDigest>;

/// One fork's passages, digested; times in ns. Only measured previews count, and of them what is not counted apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WireDigest {
    /// By side: round trips of each preview that had any, in the order of the pairs.
    trips: [Vec<u32>; 2],
    /// By side and step: round trips that began in it.
    steps: [BTreeMap<Step, u64>; 2],
    /// By side: reads and bytes that came from the client, and bytes that came from the server.
    traffic: [Traffic; 2],
    /// How much longer than declared each passage was held, ascending; of those alone that were to be held.
    overshoot: Vec<i64>,
    /// Medians of how long passages were held, to the server and to the client.
    held: [Option<i64>; 2],
}

/// What went one side's way in a fork.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Traffic {
    writes: u64,
    to_server: i64,
    to_client: i64,
}

impl WireDigest {
    /// Of a fork as it was read; `None` where no proxy stood in the path.
    pub fn of(fork: &ForkWire) -> Option<Self> {
        if fork.passages.is_empty() {
            return None;
        }
        let mut digest = Self::default();
        let mut held: [Vec<i64>; 2] = Default::default();
        let mut last: [Option<WirePlace>; 2] = [None, None];
        for row in &fork.passages {
            let Some(place) = row
                .place
                .filter(|place| place.phase == Phase::Measured && row.apart.is_none())
            else {
                continue;
            };
            digest.count(row, place, &mut last);
            held[usize::from(row.way == WireWay::ToClient)].push(row.held.0);
            if row.declared.0 > 0 {
                digest.overshoot.push(row.held.0.saturating_sub(row.declared.0));
            }
        }
        digest.overshoot.sort_unstable();
        digest.held = held.map(|mut held| nearest_rank::median(&mut held));
        Some(digest)
    }

    fn count(&mut self, row: &WireRow, place: WirePlace, last: &mut [Option<WirePlace>; 2]) {
        let side = usize::from(place.side == PairSide::Baseline);
        let is_same = |before: &WirePlace| (before.previewer, before.pair) == (place.previewer, place.pair);
        if !last[side].as_ref().is_some_and(is_same) {
            self.trips[side].push(0);
        }
        last[side] = Some(place);
        if let Some(trips) = self.trips[side].last_mut() {
            *trips += row.round_trips;
        }
        if let Some(step) = place.step.filter(|_| row.round_trips > 0) {
            *self.steps[side].entry(step).or_default() += u64::from(row.round_trips);
        }
        let traffic = &mut self.traffic[side];
        match row.way {
            WireWay::ToServer => {
                traffic.writes += 1;
                traffic.to_server = traffic.to_server.saturating_add(row.bytes);
            }
            WireWay::ToClient => traffic.to_client = traffic.to_client.saturating_add(row.bytes),
        }
    }

    /// How much longer a round trip was for the holding, ns: the median hold each way, added.
    pub(super) fn added(&self) -> Option<i64> {
        let [up, down] = self.held;
        Some(up?.saturating_add(down?))
    }
}

/// What passed the proxy in one cell's measured previews; times in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct CellWire {
    /// Of the subject.
    pub subject: SideWire,
    /// Of the baseline.
    pub baseline: SideWire,
    /// How much longer than declared passages were held: median, 99th percentile, and the most; `None` where nothing was
    /// to be held.
    pub overshoot: Option<[i64; 3]>,
    /// Median over the forks of what a round trip was longer for the holding.
    pub added: Option<i64>,
}

/// What passed the proxy for one side.
#[derive(Debug, Clone, PartialEq)]
pub struct SideWire {
    /// Round trips a preview: the least and the most of any.
    pub trips: (u32, u32),
    /// The same on average.
    pub mean_trips: f64,
    /// By step, round trips that began in it, a preview.
    pub steps: Vec<(Step, f64)>,
    /// Client writes a preview, as they arrived.
    pub writes: f64,
    /// Bytes a preview to the server and to the client.
    pub bytes: [f64; 2],
}

/// Sums up a cell's forks. `previews` is how many measured previews each side had in all; those without a passage had no
/// round trip.
pub(super) fn summarise(forks: &[&WireDigest], previews: u64) -> Option<CellWire> {
    if forks.is_empty() || previews == 0 {
        return None;
    }
    let mut overshoot: Vec<i64> = forks.iter().flat_map(|fork| fork.overshoot.iter().copied()).collect();
    overshoot.sort_unstable();
    let at = |numerator, denominator| overshoot[nearest_rank::rank(overshoot.len(), numerator, denominator) - 1];
    let told = (!overshoot.is_empty()).then(|| [at(1, 2), at(99, 100), overshoot[overshoot.len() - 1]]);
    let mut added: Vec<i64> = forks.iter().filter_map(|fork| fork.added()).collect();
    Some(CellWire {
        subject: side(forks, 0, previews),
        baseline: side(forks, 1, previews),
        overshoot: told,
        added: nearest_rank::median(&mut added),
    })
}

fn side(forks: &[&WireDigest], side: usize, previews: u64) -> SideWire {
    let trips = || forks.iter().flat_map(|fork| fork.trips[side].iter().copied());
    let with_passage = trips().count() as u64;
    let least = trips().min().filter(|_| with_passage >= previews);
    let sum = |of: &dyn Fn(&WireDigest) -> f64| forks.iter().map(|fork| of(fork)).sum::<f64>() / previews as f64;
    let steps = Step::ALL.into_iter().filter_map(|step| {
        let began = sum(&|fork| fork.steps[side].get(&step).copied().unwrap_or_default() as f64);
        (began > 0.0).then_some((step, began))
    });
    SideWire {
        trips: (least.unwrap_or_default(), trips().max().unwrap_or_default()),
        mean_trips: trips().map(f64::from).sum::<f64>() / previews as f64,
        steps: steps.collect(),
        writes: sum(&|fork| fork.traffic[side].writes as f64),
        bytes: [
            sum(&|fork| fork.traffic[side].to_server as f64),
            sum(&|fork| fork.traffic[side].to_client as f64),
        ],
    }
}
