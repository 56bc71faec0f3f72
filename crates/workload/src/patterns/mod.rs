//! Trait `Pattern`, the interface of collective algorithms, and the list of all algorithms by name. A file
//! has one algorithm, or those that differ in parameters only; `tree` is common to several.

use crate::{Peer, Relay, Schedule, Shape, WorkloadError};

mod all_to_all;
mod binomial;
mod binomial_gather;
mod bruck;
mod double_binary_tree;
mod halving_doubling;
mod neighbour_exchange;
mod pairs;
mod pairwise;
mod permutation;
mod rabenseifner;
mod recursive_doubling;
mod ring;
mod star;
mod tree;
mod uniform_random;

pub(crate) use double_binary_tree::{Lane, trees};
pub(crate) use tree::Tree;

/// The schedules of an algorithm.
pub trait Pattern: Sync {
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

/// An algorithm of a collective, by name.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Name of the collective, such as `all-reduce`.
    pub collective: &'static str,
    /// Name of the algorithm, such as `ring`.
    pub name: &'static str,
    /// Its schedules.
    pub pattern: &'static dyn Pattern,
}

const fn entry(collective: &'static str, name: &'static str, pattern: &'static dyn Pattern) -> Algorithm {
    Algorithm { collective, name, pattern }
}

static ALGORITHMS: &[Algorithm] = &[
    entry("all-reduce", "ring", &ring::ALL_REDUCE),
    entry("all-reduce", "ring-bidirectional", &ring::ALL_REDUCE.bidirectional()),
    entry("all-reduce", "halving-doubling", &halving_doubling::HalvingDoubling),
    entry("all-reduce", "double-binary-tree", &double_binary_tree::DoubleBinaryTree),
    entry("all-reduce", "recursive-doubling", &recursive_doubling::RecursiveDoubling),
    entry("all-gather", "ring", &ring::ALL_GATHER),
    entry("all-gather", "ring-bidirectional", &ring::ALL_GATHER.bidirectional()),
    entry("all-gather", "bruck", &bruck::Bruck::AllGather),
    entry("all-gather", "neighbour-exchange", &neighbour_exchange::NeighbourExchange),
    entry("reduce-scatter", "ring", &ring::REDUCE_SCATTER),
    entry("reduce-scatter", "ring-bidirectional", &ring::REDUCE_SCATTER.bidirectional()),
    entry("all-to-all", "parallel", &all_to_all::Parallel),
    entry("all-to-all", "pairwise", &pairwise::Pairwise),
    entry("all-to-all", "bruck", &bruck::Bruck::AllToAll),
    entry("broadcast", "parallel", &star::BROADCAST),
    entry("broadcast", "tree", &binomial::BROADCAST),
    entry("reduce", "tree", &binomial::REDUCE),
    entry("reduce", "rabenseifner", &rabenseifner::Rabenseifner),
    entry("gather", "parallel", &star::GATHER),
    entry("gather", "tree", &binomial_gather::BinomialGather),
    entry("scatter", "parallel", &star::SCATTER),
    entry("send-receive", "parallel", &pairs::Pairs::SendReceive),
    entry("ping-pong", "parallel", &pairs::Pairs::PingPong),
    entry("incast", "parallel", &star::INCAST),
    entry("incast", "linear", &star::LINEAR_INCAST),
    entry("permutation", "parallel", &permutation::Parallel),
    entry("uniform-random", "parallel", &uniform_random::Parallel),
];

/// All algorithms.
#[must_use]
pub fn algorithms() -> &'static [Algorithm] {
    ALGORITHMS
}

/// The number of ordered pairs of different ranks.
fn ordered_pairs(ranks: u32) -> u64 {
    u64::from(ranks) * (u64::from(ranks) - 1)
}
