//! Gather on a binomial tree: each rank sends the blocks of its subtree to its parent once it has them.
//!
//! With ranks counted from the root, rank v sends the blocks of ranks v to v + 2^k - 1 at step k to rank v -
//! 2^k, where 2^k is the lowest bit of v. Thakur, Rabenseifner and Gropp, "Optimization of collective
//! communication operations in MPICH", 2005.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::{Rank, TransferId};

/// Gather in ceil(log2 n) steps.
#[derive(Debug)]
pub(crate) struct BinomialGather;

/// Ranks in the subtree of rank `position`, counted from the root, which it is not.
fn subtree(ranks: u32, position: u32) -> u64 {
    u64::from((1 << position.trailing_zeros()).min(ranks - position))
}

impl Pattern for BinomialGather {
    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) - 1
    }

    fn payload_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        let blocks = (1..ranks).map(|position| subtree(ranks, position)).sum();
        (data_bytes / u64::from(ranks)).saturating_mul(blocks)
    }

    fn largest_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        let blocks = (1..ranks).map(|position| subtree(ranks, position)).max();
        data_bytes / u64::from(ranks) * blocks.unwrap_or(1)
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let (ranks, transfers) = (shape.ranks, self.transfers(shape.ranks, shape.data_bytes));
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers);
        let mut received: Vec<Vec<TransferId>> = vec![Vec::new(); ranks as usize];
        let rank = |position: u32| (shape.root.0 + position) % ranks;
        for step in 0..ranks.next_power_of_two().ilog2() {
            for position in (1..ranks).filter(|position| position.trailing_zeros() == step) {
                let parent = position & (position - 1);
                let (src, dst, block) = (Rank(rank(position)), Rank(rank(parent)), rank(position));
                let bytes = shape.share_bytes() * subtree(ranks, position);
                let transfer = Transfer { src, dst, bytes, step, channel: 0, block };
                let id = builder.push(transfer, &received[position as usize]);
                received[parent as usize].push(id);
            }
        }
        builder.finish_blocking()
    }
}
