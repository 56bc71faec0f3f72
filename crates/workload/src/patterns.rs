//! The patterns: one file for each collective with its simple algorithms, and one for each larger algorithm.

pub(crate) mod all_gather;
pub(crate) mod all_reduce;
pub(crate) mod all_to_all;
mod binomial;
pub(crate) mod binomial_gather;
pub(crate) mod broadcast;
pub(crate) mod bruck;
pub(crate) mod double_binary_tree;
pub(crate) mod gather;
pub(crate) mod halving_doubling;
pub(crate) mod incast;
pub(crate) mod neighbour_exchange;
pub(crate) mod pairwise;
pub(crate) mod permutation;
pub(crate) mod ping_pong;
pub(crate) mod rabenseifner;
pub(crate) mod recursive_doubling;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
mod ring;
pub(crate) mod scatter;
pub(crate) mod send_receive;
mod tree;
pub(crate) mod uniform_random;

/// The number of ordered pairs of different ranks.
fn ordered_pairs(ranks: u32) -> u64 {
    u64::from(ranks) * (u64::from(ranks) - 1)
}

/// The ranks other than `rank`, in ring order from its right neighbour.
fn others(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    (rank + 1..ranks).chain(0..rank)
}
