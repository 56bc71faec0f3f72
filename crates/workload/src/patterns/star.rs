//! Collectives around a root in one step: gather and incast, from all ranks to the root; broadcast and
//! scatter, from the root to all ranks.

use super::binomial::Flow;
use crate::{Pattern, Peer, Schedule, ScheduleBuilder, Shape, Transfer};
use units::Rank;

/// Transfers between the root and every other rank, all at once, in ring order from root + 1 on.
#[derive(Debug)]
pub(crate) struct Star {
    flow: Flow,
    /// Each transfer is the share of one rank, S/n (data size S, n ranks); the root's own share is not sent.
    /// Otherwise it is all of S.
    has_shares: bool,
    /// The root receives by blocking calls, one after the other: announced messages wait.
    is_blocking: bool,
}

/// The root ends with the blocks of all ranks: every rank sends its S/n.
pub(crate) const GATHER: Star = Star { flow: Flow::ToRoot, has_shares: true, is_blocking: false };
/// The root's block d ends at rank d: the root sends S/n to each rank.
pub(crate) const SCATTER: Star = Star { flow: Flow::FromRoot, has_shares: true, is_blocking: false };
/// Every rank ends with the root's buffer: the root sends all of S to each rank.
pub(crate) const BROADCAST: Star = Star { flow: Flow::FromRoot, has_shares: false, is_blocking: false };
/// Incast N:1: every rank sends all its data to the root, which has posted all its receives.
pub(crate) const INCAST: Star = Star { flow: Flow::ToRoot, has_shares: false, is_blocking: false };
/// The same with a root that receives by blocking calls.
pub(crate) const LINEAR_INCAST: Star = Star { is_blocking: true, ..INCAST };

impl Pattern for Star {
    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        if self.has_shares { ranks.into() } else { 1 }
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) - 1
    }

    fn busy_ranks(&self, _ranks: u32) -> u32 {
        1
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let Shape { ranks, root, .. } = *shape;
        let bytes = if self.has_shares { shape.share_bytes() } else { shape.data_bytes };
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(ranks, shape.data_bytes), 0);
        for other in (root.0 + 1..ranks).chain(0..root.0) {
            let (src, dst, block) = match self.flow {
                Flow::ToRoot => (Rank(other), root, other),
                Flow::FromRoot => (root, Rank(other), if self.has_shares { other } else { 0 }),
            };
            builder.push(Transfer { src, dst, bytes, step: 0, channel: 0, block }, &[]);
        }
        if self.is_blocking { builder.finish_blocking() } else { builder.finish() }
    }

    fn open_loop(&self, shape: &Shape) -> Option<Vec<Option<Peer>>> {
        let is_open = self.flow == Flow::ToRoot && !self.has_shares && !self.is_blocking;
        let peer = |rank| (rank != shape.root.0).then_some(Peer::One(shape.root));
        is_open.then(|| (0..shape.ranks).map(peer).collect())
    }
}
