//! Incast N:1: everybody sends to one receiver.

use crate::{Pattern, Peer, Schedule, ScheduleBuilder, Shape, Transfer};
use units::Rank;

/// Every rank but the root sends S to the root, all at once.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Pattern for Parallel {
    fn collective(&self) -> &'static str {
        "incast"
    }

    fn algorithm(&self) -> &'static str {
        "parallel"
    }

    fn parts(&self, _ranks: u32, _data_bytes: u64) -> u64 {
        1
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) - 1
    }

    fn busy_ranks(&self, _ranks: u32) -> u32 {
        1
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let (dst, bytes) = (shape.root, shape.data_bytes);
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(shape.ranks, shape.data_bytes), 0);
        for src in super::others(shape.root.0, shape.ranks) {
            builder.push(Transfer { src: Rank(src), dst, bytes, step: 0, channel: 0, block: src }, &[]);
        }
        builder.finish()
    }

    fn open_loop(&self, shape: &Shape) -> Option<Vec<Option<Peer>>> {
        let peer = |rank| (rank != shape.root.0).then_some(Peer::One(shape.root));
        Some((0..shape.ranks).map(peer).collect())
    }
}
