//! Gather: the root ends with the blocks of all ranks.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::Rank;

/// Every rank but the root sends its S/n to the root, all at once; the root's own share is not sent.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Pattern for Parallel {
    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) - 1
    }

    fn busy_ranks(&self, _ranks: u32) -> u32 {
        1
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let (dst, bytes) = (shape.root, shape.share_bytes());
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(shape.ranks, shape.data_bytes), 0);
        for src in super::others(shape.root.0, shape.ranks) {
            builder.push(Transfer { src: Rank(src), dst, bytes, step: 0, channel: 0, block: src }, &[]);
        }
        builder.finish()
    }
}
