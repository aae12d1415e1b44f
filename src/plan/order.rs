//! Random orders that can be repeated: which fork comes when, and which side of a pair comes first.
//!
//! Every order has a stream of its own: a `ChaCha20` generator whose 256-bit key is the SHA-256 of what the order is for
//! (seed, cell, fork, phase). Any one fork can therefore be repeated alone, bit for bit, and no order depends on how
//! many random numbers another one took. The algorithms stand here in full, not in a library, since a library's
//! shuffle may change with its version, and these orders are part of what a manifest means.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use super::Cell;
use crate::manifest::PairOrder;
use crate::units::{ForkIndex, Seed};

/// A stream of random numbers for one purpose.
pub struct Stream(ChaCha20Rng);

impl Stream {
    fn new(seed: Seed, purpose: &str) -> Self {
        let key = Sha256::digest(format!("preview-cost order 1\nseed={}\n{purpose}", seed.0));
        Self(ChaCha20Rng::from_seed(key.into()))
    }

    /// A number below `bound`, each equally likely: the multiply-shift of a 64-bit draw, drawn again where it would
    /// be biased (Lemire, "Fast random integer generation in an interval", 2019).
    fn below(&mut self, bound: u64) -> u64 {
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// A fair coin.
    fn coin(&mut self) -> bool {
        self.0.next_u64() >> 63 == 1
    }

    /// Puts the items into a random order, each equally likely (Fisher and Yates, from the last place down).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            let other = self.below(place as u64 + 1) as usize;
            items.swap(place, other);
        }
    }
}

/// The stream that orders the cells of one round of forks.
pub(super) fn round_stream(seed: Seed, round: ForkIndex) -> Stream {
    Stream::new(seed, &format!("round={round}"))
}

/// For each pair of a phase, whether the subject comes first.
///
/// `phase` is the archive's word; warm-up and measured pairs have streams of their own.
pub fn subject_first(order: PairOrder, seed: Seed, cell: &Cell, fork: ForkIndex, phase: &str, pairs: u32) -> Vec<bool> {
    let mut stream = Stream::new(seed, &format!("{}\nfork={fork}\nphase={phase}", cell.coordinates()));
    match order {
        PairOrder::Coin => (0..pairs).map(|_| stream.coin()).collect(),
        PairOrder::Balanced => {
            let mut first: Vec<bool> = (0..pairs).map(|pair| pair < pairs / 2).collect();
            if pairs % 2 == 1 {
                // The odd pair goes either way.
                first[pairs as usize / 2] = stream.coin();
            }
            stream.shuffle(&mut first);
            first
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn draws_below_a_bound_are_uniform() {
        let mut stream = Stream::new(Seed(1), "test");
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        // Chi-square with 5 degrees of freedom: 20.5 is exceeded with probability 0.001; the seed is fixed.
        let chi: f64 = counts
            .iter()
            .map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0)
            .sum();
        assert!(chi < 20.5, "{counts:?}");
    }

    proptest! {
        #[test]
        fn a_shuffle_permutes(seed in any::<u64>(), length in 0usize..200) {
            let mut items: Vec<usize> = (0..length).collect();
            Stream::new(Seed(seed), "test").shuffle(&mut items);
            items.sort_unstable();
            prop_assert_eq!(items, (0..length).collect::<Vec<_>>());
        }
    }
}
