//! Scatter: the root's block d ends at rank d.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::Rank;

/// The root sends S/n to each other rank, all at once, posting to root + 1, root + 2, ... around the ring;
/// its own share is not sent.
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
        let (src, bytes) = (shape.root, shape.share_bytes());
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(shape.ranks, shape.data_bytes), 0);
        for dst in super::others(shape.root.0, shape.ranks) {
            builder.push(Transfer { src, dst: Rank(dst), bytes, step: 0, channel: 0, block: dst }, &[]);
        }
        builder.finish()
    }
}
