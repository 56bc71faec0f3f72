//! Permutation traffic: every rank sends to one other and receives from one other, drawn at random.

use crate::{Pattern, Peer, Schedule, ScheduleBuilder, Shape, Transfer};
use units::{Rank, Stream};

/// Each rank sends all its data to its successor in a random permutation without fixed points, all at once.
///
/// The permutation is a single cycle, drawn uniformly from all (n - 1)! of them; derangements of several
/// cycles are not drawn.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Pattern for Parallel {
    fn parts(&self, _ranks: u32, _data_bytes: u64) -> u64 {
        1
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let bytes = shape.data_bytes;
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(shape.ranks, shape.data_bytes), 0);
        for (src, dst) in (0..).zip(random_cycle(shape.ranks, shape.stream.clone())) {
            builder.push(Transfer { src: Rank(src), dst, bytes, step: 0, channel: 0, block: src }, &[]);
        }
        builder.finish()
    }

    fn open_loop(&self, shape: &Shape) -> Option<Vec<Option<Peer>>> {
        let images = random_cycle(shape.ranks, shape.stream.clone());
        Some(images.into_iter().map(|image| Some(Peer::One(image))).collect())
    }
}

/// The image of each rank under a random cyclic permutation, by Sattolo's algorithm (1986): a shuffle without
/// fixed points.
fn random_cycle(ranks: u32, mut stream: Stream) -> Vec<Rank> {
    let mut images: Vec<_> = (0..ranks).map(Rank).collect();
    for last in (1..images.len()).rev() {
        images.swap(last, stream.below(last as u64) as usize);
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use units::Seed;

    fn cycle(ranks: u32, seed: u64) -> Vec<Rank> {
        random_cycle(ranks, Seed(seed).stream("workload.permutation", 0))
    }

    proptest! {
        #[test]
        fn the_way_from_image_to_image_visits_every_rank(ranks in 2..200u32, seed in any::<u64>()) {
            let images = cycle(ranks, seed);
            let mut rank = Rank(0);
            for step in 1..=ranks {
                rank = images[rank.index()];
                prop_assert_eq!(rank == Rank(0), step == ranks);
            }
        }

        #[test]
        fn the_seed_decides(seed in any::<u64>()) {
            prop_assert_eq!(cycle(64, seed), cycle(64, seed));
            prop_assert_ne!(cycle(64, seed), cycle(64, seed ^ 1));
        }
    }

    #[test]
    fn all_cycles_are_about_equally_likely() {
        let mut counts: HashMap<Vec<Rank>, u32> = HashMap::new();
        for seed in 0..6_000 {
            *counts.entry(cycle(4, seed)).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| count.abs_diff(1_000) < 150), "{counts:?}");
    }
}
