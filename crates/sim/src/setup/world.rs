//! Nodes, partitions and the wires between them.

use super::hosts::{HostMaker, queue_pair_settings};
use super::partitioning::assign_partitions;
use super::ports::host_plan;
use super::scheduled::{ScheduledFabric, check_scheduled};
use super::sides::sides;
use super::storage::storage_plans;
use super::switches::{balancers, check_buffers, check_pins, switch_plan};
use super::{Connection, Fabric, Flows, HostClock, connections, host_tcp};
use crate::link::egress::Wire;
use crate::nic::{Host, HostTcp, QueuePairSettings, StoragePlan};
use crate::packet::Packet;
use crate::record::{Context, Record, Totals};
use crate::switch::forward::Balancer;
use crate::switch::scheduled::Scheduled;
use crate::switch::{Scratch, Switch};
use engine::on_threads;
use engine::prefetch::{prefetch, prefetch_item};
use engine::{Destination, Inbox, Node, Partition, PartitionPlan, Probe, Window};
use paths::Reroute;
use spec::{RunSpec, SpecError};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use units::{HostId, Instant, NodeId};

/// A node of the fabric.
#[expect(
    clippy::large_enum_variant,
    reason = "most are hosts, and behind a pointer is a line more to wait for"
)]
#[repr(C, align(64))]
pub(crate) enum FabricNode {
    /// An endpoint.
    Host(Host),
    /// An Ethernet switch.
    Switch(Switch),
    /// A switch of a scheduled fabric.
    Scheduled(Scheduled),
}

impl Node for FabricNode {
    type Message = Packet;
    type Record = Record;
    type Totals = Totals;
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

    #[inline]
    fn prefetch(&self, stage: usize, inboxes: &[Inbox<Packet>]) {
        match (stage, self) {
            (_, Self::Host(host)) => host.prefetch(stage, inboxes),
            (0, _) => {
                prefetch_item(self);
                prefetch(inboxes, 0);
            }
            (1, Self::Switch(switch)) => switch.prefetch(inboxes),
            (_, Self::Switch(_) | Self::Scheduled(_)) => {}
        }
    }
}

/// All parts of a run. `P` observes the nodes of each partition.
pub(crate) struct World<P: Probe<FabricNode>> {
    pub(crate) fabric: Fabric,
    pub(crate) flows: Arc<Flows>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) partitions: Vec<Partition<FabricNode, P>>,
    /// Partition of each node of the graph, and its index there.
    homes: Vec<(u32, u32)>,
}

impl<P: Probe<FabricNode>> World<P> {
    /// The state of each node of the graph, in order; switches of one chip return the same state.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &FabricNode> {
        self.nodes_of(&self.partitions)
    }

    /// Each distinct node state: switches of one chip share one.
    pub(crate) fn states(&self) -> impl Iterator<Item = &FabricNode> {
        self.partitions.iter().flat_map(|partition| partition.nodes())
    }

    /// [`Self::nodes`] in `partitions`, for use while these are moved out of the world.
    pub(crate) fn nodes_of<'a>(
        &'a self,
        partitions: &'a [Partition<FabricNode, P>],
    ) -> impl Iterator<Item = &'a FabricNode> {
        let place =
            |&(partition, place): &(u32, u32)| &partitions[partition as usize].nodes()[place as usize];
        self.homes.iter().map(place)
    }

    /// Packets in flight to a port of an Ethernet or InfiniBand node.
    pub(crate) fn on_way_to(&self, node: NodeId, port: usize) -> impl Iterator<Item = &Packet> {
        let (partition, place) = self.homes[node.index()];
        let first = usize::from(self.fabric.chips.first_port(node));
        self.partitions[partition as usize].messages_to(place, first + port)
    }
}

/// Partitions consist of many small allocations; they are freed on several threads.
impl<P: Probe<FabricNode>> Drop for World<P> {
    fn drop(&mut self) {
        on_threads(self.partitions.drain(..), drop);
    }
}

/// Options of a run that do not change its result.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuildOptions {
    pub(crate) threads: usize,
    pub(crate) exact_only: bool,
    pub(crate) captured: HashSet<u32>,
    /// TCP connections whose frames are recorded.
    pub(crate) captured_tcp: HashSet<u32>,
}

/// Builds the world of `spec`. `probes` makes one probe per partition, given the partition and index of each
/// node of the graph and the number of partitions.
///
/// # Errors
/// When the spec cannot be run.
pub(crate) fn build<P: Probe<FabricNode>>(
    spec: &RunSpec,
    options: &BuildOptions,
    probes: impl FnOnce(&Fabric, (&Flows, &[Connection]), &[(u32, u32)], usize) -> Vec<P>,
) -> Result<World<P>, SpecError> {
    let fabric = Fabric::new(&spec.fabric)?;
    check_scheduled(spec, &fabric)?;
    check_buffers(spec, &fabric)?;
    let flows = Arc::new(Flows::new(spec, &fabric)?);
    check_pins(spec, &fabric, &flows)?;
    let connections = connections(spec, &fabric)?;
    let partitions = options.threads.clamp(1, fabric.graph.nodes.len());
    let homes = assign_partitions(&fabric.graph, &fabric.chips, partitions);
    let makings = makings(spec, options, (&fabric, &flows, &connections), &homes, partitions);
    let site = Site {
        spec,
        fabric: &fabric,
        hosts: HostMaker::new(spec, &fabric, &flows, options),
        homes: &homes,
        first_inbox: first_inboxes(&fabric, &homes, partitions),
        scheduled: ScheduledFabric::new(spec, &fabric),
        reroutes: fabric.failures.reroutes(&fabric.graph),
        exact_only: options.exact_only,
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let sharing = partitions.div_ceil(processors);
    let (span, slots) = (fabric.span, fabric.slots);
    let plan = |index| PartitionPlan { index, partitions, sharing, span, slots };
    let probes = probes(&fabric, (&flows, &connections), &homes, partitions);
    let parts = (0..).map(plan).zip(makings).zip(probes);
    let mut partitions = on_threads(parts, |((plan, makings), probe)| site.partition(plan, makings, probe));
    if let Some(sides) = sides(spec, &fabric).filter(|_| !options.exact_only) {
        for (index, partition) in (0..).zip(&mut partitions) {
            let own = sides.iter().zip(&homes).filter(|(_, home)| home.0 == index);
            partition.set_sides(own.map(|(side, _)| *side));
        }
    }
    Ok(World { fabric, flows, connections, partitions, homes })
}

/// First inbox of each node within its partition.
fn first_inboxes(fabric: &Fabric, homes: &[(u32, u32)], partitions: usize) -> Vec<u32> {
    let mut next = vec![0; partitions];
    let mut first: Vec<u32> = Vec::with_capacity(homes.len());
    for (node, &(partition, _)) in (0..).map(NodeId).zip(homes) {
        let lead = fabric.chips.first(node);
        if lead == node {
            first.push(next[partition as usize]);
            next[partition as usize] += inboxes_at(fabric, node);
        } else {
            first.push(first[lead.index()] + u32::from(fabric.chips.first_port(node)));
        }
    }
    first
}

/// Inboxes of a node, and of all others on the same chip.
fn inboxes_at(fabric: &Fabric, node: NodeId) -> u32 {
    let nodes = fabric.chips.of(node).unwrap_or(std::slice::from_ref(&node));
    nodes.iter().map(|&node| fabric.inboxes(fabric.graph.node(node))).sum()
}

/// Parameters of a node in addition to the plan of the fabric.
enum Makings {
    Host(Box<(QueuePairSettings, Option<StoragePlan>, Option<HostTcp>)>),
    /// Its switches, each with its load balancer.
    Switch(Vec<(NodeId, Balancer)>),
}

/// Parameters of all nodes of each partition, in order; switches of one chip are one node.
fn makings(
    spec: &RunSpec,
    options: &BuildOptions,
    (fabric, flows, connections): (&Fabric, &Flows, &[Connection]),
    homes: &[(u32, u32)],
    partitions: usize,
) -> Vec<Vec<(NodeId, Makings)>> {
    let config = Arc::new(spec.transport.connection());
    let storage = storage_plans(spec, &fabric.graph, flows, &options.captured);
    let tcp = host_tcp(spec, fabric, connections, &options.captured_tcp);
    let settings = queue_pair_settings(spec, fabric, &config);
    let hosts = settings.into_iter().zip(storage).zip(tcp);
    let hosts = hosts.map(|((settings, storage), tcp)| Makings::Host(Box::new((settings, storage, tcp))));
    let nodes = (fabric.graph.hosts() as u32..).map(NodeId);
    let switches = nodes.zip(balancers(spec, fabric, flows)).map(|member| Makings::Switch(vec![member]));
    let mut makings: Vec<Vec<_>> = (0..partitions).map(|_| Vec::new()).collect();
    for ((node, makings_of), home) in (0..).map(NodeId).zip(hosts.chain(switches)).zip(homes) {
        let makings = &mut makings[home.0 as usize];
        match (makings.get_mut(home.1 as usize), makings_of) {
            (Some((_, Makings::Switch(chip))), Makings::Switch(members)) => chip.extend(members),
            (_, makings_of) => makings.push((node, makings_of)),
        }
    }
    makings
}

/// Common inputs for building the nodes of a run.
struct Site<'a> {
    spec: &'a RunSpec,
    fabric: &'a Fabric,
    hosts: HostMaker<'a>,
    homes: &'a [(u32, u32)],
    /// First inbox of each node.
    first_inbox: Vec<u32>,
    scheduled: Option<ScheduledFabric<'a>>,
    reroutes: Arc<[Reroute]>,
    exact_only: bool,
}

impl Site<'_> {
    fn node(&self, node: NodeId, makings: Makings) -> FabricNode {
        let Self { spec, fabric, .. } = *self;
        let wires = |node| wires(fabric, node, self.homes, &self.first_inbox);
        match (makings, &self.scheduled) {
            (Makings::Host(makings), _) => {
                let (settings, storage, tcp) = *makings;
                let clock = HostClock::of(spec, HostId(node.0));
                let own = |wire: Wire| Wire { rate: clock.rate(wire.rate), ..wire };
                let wires = wires(node).into_iter().map(own).collect();
                let flows = self.hosts.host(HostId(node.0), settings, storage);
                FabricNode::Host(Host::new(host_plan(spec, fabric, node, wires, flows, tcp)))
            }
            (Makings::Switch(_), Some(scheduled)) => {
                FabricNode::Scheduled(scheduled.switch(node, &wires(node)))
            }
            (Makings::Switch(members), None) => {
                let reroutes = Arc::clone(&self.reroutes);
                let plan = switch_plan(spec, fabric, members, wires, reroutes, self.exact_only);
                FabricNode::Switch(Switch::new(plan))
            }
        }
    }

    fn partition<P: Probe<FabricNode>>(
        &self,
        plan: PartitionPlan,
        makings: Vec<(NodeId, Makings)>,
        probe: P,
    ) -> Partition<FabricNode, P> {
        let inboxes: Vec<u32> = makings.iter().map(|makings| inboxes_at(self.fabric, makings.0)).collect();
        let nodes = makings.into_iter().map(|(node, makings)| self.node(node, makings)).collect();
        Partition::new(plan, nodes, &inboxes, probe)
    }
}

/// The outgoing wire of each port of `node`.
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
