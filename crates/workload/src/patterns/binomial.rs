//! Binomial tree algorithms of broadcast and reduce, which is its mirror image.
//!
//! With n ranks there are L = ceil(log2 n) rounds. With ranks counted from the root, in round k of a
//! broadcast every rank that has the data sends it to the rank 2^(L - 1 - k) after it, if that exists: first
//! to its largest subtree, one blocking send after the other. A reduce is the same with time and directions
//! reversed. Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
//! 2005.

use super::tree::{Edge, Load, Tree};
use crate::{Pattern, Schedule, ScheduleBuilder, Shape};
use units::Rank;

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Broadcast.
    FromRoot,
    /// Reduce.
    ToRoot,
}

/// A collective on a binomial tree with undivided data.
#[derive(Debug)]
pub(crate) struct Binomial {
    flow: Flow,
}

/// Every rank ends with the root's buffer: all of its data is sent down the tree.
pub(crate) const BROADCAST: Binomial = Binomial { flow: Flow::FromRoot };
/// The root ends with the sum of all ranks' buffers: a rank adds the data of its children to its own before
/// it sends the sum up the tree.
pub(crate) const REDUCE: Binomial = Binomial { flow: Flow::ToRoot };

impl Pattern for Binomial {
    fn parts(&self, _ranks: u32, _data_bytes: u64) -> u64 {
        1
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(ranks) - 1
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let transfers = self.transfers(shape.ranks, shape.data_bytes);
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers);
        let tree = tree(shape.ranks, shape.root);
        let load = Load { bytes: shape.data_bytes, channel: 0, block: 0 };
        match self.flow {
            Flow::FromRoot => _ = tree.broadcast(&mut builder, load, 0, &[]),
            Flow::ToRoot => _ = tree.reduce(&mut builder, load, 0, &[]),
        }
        builder.finish_blocking()
    }
}

/// The binomial tree whose levels are the rounds of a broadcast.
fn tree(ranks: u32, root: Rank) -> Tree {
    let rounds = ranks.next_power_of_two().ilog2();
    let rank = |position: u32| Rank((root.0 + position) % ranks);
    let edges = (1..ranks).map(|position| {
        let distance = 1 << position.trailing_zeros();
        let level = rounds - 1 - position.trailing_zeros();
        Edge { parent: rank(position - distance), child: rank(position), level }
    });
    Tree::new(ranks, edges.collect())
}
