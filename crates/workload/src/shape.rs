//! Parameters of a schedule.

use crate::{Parts, WorkloadError};
use units::{Rank, Stream};

/// Parameters of a schedule.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Number of ranks, 2 or more.
    pub ranks: u32,
    /// Data size S of the collective [bytes]: the buffer of each rank. For all-gather, reduce-scatter,
    /// all-to-all, gather and scatter each peer's share is S/n.
    pub data_bytes: u64,
    /// Root of broadcast, reduce, gather and scatter, receiver of incast.
    pub root: Rank,
    /// Random draws of patterns that need them (permutation).
    pub stream: Stream,
}

impl Shape {
    /// The share of each rank [bytes], for a collective that has [`crate::shares`].
    pub(crate) const fn share_bytes(&self) -> u64 {
        self.data_bytes / self.ranks as u64
    }

    /// The data size divided into `count` parts.
    pub(crate) const fn parts(&self, count: u64) -> Parts {
        Parts::new(self.data_bytes, count)
    }

    /// Checks that ranks, root and data size are valid.
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
