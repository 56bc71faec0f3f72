//! Send-receive: ranks exchange their buffers in pairs.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer, WorkloadError};
use units::Rank;

/// Each even rank sends S to the next, odd rank, and that rank sends its S back, all at once: 0 with 1, 2
/// with 3, ... Different from nccl-tests, which uses a ring: each rank sends to the next one and receives
/// from the previous one.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Pattern for Parallel {
    fn supports(&self, ranks: u32) -> Result<(), WorkloadError> {
        if ranks.is_multiple_of(2) { Ok(()) } else { Err(WorkloadError::OddRanks { ranks }) }
    }

    fn parts(&self, _ranks: u32, _data_bytes: u64) -> u64 {
        1
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn is_between_neighbours(&self) -> bool {
        true
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let bytes = shape.data_bytes;
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(shape.ranks, shape.data_bytes), 0);
        for rank in 0..shape.ranks {
            let (src, dst) = (Rank(rank), Rank(rank ^ 1));
            builder.push(Transfer { src, dst, bytes, step: 0, channel: 0, block: rank }, &[]);
        }
        builder.finish()
    }
}
