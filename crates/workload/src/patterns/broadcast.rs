//! Broadcast: every rank ends with the root's buffer.

use super::binomial::{Binomial, Flow};
use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::Rank;

/// All of S is sent down a binomial tree.
pub(crate) const TREE: Binomial = Binomial { flow: Flow::FromRoot };

/// The root sends all of S to each other rank at once, posting to root + 1, root + 2, ... around the ring.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Pattern for Parallel {
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
        let (src, bytes) = (shape.root, shape.data_bytes);
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(shape.ranks, shape.data_bytes), 0);
        for dst in super::others(shape.root.0, shape.ranks) {
            builder.push(Transfer { src, dst: Rank(dst), bytes, step: 0, channel: 0, block: 0 }, &[]);
        }
        builder.finish()
    }
}
