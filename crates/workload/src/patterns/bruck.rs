//! All-gather and all-to-all of n ranks in ceil(log2 n) steps, by Bruck's algorithms: used by MPI libraries
//! for small data.
//!
//! Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
//! message-passing systems", 1997; Thakur, Rabenseifner and Gropp, 2005. Any number of ranks. A rank executes
//! its steps in order: each message depends on all earlier receives. Not modelled: the copies that rotate the
//! blocks of a rank.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::{Rank, TransferId};

/// A collective by Bruck's algorithm.
#[derive(Debug)]
pub(crate) enum Bruck {
    /// At step k rank r sends all the blocks that it has, at most n - 2^k, to rank r - 2^k: those of ranks r,
    /// r + 1, ... around the ring.
    AllGather,
    /// At step k rank r sends to rank r + 2^k every block whose distance from its sender to its receiver
    /// around the ring has bit k.
    AllToAll,
}

impl Bruck {
    /// Number of blocks that a rank sends at the step of distance 2^`bit`.
    fn blocks(&self, ranks: u32, bit: u32) -> u64 {
        let distance = 1_u64 << bit;
        let ranks = u64::from(ranks);
        if matches!(self, Self::AllGather) {
            return distance.min(ranks - distance);
        }
        // Each full period of 2^(bit + 1) has 2^bit numbers with this bit; of the remainder, those from 2^bit
        // on have it.
        ranks / (2 * distance) * distance + (ranks % (2 * distance)).saturating_sub(distance)
    }

    /// The receiver of the message of `rank`, and the first block in it.
    fn send(&self, ranks: u32, rank: u32, bit: u32) -> (u32, u32) {
        let distance = 1 << bit;
        if matches!(self, Self::AllGather) {
            return ((rank + ranks - distance) % ranks, rank);
        }
        ((rank + distance) % ranks, (rank + distance) % ranks)
    }
}

/// Number of steps: ceil(log2 n).
const fn steps(ranks: u32) -> u32 {
    ranks.next_power_of_two().ilog2()
}

impl Pattern for Bruck {
    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) * u64::from(steps(ranks))
    }

    fn payload_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        // All ranks together send n S/n for each block of a step.
        data_bytes.saturating_mul((0..steps(ranks)).map(|bit| self.blocks(ranks, bit)).sum())
    }

    fn largest_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        let blocks = (0..steps(ranks)).map(|bit| self.blocks(ranks, bit)).max();
        data_bytes / u64::from(ranks) * blocks.unwrap_or(1)
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let ranks = shape.ranks;
        let transfers = self.transfers(ranks, shape.data_bytes);
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers * u64::from(steps(ranks)) / 2);
        let mut received: Vec<Vec<TransferId>> = vec![Vec::new(); ranks as usize];
        for step in 0..steps(ranks) {
            let bytes = shape.share_bytes() * self.blocks(ranks, step);
            let send = |rank: u32| {
                let (dst, block) = self.send(ranks, rank, step);
                let transfer = Transfer { src: Rank(rank), dst: Rank(dst), bytes, step, channel: 0, block };
                (dst, builder.push(transfer, &received[rank as usize]))
            };
            let sent: Vec<_> = (0..ranks).map(send).collect();
            sent.into_iter().for_each(|(dst, id)| received[dst as usize].push(id));
        }
        builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use units::Seed;

    proptest! {
        /// Every block travels the bits of its distance one by one, and the total of all blocks is that of
        /// the transfers.
        #[test]
        fn every_block_of_an_all_to_all_reaches_its_rank(ranks in 2..70_u32, share in 1..100_u64) {
            let stream = Seed(1).stream("test", 0);
            let shape = Shape { ranks, data_bytes: share * u64::from(ranks), root: Rank(0), stream };
            let schedule = Bruck::AllToAll.schedule(&shape);
            let mut left: HashMap<(u32, u32, u32), u64> =
                schedule.transfers().map(|t| ((t.step, t.src.0, t.dst.0), t.bytes)).collect();
            for src in 0..ranks {
                for dst in (0..ranks).filter(|&dst| dst != src) {
                    let (distance, mut holder) = ((dst + ranks - src) % ranks, src);
                    for step in (0..steps(ranks)).filter(|step| distance & 1 << step != 0) {
                        let next = (holder + (1 << step)) % ranks;
                        *left.get_mut(&(step, holder, next)).unwrap() -= share;
                        holder = next;
                    }
                    prop_assert_eq!(holder, dst);
                }
            }
            prop_assert!(left.values().all(|&bytes| bytes == 0));
        }
    }
}
