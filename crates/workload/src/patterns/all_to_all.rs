//! All-to-all: rank r's block d ends at rank d, for every pair.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::Rank;

/// Every rank sends S/n to each other rank, all at once. Rank r posts to r + 1, r + 2, ... around the ring, so
/// that no receiver is everyone's first.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Pattern for Parallel {
    fn collective(&self) -> &'static str {
        "all-to-all"
    }

    fn algorithm(&self) -> &'static str {
        "parallel"
    }

    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        super::ordered_pairs(ranks)
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let bytes = shape.share_bytes();
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(shape.ranks, shape.data_bytes), 0);
        for src in 0..shape.ranks {
            for dst in super::others(src, shape.ranks) {
                let (src, block) = (Rank(src), dst);
                builder.push(Transfer { src, dst: Rank(dst), bytes, step: 0, channel: 0, block }, &[]);
            }
        }
        builder.finish()
    }
}
