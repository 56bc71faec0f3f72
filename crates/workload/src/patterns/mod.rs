//! The interface of collective algorithms, and all algorithms: one file for each collective with its simple
//! algorithms, and one for each larger algorithm. `ring` and `tree` are common to several.

use crate::{Peer, Relay, Schedule, Shape, WorkloadError};

mod all_gather;
mod all_reduce;
mod all_to_all;
mod binomial;
mod binomial_gather;
mod broadcast;
mod bruck;
mod double_binary_tree;
mod gather;
mod halving_doubling;
mod incast;
mod neighbour_exchange;
mod pairwise;
mod permutation;
mod ping_pong;
mod rabenseifner;
mod recursive_doubling;
mod reduce;
mod reduce_scatter;
mod ring;
mod scatter;
mod send_receive;
mod tree;
mod uniform_random;

/// An algorithm of a collective. [`crate::patterns`] lists them.
pub trait Pattern: Sync {
    /// Name of the collective, such as `all-reduce`.
    fn collective(&self) -> &'static str;

    /// Name of the algorithm, such as `ring`.
    fn algorithm(&self) -> &'static str;

    /// Checks that the algorithm is defined for this number of ranks; every algorithm needs at least 2.
    ///
    /// # Errors
    /// When it is not; names the allowed numbers.
    fn supports(&self, _ranks: u32) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// Number of parts into which a data size of `data_bytes` is divided; see [`crate::Parts`].
    fn parts(&self, ranks: u32, data_bytes: u64) -> u64;

    /// Number of transfers in the schedule.
    fn transfers(&self, ranks: u32, data_bytes: u64) -> u64;

    /// Whether the schedule is a list of its transfers; otherwise each is computed from its number.
    fn is_listed(&self) -> bool {
        true
    }

    /// Number of distinct (sender, receiver, channel): one queue pair each, if they are reused.
    fn connections(&self, ranks: u32, data_bytes: u64) -> u64 {
        self.transfers(ranks, data_bytes)
    }

    /// Payload of all transfers for a data size of `data_bytes` [bytes]. Default: every part is sent equally
    /// often.
    fn payload_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        let transfers = u128::from(self.transfers(ranks, data_bytes));
        let bytes = u128::from(data_bytes) * transfers / u128::from(self.parts(ranks, data_bytes));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Payload of the largest transfer [bytes]. Default: each sends one part.
    fn largest_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        data_bytes.div_ceil(self.parts(ranks, data_bytes))
    }

    /// Number of ranks that send at the same time, or that receive, whichever is smaller.
    fn busy_ranks(&self, ranks: u32) -> u32 {
        ranks
    }

    /// Whether every rank sends only to the next or the previous one.
    fn is_between_neighbours(&self) -> bool {
        false
    }

    /// The schedule. `shape.data_bytes` must be a positive multiple of [`crate::shares`], `shape.ranks` at
    /// least 2 and allowed by [`Pattern::supports`], and `shape.root` one of the ranks;
    /// [`crate::schedule_for`] checks this.
    fn schedule(&self, shape: &Shape) -> Schedule;

    /// The schedule as a [`Relay`], if it is one; the shape is as for [`Pattern::schedule`].
    fn relay(&self, _shape: &Shape) -> Option<Relay> {
        None
    }

    /// Destination of the messages of each rank in open-loop traffic, `None` for a rank that sends nothing.
    /// `None` for a pattern that is more than messages between peers.
    fn open_loop(&self, _shape: &Shape) -> Option<Vec<Option<Peer>>> {
        None
    }
}

static PATTERNS: &[&dyn Pattern] = &[
    &all_reduce::RING,
    &all_reduce::RING_BIDIRECTIONAL,
    &halving_doubling::HalvingDoubling,
    &double_binary_tree::DoubleBinaryTree,
    &recursive_doubling::RecursiveDoubling,
    &all_gather::RING,
    &all_gather::RING_BIDIRECTIONAL,
    &bruck::ALL_GATHER,
    &neighbour_exchange::NeighbourExchange,
    &reduce_scatter::RING,
    &reduce_scatter::RING_BIDIRECTIONAL,
    &all_to_all::Parallel,
    &pairwise::Pairwise,
    &bruck::ALL_TO_ALL,
    &broadcast::Parallel,
    &broadcast::TREE,
    &reduce::TREE,
    &rabenseifner::Rabenseifner,
    &gather::Parallel,
    &binomial_gather::BinomialGather,
    &scatter::Parallel,
    &send_receive::Parallel,
    &ping_pong::PingPong,
    &incast::PARALLEL,
    &incast::LINEAR,
    &permutation::Parallel,
    &uniform_random::Parallel,
];

/// All patterns.
#[must_use]
pub fn patterns() -> &'static [&'static dyn Pattern] {
    PATTERNS
}

/// The number of ordered pairs of different ranks.
fn ordered_pairs(ranks: u32) -> u64 {
    u64::from(ranks) * (u64::from(ranks) - 1)
}

/// The ranks other than `rank`, in ring order from its right neighbour.
fn others(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    (rank + 1..ranks).chain(0..rank)
}
