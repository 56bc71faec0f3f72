//! Multi-plane topology: one separate leaf-spine fabric per NIC port.

use super::{Builder, LinkSpec};
use crate::assembly::Assembly;
use crate::{Graph, TopologyError, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::NodeId;

/// Planes: one leaf-spine fabric per port of a NIC, connected only through the hosts. Port `p` of every host
/// is in plane `p`.
///
/// With `P` planes of `L` leaves and `Q` spines, `H` hosts per leaf and `M` parallel links between a leaf and
/// a spine:
/// - switches: leaf `l` of plane `p` is `leaf{p * L + l}`, spine `s` of plane `p` is `spine{p * Q + s}`;
/// - port `p` of host `h` is on port `h mod H` of leaf `h / H` of plane `p`;
/// - leaf port `H + s * M + m` is parallel link `m` to spine `s` of its plane;
/// - spine port `l * M + m` is parallel link `m` to leaf `l` of its plane.
///
/// [`Graph::attachments_between`] assigns queue pairs to planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct MultiPlane {
    /// Number of planes, which is also the number of ports per host.
    #[schemars(range(min = 1, max = limits::MAX_HOST_PORTS))]
    pub planes: u32,
    /// Leaf switches per plane.
    #[schemars(range(min = 1))]
    pub leaves: u32,
    /// Hosts per leaf.
    #[schemars(range(min = 1))]
    pub hosts_per_leaf: u32,
    /// Spine switches per plane.
    #[schemars(range(min = 1))]
    pub spines: u32,
    /// Parallel links between a leaf and a spine.
    #[schemars(range(min = 1))]
    pub links_per_spine: u32,
    /// Cable from each host port to its leaf.
    pub host_link: LinkSpec,
    /// Cable from leaf to spine.
    pub fabric_link: LinkSpec,
}

impl Builder for MultiPlane {
    fn hosts(&self) -> u64 {
        limits::product(&[self.leaves, self.hosts_per_leaf])
    }

    fn host_link(&self) -> LinkSpec {
        self.host_link
    }

    fn build(&self) -> Result<Graph, TopologyError> {
        self.check()?;
        let mut assembly = Assembly::new(self.leaves * self.hosts_per_leaf, self.links());
        let leaves = assembly.switches("leaf", 1, self.planes * self.leaves);
        let spines = assembly.switches("spine", 2, self.planes * self.spines);
        for plane in leaves.chunks(self.leaves as usize) {
            for host in assembly.hosts() {
                assembly.connect(host, plane[host.index() / self.hosts_per_leaf as usize], self.host_link);
            }
        }
        let planes = leaves.chunks(self.leaves as usize).zip(spines.chunks(self.spines as usize));
        for (leaves, spines) in planes {
            self.connect_plane(&mut assembly, leaves, spines);
        }
        Ok(assembly.finish_in_planes())
    }
}

impl MultiPlane {
    fn connect_plane(&self, assembly: &mut Assembly, leaves: &[NodeId], spines: &[NodeId]) {
        for &leaf in leaves {
            for &spine in spines {
                assembly.connect_by(self.links_per_spine, leaf, spine, self.fabric_link);
            }
        }
    }

    fn check(&self) -> Result<(), TopologyError> {
        let uplinks = limits::product(&[self.spines, self.links_per_spine]);
        limits::hosts(self.hosts(), self.planes)?;
        limits::ports("leaf switch", uplinks.saturating_add(self.hosts_per_leaf.into()))?;
        limits::ports("spine switch", limits::product(&[self.leaves, self.links_per_spine]))?;
        limits::links(self.links())
    }

    fn links(&self) -> u64 {
        let hosts = limits::product(&[self.planes, self.leaves, self.hosts_per_leaf]);
        let fabric = limits::product(&[self.planes, self.leaves, self.spines, self.links_per_spine]);
        hosts.saturating_add(fabric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Routes;
    use crate::testing::{cable, check_consistency, planes, port_of};
    use proptest::prelude::*;
    use units::HostId;

    proptest! {
        #[test]
        fn counts_follow_the_closed_forms(
            count in 1..5u32, leaves in 1..4u32, hosts in 1..4u32, spines in 1..4u32, links in 1..3u32,
        ) {
            let graph = planes([count, leaves, hosts, spines, links]).build().unwrap();
            check_consistency(&graph);
            prop_assert_eq!(graph.hosts() as u32, leaves * hosts);
            prop_assert_eq!(graph.attachments.len() as u32, count * leaves * hosts);
            prop_assert_eq!(graph.switches() as u32, count * (leaves + spines));
            prop_assert_eq!(graph.links.len() as u32, count * leaves * (hosts + spines * links));
            prop_assert!(graph.is_joined_by_switches());
        }

        #[test]
        fn ports_are_numbered_as_documented(
            count in 1..5u32, leaves in 1..4u32, hosts in 1..4u32, spines in 1..4u32, links in 1..3u32,
        ) {
            let graph = planes([count, leaves, hosts, spines, links]).build().unwrap();
            for plane in 0..count {
                for host in 0..leaves * hosts {
                    let leaf = format!("leaf{}", plane * leaves + host / hosts);
                    prop_assert_eq!(port_of(&graph, &leaf, host % hosts), (format!("host{host}"), plane));
                }
                for (leaf, uplink) in (0..leaves).flat_map(|leaf| (0..spines * links).map(move |up| (leaf, up))) {
                    let expected =
                        (format!("spine{}", plane * spines + uplink / links), leaf * links + uplink % links);
                    let name = format!("leaf{}", plane * leaves + leaf);
                    prop_assert_eq!(port_of(&graph, &name, hosts + uplink), expected);
                }
            }
        }

        #[test]
        fn queue_pairs_take_the_planes_in_turn(count in 1..5u32, src in 0..6u32, dst in 0..6u32) {
            let graph = planes([count, 2, 3, 2, 1]).build().unwrap();
            let port = |part| {
                let (from, to) = graph.attachments_between(HostId(src), HostId(dst), part);
                let (from, to) = (graph.attachment(from), graph.attachment(to));
                assert_eq!((from.host, to.host), (HostId(src), HostId(dst)));
                assert_eq!(from.host_port, to.host_port, "both ends are in one plane");
                u32::from(from.host_port)
            };
            for part in 0..2 * count {
                prop_assert_eq!(port(part), (src + dst + part) % count);
            }
        }
    }

    #[test]
    fn a_plane_has_routes_to_its_own_ports_only() {
        let graph = planes([2, 2, 2, 3, 2]).build().unwrap();
        let routes = Routes::compute(&graph);
        let hops = |from: u32, to: u32| {
            let to = graph.attachment_of(HostId(3), to as u16);
            routes.next_hops(graph.attachment(graph.attachment_of(HostId(0), from as u16)).switch, to).len()
        };
        assert_eq!([hops(0, 0), hops(1, 1)], [6, 6]);
        assert_eq!([hops(0, 1), hops(1, 0)], [0, 0]);
    }

    #[test]
    fn each_plane_has_the_oversubscription_of_its_leaves() {
        let ratios: Vec<_> = planes([4, 3, 8, 2, 2])
            .build()
            .unwrap()
            .oversubscription()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(ratios, ["2:1"]);
    }

    #[test]
    fn two_tiers_of_switches_with_512_ports_hold_131_072_hosts_of_four_ports() {
        let cable = cable(200);
        let shape = MultiPlane {
            planes: 4,
            leaves: 512,
            hosts_per_leaf: 256,
            spines: 256,
            links_per_spine: 1,
            host_link: cable,
            fabric_link: cable,
        };
        assert_eq!(shape.check(), Ok(()));
        assert_eq!(shape.links(), 2 * 4 * 131_072);
    }

    #[test]
    fn what_exceeds_the_limits_is_refused_with_numbers() {
        let text = |counts| planes(counts).build().unwrap_err().to_string();
        assert_eq!(text([33, 2, 2, 2, 1]), "each host would have 33 ports; at most 32 are supported");
        assert_eq!(
            text([8, 600, 256, 2, 1]),
            "the fabric would have 1228800 host ports; at most 1048576 are supported"
        );
    }
}
