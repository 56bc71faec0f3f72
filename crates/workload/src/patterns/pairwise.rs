//! All-to-all in steps, one receiver and one sender at a time.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::{Rank, TransferId};

/// At step k of n - 1, from 0, rank r sends S/n to rank r + k + 1 and receives from rank r - k - 1, so that
/// each step is a permutation. The next step starts once the rank's receive has arrived and its own send has
/// been acknowledged, as with `MPI_Sendrecv`. There is no barrier: a rank whose pair is fast goes ahead.
///
/// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005.
/// Where n is a power of two they exchange with rank r XOR (k + 1) instead; here every n takes the shift, so
/// that results for 8 and for 12 ranks are of one algorithm.
#[derive(Debug)]
pub(crate) struct Pairwise;

impl Pattern for Pairwise {
    fn collective(&self) -> &'static str {
        "all-to-all"
    }

    fn algorithm(&self) -> &'static str {
        "pairwise"
    }

    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        super::ordered_pairs(ranks)
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let (ranks, transfers) = (shape.ranks, self.transfers(shape.ranks, shape.data_bytes));
        let bytes = shape.share_bytes();
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers);
        for step in 0..ranks - 1 {
            for src in 0..ranks {
                let block = (src + step + 1) % ranks;
                let transfer = Transfer { src: Rank(src), dst: Rank(block), bytes, step, channel: 0, block };
                builder.push(transfer, receive_before(src, step, ranks).as_slice());
            }
        }
        builder.finish_blocking()
    }
}

/// What `rank` receives at the step before `step`.
fn receive_before(rank: u32, step: u32, ranks: u32) -> Option<TransferId> {
    let src = (rank + ranks - step) % ranks;
    Some(TransferId(step.checked_sub(1)? * ranks + src))
}
