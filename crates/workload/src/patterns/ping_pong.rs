//! Ping-pong: one rank of each pair sends its buffer, the other answers with its own.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer, WorkloadError};
use units::Rank;

/// Each even rank sends S to the next, odd rank, which sends its S back after receiving all of it: 0 with 1,
/// 2 with 3, ... Equal to PingPong of the Intel MPI Benchmarks and `osu_latency`, which report half of the
/// round trip.
#[derive(Debug)]
pub(crate) struct PingPong;

impl Pattern for PingPong {
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
        ranks / 2
    }

    fn is_between_neighbours(&self) -> bool {
        true
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let transfers = self.transfers(shape.ranks, shape.data_bytes);
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers / 2);
        for even in (0..shape.ranks).step_by(2) {
            let ping = builder.push(transfer(shape, even, even + 1, 0), &[]);
            builder.push(transfer(shape, even + 1, even, 1), &[ping]);
        }
        builder.finish()
    }
}

fn transfer(shape: &Shape, src: u32, dst: u32, step: u32) -> Transfer {
    Transfer { src: Rank(src), dst: Rank(dst), bytes: shape.data_bytes, step, channel: 0, block: src }
}
