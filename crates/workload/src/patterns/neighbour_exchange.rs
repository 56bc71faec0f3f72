//! All-gather of n ranks in n / 2 steps by alternating exchange with the two neighbours: used by Open MPI for
//! blocks of medium size.
//!
//! Jing Chen, Linbo Zhang, Yunquan Zhang and Wei Yuan, "Performance evaluation of allgather algorithms on
//! terascale Linux cluster with fast Ethernet", HPC Asia 2005. n is even.

use crate::schedule::ClosedForm;
use crate::{Pattern, Schedule, Shape, Transfer, WorkloadError};
use units::{Rank, TransferId};

/// At step 0 ranks 2k and 2k + 1 exchange their blocks. From then on rank r exchanges two blocks at a time,
/// at odd steps with its neighbour of the other pair, at even steps with that of its own: first the blocks of
/// its pair, then those received last.
#[derive(Debug)]
pub(crate) struct NeighbourExchange;

impl Pattern for NeighbourExchange {
    fn supports(&self, ranks: u32) -> Result<(), WorkloadError> {
        if ranks.is_multiple_of(2) { Ok(()) } else { Err(WorkloadError::OddRanks { ranks }) }
    }

    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) * u64::from(ranks / 2)
    }

    fn connections(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) * u64::from(ranks.min(4) / 2)
    }

    fn payload_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        data_bytes.saturating_mul(u64::from(ranks) - 1)
    }

    fn largest_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        data_bytes / u64::from(ranks) * if ranks > 2 { 2 } else { 1 }
    }

    fn is_between_neighbours(&self) -> bool {
        true
    }

    fn is_listed(&self) -> bool {
        false
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        Schedule::closed(Exchanges { ranks: shape.ranks, block_bytes: shape.share_bytes() })
    }
}

/// Step by step, each rank sends to its partner.
#[derive(Debug)]
struct Exchanges {
    ranks: u32,
    block_bytes: u64,
}

impl ClosedForm for Exchanges {
    fn count(&self) -> u32 {
        self.ranks * (self.ranks / 2)
    }

    fn transfer(&self, id: TransferId) -> Transfer {
        let (ranks, step, rank) = (self.ranks, id.0 / self.ranks, id.0 % self.ranks);
        let blocks = if step == 0 { 1 } else { 2 };
        Transfer {
            src: Rank(rank),
            dst: Rank(partner(rank, step, ranks)),
            bytes: self.block_bytes * blocks,
            step,
            channel: 0,
            block: first_block(rank, step, ranks),
        }
    }

    fn period(&self) -> u32 {
        self.count().min(2 * self.ranks)
    }

    /// The transfer that the sender received at the previous step.
    fn predecessor(&self, id: TransferId) -> Option<TransferId> {
        let (step, rank) = ((id.0 / self.ranks).checked_sub(1)?, id.0 % self.ranks);
        Some(TransferId(step * self.ranks + partner(rank, step, self.ranks)))
    }

    /// The transfer that the receiver sends at the next step.
    fn successor(&self, id: TransferId) -> Option<TransferId> {
        let (step, rank) = (id.0 / self.ranks, id.0 % self.ranks);
        let next = (step + 1) * self.ranks + partner(rank, step, self.ranks);
        (next < self.count()).then_some(TransferId(next))
    }
}

/// The partner of `rank` at `step`.
const fn partner(rank: u32, step: u32, ranks: u32) -> u32 {
    let is_next = rank.is_multiple_of(2) == step.is_multiple_of(2);
    (if is_next { rank + 1 } else { rank + ranks - 1 }) % ranks
}

/// The first block that `rank` sends at `step`.
const fn first_block(rank: u32, step: u32, ranks: u32) -> u32 {
    if step == 0 {
        return rank;
    }
    // The blocks received at the previous step: for odd steps from the far side of its pair, for even steps
    // through its partner.
    let (pairs, away) = (ranks / 2, step / 2);
    let is_after = rank.is_multiple_of(2) == step.is_multiple_of(2);
    let pair = if is_after { rank / 2 + pairs - away } else { rank / 2 + away };
    2 * (pair % pairs)
}
