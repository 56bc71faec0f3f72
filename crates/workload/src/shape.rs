//! Parameters of a schedule (ranks, data size, root, random draws), and the relation of message size and data
//! size of each collective.

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

/// Collectives in which every rank has, sends or receives an equal share of the data. Benchmarks use the
/// share as the message size; unequal shares are a different call (`MPI_Alltoallv`).
const SHARED: [&str; 4] = ["all-gather", "all-to-all", "gather", "scatter"];

/// Number of messages in the data size of a collective of `ranks` ranks. A message is the data that each
/// process sends to every other, or contributes, as swept by the Intel MPI Benchmarks and the OSU
/// micro-benchmarks. The data size is a multiple of this number. It is 1 for collectives whose message is the
/// whole buffer.
#[must_use]
pub fn shares(collective: &str, ranks: u32) -> u64 {
    if SHARED.contains(&collective) { ranks.into() } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shared_collective_is_a_known_one() {
        let is_collective =
            |name: &&str| crate::algorithms().iter().any(|algorithm| algorithm.collective == *name);
        assert!(SHARED.iter().all(is_collective));
        assert_eq!((shares("all-to-all", 32), shares("reduce-scatter", 32)), (32, 1));
    }
}
