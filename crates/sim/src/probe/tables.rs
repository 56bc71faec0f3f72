//! The rows of ports and links at the end of a run.

use crate::egress::Transmitter;
use crate::pause::PauseState;
use crate::setup::{FabricNode, World};
use crate::switch::forward::Forward;
use crate::switch::{QueueCounters, Received};
use spec::{LinkRow, PortRow};
use units::{Instant, NodeId};

/// What one port counted.
struct PortCounts<'a> {
    transmitter: &'a Transmitter,
    received: Received,
    queue: QueueCounters,
    pause: &'a PauseState,
    pauses_sent: u64,
}

fn counts<F: Forward>(node: &FabricNode<F>, port: usize) -> PortCounts<'_> {
    match node {
        FabricNode::Host(host) => PortCounts {
            transmitter: host.ports()[port].transmitter(),
            received: host.ports()[port].received(),
            queue: QueueCounters::default(),
            pause: host.ports()[port].pause(),
            pauses_sent: host.ports()[port].pauses_sent(),
        },
        FabricNode::Switch(switch) => PortCounts {
            transmitter: switch.ports()[port].transmitter(),
            received: switch.received()[port],
            queue: switch.ports()[port].counters(),
            pause: switch.ports()[port].pause(),
            pauses_sent: switch.ports()[port].counters().pauses_sent,
        },
    }
}

/// Table `ports`. `egress_qps[node][port]` counts the queue pairs whose data leaves there; the run
/// ended at `end`.
pub(crate) fn port_rows<F: Forward>(world: &World<F>, egress_qps: &[Vec<u32>], end: Instant) -> Vec<PortRow> {
    let graph = &world.fabric.graph;
    let mut rows = Vec::new();
    for ((node, state), qps) in graph.nodes.iter().zip(world.nodes()).zip(egress_qps) {
        for (port, plug) in node.ports.iter().enumerate() {
            let PortCounts { transmitter, received, queue, pause, pauses_sent } = counts(state, port);
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
                queue_max_bytes: queue.queue_max_bytes,
                pfc_tx: pauses_sent,
                pfc_rx: pause.pauses_received(),
                pfc_storms: queue.storms,
                paused_ps: pause.paused_by(end).0,
                ecn_marked: queue.marked,
                egress_qps: qps[port],
            });
        }
    }
    rows
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
