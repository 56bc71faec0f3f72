//! Incast N:1: all ranks send to one receiver.

use crate::{Pattern, Peer, Schedule, ScheduleBuilder, Shape, Transfer};
use units::Rank;

/// Every rank but the root sends S to the root, all at once.
#[derive(Debug)]
pub(crate) struct Incast {
    /// Whether the root receives by blocking calls, one after the other: announced messages wait.
    receives_one_by_one: bool,
}

/// The root has posted all its receives.
pub(crate) const PARALLEL: Incast = Incast { receives_one_by_one: false };
/// The root receives by blocking calls.
pub(crate) const LINEAR: Incast = Incast { receives_one_by_one: true };

impl Pattern for Incast {
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
        if self.receives_one_by_one { builder.finish_blocking() } else { builder.finish() }
    }

    fn open_loop(&self, shape: &Shape) -> Option<Vec<Option<Peer>>> {
        let peer = |rank| (rank != shape.root.0).then_some(Peer::One(shape.root));
        (!self.receives_one_by_one).then(|| (0..shape.ranks).map(peer).collect())
    }
}
