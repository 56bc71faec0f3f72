//! All-to-all: rank r's block d ends at rank d, for every pair; every rank sends all its blocks at once.

use crate::schedule::ClosedForm;
use crate::{Pattern, Schedule, Shape, Transfer};
use units::{Rank, TransferId};

/// Every rank sends S/n (data size S, n ranks) to each other rank, all at once. Rank r posts to r + 1, r + 2,
/// ... around the ring, so that the first messages have different receivers.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Pattern for Parallel {
    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        super::ordered_pairs(ranks)
    }

    fn is_listed(&self) -> bool {
        false
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        Schedule::closed(Pairs { ranks: shape.ranks, bytes: shape.share_bytes() })
    }
}

/// Every ordered pair of ranks, sender by sender.
#[derive(Debug)]
struct Pairs {
    ranks: u32,
    /// Payload of each transfer.
    bytes: u64,
}

impl ClosedForm for Pairs {
    fn count(&self) -> u32 {
        self.ranks * (self.ranks - 1)
    }

    fn transfer(&self, id: TransferId) -> Transfer {
        let (src, distance) = (id.0 / (self.ranks - 1), id.0 % (self.ranks - 1) + 1);
        let dst = if src + distance < self.ranks { src + distance } else { src + distance - self.ranks };
        Transfer { src: Rank(src), dst: Rank(dst), bytes: self.bytes, step: 0, channel: 0, block: dst }
    }

    fn bytes(&self, _id: TransferId) -> u64 {
        self.bytes
    }

    fn independent_bytes(&self) -> Option<u64> {
        Some(self.bytes)
    }
}
