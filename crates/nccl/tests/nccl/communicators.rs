//! Rings and trees across nodes, and the NICs of their channels (NCCL 2.30 `src/graph/connect.cc`).

use crate::case::{Case, Run};
use crate::servers::{dgx_a100, h100, nic, two_gpus_per_nic};
use fabricbench_nccl::{
    Algorithm, Collective, Neighbours, PcieGeneration, Rules, Server, Tree, double_binary_tree,
    nic_of_channel,
};

const NODES: [usize; 8] = [1, 2, 3, 4, 5, 6, 7, 64];

fn tree_of(nodes: usize, half: usize) -> Vec<Neighbours> {
    (0..nodes).map(|node| double_binary_tree(nodes, node)[half]).collect()
}

#[test]
fn both_binary_trees_span_all_nodes() {
    for nodes in NODES {
        for half in 0..2 {
            let tree = tree_of(nodes, half);
            assert_eq!(
                tree.iter().filter(|node| node.parent.is_none()).count(),
                1,
                "{nodes} nodes: one root"
            );
            for (node, neighbours) in tree.iter().enumerate() {
                if let Some(parent) = neighbours.parent {
                    let side = usize::from(!neighbours.is_first_child);
                    assert_eq!(
                        tree[parent].children[side],
                        Some(node),
                        "{nodes} nodes: {node} below {parent}"
                    );
                }
                let mut ancestor = node;
                let depth = std::iter::from_fn(|| {
                    ancestor = tree[ancestor].parent?;
                    Some(ancestor)
                });
                assert!(depth.count() <= nodes.ilog2() as usize + 1);
            }
        }
    }
}

#[test]
fn no_node_is_a_leaf_of_one_tree_and_inner_of_none() {
    let is_leaf = |neighbours: &Neighbours| neighbours.children.iter().all(Option::is_none);
    for nodes in [4, 8, 64] {
        let (first, second) = (tree_of(nodes, 0), tree_of(nodes, 1));
        assert!(
            first.iter().zip(&second).all(|(one, other)| !is_leaf(one) || !is_leaf(other)),
            "{nodes} nodes"
        );
    }
}

/// Figures of section 1h: parent (i^b)|(2b), children i - b/2 and i + b/2; 0 has one child.
#[test]
fn the_first_tree_of_eight_nodes() {
    let tree = tree_of(8, 0);
    let parents: Vec<Option<usize>> = tree.iter().map(|node| node.parent).collect();
    let expected = [None, Some(2), Some(4), Some(2), Some(0), Some(6), Some(4), Some(6)];
    assert_eq!(parents, expected);
    assert_eq!(tree[0].children, [None, Some(4)]);
    assert_eq!(tree[4].children, [Some(2), Some(6)]);
}

fn spans(tree: &Tree) -> bool {
    let root = tree.iter().position(|links| links.up.is_none());
    let mut reached = vec![false; tree.len()];
    let mut open: Vec<usize> = root.into_iter().collect();
    while let Some(rank) = open.pop() {
        reached[rank] = true;
        open.extend(&tree[rank].down);
    }
    reached.iter().all(|&is_reached| is_reached)
}

#[test]
fn rings_and_trees_have_all_ranks() {
    for nodes in [1, 2, 3, 4] {
        for server in [h100(), two_gpus_per_nic(h100())] {
            let run = Case::new(&server, "2.30", nodes).run();
            let communicator = run.communicator();
            for ring in &communicator.rings {
                let mut members = ring.clone();
                members.sort_unstable();
                assert_eq!(members, (0..8 * nodes).collect::<Vec<_>>());
            }
            assert_eq!(communicator.trees.len(), 2 * communicator.rings.len());
            assert!(communicator.trees.iter().all(spans), "{nodes} nodes");
        }
    }
}

/// Hops of rings between nodes that enter by another NIC (rail) than they left by.
fn crossings(run: &Run) -> usize {
    let communicator = run.communicator();
    let (system, paths, graph) = (&run.case.system, &run.paths, &run.graphs.ring);
    let channels = graph.channels.len();
    let hops = |(channel, ring): (usize, &Vec<usize>)| {
        let next = ring.iter().cycle().skip(1);
        let between_nodes = ring.iter().zip(next).filter(|(from, to)| *from / 8 != *to / 8);
        let rail = |rank: usize, is_exit: bool| {
            let swapped = rank / 8 % 2 == 1 && graph.cross_nic == 2;
            let on_node = &graph.channels[if swapped { channel ^ 1 } else { channel }];
            assert_eq!(on_node.gpus[if is_exit { 7 } else { 0 }], rank % 8);
            if is_exit { on_node.exit_nic } else { on_node.entry_nic }
        };
        between_nodes.filter(|&(&from, &to)| rail(from, true) != rail(to, false)).count()
    };
    for channel in 0..channels {
        let first = graph.channels[channel].gpus[0];
        let entry = nic_of_channel(graph, channels, channel + channels, first, system, paths).expect("a NIC");
        assert_eq!((Some(entry.nic), entry.proxy), (graph.channels[channel].entry_nic, first));
    }
    communicator.rings.iter().enumerate().map(hops).sum()
}

#[test]
fn paired_rings_stay_on_their_rails() {
    let rails = |nodes, server: &Server| crossings(&Case::new(server, "2.30", nodes).run());
    assert_eq!(rails(2, &h100()), 0);
    assert_eq!(rails(4, &h100()), 0);
    assert_eq!(rails(3, &h100()), 8, "with an odd number of nodes one hop of each ring crosses");
    let slow_pcie = Server { nic: nic(400, PcieGeneration::Gen4), ..h100() };
    assert_eq!(rails(3, &slow_pcie), 0, "rings that leave by PXN");
}

#[test]
fn limits_of_channels() {
    let channels = |variables: &[(&str, &str)]| {
        Case::two_nodes(&h100()).with(variables).run().communicator().channels.collective
    };
    assert_eq!(channels(&[("NCCL_MAX_NCHANNELS", "4")]), 4);
    assert_eq!(channels(&[("NCCL_MIN_NCHANNELS", "32")]), 32);
    let nvls = |variables: &[(&str, &str)]| {
        Case::two_nodes(&h100()).with(variables).run().communicator().nvls.channels
    };
    assert_eq!(nvls(&[("NCCL_MAX_NCHANNELS", "4")]), 16, "NVLS has limits of its own");
    assert_eq!(nvls(&[("NCCL_MAX_CTAS", "4")]), 4);
    assert_eq!(nvls(&[("NCCL_NVLS_NCHANNELS", "20")]), 20);
}

#[test]
fn nodes_with_different_graphs_take_the_least() {
    let fast = Case::two_nodes(&h100()).run();
    let slow = Case::two_nodes(&dgx_a100()).run();
    let rules = Rules::of("2.30".parse().unwrap());
    let [first, second] = [(0..8).collect::<Vec<_>>(), (8..16).collect::<Vec<_>>()];
    let merged = fast.with_nodes(|fast_nodes| {
        slow.with_nodes(|slow_nodes| {
            let mut nodes = [slow_nodes[0], fast_nodes[0]];
            nodes[0].ranks = &second;
            nodes[1].ranks = &first;
            fabricbench_nccl::Communicator::connect(&nodes, &rules, &fast.case.settings)
        })
    });
    assert_eq!(merged.graphs.ring.inter, slow.graphs.ring.inter);
    assert_eq!(merged.graphs.tree.pattern.number(), 3, "the plain tree, if a node has it");
    assert_eq!(merged.graphs.ring.cross_nic, 2);
    assert_eq!(merged.channels.nvls, 0, "a node has no NVLS");
    assert_eq!(merged.nodes, [first, second], "nodes by their first rank");
}

#[test]
fn names_are_those_of_the_logs() {
    assert_eq!(Algorithm::NvlsTree.to_string(), "NVLSTree");
    assert_eq!(Collective::ReduceScatter.to_string(), "ReduceScatter");
    assert_eq!(serde_json::to_string(&Algorithm::Nvls).unwrap(), "\"NVLS\"");
}
