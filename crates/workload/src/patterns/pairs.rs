//! Collectives of pairs of ranks, 0 with 1, 2 with 3, ...: send-receive and ping-pong.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer, WorkloadError};
use units::Rank;

/// The even and the odd rank of each pair send data of the size S to each other.
#[derive(Debug)]
pub(crate) enum Pairs {
    /// Both at once. Different from nccl-tests, which uses a ring: each rank sends to the next one and
    /// receives from the previous one.
    SendReceive,
    /// The odd rank after receiving all of S. Equal to PingPong of the Intel MPI Benchmarks and
    /// `osu_latency`, which report half of the round trip.
    PingPong,
}

impl Pattern for Pairs {
    fn supports(&self, ranks: u32) -> Result<(), WorkloadError> {
        if ranks.is_multiple_of(2) { Ok(()) } else { Err(WorkloadError::OddRanks { ranks }) }
    }

    fn parts(&self, _ranks: u32, _data_bytes: u64) -> u64 {
        1
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn busy_ranks(&self, ranks: u32) -> u32 {
        match self {
            Self::SendReceive => ranks,
            Self::PingPong => ranks / 2,
        }
    }

    fn is_between_neighbours(&self) -> bool {
        true
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let transfers = self.transfers(shape.ranks, shape.data_bytes);
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers / 2);
        let transfer = |rank: u32, step| Transfer {
            src: Rank(rank),
            dst: Rank(rank ^ 1),
            bytes: shape.data_bytes,
            step,
            channel: 0,
            block: rank,
        };
        for even in (0..shape.ranks).step_by(2) {
            let ping = builder.push(transfer(even, 0), &[]);
            match self {
                Self::SendReceive => builder.push(transfer(even + 1, 0), &[]),
                Self::PingPong => builder.push(transfer(even + 1, 1), &[ping]),
            };
        }
        builder.finish()
    }
}
