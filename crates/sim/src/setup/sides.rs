//! Divides the nodes of a world into two sides that are processed alternately: see [`engine::Side`].
//!
//! Only if the result does not depend on the division of time into windows: no path is chosen by the queues
//! at the start of a window, no chip sends to itself, and a run does not end while frames are lost that
//! nobody resends. All hosts must be on one side, so that they report in order of time.

use super::Fabric;
use crate::switch::forward::needs_loads;
use engine::Side;
use spec::{LinkLayerSpec, LossRecovery, RunSpec};
use topology::Graph;

/// With timeouts of fewer windows a run may end before the sides have synchronised.
const TIMEOUT_WINDOWS_MIN: u64 = 8;

/// The side of each node; `None` if the nodes of this run cannot alternate.
pub(super) fn sides(spec: &RunSpec, fabric: &Fabric) -> Option<Vec<Side>> {
    // That a queue pair is about to fail is known one timeout before.
    let may_part = !needs_loads(spec)
        && spec.transport.timeout_ps >= TIMEOUT_WINDOWS_MIN * fabric.span.0
        && matches!(spec.fabric.link_layer, LinkLayerSpec::Ethernet { .. })
        && spec.fabric.switch.scheduled.is_none()
        && fabric.chips.is_empty()
        && spec.transport.recovery != LossRecovery::None
        && spec.tcp.is_empty()
        && spec.jobs.iter().all(|job| job.storage.is_none());
    if may_part { sides_of(&fabric.graph) } else { None }
}

/// Sides such that every link connects one with the other and all hosts are on one; `None` if there is a
/// cycle of an odd number of switches, or a path of odd length between two hosts.
fn sides_of(graph: &Graph) -> Option<Vec<Side>> {
    let mut sides = vec![None; graph.nodes.len()];
    let mut reached = Vec::new();
    for start in 0..sides.len() {
        if sides[start].is_none() {
            sides[start] = Some(Side::First);
            reached.push(start);
        }
        while let Some(node) = reached.pop() {
            let other = sides[node].map(Side::other);
            for port in &graph.nodes[node].ports {
                let peer = &mut sides[port.peer.index()];
                if peer.is_none() {
                    *peer = other;
                    reached.push(port.peer.index());
                } else if *peer != other {
                    return None;
                }
            }
        }
    }
    let sides: Vec<Side> = sides.into_iter().collect::<Option<_>>()?;
    let hosts = &sides[..graph.hosts()];
    hosts.iter().all(|side| *side == hosts[0]).then_some(sides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::{Builder, CableSpec, Custom, CustomLink, CustomSwitch, LinkSpec, SingleSwitch};

    const LINK: LinkSpec = LinkSpec { rate_bps: 400_000_000_000, cable: CableSpec { delay_ps: 5_000 } };

    fn graph(topology: &dyn Builder) -> Graph {
        topology.build().expect("the network is within all limits")
    }

    /// A ring of switches; every second one has a host.
    fn ring(switches: u32) -> Graph {
        let name = |index: u32| format!("s{}", index % switches);
        let between = |index| [name(index), name(index + 1)];
        let hosts = |index: u32| u32::from(index.is_multiple_of(2));
        graph(&Custom {
            switches: (0..switches)
                .map(|index| CustomSwitch { name: name(index), hosts: hosts(index) })
                .collect(),
            links: (0..switches)
                .map(|index| CustomLink { between: between(index), count: 1, link: LINK })
                .collect(),
            host_link: LINK,
        })
    }

    #[test]
    fn every_link_leads_to_the_other_side() {
        let single = graph(&SingleSwitch { hosts: 3, host_link: LINK });
        for graph in [single, ring(4), ring(6)] {
            let sides = sides_of(&graph).expect("all ways between hosts are even");
            for (node, side) in graph.nodes.iter().zip(&sides) {
                assert!(node.ports.iter().all(|port| sides[port.peer.index()] == side.other()));
            }
            assert!(sides[..graph.hosts()].iter().all(|side| *side == Side::First));
        }
    }

    #[test]
    fn odd_ways_leave_no_sides() {
        assert_eq!((sides_of(&ring(3)), sides_of(&ring(5))), (None, None));
        let pair = graph(&Custom {
            switches: ["a", "b"].map(|name| CustomSwitch { name: name.into(), hosts: 2 }).into(),
            links: vec![CustomLink { between: ["a".into(), "b".into()], count: 1, link: LINK }],
            host_link: LINK,
        });
        assert_eq!(sides_of(&pair), None);
    }
}
