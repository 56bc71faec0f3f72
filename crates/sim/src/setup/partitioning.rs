//! Partitioning: assigns each node of the graph to a partition (the nodes that one thread simulates), with
//! few links between partitions.

use super::Chips;
use topology::Graph;
use units::NodeId;

/// Location of a node of the graph in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) partition: u32,
    /// Index in the partition.
    pub(crate) index: u32,
}

/// Location of each node of `graph`.
///
/// Hosts are divided evenly in their order; a switch with the first port of hosts is in the partition of the
/// first of these hosts. Every other switch, lower tiers first, is assigned to the partition of a neighbour:
/// the one with the fewest links between switches so far. Hence the switches of a pod are in the partition of
/// its hosts. The switches of a chip are one node, assigned like the first of them.
pub(super) fn assign_partitions(graph: &Graph, chips: &Chips, partitions: usize) -> Vec<Location> {
    let partition_of = partitions_of(graph, partitions);
    let mut sizes = vec![0; partitions];
    let mut locations: Vec<Location> = Vec::with_capacity(partition_of.len());
    for (node, partition) in partition_of.into_iter().enumerate() {
        let first = chips.first(NodeId(node as u32)).index();
        locations.push(if first < node {
            locations[first]
        } else {
            sizes[partition] += 1;
            Location { partition: partition as u32, index: sizes[partition] - 1 }
        });
    }
    locations
}

fn partitions_of(graph: &Graph, partitions: usize) -> Vec<usize> {
    let hosts = graph.hosts();
    let mut partition_of = vec![None; graph.nodes.len()];
    for attachment in &graph.attachments[..hosts] {
        let partition = attachment.host.index() * partitions / hosts;
        let leaf = &mut partition_of[attachment.switch.index()];
        let partition = *leaf.get_or_insert(partition);
        partition_of[attachment.host.index()] = Some(partition);
    }
    let mut others: Vec<usize> =
        (hosts..graph.nodes.len()).filter(|&node| partition_of[node].is_none()).collect();
    others.sort_by_key(|&node| graph.nodes[node].tier);
    let mut links = vec![0; partitions];
    for node in others {
        let ports = &graph.nodes[node].ports;
        let neighbours = ports.iter().filter_map(|port| partition_of[port.peer.index()]);
        let partition = neighbours.min_by_key(|&partition| (links[partition], partition)).unwrap_or(0);
        links[partition] += ports.len();
        partition_of[node] = Some(partition);
    }
    partition_of.into_iter().map(|partition| partition.unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::{Builder, CableSpec, FatTree, LeafSpine, LinkSpec};

    fn cable() -> LinkSpec {
        LinkSpec { rate_bps: 400_000_000_000, cable: CableSpec { delay_ps: 150_000 } }
    }

    fn fat_tree() -> Graph {
        let tree = FatTree {
            pods: 4,
            leaves_per_pod: 2,
            hosts_per_leaf: 4,
            aggs_per_pod: 4,
            cores_per_agg: 2,
            host_link: cable(),
            fabric_link: cable(),
            core_link: cable(),
        };
        tree.build().unwrap()
    }

    /// Links between nodes of two partitions.
    fn cut(graph: &Graph, locations: &[Location]) -> usize {
        let is_cut = |ends: [usize; 2]| locations[ends[0]].partition != locations[ends[1]].partition;
        graph.links.iter().filter(|link| is_cut(link.ends.map(|end| end.node.index()))).count()
    }

    #[test]
    fn a_pod_stays_together_and_cores_are_dealt_out_evenly() {
        let graph = fat_tree();
        let locations = assign_partitions(&graph, &Chips::default(), 4);
        let cores: Vec<u32> = (graph.hosts()..graph.nodes.len())
            .filter(|&node| graph.nodes[node].tier == 3)
            .map(|node| locations[node].partition)
            .collect();
        assert_eq!(cores.len(), 8);
        assert!((0..4).all(|partition| cores.iter().filter(|&&own| own == partition).count() == 2));
        // One of the four links of a core is within its partition.
        assert_eq!(cut(&graph, &locations), 8 * 3, "links within pods are not cut");
    }

    #[test]
    fn spines_of_two_tiers_are_dealt_out_evenly() {
        let graph = LeafSpine {
            leaves: 4,
            hosts_per_leaf: 4,
            spines: 8,
            links_per_spine: 1,
            host_link: cable(),
            fabric_link: cable(),
        };
        let graph = graph.build().unwrap();
        let locations = assign_partitions(&graph, &Chips::default(), 4);
        for partition in 0..4 {
            let own = locations.iter().filter(|location| location.partition == partition).count();
            assert_eq!(own, 4 + 1 + 2, "hosts, a leaf, two spines");
        }
    }

    #[test]
    fn indices_in_a_partition_have_no_gaps() {
        let graph = fat_tree();
        for partitions in [1, 3, 7, graph.nodes.len()] {
            let mut locations = assign_partitions(&graph, &Chips::default(), partitions);
            locations.sort_unstable();
            for (one, next) in locations.iter().zip(&locations[1..]) {
                let follows = Location { index: one.index + 1, ..*one } == *next;
                assert!(follows || (next.partition > one.partition && next.index == 0), "{one:?} {next:?}");
            }
        }
    }
}
