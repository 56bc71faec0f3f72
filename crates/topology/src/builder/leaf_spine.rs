//! Two-tier leaf-spine topology: every leaf is connected to every spine.

use super::{Builder, LinkSpec};
use crate::assembly::Assembly;
use crate::{Graph, TopologyError, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two tiers: every leaf is connected to every spine.
///
/// With `H` hosts per leaf and `L` parallel links between a leaf and a spine:
/// - host `h` is on port `h mod H` of leaf `h / H`;
/// - leaf port `H + s * L + p` is parallel link `p` to spine `s`;
/// - spine port `l * L + p` is parallel link `p` to leaf `l`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct LeafSpine {
    /// Number of leaf switches.
    #[schemars(range(min = 1))]
    pub leaves: u32,
    /// Hosts per leaf.
    #[schemars(range(min = 1))]
    pub hosts_per_leaf: u32,
    /// Number of spine switches.
    #[schemars(range(min = 1))]
    pub spines: u32,
    /// Parallel links between a leaf and a spine.
    #[schemars(range(min = 1))]
    pub links_per_spine: u32,
    /// Cable from host to leaf.
    pub host_link: LinkSpec,
    /// Cable from leaf to spine.
    pub fabric_link: LinkSpec,
}

impl Builder for LeafSpine {
    fn hosts(&self) -> u64 {
        limits::product(&[self.leaves, self.hosts_per_leaf])
    }

    fn host_link(&self) -> LinkSpec {
        self.host_link
    }

    fn build(&self) -> Result<Graph, TopologyError> {
        self.check()?;
        let hosts = self.leaves * self.hosts_per_leaf;
        let mut assembly = Assembly::new(hosts, u64::from(hosts) + self.fabric_links());
        let leaves = assembly.switches("leaf", 1, self.leaves);
        let spines = assembly.switches("spine", 2, self.spines);
        for host in assembly.hosts() {
            assembly.connect(host, leaves[host.index() / self.hosts_per_leaf as usize], self.host_link);
        }
        for &leaf in &leaves {
            for &spine in &spines {
                assembly.connect_by(self.links_per_spine, leaf, spine, self.fabric_link);
            }
        }
        Ok(assembly.finish())
    }
}

impl LeafSpine {
    fn check(&self) -> Result<(), TopologyError> {
        let hosts = self.hosts();
        let uplinks = limits::product(&[self.spines, self.links_per_spine]);
        limits::hosts(hosts, 1)?;
        limits::ports("leaf switch", uplinks.saturating_add(self.hosts_per_leaf.into()))?;
        limits::ports("spine switch", limits::product(&[self.leaves, self.links_per_spine]))?;
        limits::links(hosts.saturating_add(self.fabric_links()))
    }

    fn fabric_links(&self) -> u64 {
        limits::product(&[self.leaves, self.spines, self.links_per_spine])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cable, check_consistency, port_of};
    use proptest::prelude::*;

    fn shape(leaves: u32, hosts_per_leaf: u32, spines: u32, links_per_spine: u32) -> LeafSpine {
        let (host_link, fabric_link) = (cable(400), cable(800));
        LeafSpine { leaves, hosts_per_leaf, spines, links_per_spine, host_link, fabric_link }
    }

    proptest! {
        #[test]
        fn counts_follow_the_closed_forms(leaves in 1..6u32, hosts in 1..5u32, spines in 1..5u32, links in 1..4u32) {
            let graph = shape(leaves, hosts, spines, links).build().unwrap();
            check_consistency(&graph);
            prop_assert_eq!(graph.hosts() as u32, leaves * hosts);
            prop_assert_eq!(graph.switches() as u32, leaves + spines);
            prop_assert_eq!(graph.links.len() as u32, leaves * (hosts + spines * links));
            for node in &graph.nodes {
                let expected = [1, hosts + spines * links, leaves * links][usize::from(node.tier)];
                prop_assert_eq!(node.ports.len() as u32, expected);
            }
        }

        #[test]
        fn ports_are_numbered_as_documented(leaves in 1..6u32, hosts in 1..5u32, spines in 1..5u32, links in 1..4u32) {
            let graph = shape(leaves, hosts, spines, links).build().unwrap();
            for host in 0..leaves * hosts {
                let leaf = format!("leaf{}", host / hosts);
                prop_assert_eq!(port_of(&graph, &leaf, host % hosts), (format!("host{host}"), 0));
            }
            for (leaf, spine, link) in uplinks(leaves, spines, links) {
                let (up, down) = (hosts + spine * links + link, leaf * links + link);
                prop_assert_eq!(port_of(&graph, &format!("leaf{leaf}"), up), (format!("spine{spine}"), down));
            }
        }
    }

    fn uplinks(leaves: u32, spines: u32, links: u32) -> impl Iterator<Item = (u32, u32, u32)> {
        (0..leaves).flat_map(move |leaf| {
            (0..spines).flat_map(move |spine| (0..links).map(move |link| (leaf, spine, link)))
        })
    }

    #[test]
    fn each_link_has_the_rate_of_its_tier() {
        let graph = shape(2, 3, 2, 1).build().unwrap();
        assert!(graph.links[..6].iter().all(|link| link.rate == cable(400).rate()));
        assert!(graph.links[6..].iter().all(|link| link.rate == cable(800).rate()));
    }

    #[test]
    fn what_exceeds_the_limits_is_refused_with_numbers() {
        let text = |shape: LeafSpine| shape.build().unwrap_err().to_string();
        assert_eq!(
            text(shape(1 << 10, (1 << 8) + 1, 4, 1)),
            "the fabric would have 263168 hosts; at most 262144 are supported"
        );
        assert_eq!(
            text(shape(1, 4, 65_532, 1)),
            "each leaf switch would have 65536 ports; at most 65535 are supported"
        );
        assert_eq!(
            text(shape(65_536, 4, 1, 1)),
            "each spine switch would have 65536 ports; at most 65535 are supported"
        );
        assert_eq!(
            text(shape(60_000, 1, 100, 1)),
            "the fabric would have 6060000 links; at most 4194304 are supported"
        );
        assert!(text(shape(u32::MAX, u32::MAX, u32::MAX, u32::MAX)).contains("hosts; at most"));
    }
}
