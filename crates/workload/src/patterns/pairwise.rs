//! All-to-all in steps: at each step a rank sends to one other rank and receives from one.

use crate::schedule::ClosedForm;
use crate::{Pattern, Schedule, Shape, Transfer};
use units::{Rank, TransferId};

/// With data size S and n ranks, at step k of n - 1, from 0, rank r sends S/n to rank r + k + 1 and receives
/// from rank r - k - 1, so that each step is a permutation. The next step starts once the rank's receive has
/// arrived and its own send has been acknowledged, as with `MPI_Sendrecv`. There is no barrier: a rank with
/// fast partners may be several steps further.
///
/// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005. If n
/// is a power of two they exchange with rank r XOR (k + 1) instead; here every n uses the shift, so that
/// results for 8 and for 12 ranks are of one algorithm.
#[derive(Debug)]
pub(crate) struct Pairwise;

impl Pattern for Pairwise {
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
        Schedule::closed(Shifts { ranks: shape.ranks, bytes: shape.share_bytes() }).blocking()
    }
}

/// Step by step, each rank sends to the rank step + 1 after it.
#[derive(Debug)]
struct Shifts {
    ranks: u32,
    /// Payload of each transfer.
    bytes: u64,
}

impl ClosedForm for Shifts {
    fn count(&self) -> u32 {
        self.ranks * (self.ranks - 1)
    }

    fn transfer(&self, id: TransferId) -> Transfer {
        let (step, src) = (id.0 / self.ranks, id.0 % self.ranks);
        let block = (src + step + 1) % self.ranks;
        Transfer { src: Rank(src), dst: Rank(block), bytes: self.bytes, step, channel: 0, block }
    }

    /// The transfer that the sender receives at the previous step.
    fn predecessor(&self, id: TransferId) -> Option<TransferId> {
        let (step, src) = (id.0 / self.ranks, id.0 % self.ranks);
        let before = (src + self.ranks - step) % self.ranks;
        Some(TransferId(step.checked_sub(1)? * self.ranks + before))
    }

    /// The transfer that the receiver sends at the next step.
    fn successor(&self, id: TransferId) -> Option<TransferId> {
        let Transfer { dst, step, .. } = self.transfer(id);
        let next = (step + 1) * self.ranks + dst.0;
        (next < self.count()).then_some(TransferId(next))
    }
}
