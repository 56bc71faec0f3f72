//! Emits the rows of tables `ports`, `priorities` and `links` at the end of a run, from the counters of
//! nodes.

use super::fabric_links::{FabricPort, Sent, fabric_port};
use crate::link::Dropped;
use crate::link::credits::Credits;
use crate::link::pause::PauseState;
use crate::nic::NicPort;
use crate::packet::{Colour, Priority};
use crate::report::{World, invariants};
use crate::setup::FabricNode;
use crate::switch::scheduled::{Granted, Scheduled};
use crate::switch::{EgressPort, PriorityCounters, QueueCounters, Received};
use jobs::Stopped;
use record::{LinkRow, PortRow, PriorityRow};
use topology::Node;
use units::{AttachmentId, Instant, NodeId};

/// Rows of one batch of ports or links, or one more.
const BATCH_ROWS: usize = 8_192;

/// Counters of one port.
#[derive(Default)]
struct PortCounts<'a> {
    sent: Sent,
    received: Received,
    queue: QueueCounters,
    /// `None` for a port without pauses.
    pause: Option<&'a PauseState>,
    /// Credits of the link, on InfiniBand.
    link_credits: Option<&'a Credits>,
    /// `None` if nothing was counted.
    by_priority: Option<[PriorityCounters; Priority::COUNT]>,
    /// Frames received by the port for which there was no route.
    stranded: Dropped,
    /// Credits granted by a scheduled leaf for the port.
    credits: Granted,
    voq_max_bytes: u64,
    reassembly_max_bytes: u64,
}

/// Access to the port counters of all nodes.
struct Counters<'a> {
    world: &'a World,
    nodes: Vec<&'a FabricNode>,
    /// End of the run.
    end: Instant,
}

impl<'a> Counters<'a> {
    fn new(world: &'a World, end: Instant) -> Self {
        Self { world, nodes: world.nodes().collect(), end }
    }

    fn of(&self, node: NodeId, port: usize) -> PortCounts<'a> {
        match self.nodes[node.index()] {
            FabricNode::Host(host) => PortCounts {
                sent: Sent::of(host.ports()[port].transmitter(), self.end),
                received: self.received(node, port),
                pause: Some(host.ports()[port].pause()),
                link_credits: host.ports()[port].credits(),
                by_priority: host_priorities(&host.ports()[port]),
                ..PortCounts::default()
            },
            FabricNode::Switch(switch) => PortCounts {
                sent: Sent::of(switch.ports_of(node)[port].transmitter(), self.end),
                received: self.received(node, port),
                stranded: switch.stranded()[switch.numbers_of(node).start + port],
                ..of_egress(&switch.ports_of(node)[port])
            },
            FabricNode::Scheduled(Scheduled::Leaf(leaf)) if port < leaf.ports().len() => PortCounts {
                sent: Sent::of(leaf.ports()[port].transmitter(), self.end),
                received: leaf.received()[port],
                credits: leaf.granted(port as u16),
                voq_max_bytes: self.voq_max_bytes(node, port as u16),
                ..of_egress(&leaf.ports()[port])
            },
            FabricNode::Scheduled(switch) => self.of_fabric_port(switch, node, port),
        }
    }

    /// Frames sent by a port.
    fn sent(&self, node: NodeId, port: usize) -> Sent {
        match self.nodes[node.index()] {
            FabricNode::Host(host) => Sent::of(host.ports()[port].transmitter(), self.end),
            FabricNode::Switch(switch) => Sent::of(switch.ports_of(node)[port].transmitter(), self.end),
            FabricNode::Scheduled(Scheduled::Leaf(leaf)) if port < leaf.ports().len() => {
                Sent::of(leaf.ports()[port].transmitter(), self.end)
            }
            FabricNode::Scheduled(_) => fabric_port(self.world, &self.nodes, node, port, self.end)
                .map_or_else(Sent::default, |port| port.sent),
        }
    }

    /// Frames received by a port of a host or of an Ethernet switch: those sent by the other end, minus those
    /// lost or in flight.
    fn received(&self, node: NodeId, port: usize) -> Received {
        let plug = self.world.fabric.graph.node(node).ports[port];
        let Sent { frames, bytes, missing, .. } = self.sent(plug.peer, usize::from(plug.peer_port));
        let mut received = Received { frames: frames - missing.frames, bytes: bytes - missing.bytes };
        for packet in self.world.in_flight_to(node, port) {
            received.frames -= 1;
            received.bytes -= u64::from(packet.frame_bytes());
        }
        received
    }

    fn of_fabric_port(&self, switch: &Scheduled, node: NodeId, port: usize) -> PortCounts<'a> {
        let Some(FabricPort { sent, received }) = fabric_port(self.world, &self.nodes, node, port, self.end)
        else {
            return PortCounts::default();
        };
        let received = Received { frames: received.frames, bytes: received.bytes };
        let reassembly_max_bytes = match switch {
            Scheduled::Leaf(leaf) => leaf.reassembly_max_bytes(),
            Scheduled::Element(_) => 0,
        };
        PortCounts { sent, received, reassembly_max_bytes, ..PortCounts::default() }
    }

    /// The deepest VOQ of any leaf for a port.
    fn voq_max_bytes(&self, node: NodeId, port: u16) -> u64 {
        // Link `a` is the cable of attachment `a`.
        let attachment = AttachmentId(self.world.fabric.graph.node(node).ports[usize::from(port)].link.0);
        let depths = self.nodes.iter().filter_map(|node| match node {
            FabricNode::Scheduled(Scheduled::Leaf(leaf)) => Some(leaf.voq_max_bytes(attachment)),
            _ => None,
        });
        depths.max().unwrap_or(0)
    }
}

fn of_egress(port: &EgressPort) -> PortCounts<'_> {
    PortCounts {
        queue: port.counters(),
        pause: Some(port.pause()),
        link_credits: port.credits(),
        by_priority: port.by_priority(),
        ..PortCounts::default()
    }
}

fn host_priorities(port: &NicPort) -> Option<[PriorityCounters; Priority::COUNT]> {
    let mut counters = [PriorityCounters::default(); Priority::COUNT];
    for (counters, sent) in counters.iter_mut().zip(port.pauses_sent().into_iter().zip(port.resumes_sent())) {
        (counters.pauses_sent, counters.resumes_sent) = sent;
    }
    counters.iter().any(|counters| counters.pauses_sent > 0).then_some(counters)
}

/// Emits table `ports` in batches, to limit memory; returns table `priorities`, with a row for each priority
/// of a port that has any count. `egress_qps[node][port]` counts the queue pairs whose data leaves there; the
/// run ended at `end`.
pub(crate) fn emit_ports(
    world: &World,
    egress_qps: &[Vec<u32>],
    end: Instant,
    mut batch: impl FnMut(Vec<PortRow>) -> Result<(), Stopped>,
) -> Result<Vec<PriorityRow>, Stopped> {
    let counters = Counters::new(world, end);
    let (mut rows, mut priorities) = (Vec::with_capacity(BATCH_ROWS), Vec::new());
    for ((id, node), qps) in (0..).map(NodeId).zip(&world.fabric.graph.nodes).zip(egress_qps) {
        for (port, &qps) in qps.iter().enumerate() {
            if rows.len() == BATCH_ROWS {
                batch(std::mem::replace(&mut rows, Vec::with_capacity(BATCH_ROWS)))?;
            }
            let counted = counters.of(id, port);
            rows.push(port_row(&counters, node, port, &counted, qps));
            priorities.extend(priority_rows(node, port, &counted, end));
        }
    }
    batch(rows)?;
    Ok(priorities)
}

/// The row of a port of a node, with its counters in `counted`.
fn port_row(
    counters: &Counters<'_>,
    node: &Node,
    port: usize,
    counted: &PortCounts<'_>,
    egress_qps: u32,
) -> PortRow {
    let plug = node.ports[port];
    let PortCounts { sent, received, queue, pause, stranded, credits, link_credits, .. } = counted;
    let by_priority = || counted.by_priority.iter().flat_map(|counters| counters.iter());
    let corrupted = counters.sent(plug.peer, usize::from(plug.peer_port)).corrupted;
    let of_ethernet = |count: u64| link_credits.is_none().then_some(count);
    let paused_ps = pause.map_or(0, |pause| pause.paused_by(counters.end).0);
    PortRow {
        node: node.name.clone(),
        tier: u32::from(node.tier),
        port: port as u32,
        peer: counters.world.fabric.graph.node(plug.peer).name.clone(),
        tx_frames: sent.frames,
        tx_bytes: sent.bytes,
        rx_frames: received.frames,
        rx_bytes: received.bytes,
        dropped_frames: queue.dropped_tail.frames,
        dropped_bytes: queue.dropped_tail.bytes,
        dropped_headroom_frames: queue.dropped_headroom.frames,
        dropped_headroom_bytes: queue.dropped_headroom.bytes,
        dropped_wred_frames: queue.dropped_wred.frames,
        dropped_wred_bytes: queue.dropped_wred.bytes,
        dropped_wred_yellow_frames: queue.dropped_wred_colours[Colour::Yellow as usize],
        dropped_wred_red_frames: queue.dropped_wred_colours[Colour::Red as usize],
        dropped_watchdog_frames: queue.dropped_watchdog.frames,
        dropped_watchdog_bytes: queue.dropped_watchdog.bytes,
        lost_link_down_frames: sent.lost.frames + stranded.frames,
        lost_link_down_bytes: sent.lost.bytes + stranded.bytes,
        fcs_error_frames: corrupted.frames,
        fcs_error_bytes: corrupted.bytes,
        queue_max_bytes: queue.queue_max_bytes,
        pfc_tx: of_ethernet(by_priority().map(|counters| counters.pauses_sent).sum()),
        pfc_rx: of_ethernet(pause.map_or(0, PauseState::pauses_received)),
        pfc_xon_tx: of_ethernet(by_priority().map(|counters| counters.resumes_sent).sum()),
        pfc_xon_rx: of_ethernet(pause.map_or(0, PauseState::resumes_received)),
        pfc_storms: of_ethernet(queue.storms),
        paused_ps: of_ethernet(paused_ps),
        flow_control_tx: link_credits.map(Credits::packets_sent),
        flow_control_rx: link_credits.map(Credits::packets_received),
        credit_wait_ps: link_credits.map(|_| paused_ps),
        ecn_marked: queue.marked,
        ecn_changes: queue.ecn_changes,
        egress_qps,
        credits_granted: credits.credits,
        credit_granted_bytes: credits.bytes,
        voq_max_bytes: counted.voq_max_bytes,
        reassembly_max_bytes: counted.reassembly_max_bytes,
    }
}

/// The rows of a port of a node in table `priorities`.
fn priority_rows(
    node: &Node,
    port: usize,
    counted: &PortCounts<'_>,
    end: Instant,
) -> impl Iterator<Item = PriorityRow> {
    let PortCounts { pause, link_credits: credits, by_priority, .. } = *counted;
    let pause = pause.filter(|pause| by_priority.is_some() || pause.was_blocked());
    let of_ethernet = move |count: u64| credits.is_none().then_some(count);
    pause.into_iter().flat_map(move |pause| {
        let by_priority = (0..8).map(Priority).zip(by_priority.unwrap_or_default());
        let row = by_priority.map(move |(priority, counted)| PriorityRow {
            node: node.name.clone(),
            port: port as u32,
            priority: u32::from(priority.0),
            pfc_tx: of_ethernet(counted.pauses_sent),
            pfc_rx: of_ethernet(pause.pauses_of(priority)),
            pfc_xon_tx: of_ethernet(counted.resumes_sent),
            pfc_xon_rx: of_ethernet(pause.resumes_of(priority)),
            paused_ps: of_ethernet(pause.paused_of(priority, end).0),
            credit_wait_ps: credits.map(|_| pause.paused_of(priority, end).0),
            dropped_frames: counted.dropped_tail,
            dropped_headroom_frames: counted.dropped_headroom,
            dropped_wred_frames: counted.dropped_wred,
            dropped_watchdog_frames: counted.dropped_watchdog,
        });
        row.filter(has_counted)
    })
}

fn has_counted(row: &PriorityRow) -> bool {
    let dropped = row.dropped_frames
        + row.dropped_headroom_frames
        + row.dropped_wred_frames
        + row.dropped_watchdog_frames;
    let paused = [row.pfc_tx, row.pfc_rx, row.pfc_xon_tx, row.pfc_xon_rx];
    let counts = paused.into_iter().chain([row.paused_ps, row.credit_wait_ps]);
    dropped > 0 || counts.into_iter().any(|count| count > Some(0))
}

/// Emits table `links` in batches, both directions of each cable.
pub(crate) fn emit_links(
    world: &World,
    end: Instant,
    mut batch: impl FnMut(Vec<LinkRow>) -> Result<(), Stopped>,
) -> Result<(), Stopped> {
    let graph = &world.fabric.graph;
    let counters = Counters::new(world, end);
    let mut rows = Vec::with_capacity(BATCH_ROWS);
    for link in &graph.links {
        if rows.len() >= BATCH_ROWS {
            batch(std::mem::replace(&mut rows, Vec::with_capacity(BATCH_ROWS)))?;
        }
        for (from, to) in [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])] {
            let sent = counters.sent(from.node, usize::from(from.port));
            invariants::check_link(&graph.node(from.node).name, from.port, sent.busy, sent.frames, end);
            let tier = |node: NodeId| u32::from(graph.node(node).tier);
            rows.push(LinkRow {
                from: graph.node(from.node).name.clone(),
                from_port: u32::from(from.port),
                to: graph.node(to.node).name.clone(),
                to_port: u32::from(to.port),
                tier: tier(from.node).max(tier(to.node)),
                rate_bps: sent.rate.unwrap_or(link.rate).bps(),
                frames: sent.frames,
                bytes: sent.bytes,
                busy_ps: sent.busy.0,
            });
        }
    }
    batch(rows)
}
