//! Detects deadlocks in the state of a run without progress: cycles of egress queues that wait for each
//! other, paused by PFC or without credit on InfiniBand.
//!
//! A queue without credit waits like a paused one, for the frames in the buffer of the other end. A paused
//! queue waits until the neighbour that paused it has room for the frames received on that link. These frames
//! are in egress queues of the neighbour, so the paused queue waits for those. A queue is blocked if all
//! queues it waits for are blocked: none of them sends again, unless a watchdog intervenes. Queues paused by
//! a host are not blocked, as a host drains its buffer eventually.

use super::{World, WorldPartition};
use crate::packet::Priority;
use crate::setup::FabricNode;
use crate::switch::Switch;
use record::EventRow;
use std::collections::{BTreeMap, BTreeSet};
use topology::Graph;
use units::{Instant, NodeId};

/// An egress queue of a switch.
type Queue = (NodeId, u16, Priority);

/// Wait-for graph of egress queues at an instant.
struct Waits<'a> {
    graph: &'a Graph,
    /// Kind of the events.
    kind: &'static str,
    switches: BTreeMap<NodeId, &'a Switch>,
    /// For each paused queue with frames, the queues it waits for.
    waits: BTreeMap<Queue, Vec<Queue>>,
}

/// An event for each queue of each cycle, in the order in which they wait for each other; empty without
/// deadlock. `since` is the time of the last progress of the run, `now` its end.
pub(crate) fn deadlock_events(
    world: &World,
    partitions: &[WorldPartition],
    since: Instant,
    now: Instant,
) -> Vec<EventRow> {
    let waits = Waits::of(world, partitions, now);
    let cycles = cycles(&blocked(&waits.waits));
    cycles.iter().flatten().map(|&queue| waits.event(queue, since)).collect()
}

impl<'a> Waits<'a> {
    fn of(world: &'a World, partitions: &'a [WorldPartition], now: Instant) -> Self {
        let nodes = (0..).map(NodeId).zip(world.nodes_of(partitions));
        let switches = nodes.filter_map(|(node, state)| match state {
            FabricNode::Switch(switch) => Some((node, switch)),
            FabricNode::Host(_) | FabricNode::Scheduled(_) => None,
        });
        let kind = if world.fabric.credits.is_some() { "credit_deadlock" } else { "pfc_deadlock" };
        let mut waits =
            Self { graph: &world.fabric.graph, kind, switches: switches.collect(), waits: BTreeMap::new() };

        let paused: Vec<Queue> = waits.paused_queues(now).collect();
        waits.waits = paused.into_iter().map(|queue| (queue, waits.waits_for(queue))).collect();
        waits
    }

    /// Egress queues that contain frames and may not send at `now`.
    fn paused_queues(&self, now: Instant) -> impl Iterator<Item = Queue> {
        let ports = self.switches.iter().flat_map(|(&node, switch)| {
            switch.ports_of(node).iter().enumerate().map(move |(index, port)| (node, index as u16, port))
        });
        ports.flat_map(move |(node, index, port)| {
            (0..8).map(Priority).filter_map(move |priority| {
                let waits = port.pause().is_paused(priority, now) && port.queue_bytes(priority) > 0;
                waits.then_some((node, index, priority))
            })
        })
    }

    /// The queues of the neighbour with the frames that caused it to pause this queue.
    fn waits_for(&self, (node, port, priority): Queue) -> Vec<Queue> {
        let plug = self.graph.node(node).ports[usize::from(port)];
        let Some(peer) = self.switches.get(&plug.peer) else { return Vec::new() };
        let ingress = peer.numbers_of(plug.peer).start as u16 + plug.peer_port;
        if !peer.blocks_sender(ingress, priority) {
            return Vec::new();
        }
        let ports = peer.ports_of(plug.peer);
        let has_frames = |egress: &u16| ports[usize::from(*egress)].has_frames_of(ingress, priority);
        (0..ports.len() as u16).filter(has_frames).map(|egress| (plug.peer, egress, priority)).collect()
    }

    fn event(&self, (node, port, priority): Queue, since: Instant) -> EventRow {
        let peer = self.graph.node(node).ports[usize::from(port)].peer;
        let bytes = self.switches[&node].ports_of(node)[usize::from(port)].queue_bytes(priority);
        EventRow {
            time_ps: since.0,
            kind: self.kind,
            node: self.graph.node(node).name.clone(),
            detail: format!(
                "port {port} at priority {} waits for {} with {bytes} bytes",
                priority.0,
                self.graph.node(peer).name
            ),
        }
    }
}

/// The queues that never send again, each with the queues it waits for.
fn blocked<Q: Ord + Copy>(waits: &BTreeMap<Q, Vec<Q>>) -> BTreeMap<Q, Vec<Q>> {
    let mut blocked = waits.clone();
    loop {
        let before: BTreeSet<Q> = blocked.keys().copied().collect();
        blocked.retain(|_, next| !next.is_empty() && next.iter().all(|queue| before.contains(queue)));
        if blocked.len() == before.len() {
            return blocked;
        }
    }
}

/// Cycles of blocked queues; follows the first wait-for edge of each queue.
fn cycles<Q: Ord + Copy>(blocked: &BTreeMap<Q, Vec<Q>>) -> Vec<Vec<Q>> {
    let (mut visited, mut cycles) = (BTreeSet::new(), Vec::new());
    for &start in blocked.keys() {
        let (mut path, mut queue) = (Vec::new(), start);
        while visited.insert(queue) {
            path.push(queue);
            queue = blocked[&queue][0];
        }
        if let Some(first) = path.iter().position(|&each| each == queue) {
            cycles.push(path.split_off(first));
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(edges: &[(u32, &[u32])]) -> BTreeMap<u32, Vec<u32>> {
        edges.iter().map(|&(queue, next)| (queue, next.to_vec())).collect()
    }

    #[test]
    fn a_cycle_is_found_in_order_without_the_queues_that_lead_to_it() {
        let waits = waits(&[(1, &[4]), (2, &[1]), (4, &[2]), (9, &[1])]);
        assert_eq!(cycles(&blocked(&waits)), [[1, 4, 2]]);
    }

    #[test]
    fn a_chain_that_ends_is_no_deadlock() {
        assert!(blocked(&waits(&[(1, &[2]), (2, &[3]), (3, &[])])).is_empty());
    }

    #[test]
    fn a_cycle_with_an_exit_is_no_deadlock() {
        // Some of the frames that 2 waits for are in 7, which sends.
        assert!(blocked(&waits(&[(1, &[2]), (2, &[1, 7])])).is_empty());
    }

    #[test]
    fn separate_cycles_are_both_found() {
        let waits = waits(&[(1, &[2]), (2, &[1]), (5, &[6]), (6, &[5])]);
        assert_eq!(cycles(&blocked(&waits)), [[1, 2], [5, 6]]);
    }
}
