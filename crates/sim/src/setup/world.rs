//! Nodes, partitions and the wires between them.

use super::hosts::{host_flows, queue_pair_settings};
use super::ports::host_plan;
use super::scheduled::{ScheduledFabric, check_scheduled};
use super::switches::{check_buffers, check_pins, forwards, switch_plan};
use super::{Connection, Fabric, Flows, connections, host_tcp};
use crate::egress::Wire;
use crate::kernel::{Context, Destination, Inbox, Node, Partition, PartitionPlan, Window};
use crate::nic::Host;
use crate::packet::Packet;
use crate::prefetch::{prefetch, prefetch_item};
use crate::probe::SeriesProbe;
use crate::record::Record;
use crate::switch::forward::Forward;
use crate::switch::scheduled::Scheduled;
use crate::switch::{Scratch, Switch};
use spec::{LossRecovery, RunSpec, SpecError, TransportSpec};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use transport::{Config, Recovery};
use units::{Cycle, Instant, NodeId, Span};

/// A node of the fabric.
pub(crate) enum FabricNode<F> {
    /// An endpoint.
    Host(Host),
    /// An Ethernet switch.
    Switch(Switch<F>),
    /// A switch of a scheduled fabric.
    Scheduled(Scheduled),
}

impl<F: Forward> Node for FabricNode<F> {
    type Message = Packet;
    type Record = Record;
    type Scratch = Scratch;

    #[inline]
    fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        scratch: &mut Scratch,
        context: &mut Context<Packet, Record>,
    ) -> Instant {
        match self {
            Self::Host(host) => host.process(window, inboxes, context),
            Self::Switch(switch) => switch.process(window, inboxes, scratch, context),
            Self::Scheduled(switch) => switch.process(window, inboxes, &mut scratch.scheduled, context),
        }
    }

    fn visit(&mut self, cycle: &mut Cycle) {
        match self {
            Self::Host(host) => host.visit(cycle),
            Self::Switch(switch) => switch.visit(cycle),
            Self::Scheduled(switch) => switch.visit(cycle),
        }
    }

    #[inline]
    fn prefetch(&self, stage: usize, inboxes: &[Inbox<Packet>]) {
        match (stage, self) {
            (0, _) => {
                prefetch_item(self);
                prefetch(inboxes, 0);
            }
            (_, Self::Host(host)) => host.prefetch(stage, inboxes),
            (1, Self::Switch(switch)) => switch.prefetch(inboxes),
            (_, Self::Switch(_) | Self::Scheduled(_)) => {}
        }
    }
}

/// Everything a run is made of.
pub(crate) struct World<F: Forward> {
    pub(crate) fabric: Fabric,
    pub(crate) flows: Flows,
    pub(crate) connections: Vec<Connection>,
    pub(crate) partitions: Vec<Partition<FabricNode<F>, SeriesProbe>>,
    /// Partition and place in it of each node of the graph.
    homes: Vec<(u32, u32)>,
}

impl<F: Forward> World<F> {
    /// Each node of the graph, in order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &FabricNode<F>> {
        self.nodes_of(&self.partitions)
    }

    /// Each node of the graph, in order, while its partitions are elsewhere.
    pub(crate) fn nodes_of<'a>(
        &'a self,
        partitions: &'a [Partition<FabricNode<F>, SeriesProbe>],
    ) -> impl Iterator<Item = &'a FabricNode<F>> {
        let place =
            |&(partition, place): &(u32, u32)| &partitions[partition as usize].nodes()[place as usize];
        self.homes.iter().map(place)
    }
}

/// What a run may choose without changing its result.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuildOptions {
    pub(crate) threads: usize,
    pub(crate) exact_only: bool,
    pub(crate) captured: HashSet<u32>,
    /// TCP connections of which frames are recorded.
    pub(crate) captured_tcp: HashSet<u32>,
}

/// Builds the world of `spec`.
///
/// # Errors
/// When the spec cannot be carried out.
pub(crate) fn build<F: Forward>(spec: &RunSpec, options: &BuildOptions) -> Result<World<F>, SpecError> {
    let fabric = Fabric::new(&spec.fabric)?;
    check_scheduled(spec, &fabric)?;
    check_buffers(spec, &fabric)?;
    let flows = Flows::new(spec, &fabric)?;
    check_pins(spec, &fabric, &flows)?;
    let connections = connections(spec, &fabric)?;
    let partitions = options.threads.clamp(1, fabric.graph.nodes.len());
    let homes = assign_homes(&fabric, partitions);
    let nodes = build_nodes::<F>(spec, options, &fabric, &flows, &connections, &homes);
    let partitions = fill_partitions(spec, &fabric, &flows, partitions, &homes, nodes);
    Ok(World { fabric, flows, connections, partitions, homes })
}

/// Keeps a leaf and its hosts together and deals the groups out evenly; switches without hosts follow round
/// robin.
fn assign_homes(fabric: &Fabric, partitions: usize) -> Vec<(u32, u32)> {
    let graph = &fabric.graph;
    let hosts = graph.hosts();
    let mut partition_of = vec![None; graph.nodes.len()];
    for attachment in &graph.attachments[..hosts] {
        let partition = attachment.host.index() * partitions / hosts;
        let leaf = &mut partition_of[attachment.switch.index()];
        let partition = *leaf.get_or_insert(partition);
        partition_of[attachment.host.index()] = Some(partition);
    }
    let mut sizes = vec![0; partitions];
    let mut next_free = 0;
    let mut homes = Vec::with_capacity(graph.nodes.len());
    for home in partition_of {
        let partition = home.unwrap_or_else(|| {
            next_free += 1;
            (next_free - 1) % partitions
        });
        homes.push((partition as u32, sizes[partition]));
        sizes[partition] += 1;
    }
    homes
}

/// First inbox of each node within its partition.
fn first_inboxes(fabric: &Fabric, homes: &[(u32, u32)], partitions: usize) -> Vec<u32> {
    let mut next = vec![0; partitions];
    let mut first = Vec::with_capacity(homes.len());
    for (node, &(partition, _)) in fabric.graph.nodes.iter().zip(homes) {
        first.push(next[partition as usize]);
        next[partition as usize] += fabric.inboxes(node);
    }
    first
}

/// The nodes of the graph: hosts, then switches.
fn build_nodes<F: Forward>(
    spec: &RunSpec,
    options: &BuildOptions,
    fabric: &Fabric,
    flows: &Flows,
    connections: &[Connection],
    homes: &[(u32, u32)],
) -> Vec<FabricNode<F>> {
    let config = Arc::new(transport_config(&spec.transport));
    let partitions = homes.iter().map(|home| home.0 as usize + 1).max().unwrap_or(1);
    let first = first_inboxes(fabric, homes, partitions);
    let wires = |node| wires(fabric, node, homes, &first);
    let of_hosts = host_flows(spec, fabric, flows, &config, &options.captured);
    let tcp = host_tcp(spec, fabric, connections, &options.captured_tcp);
    let settings = queue_pair_settings(spec, fabric, &config);
    let hosts = (0..).map(NodeId).zip(settings).zip(of_hosts.into_iter().zip(tcp)).map(
        |((node, settings), (flows, tcp))| {
            FabricNode::Host(Host::new(host_plan(spec, fabric, node, wires(node), settings, flows, tcp)))
        },
    );
    let scheduled = ScheduledFabric::new(spec, fabric);
    let reroutes = fabric.failures.reroutes(&fabric.graph);
    let first_switch = fabric.graph.hosts() as u32;
    let switches = (first_switch..).map(NodeId).zip(forwards(spec, fabric, flows)).map(|(node, forward)| {
        if let Some(scheduled) = &scheduled {
            return FabricNode::Scheduled(scheduled.switch(node, &wires(node)));
        }
        let plan = switch_plan(spec, fabric, node, wires(node), Arc::clone(&reroutes), options.exact_only);
        FabricNode::Switch(Switch::new(plan, forward))
    });
    hosts.chain(switches).collect()
}

/// Where each port of `node` leads.
fn wires(fabric: &Fabric, node: NodeId, homes: &[(u32, u32)], first_inbox: &[u32]) -> Vec<Wire> {
    let ports = fabric.graph.node(node).ports.iter().enumerate();
    ports
        .map(|(number, port)| {
            let (partition, place) = homes[port.peer.index()];
            let inbox = first_inbox[port.peer.index()] + u32::from(port.peer_port);
            Wire {
                to: Destination { partition, inbox, node: place },
                rate: fabric.graph.link(port.link).rate,
                head_bytes: fabric.head_bytes(node, number as u16),
                framing: fabric.framing,
                latency: fabric.latency(node, number as u16),
            }
        })
        .collect()
}

fn fill_partitions<F: Forward>(
    spec: &RunSpec,
    fabric: &Fabric,
    flows: &Flows,
    count: usize,
    homes: &[(u32, u32)],
    nodes: Vec<FabricNode<F>>,
) -> Vec<Partition<FabricNode<F>, SeriesProbe>> {
    let mut members: Vec<Vec<FabricNode<F>>> = (0..count).map(|_| Vec::new()).collect();
    let mut inboxes = vec![Vec::new(); count];
    let mut watched = SeriesProbe::assign(spec, &fabric.graph, flows, homes, count);
    for (index, node) in nodes.into_iter().enumerate() {
        let partition = homes[index].0 as usize;
        members[partition].push(node);
        inboxes[partition].push(fabric.inboxes(&fabric.graph.nodes[index]));
    }
    let plan = |index| PartitionPlan { index, partitions: count, span: fabric.span, slots: fabric.slots };
    let parts = members.into_iter().zip(inboxes).zip(watched.drain(..)).enumerate();
    parts
        .map(|(index, ((nodes, inboxes), probe))| Partition::new(plan(index as u32), nodes, &inboxes, probe))
        .collect()
}

/// The transport parameters of a run. With selective recovery the requester sends no further than the responder takes
/// packets in.
fn transport_config(spec: &TransportSpec) -> Config {
    let recovery = match spec.recovery {
        LossRecovery::GoBackN => Recovery::GoBackN,
        LossRecovery::Selective => Recovery::Selective { ooo_window_packets: spec.ooo_window_packets },
        LossRecovery::None => Recovery::None,
    };
    let window_packets = match recovery {
        Recovery::Selective { ooo_window_packets } => spec.window_packets.min(ooo_window_packets),
        Recovery::GoBackN | Recovery::None => spec.window_packets,
    };
    Config {
        mtu_bytes: spec.mtu_bytes,
        message_bytes: spec.message_bytes,
        ack_every: spec.ack_every.min(window_packets),
        window_packets,
        timeout: Span(spec.timeout_ps),
        retry_count: spec.retry_count.min(u16::MAX.into()),
        recovery,
    }
}
