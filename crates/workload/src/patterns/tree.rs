//! A tree of ranks, common to the tree algorithms: adds the transfers that reduce a block from the leaves to
//! the root, or broadcast it from the root.

use crate::{ScheduleBuilder, Transfer};
use std::slice;
use units::{Rank, TransferId};

/// Edge between a rank and its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) parent: Rank,
    pub(super) child: Rank,
    /// Step of a broadcast at which the edge is used, from 0; later than that of the edge above it.
    pub(super) level: u32,
}

/// A tree of at least two ranks.
#[derive(Debug)]
pub(crate) struct Tree {
    ranks: u32,
    /// Sorted by level.
    edges: Vec<Edge>,
    /// Rank in the schedule of each rank of the tree; empty if they are equal.
    members: Vec<Rank>,
}

/// The transfer on every edge of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) bytes: u64,
    pub(super) channel: u32,
    pub(super) block: u32,
}

/// By rank: the transfer that delivered the load; `None` for the root.
pub(super) type Arrivals = Vec<Option<TransferId>>;

impl Tree {
    /// The tree with these edges, one for each rank except the root.
    pub(super) fn new(ranks: u32, mut edges: Vec<Edge>) -> Self {
        edges.sort_by_key(|edge| edge.level);
        Self { ranks, edges, members: Vec::new() }
    }

    /// A chain from rank 0, the root, to the last rank.
    pub(crate) fn chain(ranks: u32) -> Self {
        let edge = |child: u32| Edge { parent: Rank(child - 1), child: Rank(child), level: child - 1 };
        Self::new(ranks, (1..ranks).map(edge).collect())
    }

    /// The same tree among some ranks of the schedule.
    pub(crate) fn among(self, members: &[Rank]) -> Self {
        Self { members: members.to_vec(), ..self }
    }

    /// The transfer of a load on an edge, from one of its ends to the other.
    fn transfer(&self, load: Load, src: Rank, dst: Rank, step: u32) -> Transfer {
        let [src, dst] = [src, dst].map(|rank| self.members.get(rank.index()).copied().unwrap_or(rank));
        let Load { bytes, channel, block } = load;
        Transfer { src, dst, bytes, step, channel, block }
    }

    /// Steps of a broadcast or of a reduction.
    pub(super) fn levels(&self) -> u32 {
        self.edges.last().map_or(0, |edge| edge.level + 1)
    }

    fn root(&self) -> Rank {
        self.edges[0].parent
    }

    /// Every rank sends the load to its parent after receiving from all its children. The deepest ranks send
    /// at `first_step`, leaves after their transfer in `leaves_after`, if any. Returns the transfers that
    /// complete the sum at the root.
    pub(super) fn reduce(
        &self,
        builder: &mut ScheduleBuilder,
        load: Load,
        first_step: u32,
        leaves_after: &[Option<TransferId>],
    ) -> Vec<TransferId> {
        let mut from_children = vec![Vec::new(); self.ranks as usize];
        for edge in self.edges.iter().rev() {
            let step = first_step + self.levels() - 1 - edge.level;
            let up = self.transfer(load, edge.child, edge.parent, step);
            let after = match &from_children[edge.child.index()][..] {
                [] => leaves_after.get(edge.child.index()).map_or(&[][..], Option::as_slice),
                children => children,
            };
            let id = builder.push(up, after);
            from_children[edge.parent.index()].push(id);
        }
        from_children.swap_remove(self.root().index())
    }

    /// Every rank sends the load to its children after receiving it from its parent; the root sends after
    /// `after`, at `first_step`. Returns the transfer that delivers it to each rank.
    pub(super) fn broadcast(
        &self,
        builder: &mut ScheduleBuilder,
        load: Load,
        first_step: u32,
        after: &[TransferId],
    ) -> Arrivals {
        let mut arrivals = vec![None; self.ranks as usize];
        for edge in &self.edges {
            let down = self.transfer(load, edge.parent, edge.child, first_step + edge.level);
            let arrival = &arrivals[edge.parent.index()];
            let id = builder.push(down, arrival.as_ref().map_or(after, slice::from_ref));
            arrivals[edge.child.index()] = Some(id);
        }
        arrivals
    }

    #[cfg(test)]
    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }
}
