//! What a schedule is made for.

use crate::{Parts, WorkloadError};
use units::{Rank, Stream};

/// What a schedule is made for.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Number of ranks, 2 or more.
    pub ranks: u32,
    /// Data size S of the collective [bytes]: the buffer of each rank. For all-gather, reduce-scatter,
    /// all-to-all, gather and scatter each peer's share is S/n.
    pub data_bytes: u64,
    /// Root of broadcast, reduce, gather and scatter, receiver of incast.
    pub root: Rank,
    /// Random draws of patterns that need some (permutation).
    pub stream: Stream,
}

impl Shape {
    /// The share of each rank, of a collective that has [`crate::shares`] [bytes].
    pub(crate) const fn share_bytes(&self) -> u64 {
        self.data_bytes / self.ranks as u64
    }

    /// The data size cut into `count` parts.
    pub(crate) const fn parts(&self, count: u64) -> Parts {
        Parts::new(self.data_bytes, count)
    }

    /// That ranks, root and data size mean something.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let ranks = self.ranks;
        if ranks < 2 {
            return Err(WorkloadError::TooFewRanks { ranks });
        }
        if self.root.0 >= ranks {
            return Err(WorkloadError::NoSuchRoot { root: self.root.0, ranks });
        }
        if self.data_bytes == 0 {
            return Err(WorkloadError::NoData);
        }
        Ok(())
    }
}
