//! Schedules of blocks forwarded around a ring, described without numbering their transfers.

use crate::Parts;

/// Each rank starts with a block and sends it to the next rank, which forwards it as soon as it has arrived,
/// for `steps` steps: at step k rank r sends the initial block of rank r - k. There are no other
/// dependencies.
///
/// Rings of a hundred thousand ranks have more transfers than can be numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Number of ranks in the ring.
    pub ranks: u32,
    /// Number of times that each block is sent.
    pub steps: u32,
    /// Sizes of the blocks.
    pub(crate) parts: Parts,
    /// Rank r starts with the block of rank r - `first_block_back`.
    pub(crate) first_block_back: u32,
}

impl Relay {
    /// Size of the initial block of a rank [bytes].
    #[must_use]
    pub fn bytes(&self, rank: u32) -> u64 {
        let block = (rank + self.ranks - self.first_block_back % self.ranks) % self.ranks;
        self.parts.of(block.into())
    }

    /// Total number of transfers.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        u64::from(self.ranks) * u64::from(self.steps)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Shape, find, schedule_for};
    use proptest::prelude::*;
    use units::{Rank, Seed, TransferId};

    proptest! {
        #[test]
        fn a_relay_is_its_schedule(pick in 0..3_usize, ranks in 2..20_u32, data_bytes in 1..2_000_u64) {
            let collective = ["all-reduce", "all-gather", "reduce-scatter"][pick];
            let data_bytes = data_bytes * crate::shares(collective, ranks);
            let stream = Seed(1).stream("test", 0);
            let shape = Shape { ranks, data_bytes, root: Rank(0), stream };
            let relay = find(collective, "ring").unwrap().pattern.relay(&shape).expect("a ring is one");
            let schedule = schedule_for(collective, "ring", &shape).unwrap();
            prop_assert_eq!(relay.transfers(), schedule.transfers().len() as u64);
            for (number, transfer) in (0..).zip(schedule.transfers()) {
                let (step, rank) = (number / ranks, number % ranks);
                prop_assert_eq!((transfer.src.0, transfer.dst.0), (rank, (rank + 1) % ranks));
                prop_assert_eq!(transfer.bytes, relay.bytes((rank + ranks - step % ranks) % ranks));
                let next = (step + 1 < relay.steps).then(|| TransferId((step + 1) * ranks + transfer.dst.0));
                prop_assert!(schedule.successors(TransferId(number)).eq(next));
                prop_assert_eq!(schedule.dependencies(TransferId(number)), u32::from(step > 0));
            }
        }
    }

    #[test]
    fn what_shares_ranks_with_another_way_is_none() {
        let shape = Shape { ranks: 4, data_bytes: 64, root: Rank(0), stream: Seed(1).stream("test", 0) };
        for (collective, algorithm) in [("all-reduce", "ring-bidirectional"), ("all-to-all", "pairwise")] {
            assert_eq!(find(collective, algorithm).unwrap().pattern.relay(&shape), None);
        }
    }
}
