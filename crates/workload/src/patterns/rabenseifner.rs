//! Reduce by Rabenseifner's algorithm: a reduce-scatter by halving, then a gather to the root on the same
//! butterfly.
//!
//! With n ranks and data size S, the first L = log2 n steps are those of the all-reduce by halving and
//! doubling. In the gather, farthest rank first, of each remaining pair the rank on the side opposite the
//! root sends all its data and is done, so that 1/n, 2/n, ... 1/2 of S is sent in the last steps.
//! Rabenseifner, "Optimization of collective reduction operations", 2004; used by MPI libraries for large
//! data. Not modelled: numbers of ranks that are not a power of two.

use super::halving_doubling::Butterfly;
use crate::{Parts, Pattern, Schedule, ScheduleBuilder, Shape, Transfer, WorkloadError};
use units::{Rank, TransferId};

/// Halving, then a gather. A rank executes its steps in order.
#[derive(Debug)]
pub(crate) struct Rabenseifner;

impl Pattern for Rabenseifner {
    fn supports(&self, ranks: u32) -> Result<(), WorkloadError> {
        super::halving_doubling::HalvingDoubling.supports(ranks)
    }

    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) * u64::from(ranks.ilog2()) + u64::from(ranks) - 1
    }

    fn connections(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) * u64::from(ranks.ilog2())
    }

    fn payload_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        // Half of S at each step of the gather, accurate to a byte per transfer.
        data_bytes
            .saturating_mul(u64::from(ranks) - 1)
            .saturating_add(data_bytes * u64::from(ranks.ilog2()) / 2)
    }

    fn largest_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        Parts::new(data_bytes, ranks.into()).of_range(0, u64::from(ranks) / 2)
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let butterfly = Butterfly::new(shape.ranks);
        let parts = shape.parts(shape.ranks.into());
        let transfers = self.transfers(shape.ranks, shape.data_bytes);
        let mut builder =
            ScheduleBuilder::with_capacity(transfers, transfers * u64::from(shape.ranks.ilog2()));
        let mut received: Vec<Vec<TransferId>> = vec![Vec::new(); shape.ranks as usize];
        for step in 0..butterfly.steps() {
            let sending = (0..shape.ranks).filter(|&rank| butterfly.sends_towards(rank, step, shape.root));
            let send = |rank: u32| {
                let transfer: Transfer = butterfly.transfer(rank, step, parts);
                (transfer.dst, builder.push(transfer, &received[rank as usize]))
            };
            let sent: Vec<(Rank, TransferId)> = sending.map(send).collect();
            sent.into_iter().for_each(|(dst, id)| received[dst.index()].push(id));
        }
        builder.finish()
    }
}
