//! Custom topology: builds the graph of listed switches, their hosts and links; checks names and connections;
//! computes the tier of each switch from its distance to the hosts.

use super::{Builder, LinkSpec};
use crate::assembly::Assembly;
use crate::{Graph, TopologyError, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use units::NodeId;

/// A fabric of any shape: named switches with their hosts, and the links between them.
///
/// - Hosts are numbered by switch, in the order of the list; each has one port.
/// - The tier of a switch is 1 if it has hosts, otherwise one more than the lowest tier among its neighbours.
///   Nodes are ordered by tier, within a tier as listed.
/// - Ports are numbered hosts first, then links in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Custom {
    /// The switches.
    pub switches: Vec<CustomSwitch>,
    /// The links between them; several entries for the same two switches are added.
    pub links: Vec<CustomLink>,
    /// Host to switch.
    pub host_link: LinkSpec,
}

/// A switch of a [`Custom`] fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CustomSwitchSpec")]
pub struct CustomSwitch {
    /// Name, unique among all nodes.
    pub name: String,
    /// Number of its hosts.
    pub hosts: u32,
}

/// Parallel links between two switches of a [`Custom`] fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CustomLinkSpec")]
pub struct CustomLink {
    /// Names of the two switches.
    pub between: [String; 2],
    /// Number of links.
    pub count: u32,
    /// Parameters of each link.
    pub link: LinkSpec,
}

impl Builder for Custom {
    fn hosts(&self) -> u64 {
        self.switches.iter().map(|switch| u64::from(switch.hosts)).sum()
    }

    fn host_link(&self) -> LinkSpec {
        self.host_link
    }

    fn build(&self) -> Result<Graph, TopologyError> {
        let index_by_name = self.index_by_name()?;
        let links = self.link_ends(&index_by_name)?;
        self.check_counts(&links)?;
        let tiers = self.tiers(&links)?;
        let hosts = self.hosts() as u32;
        let mut assembly = Assembly::new(hosts, u64::from(hosts) + self.cables());
        let nodes = self.add_switches(&mut assembly, &tiers);
        self.plug_hosts(&mut assembly, &nodes);
        for (link, [a, b]) in self.links.iter().zip(links) {
            let (lower, upper) = if tiers[a] <= tiers[b] { (a, b) } else { (b, a) };
            for _ in 0..link.count {
                assembly.connect(nodes[lower], nodes[upper], link.link);
            }
        }
        Ok(assembly.finish())
    }
}

impl Custom {
    /// Index of each switch in the list, by name.
    fn index_by_name(&self) -> Result<HashMap<&str, usize>, TopologyError> {
        let mut index_by_name = HashMap::new();
        for (index, switch) in self.switches.iter().enumerate() {
            let is_host = switch.name.strip_prefix("host").is_some_and(is_number);
            if is_host || index_by_name.insert(switch.name.as_str(), index).is_some() {
                return Err(TopologyError::NameTaken { name: switch.name.clone() });
            }
        }
        Ok(index_by_name)
    }

    /// Indices of the two switches of each link.
    fn link_ends(&self, index_by_name: &HashMap<&str, usize>) -> Result<Vec<[usize; 2]>, TopologyError> {
        let index = |name: &String| {
            index_by_name
                .get(name.as_str())
                .copied()
                .ok_or_else(|| TopologyError::NoSuchSwitch { name: name.clone() })
        };
        let ends = |link: &CustomLink| match [index(&link.between[0])?, index(&link.between[1])?] {
            [a, b] if a == b => Err(TopologyError::LinkToItself { name: link.between[0].clone() }),
            ends => Ok(ends),
        };
        self.links.iter().map(ends).collect()
    }

    fn check_counts(&self, links: &[[usize; 2]]) -> Result<(), TopologyError> {
        for link in &self.links {
            limits::positive(&[("count", link.count)])?;
        }
        let mut ports: Vec<u64> = self.switches.iter().map(|switch| switch.hosts.into()).collect();
        let hosts = ports.iter().sum();
        limits::positive(&[("hosts", u32::try_from(hosts).unwrap_or(u32::MAX))])?;
        limits::hosts(hosts, 1)?;
        for (link, ends) in self.links.iter().zip(links) {
            ends.iter().for_each(|&end| ports[end] += u64::from(link.count));
        }
        limits::ports("switch", ports.into_iter().max().unwrap_or(0))?;
        limits::links(hosts.saturating_add(self.cables()))
    }

    /// Number of links between switches.
    fn cables(&self) -> u64 {
        self.links.iter().map(|link| u64::from(link.count)).sum()
    }

    /// Tier of each switch: number of hops to the nearest host.
    fn tiers(&self, links: &[[usize; 2]]) -> Result<Vec<u8>, TopologyError> {
        let mut neighbours = vec![Vec::new(); self.switches.len()];
        for &[a, b] in links {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        self.check_connected(&neighbours)?;
        let with_hosts = (0..self.switches.len()).filter(|&index| self.switches[index].hosts > 0);
        let hops = distances(&neighbours, with_hosts.collect());
        Ok(hops.into_iter().map(|hops| u8::try_from(hops + 1).unwrap_or(u8::MAX)).collect())
    }

    fn check_connected(&self, neighbours: &[Vec<usize>]) -> Result<(), TopologyError> {
        let reached = distances(neighbours, vec![0]);
        match reached.iter().position(|&hops| hops == UNREACHED) {
            None => Ok(()),
            Some(unreached) => Err(TopologyError::NotConnected {
                name: self.switches[unreached].name.clone(),
                other: self.switches[0].name.clone(),
            }),
        }
    }

    /// Adds the switches by tier; returns their nodes in the order of the list.
    fn add_switches(&self, assembly: &mut Assembly, tiers: &[u8]) -> Vec<NodeId> {
        let mut order: Vec<usize> = (0..self.switches.len()).collect();
        order.sort_by_key(|&index| tiers[index]);
        let mut nodes = vec![NodeId(0); self.switches.len()];
        for index in order {
            nodes[index] = assembly.named_switch(&self.switches[index].name, tiers[index]);
        }
        nodes
    }

    fn plug_hosts(&self, assembly: &mut Assembly, nodes: &[NodeId]) {
        let mut hosts = assembly.hosts();
        for (switch, &node) in self.switches.iter().zip(nodes) {
            for host in hosts.by_ref().take(switch.hosts as usize) {
                assembly.connect(host, node, self.host_link);
            }
        }
    }
}

const UNREACHED: usize = usize::MAX;

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Hops from the nearest of `sources` to every switch.
fn distances(neighbours: &[Vec<usize>], sources: Vec<usize>) -> Vec<usize> {
    let mut hops = vec![UNREACHED; neighbours.len()];
    sources.iter().for_each(|&source| hops[source] = 0);
    let mut order = sources;
    let mut done = 0;
    while let Some(&index) = order.get(done) {
        for &next in &neighbours[index] {
            if hops[next] == UNREACHED {
                hops[next] = hops[index] + 1;
                order.push(next);
            }
        }
        done += 1;
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cable, check_consistency, port_of};
    use crate::{LeafSpine, Routes};
    use proptest::prelude::*;
    use units::AttachmentId;

    fn custom(switches: &[(&str, u32)], links: &[(&str, &str, u32)]) -> Custom {
        let switch = |&(name, hosts): &(&str, u32)| CustomSwitch { name: name.into(), hosts };
        let link = |&(a, b, count): &(&str, &str, u32)| CustomLink {
            between: [a.into(), b.into()],
            count,
            link: cable(800),
        };
        Custom {
            switches: switches.iter().map(switch).collect(),
            links: links.iter().map(link).collect(),
            host_link: cable(400),
        }
    }

    fn error(switches: &[(&str, u32)], links: &[(&str, &str, u32)]) -> String {
        custom(switches, links).build().unwrap_err().to_string()
    }

    #[test]
    fn ports_and_tiers_follow_the_list() {
        let shape = custom(
            &[("core", 0), ("top", 0), ("a", 2), ("b", 1)],
            &[("top", "a", 2), ("b", "top", 1), ("core", "top", 1)],
        );
        let graph = shape.build().unwrap();
        check_consistency(&graph);
        let names: Vec<_> = graph.nodes[3..].iter().map(|node| (node.name.as_str(), node.tier)).collect();
        assert_eq!(names, [("a", 1), ("b", 1), ("top", 2), ("core", 3)]);
        assert_eq!(port_of(&graph, "a", 1), ("host1".into(), 0));
        assert_eq!(port_of(&graph, "a", 3), ("top".into(), 1));
        assert_eq!(port_of(&graph, "b", 0), ("host2".into(), 0));
        assert_eq!(port_of(&graph, "top", 3), ("core".into(), 0));
        assert_eq!((graph.links[0].rate, graph.links[3].rate), (cable(400).rate(), cable(800).rate()));
    }

    #[test]
    fn a_listed_leaf_spine_is_the_leaf_spine() {
        let (host_link, fabric_link) = (cable(400), cable(800));
        let built =
            LeafSpine { leaves: 2, hosts_per_leaf: 2, spines: 2, links_per_spine: 1, host_link, fabric_link };
        let listed = custom(
            &[("leaf0", 2), ("leaf1", 2), ("spine0", 0), ("spine1", 0)],
            &[("leaf0", "spine0", 1), ("leaf0", "spine1", 1), ("leaf1", "spine0", 1), ("leaf1", "spine1", 1)],
        );
        assert_eq!(listed.build().unwrap(), built.build().unwrap());
    }

    #[test]
    fn a_ring_is_taken_the_short_way_and_an_even_one_both_ways() {
        let ring = |size: usize| {
            let names: Vec<String> = (0..size).map(|index| format!("s{index}")).collect();
            let switches: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
            let links: Vec<_> = (0..size)
                .map(|index| (names[index].as_str(), names[(index + 1) % size].as_str(), 1))
                .collect();
            custom(&switches, &links).build().unwrap()
        };
        let graph = ring(5);
        check_consistency(&graph);
        let routes = Routes::compute(&graph);
        let first = NodeId(5);
        let peer = |hop: u16| graph.node(first).ports[usize::from(hop)].peer.0 - 5;
        let towards = |host| -> Vec<u32> {
            routes.next_hops(first, AttachmentId(host)).iter().map(|&hop| peer(hop)).collect()
        };
        assert_eq!((towards(2), towards(3)), (vec![1], vec![4]));
        assert_eq!(Routes::compute(&ring(6)).next_hops(NodeId(6), AttachmentId(3)).len(), 2);
    }

    #[test]
    fn what_makes_no_fabric_is_named() {
        assert_eq!(error(&[("a", 1), ("a", 1)], &[]), "another node is called a as well");
        assert_eq!(error(&[("host3", 1)], &[]), "another node is called host3 as well");
        assert!(["host", "hostel", "host3b"].iter().all(|name| custom(&[(name, 1)], &[]).build().is_ok()));
        assert_eq!(error(&[("a", 2)], &[("a", "c", 1)]), "no switch is called c");
        assert_eq!(error(&[("a", 2)], &[("a", "a", 1)]), "a link from a to itself");
        assert_eq!(error(&[("a", 2), ("b", 0)], &[]), "no path from b to a");
        assert_eq!(error(&[("a", 2), ("b", 1)], &[("a", "b", 0)]), "count is 0; it must be at least 1");
        assert_eq!(error(&[("a", 0), ("b", 0)], &[("a", "b", 1)]), "hosts is 0; it must be at least 1");
        assert_eq!(
            error(&[("a", 65_535), ("b", 1)], &[("a", "b", 1)]),
            "each switch would have 65536 ports; at most 65535 are supported"
        );
    }

    proptest! {
        #[test]
        fn any_connected_list_is_a_consistent_graph(
            hosts in prop::collection::vec(0..4_u32, 1..9),
            parents in prop::collection::vec(0..8_usize, 8),
            more in prop::collection::vec((0..8_usize, 0..8_usize, 1..3_u32), 0..6),
        ) {
            let names: Vec<String> = (0..hosts.len()).map(|index| format!("s{index}")).collect();
            let name = |index: usize| names[index % names.len()].as_str();
            let tree = (1..names.len()).map(|index| (name(index), name(parents[index - 1] % index), 1));
            let extra = more.iter().map(|&(a, b, count)| (name(a), name(b), count)).filter(|(a, b, _)| a != b);
            let links: Vec<_> = tree.chain(extra).collect();
            let mut switches: Vec<_> = names.iter().map(String::as_str).zip(hosts).collect();
            switches[0].1 += 1;
            let graph = custom(&switches, &links).build().unwrap();
            check_consistency(&graph);
            let routes = Routes::compute(&graph);
            for switch in graph.hosts()..graph.nodes.len() {
                for host in 0..graph.hosts() as u32 {
                    let hops = routes.next_hops(NodeId(switch as u32), AttachmentId(host));
                    prop_assert!(!hops.is_empty());
                }
            }
        }
    }
}
