//! The rows of ports and links at the end of a run.

use crate::egress::Transmitter;
use crate::nic::NicPort;
use crate::packet::Priority;
use crate::pause::PauseState;
use crate::setup::{FabricNode, World};
use crate::switch::forward::Forward;
use crate::switch::{Dropped, PriorityCounters, QueueCounters, Received};
use spec::{LinkRow, PortRow, PriorityRow};
use units::{Instant, NodeId};

/// What one port counted.
struct PortCounts<'a> {
    transmitter: &'a Transmitter,
    received: Received,
    queue: QueueCounters,
    pause: &'a PauseState,
    by_priority: [PriorityCounters; Priority::COUNT],
    /// Frames that came in by it when no way was left.
    stranded: Dropped,
}

fn counts<F: Forward>(node: &FabricNode<F>, port: usize) -> PortCounts<'_> {
    match node {
        FabricNode::Host(host) => PortCounts {
            transmitter: host.ports()[port].transmitter(),
            received: host.ports()[port].received(),
            queue: QueueCounters::default(),
            pause: host.ports()[port].pause(),
            by_priority: host_priorities(&host.ports()[port]),
            stranded: Dropped::default(),
        },
        FabricNode::Switch(switch) => PortCounts {
            transmitter: switch.ports()[port].transmitter(),
            received: switch.received()[port],
            queue: switch.ports()[port].counters(),
            pause: switch.ports()[port].pause(),
            by_priority: switch.ports()[port].by_priority(),
            stranded: switch.stranded()[port],
        },
    }
}

fn host_priorities(port: &NicPort) -> [PriorityCounters; Priority::COUNT] {
    let mut counters = [PriorityCounters::default(); Priority::COUNT];
    counters[port.data_priority().index()].pauses_sent = port.pauses_sent();
    counters
}

/// Table `ports`. `egress_qps[node][port]` counts the queue pairs whose data leaves there; the run
/// ended at `end`.
pub(crate) fn port_rows<F: Forward>(world: &World<F>, egress_qps: &[Vec<u32>], end: Instant) -> Vec<PortRow> {
    let graph = &world.fabric.graph;
    let nodes: Vec<_> = world.nodes().collect();
    let mut rows = Vec::new();
    for ((node, state), qps) in graph.nodes.iter().zip(world.nodes()).zip(egress_qps) {
        for (port, plug) in node.ports.iter().enumerate() {
            let PortCounts { transmitter, received, queue, pause, by_priority, stranded } =
                counts(state, port);
            let corrupted =
                counts(nodes[plug.peer.index()], usize::from(plug.peer_port)).transmitter.corrupted();
            rows.push(PortRow {
                node: node.name.clone(),
                tier: u32::from(node.tier),
                port: port as u32,
                peer: graph.node(plug.peer).name.clone(),
                tx_frames: transmitter.frames(),
                tx_bytes: transmitter.bytes(),
                rx_frames: received.frames,
                rx_bytes: received.bytes,
                dropped_frames: queue.dropped_tail.frames,
                dropped_bytes: queue.dropped_tail.bytes,
                dropped_headroom_frames: queue.dropped_headroom.frames,
                dropped_headroom_bytes: queue.dropped_headroom.bytes,
                dropped_watchdog_frames: queue.dropped_watchdog.frames,
                dropped_watchdog_bytes: queue.dropped_watchdog.bytes,
                lost_link_down_frames: transmitter.lost().frames + stranded.frames,
                lost_link_down_bytes: transmitter.lost().bytes + stranded.bytes,
                fcs_error_frames: corrupted.frames,
                fcs_error_bytes: corrupted.bytes,
                queue_max_bytes: queue.queue_max_bytes,
                pfc_tx: by_priority.iter().map(|counters| counters.pauses_sent).sum(),
                pfc_rx: pause.pauses_received(),
                pfc_storms: queue.storms,
                paused_ps: pause.paused_by(end).0,
                ecn_marked: queue.marked,
                ecn_changes: queue.ecn_changes,
                egress_qps: qps[port],
            });
        }
    }
    rows
}

/// Table `priorities`: each priority of a port at which something happened.
pub(crate) fn priority_rows<F: Forward>(world: &World<F>, end: Instant) -> Vec<PriorityRow> {
    let mut rows = Vec::new();
    for (node, state) in world.fabric.graph.nodes.iter().zip(world.nodes()) {
        for port in 0..node.ports.len() {
            let PortCounts { pause, by_priority, .. } = counts(state, port);
            let of_port = (0..8).map(Priority).zip(by_priority).map(|(priority, counted)| PriorityRow {
                node: node.name.clone(),
                port: port as u32,
                priority: u32::from(priority.0),
                pfc_tx: counted.pauses_sent,
                pfc_rx: pause.pauses_of(priority),
                paused_ps: pause.paused_of(priority, end).0,
                dropped_frames: counted.dropped_tail,
                dropped_headroom_frames: counted.dropped_headroom,
                dropped_watchdog_frames: counted.dropped_watchdog,
            });
            rows.extend(of_port.filter(has_counted));
        }
    }
    rows
}

const fn has_counted(row: &PriorityRow) -> bool {
    let dropped = row.dropped_frames + row.dropped_headroom_frames + row.dropped_watchdog_frames;
    row.pfc_tx + row.pfc_rx + row.paused_ps + dropped > 0
}

/// Table `links`: both directions of each cable.
pub(crate) fn link_rows<F: Forward>(world: &World<F>) -> Vec<LinkRow> {
    let graph = &world.fabric.graph;
    let nodes: Vec<_> = world.nodes().collect();
    let mut rows = Vec::with_capacity(graph.links.len() * 2);
    for link in &graph.links {
        for (from, to) in [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])] {
            let transmitter = counts(nodes[from.node.index()], usize::from(from.port)).transmitter;
            let tier = |node: NodeId| u32::from(graph.node(node).tier);
            rows.push(LinkRow {
                from: graph.node(from.node).name.clone(),
                from_port: u32::from(from.port),
                to: graph.node(to.node).name.clone(),
                to_port: u32::from(to.port),
                tier: tier(from.node).max(tier(to.node)),
                rate_bps: link.rate.bps(),
                frames: transmitter.frames(),
                bytes: transmitter.bytes(),
                busy_ps: transmitter.busy().0,
            });
        }
    }
    rows
}
