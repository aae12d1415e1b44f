//! Whether a fork's times are the server's, or those of acknowledgements that the kernel delayed.
//!
//! There are two witnesses. The kernel counts what it delays, but for all connections of the machine, most of which nobody
//! waits for: a connection that falls idle has its last acknowledgement delayed too. And whoever waited for one waited for
//! 40 ms, which shows in the times, but a slow server could take as long. Many are proof enough; a few are where both
//! witnesses say so; and where nobody counts, the times alone must do.

use crate::environment::delayed_acks;
use crate::units::Nanos;

/// A wait that may have been for an acknowledgement: Linux delays for 40 ms or more, less the grain of its timer.
const LONG: Nanos = Nanos(38_000_000);
/// Share of previews that may have been held up: too few for the last percentile of either side.
const FEW: f64 = 0.004;
/// Previews that may have been, however few there are.
const FEW_AT_LEAST: f64 = 2.0;
/// Delayed acknowledgements a preview that can't be other connections' alone.
const MANY: f64 = 0.02;
/// Delayed acknowledgements an empty round trip that may move the median.
const MANY_OF_TRIPS: f64 = 0.1;

/// The kernel's count at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct DelayedAcks(Option<i64>);

impl DelayedAcks {
    /// What it is now.
    pub fn now() -> Self {
        Self(delayed_acks())
    }

    /// What was added since; `None` where nobody counts.
    pub fn since(self) -> Option<i64> {
        Some(delayed_acks()? - self.0?)
    }
}

/// What the witnesses say of a fork.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence {
    /// Previews, of either side, whether they count or not.
    pub previews: usize,
    /// How many of them were long; see [`is_long`].
    pub long: usize,
    /// Acknowledgements that were delayed meanwhile.
    pub delayed: Option<i64>,
    /// Empty round trips.
    pub trips: usize,
    /// Whether the median of some was long.
    pub is_far: bool,
    /// Acknowledgements that were delayed during the empty round trips.
    pub delayed_of_trips: Option<i64>,
}

/// Whether a time is one in which somebody may have waited for an acknowledgement.
pub(super) fn is_long(time: Nanos) -> bool {
    time >= LONG
}

/// Why the times of a fork would be the kernel's; `None` where they are not.
pub(super) fn verdict(evidence: &Evidence) -> Option<String> {
    let Evidence { previews, long, .. } = *evidence;
    let few = (FEW * previews as f64).max(FEW_AT_LEAST);
    let are_long = long as f64 > few;
    match evidence.delayed {
        Some(delayed) if delayed as f64 > MANY * previews as f64 => Some(format!(
            "the kernel delayed {delayed} acknowledgements during {previews} previews, and each may be 40 ms that are not \
             the server's"
        )),
        Some(delayed) if are_long && delayed as f64 > few => Some(format!(
            "{long} of {previews} previews took 38 ms or more while the kernel delayed {delayed} acknowledgements, each by \
             40 ms that are not the server's"
        )),
        None if are_long => Some(format!(
            "{long} of {previews} previews took 38 ms or more, and this system does not say how many acknowledgements it \
             delayed, so this may not be the server's time"
        )),
        _ => of_distance(evidence),
    }
}

fn of_distance(evidence: &Evidence) -> Option<String> {
    let trips = evidence.trips;
    match evidence.delayed_of_trips {
        Some(delayed) if delayed as f64 > MANY_OF_TRIPS * trips as f64 => Some(format!(
            "the kernel delayed {delayed} acknowledgements during {trips} empty round trips, so the distance may be the \
             kernel's"
        )),
        None if evidence.is_far => Some(
            "an empty round trip took 38 ms or more, and this system does not say how many acknowledgements it delayed, so \
             this may not be the distance"
                .to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: Evidence = Evidence {
        previews: 1_000,
        long: 0,
        delayed: Some(0),
        trips: 400,
        is_far: false,
        delayed_of_trips: Some(0),
    };

    fn said(evidence: Evidence) -> String {
        verdict(&evidence).unwrap_or_default()
    }

    #[test]
    fn a_few_of_others_are_no_reason_and_many_are() {
        let with = |delayed| Evidence {
            delayed: Some(delayed),
            ..CLEAN
        };
        assert_eq!((said(CLEAN), said(with(20))), (String::new(), String::new()));
        assert!(said(with(21)).contains("21 acknowledgements during 1000 previews"));
    }

    #[test]
    fn a_few_are_a_reason_where_the_times_say_so_too() {
        let with = |long, delayed| Evidence {
            long,
            delayed: Some(delayed),
            ..CLEAN
        };
        assert!(said(with(5, 5)).contains("5 of 1000 previews took 38 ms"));
        let of_a_hundred = |few| Evidence {
            previews: 150,
            ..with(few, few as i64)
        };
        assert!(said(of_a_hundred(2)).is_empty() && !said(of_a_hundred(3)).is_empty());
        // A server may be slow, and others may have their acknowledgements delayed.
        for (long, delayed) in [(1_000, 0), (1_000, 4), (4, 20), (0, 20)] {
            assert_eq!(said(with(long, delayed)), "", "{long} {delayed}");
        }
    }

    #[test]
    fn where_nobody_counts_the_times_must_do() {
        let with = |long, is_far| Evidence {
            long,
            is_far,
            delayed: None,
            delayed_of_trips: None,
            ..CLEAN
        };
        assert_eq!(said(with(4, false)), "");
        assert!(said(with(5, false)).contains("does not say"));
        assert!(said(with(0, true)).contains("may not be the distance"));
    }

    #[test]
    fn the_distance_is_judged_too() {
        let with = |delayed, is_far| Evidence {
            delayed_of_trips: Some(delayed),
            is_far,
            ..CLEAN
        };
        assert!(said(with(41, false)).contains("41 acknowledgements during 400 empty round trips"));
        assert_eq!((said(with(40, false)), said(with(0, true))), Default::default());
    }

    #[test]
    fn a_wait_for_an_acknowledgement_is_long() {
        assert!(is_long(Nanos(38_000_000)) && !is_long(Nanos(37_999_999)));
    }
}
