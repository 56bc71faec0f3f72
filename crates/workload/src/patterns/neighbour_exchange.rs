//! All-gather in n / 2 steps by exchange with the two neighbours in turn: the way of Open MPI for blocks of middle size.
//!
//! Jing Chen, Linbo Zhang, Yunquan Zhang and Wei Yuan, "Performance evaluation of allgather algorithms on terascale Linux
//! cluster with fast Ethernet", HPC Asia 2005. n is even.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer, WorkloadError};
use units::{Rank, TransferId};

/// At step 0 ranks 2k and 2k + 1 exchange their blocks. From then on rank r exchanges two blocks at a time, at odd steps with
/// its neighbour of the other pair, at even ones with that of its own: those of its pair first, then those that it
/// received last.
#[derive(Debug)]
pub(crate) struct NeighbourExchange;

impl Pattern for NeighbourExchange {
    fn collective(&self) -> &'static str {
        "all-gather"
    }

    fn algorithm(&self) -> &'static str {
        "neighbour-exchange"
    }

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

    fn is_between_neighbours(&self) -> bool {
        true
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let (ranks, transfers) = (shape.ranks, self.transfers(shape.ranks, shape.data_bytes));
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers);
        let mut received: Vec<Option<TransferId>> = vec![None; ranks as usize];
        for step in 0..ranks / 2 {
            let blocks = if step == 0 { 1 } else { 2 };
            let send = |rank: u32| {
                let (dst, block) = (partner(rank, step, ranks), first_block(rank, step, ranks));
                let bytes = shape.share_bytes() * blocks;
                let transfer = Transfer { src: Rank(rank), dst: Rank(dst), bytes, step, channel: 0, block };
                (dst, builder.push(transfer, received[rank as usize].as_slice()))
            };
            let sent: Vec<_> = (0..ranks).map(send).collect();
            sent.into_iter().for_each(|(dst, id)| received[dst as usize] = Some(id));
        }
        builder.finish()
    }
}

/// Whom `rank` exchanges with at `step`.
const fn partner(rank: u32, step: u32, ranks: u32) -> u32 {
    let is_next = rank.is_multiple_of(2) == step.is_multiple_of(2);
    (if is_next { rank + 1 } else { rank + ranks - 1 }) % ranks
}

/// The first block that `rank` sends at `step`.
const fn first_block(rank: u32, step: u32, ranks: u32) -> u32 {
    if step == 0 {
        return rank;
    }
    // What it received at the step before, at odd ones from the far side of its pair, at even ones through its partner.
    let (pairs, away) = (ranks / 2, step / 2);
    let is_after = rank.is_multiple_of(2) == step.is_multiple_of(2);
    let pair = if is_after { rank / 2 + pairs - away } else { rank / 2 + away };
    2 * (pair % pairs)
}
