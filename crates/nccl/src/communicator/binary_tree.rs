//! Double binary tree over nodes: in each tree every second node is a leaf, and no node is a leaf in both.
//!
//! Source: NCCL 2.30 `src/graph/trees.cc`.

use serde::{Deserialize, Serialize};

/// Neighbours of a node in a binary tree of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbours {
    /// Parent; none for the root.
    pub parent: Option<usize>,
    /// The node is the first child of its parent.
    pub is_first_child: bool,
    /// First and second child.
    pub children: [Option<usize>; 2],
}

/// Neighbours of a node in both trees.
#[must_use]
pub fn double_binary_tree(nodes: usize, node: usize) -> [Neighbours; 2] {
    let first = binary_tree(nodes, node);
    let second = if nodes.is_multiple_of(2) {
        let mirrored = |other: usize| nodes - 1 - other;
        binary_tree(nodes, mirrored(node)).renumbered(mirrored)
    } else {
        binary_tree(nodes, (node + nodes - 1) % nodes).renumbered(|other| (other + 1) % nodes)
    };
    [first, second]
}

impl Neighbours {
    fn renumbered(self, renumber: impl Fn(usize) -> usize + Copy) -> Self {
        Self {
            parent: self.parent.map(renumber),
            children: self.children.map(|child| child.map(renumber)),
            ..self
        }
    }
}

fn binary_tree(nodes: usize, node: usize) -> Neighbours {
    if node == 0 {
        let largest_power = nodes.next_power_of_two() / 2;
        let child = (nodes > 1).then_some(largest_power);
        return Neighbours { parent: None, is_first_child: false, children: [None, child] };
    }
    let bit = 1 << node.trailing_zeros();
    let above = (node ^ bit) | (2 * bit);
    let parent = if above < nodes { above } else { node ^ bit };
    let half = bit / 2;
    let second = std::iter::successors(Some(half), |&step| Some(step / 2))
        .take_while(|&step| step > 0)
        .map(|step| node + step)
        .find(|&child| child < nodes);
    Neighbours {
        parent: Some(parent),
        is_first_child: node < parent,
        children: [(half > 0).then(|| node - half), second],
    }
}
