//! All-reduce on two complementary binary trees, each with half of the data.
//!
//! An inner rank of one tree is a leaf of the other (except for rank 0 when the number of ranks n is odd), so
//! that with data size S no port transmits more than 2 S in each direction. Sanders, Speck and Träff,
//! "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009; the trees are those of NCCL
//! since 2.4. Each half is divided into [`CHUNKS`] chunks, which are pipelined up the tree, where they are
//! reduced, and down again. Small data makes fewer chunks, and a single byte only one tree.
//!
//! A rank forwards a chunk as soon as it has it. Leaves start the first chunks at once and every later one
//! when the chunk [`Lane::window`] before it has been returned to them; like the finite buffers of a library,
//! this limits the queue where two children send to one parent. The pipeline also needs chunks to be
//! delivered in order, which is a property of the queue pair: use one queue pair per pair of ranks for all
//! its chunks. Chunks on separate queue pairs share the port instead, and all reach the next rank late, at
//! the same time.

use super::tree::{Arrivals, Edge, Load, Tree};
use crate::{Parts, Pattern, Schedule, ScheduleBuilder, Shape};
use units::Rank;

/// Chunks of each tree. The pipeline is full after 2 log2(n) of them, for 8 ranks a tenth; with fewer, ports
/// would be idle for longer. With more, the chunks of 16 MB would be smaller than a message of 128 KB.
const CHUNKS: u32 = 64;

/// Smallest chunk [bytes], if the data is as large: a full packet, as a smaller one would be mostly headers.
const CHUNK_BYTES_MIN: u64 = 4096;

/// Chunks of a tree in flight at once, for each of its levels. A level is two hops, one up and one down; the
/// third chunk is for those that wait for a port. On one switch, 2 for each level leave ports idle and 4 gain
/// nothing.
const WINDOW_PER_LEVEL: u32 = 3;

/// Number of trees, each on its own channel.
const TREES: u32 = 2;

/// Reduce up and broadcast down on both trees at once.
#[derive(Debug)]
pub(crate) struct DoubleBinaryTree;

impl Pattern for DoubleBinaryTree {
    fn parts(&self, _ranks: u32, data_bytes: u64) -> u64 {
        halves(data_bytes).into_iter().map(chunks).map(u64::from).sum()
    }

    fn transfers(&self, ranks: u32, data_bytes: u64) -> u64 {
        2 * self.parts(ranks, data_bytes) * (u64::from(ranks) - 1)
    }

    fn connections(&self, ranks: u32, data_bytes: u64) -> u64 {
        let trees = halves(data_bytes).into_iter().filter(|&bytes| bytes > 0).count();
        2 * trees as u64 * (u64::from(ranks) - 1)
    }

    fn payload_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        data_bytes.saturating_mul(2 * (u64::from(ranks) - 1))
    }

    fn largest_bytes(&self, _ranks: u32, data_bytes: u64) -> u64 {
        let largest = halves(data_bytes).map(|bytes| bytes.div_ceil(chunks(bytes).max(1).into()));
        largest.into_iter().max().unwrap_or(0)
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let transfers = self.transfers(shape.ranks, shape.data_bytes);
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers * 3 / 2);
        let halves = halves(shape.data_bytes);
        let trees = (0..TREES).zip(trees(shape.ranks));
        let mut lanes: Vec<_> =
            trees.map(|(channel, tree)| Lane::new(channel, tree, WINDOW_PER_LEVEL)).collect();
        for chunk in 0..CHUNKS {
            for (lane, bytes) in lanes.iter_mut().zip(halves).filter(|(_, bytes)| chunk < chunks(*bytes)) {
                let parts = Parts::new(bytes, chunks(bytes).into());
                lane.push_chunk(&mut builder, chunk, parts.of(chunk.into()));
            }
        }
        builder.finish()
    }
}

/// Data of each tree [bytes].
fn halves(data_bytes: u64) -> [u64; TREES as usize] {
    [0, 1].map(|tree| Parts::new(data_bytes, TREES.into()).of(tree))
}

/// Number of chunks into which `bytes` are divided.
fn chunks(bytes: u64) -> u32 {
    u64::from(CHUNKS).min(bytes.div_ceil(CHUNK_BYTES_MIN)) as u32
}

/// A tree with the chunks that use it.
pub(crate) struct Lane {
    channel: u32,
    tree: Tree,
    /// Chunks in flight at once, for each level of the tree.
    window_per_level: u32,
    /// By chunk: the transfers that return it to each rank.
    returns: Vec<Arrivals>,
}

impl Lane {
    pub(crate) const fn new(channel: u32, tree: Tree, window_per_level: u32) -> Self {
        Self { channel, tree, window_per_level, returns: Vec::new() }
    }

    /// Chunks in flight at once.
    fn window(&self) -> u32 {
        self.window_per_level * self.tree.levels()
    }

    /// Adds the transfers of a chunk: first those up, then those down.
    pub(crate) fn push_chunk(&mut self, builder: &mut ScheduleBuilder, chunk: u32, bytes: u64) {
        let load = Load { bytes, channel: self.channel, block: self.channel * CHUNKS + chunk };
        let opens = chunk.checked_sub(self.window());
        let leaves_after = opens.map_or(&[][..], |earlier| &self.returns[earlier as usize]);
        let sum = self.tree.reduce(builder, load, 0, leaves_after);
        self.returns.push(self.tree.broadcast(builder, load, self.tree.levels(), &sum));
    }
}

/// The tree with rank r at node r, and the one that swaps inner ranks and leaves: mirrored when n is even,
/// shifted by one rank when it is odd.
pub(crate) fn trees(ranks: u32) -> [Tree; TREES as usize] {
    let complement =
        |position| if ranks.is_multiple_of(2) { ranks - 1 - position } else { (position + 1) % ranks };
    [tree(ranks, |position| position), tree(ranks, complement)]
}

fn tree(ranks: u32, rank_at: impl Fn(u32) -> u32) -> Tree {
    let edges = (1..ranks).map(|position| Edge {
        parent: Rank(rank_at(parent_position(position, ranks))),
        child: Rank(rank_at(position)),
        level: depth(position, ranks) - 1,
    });
    Tree::new(ranks, edges.collect())
}

/// The parent of node `position`, which is not 0, the root. Nodes with lowest bit b are in pairs, 2b apart,
/// whose parent is the node between them; so odd nodes are leaves. If that node does not exist, the parent is
/// the number without b.
const fn parent_position(position: u32, positions: u32) -> u32 {
    let lowest_bit = 1 << position.trailing_zeros();
    let rest = position ^ lowest_bit;
    let between = rest | lowest_bit << 1;
    if between < positions { between } else { rest }
}

/// Edges between `position` and the root.
fn depth(position: u32, positions: u32) -> u32 {
    let parent = |position: &u32| (*position != 0).then(|| parent_position(*position, positions));
    std::iter::successors(Some(position), parent).count() as u32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Children of each rank.
    fn children(tree: &Tree, ranks: u32) -> Vec<usize> {
        let of = |rank| tree.edges().iter().filter(|edge| edge.parent == Rank(rank)).count();
        (0..ranks).map(of).collect()
    }

    fn parent(tree: &Tree, child: u32) -> Option<u32> {
        tree.edges().iter().find(|edge| edge.child == Rank(child)).map(|edge| edge.parent.0)
    }

    proptest! {
        #[test]
        fn both_are_binary_trees_of_minimal_depth(ranks in 2..300u32) {
            for tree in trees(ranks) {
                prop_assert!(children(&tree, ranks).iter().all(|&children| children <= 2));
                prop_assert_eq!(tree.levels(), ranks.next_power_of_two().ilog2());
                let roots: Vec<_> = (0..ranks).filter(|&rank| parent(&tree, rank).is_none()).collect();
                prop_assert_eq!(roots.len(), 1);
                for edge in tree.edges() {
                    let level_above = tree.edges().iter().find(|parent| parent.child == edge.parent);
                    prop_assert_eq!(level_above.map_or(0, |parent| parent.level + 1), edge.level);
                }
            }
        }

        /// Rank 0, the root of the first tree, is the one exception: when n is odd it is the last node of the
        /// second tree, which is not a leaf.
        #[test]
        fn a_rank_that_passes_data_on_in_one_tree_is_a_leaf_of_the_other(ranks in 2..300u32) {
            let [first, second] = trees(ranks).map(|tree| children(&tree, ranks));
            for rank in ranks % 2..ranks {
                let inner = [&first, &second].map(|children| children[rank as usize] > 0);
                prop_assert!(inner != [true, true], "rank {} of {}", rank, ranks);
            }
        }
    }

    /// The trees of 14 ranks as drawn in NCCL's source, by the parent of each rank.
    #[test]
    fn the_trees_of_fourteen_ranks_are_those_of_nccl() {
        let [first, second] = trees(14);
        let first_parents = [None, Some(2), Some(4), Some(2), Some(8), Some(6), Some(4)];
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|rank| parent(&first, rank)), first_parents);
        let last_parents = [Some(6), Some(0), Some(10), Some(12), Some(10), Some(8), Some(12)];
        assert_eq!([7, 8, 9, 10, 11, 12, 13].map(|rank| parent(&first, rank)), last_parents);
        for rank in 0..14 {
            let mirrored = parent(&first, 13 - rank).map(|parent| 13 - parent);
            assert_eq!(parent(&second, rank), mirrored);
        }
    }
}
