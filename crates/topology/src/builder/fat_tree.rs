//! Three-tier fat tree: pods of leaf and aggregation switches, connected by planes of core switches.

use super::{Builder, LinkSpec};
use crate::assembly::Assembly;
use crate::{Graph, TopologyError, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::NodeId;

/// Three tiers: pods of leaf and aggregation switches, connected by planes of core switches. Every leaf has
/// one link to each aggregation switch of its pod; aggregation switch `a` of each pod has one link to each
/// core of plane `a`.
///
/// With `H` hosts per leaf, `L` leaves and `A` aggregation switches per pod, `C` cores per plane:
/// - switches: leaf `l` of pod `p` is `leaf{p * L + l}`, aggregation switch `a` of pod `p` is
///   `agg{p * A + a}`, core `c` of plane `a` is `core{a * C + c}`;
/// - host `h` is on port `h mod H` of leaf `h / H`;
/// - leaf port `H + a` is aggregation switch `a` of its pod;
/// - aggregation port `l` is leaf `l` of its pod, port `L + c` is core `c` of its plane;
/// - core port `p` is pod `p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FatTree {
    /// Number of pods.
    #[schemars(range(min = 1))]
    pub pods: u32,
    /// Leaf switches per pod.
    #[schemars(range(min = 1))]
    pub leaves_per_pod: u32,
    /// Hosts per leaf.
    #[schemars(range(min = 1))]
    pub hosts_per_leaf: u32,
    /// Aggregation switches per pod.
    #[schemars(range(min = 1))]
    pub aggs_per_pod: u32,
    /// Core switches per plane, which is the number of uplinks of an aggregation switch.
    #[schemars(range(min = 1))]
    pub cores_per_agg: u32,
    /// Cable from host to leaf.
    pub host_link: LinkSpec,
    /// Cable from leaf to aggregation switch.
    pub fabric_link: LinkSpec,
    /// Cable from aggregation switch to core.
    pub core_link: LinkSpec,
}

impl Builder for FatTree {
    fn hosts(&self) -> u64 {
        limits::product(&[self.pods, self.leaves_per_pod, self.hosts_per_leaf])
    }

    fn host_link(&self) -> LinkSpec {
        self.host_link
    }

    fn build(&self) -> Result<Graph, TopologyError> {
        self.check()?;
        let leaves = self.pods * self.leaves_per_pod;
        let mut assembly = Assembly::new(leaves * self.hosts_per_leaf, self.links());
        let leaves = assembly.switches("leaf", 1, leaves);
        let aggs = assembly.switches("agg", 2, self.pods * self.aggs_per_pod);
        let cores = assembly.switches("core", 3, self.aggs_per_pod * self.cores_per_agg);
        for host in assembly.hosts() {
            assembly.connect(host, leaves[host.index() / self.hosts_per_leaf as usize], self.host_link);
        }
        self.connect_pods(&mut assembly, &leaves, &aggs);
        self.connect_planes(&mut assembly, &aggs, &cores);
        Ok(assembly.finish())
    }
}

impl FatTree {
    fn connect_pods(&self, assembly: &mut Assembly, leaves: &[NodeId], aggs: &[NodeId]) {
        let pods = leaves.chunks(self.leaves_per_pod as usize).zip(aggs.chunks(self.aggs_per_pod as usize));
        for (leaves, aggs) in pods {
            for &leaf in leaves {
                for &agg in aggs {
                    assembly.connect(leaf, agg, self.fabric_link);
                }
            }
        }
    }

    fn connect_planes(&self, assembly: &mut Assembly, aggs: &[NodeId], cores: &[NodeId]) {
        for pod in aggs.chunks(self.aggs_per_pod as usize) {
            for (&agg, plane) in pod.iter().zip(cores.chunks(self.cores_per_agg as usize)) {
                for &core in plane {
                    assembly.connect(agg, core, self.core_link);
                }
            }
        }
    }

    fn check(&self) -> Result<(), TopologyError> {
        let sum = |a: u32, b: u32| u64::from(a) + u64::from(b);
        limits::hosts(self.hosts(), 1)?;
        limits::ports("leaf switch", sum(self.hosts_per_leaf, self.aggs_per_pod))?;
        limits::ports("aggregation switch", sum(self.leaves_per_pod, self.cores_per_agg))?;
        limits::ports("core switch", self.pods.into())?;
        limits::links(self.links())
    }

    fn links(&self) -> u64 {
        self.hosts()
            .saturating_add(limits::product(&[self.pods, self.leaves_per_pod, self.aggs_per_pod]))
            .saturating_add(limits::product(&[self.pods, self.aggs_per_pod, self.cores_per_agg]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_consistency, fat_tree, port_of};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_follow_the_closed_forms(
            pods in 1..4u32, leaves in 1..4u32, hosts in 1..4u32, aggs in 1..4u32, cores in 1..4u32,
        ) {
            let graph = fat_tree(pods, leaves, hosts, aggs, cores).build().unwrap();
            check_consistency(&graph);
            prop_assert_eq!(graph.hosts() as u32, pods * leaves * hosts);
            prop_assert_eq!(graph.switches() as u32, pods * (leaves + aggs) + aggs * cores);
            prop_assert_eq!(graph.links.len() as u32, pods * (leaves * (hosts + aggs) + aggs * cores));
            for node in &graph.nodes {
                let expected = [1, hosts + aggs, leaves + cores, pods][usize::from(node.tier)];
                prop_assert_eq!(node.ports.len() as u32, expected);
            }
        }

        #[test]
        fn ports_are_numbered_as_documented(
            pods in 1..4u32, leaves in 1..4u32, hosts in 1..4u32, aggs in 1..4u32, cores in 1..4u32,
        ) {
            let graph = fat_tree(pods, leaves, hosts, aggs, cores).build().unwrap();
            for pod in 0..pods {
                for agg in 0..aggs {
                    let name = format!("agg{}", pod * aggs + agg);
                    for leaf in 0..leaves {
                        let expected = (format!("leaf{}", pod * leaves + leaf), hosts + agg);
                        prop_assert_eq!(port_of(&graph, &name, leaf), expected);
                    }
                    for core in 0..cores {
                        let expected = (format!("core{}", agg * cores + core), pod);
                        prop_assert_eq!(port_of(&graph, &name, leaves + core), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn what_exceeds_the_limits_is_refused_with_numbers() {
        let text = |tree: FatTree| tree.build().unwrap_err().to_string();
        assert_eq!(
            text(fat_tree(64, 64, 65, 4, 4)),
            "the fabric would have 266240 hosts; at most 262144 are supported"
        );
        assert_eq!(
            text(fat_tree(1, 1, 1, 1, 65_535)),
            "each aggregation switch would have 65536 ports; at most 65535 are supported"
        );
        assert_eq!(
            text(fat_tree(70_000, 1, 1, 1, 1)),
            "each core switch would have 70000 ports; at most 65535 are supported"
        );
        assert_eq!(
            text(fat_tree(100, 1, 1, 300, 300)),
            "the fabric would have 9030100 links; at most 4194304 are supported"
        );
        assert!(text(fat_tree(u32::MAX, u32::MAX, u32::MAX, 1, 1)).contains("hosts; at most"));
    }
}
