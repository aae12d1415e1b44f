//! Order statistics over the sorted values of several forks, read as if they were one sorted list: nothing is merged.

use std::ops::Deref;

/// Ascending lists, read as one.
#[derive(Debug, Clone)]
pub(super) struct Pooled<'a> {
    runs: Vec<&'a [i64]>,
    count: usize,
}

impl<'a> Pooled<'a> {
    pub fn of<T: Deref<Target = [i64]> + 'a>(runs: impl IntoIterator<Item = &'a T>) -> Self {
        let runs: Vec<&[i64]> = runs
            .into_iter()
            .map(Deref::deref)
            .filter(|run| !run.is_empty())
            .collect();
        Self {
            count: runs.iter().map(|run| run.len()).sum(),
            runs,
        }
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Values that are at most this one.
    pub fn at_most(&self, value: i64) -> usize {
        let of_run = |run: &&[i64]| run.partition_point(|&other| other <= value);
        self.runs.iter().map(of_run).sum()
    }

    /// The value at a rank, from 1 to [`Self::count`]: the smallest that so many values reach.
    pub fn at(&self, rank: usize) -> i64 {
        let mut low = self.runs.iter().map(|run| run[0]).min().unwrap_or(0);
        let mut high = self.runs.iter().map(|run| run[run.len() - 1]).max().unwrap_or(0);
        while low < high {
            // Rounds down, for negative values too, so that the range shrinks with every step.
            let middle = (i128::midpoint(i128::from(low), i128::from(high)))
                .min(i128::from(high) - 1)
                .max(i128::from(low)) as i64;
            if self.at_most(middle) >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_are_those_of_the_merged_list(
            mut runs in prop::collection::vec(prop::collection::vec(-20i64..20, 0..30), 0..6),
        ) {
            for run in &mut runs {
                run.sort_unstable();
            }
            let mut merged = runs.concat();
            merged.sort_unstable();
            let pooled = Pooled::of(&runs);
            prop_assert_eq!(pooled.count(), merged.len());
            for (place, value) in merged.iter().enumerate() {
                prop_assert_eq!(pooled.at(place + 1), *value);
            }
        }
    }

    #[test]
    fn the_whole_range_of_integers_is_searched() {
        let runs = [vec![i64::MIN, -1, i64::MAX], vec![i64::MIN + 1, 0, i64::MAX - 1]];
        let pooled = Pooled::of(&runs);
        let all: Vec<i64> = (1..=6).map(|rank| pooled.at(rank)).collect();
        assert_eq!(all, [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX]);
    }
}
