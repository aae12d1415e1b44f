//! The path between driver and database: a proxy that counts what passes and holds it for a set time.
//!
//! It runs in a process of its own, so that it can't take the worker's time: [`child`] starts it for a fork, and the
//! subcommand `proxy` serves any PostgreSQL client. It understands the framing of the protocol and nothing else; bytes pass
//! as they came. It must see plaintext, so it answers a client that asks for TLS with a no.
//!
//! ```text
//! driver ──► read, stamped ─► held until stamp + half the delay ─► written ──► database
//!        ◄── written ◄─ held until stamp + half the delay ◄─ read, stamped ◄──
//! ```
//!
//! * **Delay** is what one round trip is longer by; half of it is held on either way. What came in one read leaves together,
//!   half the delay after it was read: the delay of one burst never adds to that of the next.
//! * **Round trips** are counted as the protocol knows them: changes from nothing awaited to an answer awaited, where every
//!   `Query`, `Sync` and `FunctionCall` awaits one `ReadyForQuery`. Start-up, COPY and Flush are told apart. Counting writes would
//!   count what TCP splits and joins, and counting Syncs would count those that left together.

pub mod child;
mod endpoint;
mod error;
mod frames;
mod hold;
mod passage;
pub mod proxy;
mod relay;
mod tally;
mod trips;

pub use endpoint::Endpoint;
pub use error::PathError;
pub use frames::MessageCounts;
pub use passage::{Apart, Passage, Way};
pub use tally::Tally;

use crate::units::Nanos;

/// What one round trip is longer by; never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Delay(Nanos);

impl Delay {
    /// No more than a proxy takes.
    pub const NONE: Self = Self(Nanos(0));

    /// Of a round trip; what is negative is none.
    pub fn of_round_trip(delay: Nanos) -> Self {
        Self(Nanos(delay.0.max(0)))
    }

    /// How long what goes this way is held: half of it, and the odd nanosecond on the way back.
    pub fn on(self, way: Way) -> Nanos {
        let there = self.0.0 / 2;
        match way {
            Way::ToServer => Nanos(there),
            Way::ToClient => Nanos(self.0.0 - there),
        }
    }

    /// Reads a number and a unit: `250us`, `1.5ms`, `2s`, or `0`.
    ///
    /// # Errors
    /// [`PathError::Delay`], also above ten seconds.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let wrong = || PathError::Delay { text: text.to_owned() };
        let units = [("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("ns", 1.0), ("s", 1e9)];
        let with_unit = units
            .iter()
            .find_map(|(unit, nanos)| Some((text.strip_suffix(unit)?, *nanos)));
        let (digits, nanos) = match with_unit {
            Some((digits, nanos)) => (digits.trim_end(), nanos),
            None if text == "0" => (text, 0.0),
            None => return Err(wrong()),
        };
        let value = digits.parse::<f64>().map_err(|_| wrong())? * nanos;
        if !(0.0..=10e9).contains(&value) {
            return Err(wrong());
        }
        Ok(Self(Nanos(value.round() as i64)))
    }

    /// Of a round trip.
    pub fn round_trip(self) -> Nanos {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_numbers_with_units() {
        let nanos = |text: &str| Delay::parse(text).map(|delay| delay.round_trip().0);
        for (text, expected) in [
            ("250us", 250_000),
            ("1.5ms", 1_500_000),
            ("0", 0),
            ("2s", 2_000_000_000),
            ("7ns", 7),
        ] {
            assert_eq!(nanos(text).unwrap(), expected, "{text}");
        }
        for text in ["", "250", "us", "-1ms", "1h", "11s", "NaNms", "5ss", "1usus"] {
            assert!(nanos(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn both_ways_add_up_to_the_round_trip() {
        let delay = Delay::of_round_trip(Nanos(7));
        assert_eq!((delay.on(Way::ToServer), delay.on(Way::ToClient)), (Nanos(3), Nanos(4)));
        assert_eq!(Delay::of_round_trip(Nanos(-1)), Delay::NONE);
    }
}
