//! Oversubscription of each tier: capacity towards the hosts compared with capacity towards higher tiers.

use crate::graph::{Graph, Node};
use std::fmt;

/// Total capacity of the switches of one tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oversubscription {
    /// The tier, as in [`Node::tier`].
    pub tier: u8,
    /// Sum of the rates of all ports towards lower tiers [bit/s].
    pub down_bps: u64,
    /// Sum of the rates of all ports towards higher tiers [bit/s].
    pub up_bps: u64,
}

impl Oversubscription {
    /// Ratio of [`Self::down_bps`] to [`Self::up_bps`] in lowest terms: `(3, 1)` is 3:1 oversubscribed,
    /// `(1, 1)` is non-blocking.
    #[must_use]
    pub fn ratio(&self) -> (u64, u64) {
        let divisor = greatest_common_divisor(self.down_bps, self.up_bps);
        (self.down_bps / divisor, self.up_bps / divisor)
    }
}

impl fmt::Display for Oversubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (down, up) = self.ratio();
        write!(f, "{down}:{up}")
    }
}

impl Graph {
    /// Oversubscription of each switch tier with links to a higher one, from the leaves up. Empty for a
    /// single switch, a full mesh and rails without spines. Ideal crossbars are not counted; they have no
    /// higher tier.
    #[must_use]
    pub fn oversubscription(&self) -> Vec<Oversubscription> {
        let top = self.nodes.iter().map(|node| node.tier).max().unwrap_or(0);
        (1..top).map(|tier| self.tier_capacity(tier)).filter(|capacity| capacity.up_bps > 0).collect()
    }

    fn tier_capacity(&self, tier: u8) -> Oversubscription {
        let mut capacity = Oversubscription { tier, down_bps: 0, up_bps: 0 };
        for node in self.nodes.iter().filter(|node| node.tier == tier && !node.ideal) {
            self.add_ports(node, &mut capacity);
        }
        capacity
    }

    fn add_ports(&self, node: &Node, capacity: &mut Oversubscription) {
        for port in &node.ports {
            let towards_hosts = self.node(port.peer).tier < node.tier;
            let sum = if towards_hosts { &mut capacity.down_bps } else { &mut capacity.up_bps };
            *sum += self.link(port.link).rate.bps();
        }
    }
}

/// Euclid's algorithm.
fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use crate::testing::{cable, rails};
    use crate::{Builder, FatTree, LeafSpine, SingleSwitch};

    fn ratios(shape: &dyn Builder) -> Vec<String> {
        shape.build().unwrap().oversubscription().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_leaf_compares_its_hosts_with_its_uplinks() {
        let (host_link, fabric_link) = (cable(100), cable(400));
        let shape = |hosts_per_leaf, spines, links_per_spine| {
            ratios(&LeafSpine { leaves: 3, hosts_per_leaf, spines, links_per_spine, host_link, fabric_link })
        };
        assert_eq!(shape(48, 4, 1), ["3:1"]);
        assert_eq!(shape(16, 2, 2), ["1:1"]);
        assert_eq!(shape(2, 1, 1), ["1:2"]);
        assert_eq!(shape(6, 1, 1), ["3:2"]);
    }

    #[test]
    fn each_tier_of_a_fat_tree_has_its_own_ratio() {
        let tree = FatTree {
            pods: 2,
            leaves_per_pod: 4,
            hosts_per_leaf: 4,
            aggs_per_pod: 2,
            cores_per_agg: 1,
            host_link: cable(400),
            fabric_link: cable(400),
            core_link: cable(800),
        };
        assert_eq!(ratios(&tree), ["2:1", "2:1"]);
    }

    #[test]
    fn what_has_no_higher_tier_has_no_ratio() {
        assert!(ratios(&SingleSwitch { hosts: 4, host_link: cable(400) }).is_empty());
        assert!(ratios(&rails(2, 4, 0, 0, true)).is_empty());
    }

    #[test]
    fn scale_up_links_do_not_count_as_host_side_capacity_of_a_rail() {
        assert_eq!(ratios(&rails(8, 4, 4, 2, true)), ["1:1"]);
    }
}
