//! The world of a run: builds the hosts and switches of each partition (the nodes that one thread simulates)
//! in parallel, and connects their ports by links; access to the states of all nodes.

use super::hosts::nic::host_plan;
use super::hosts::{HostMaker, queue_pair_settings};
use super::partitioning::{Location, assign_partitions};
use super::switches::scheduled::{ScheduledFabric, check_scheduled};
use super::switches::{balancers, check_buffers, check_pins, switch_plan};
use super::traffic::storage::storage_plans;
use super::two_phase::sides;
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
        context: &mut Context<Packet>,
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
    /// Location of each node of the graph.
    locations: Vec<Location>,
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
        self.locations
            .iter()
            .map(|location| &partitions[location.partition as usize].nodes()[location.index as usize])
    }

    /// Packets in flight to a port of an Ethernet or InfiniBand node.
    pub(crate) fn in_flight_to(&self, node: NodeId, port: usize) -> impl Iterator<Item = &Packet> {
        let Location { partition, index } = self.locations[node.index()];
        let first = usize::from(self.fabric.chips.first_port(node));
        self.partitions[partition as usize].messages_to(index, first + port)
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

/// Traffic of a run, and the partitions of its nodes.
pub(crate) struct Layout<'a> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) flows: &'a Flows,
    pub(crate) connections: &'a [Connection],
    /// Location of each node of the graph.
    pub(crate) locations: &'a [Location],
    pub(crate) partitions: usize,
}

/// Builds the world of `spec`; `probes` makes one probe per partition.
///
/// # Errors
/// When the spec cannot be run.
pub(crate) fn build<P: Probe<FabricNode>>(
    spec: &RunSpec,
    options: &BuildOptions,
    probes: impl FnOnce(&RunSpec, &Layout<'_>) -> Vec<P>,
) -> Result<World<P>, SpecError> {
    let fabric = Fabric::new(&spec.fabric)?;
    check_scheduled(spec, &fabric)?;
    check_buffers(spec, &fabric)?;
    let flows = Arc::new(Flows::new(spec, &fabric)?);
    check_pins(spec, &fabric, &flows)?;
    let connections = connections(spec, &fabric)?;
    let partitions = options.threads.clamp(1, fabric.graph.nodes.len());
    let locations = assign_partitions(&fabric.graph, &fabric.chips, partitions);
    let layout = Layout {
        fabric: &fabric,
        flows: &flows,
        connections: &connections,
        locations: &locations,
        partitions,
    };
    let node_plans = node_plans(spec, options, &layout);
    let site = Site {
        spec,
        fabric: &fabric,
        hosts: HostMaker::new(spec, &fabric, &flows, options),
        locations: &locations,
        first_inbox: first_inboxes(&layout),
        scheduled: ScheduledFabric::new(spec, &fabric),
        reroutes: fabric.failures.reroutes(&fabric.graph),
        exact_only: options.exact_only,
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let sharing = partitions.div_ceil(processors);
    let (span, slots) = (fabric.span, fabric.slots);
    let plan = |index| PartitionPlan { index, partitions, sharing, span, slots };
    let parts = (0..).map(plan).zip(node_plans).zip(probes(spec, &layout));
    let mut partitions = on_threads(parts, |((plan, nodes), probe)| site.partition(plan, nodes, probe));
    if let Some(sides) = sides(spec, &fabric).filter(|_| !options.exact_only) {
        for (index, partition) in (0..).zip(&mut partitions) {
            let own = sides.iter().zip(&locations).filter(|(_, location)| location.partition == index);
            partition.set_sides(own.map(|(side, _)| *side));
        }
    }
    Ok(World { fabric, flows, connections, partitions, locations })
}

/// First inbox of each node within its partition.
fn first_inboxes(layout: &Layout<'_>) -> Vec<u32> {
    let Layout { fabric, locations, partitions, .. } = *layout;
    let mut next = vec![0; partitions];
    let mut first: Vec<u32> = Vec::with_capacity(locations.len());
    for (node, location) in (0..).map(NodeId).zip(locations) {
        let lead = fabric.chips.first(node);
        if lead == node {
            let next = &mut next[location.partition as usize];
            first.push(*next);
            *next += inboxes_at(fabric, node);
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

/// Parameters of a node in addition to those of the fabric.
enum NodePlan {
    Host(Box<TrafficPlan>),
    /// Its switches, each with its load balancer.
    Switch(Vec<(NodeId, Balancer)>),
}

/// Parameters of the traffic of a host.
struct TrafficPlan {
    settings: QueuePairSettings,
    storage: Option<StoragePlan>,
    tcp: Option<HostTcp>,
}

/// Parameters of all nodes of each partition, in order; switches of one chip are one node.
fn node_plans(spec: &RunSpec, options: &BuildOptions, layout: &Layout<'_>) -> Vec<Vec<(NodeId, NodePlan)>> {
    let Layout { fabric, flows, connections, locations, partitions } = *layout;
    let config = Arc::new(spec.transport.connection());
    let storage = storage_plans(spec, &fabric.graph, flows, &options.captured);
    let tcp = host_tcp(spec, fabric, connections, &options.captured_tcp);
    let settings = queue_pair_settings(spec, fabric, &config);
    let hosts = settings.into_iter().zip(storage).zip(tcp);
    let hosts = hosts
        .map(|((settings, storage), tcp)| NodePlan::Host(Box::new(TrafficPlan { settings, storage, tcp })));
    let nodes = (fabric.graph.hosts() as u32..).map(NodeId);
    let switches = nodes.zip(balancers(spec, fabric, flows)).map(|member| NodePlan::Switch(vec![member]));
    let mut plans: Vec<Vec<_>> = (0..partitions).map(|_| Vec::new()).collect();
    for ((node, plan), location) in (0..).map(NodeId).zip(hosts.chain(switches)).zip(locations) {
        let plans = &mut plans[location.partition as usize];
        match (plans.get_mut(location.index as usize), plan) {
            (Some((_, NodePlan::Switch(chip))), NodePlan::Switch(members)) => chip.extend(members),
            (_, plan) => plans.push((node, plan)),
        }
    }
    plans
}

/// Common inputs for building the nodes of a run.
struct Site<'a> {
    spec: &'a RunSpec,
    fabric: &'a Fabric,
    hosts: HostMaker<'a>,
    locations: &'a [Location],
    /// First inbox of each node.
    first_inbox: Vec<u32>,
    scheduled: Option<ScheduledFabric<'a>>,
    reroutes: Arc<[Reroute]>,
    exact_only: bool,
}

impl Site<'_> {
    fn node(&self, node: NodeId, plan: NodePlan) -> FabricNode {
        let Self { spec, fabric, .. } = *self;
        let wires = |node| wires(fabric, node, self.locations, &self.first_inbox);
        match (plan, &self.scheduled) {
            (NodePlan::Host(traffic), _) => {
                let TrafficPlan { settings, storage, tcp } = *traffic;
                let clock = HostClock::of(spec, HostId(node.0));
                let own = |wire: Wire| Wire { rate: clock.rate(wire.rate), ..wire };
                let wires = wires(node).into_iter().map(own).collect();
                let traffic = self.hosts.host(HostId(node.0), settings, storage);
                FabricNode::Host(Host::new(host_plan(spec, fabric, node, wires, traffic, tcp)))
            }
            (NodePlan::Switch(_), Some(scheduled)) => {
                FabricNode::Scheduled(scheduled.switch(node, &wires(node)))
            }
            (NodePlan::Switch(members), None) => {
                let reroutes = Arc::clone(&self.reroutes);
                let plan = switch_plan(spec, fabric, members, wires, reroutes, self.exact_only);
                FabricNode::Switch(Switch::new(plan))
            }
        }
    }

    fn partition<P: Probe<FabricNode>>(
        &self,
        plan: PartitionPlan,
        nodes: Vec<(NodeId, NodePlan)>,
        probe: P,
    ) -> Partition<FabricNode, P> {
        let inboxes: Vec<u32> = nodes.iter().map(|(node, _)| inboxes_at(self.fabric, *node)).collect();
        let nodes = nodes.into_iter().map(|(node, plan)| self.node(node, plan)).collect();
        Partition::new(plan, nodes, &inboxes, probe)
    }
}

/// The outgoing wire of each port of `node`.
fn wires(fabric: &Fabric, node: NodeId, locations: &[Location], first_inbox: &[u32]) -> Vec<Wire> {
    let ports = fabric.graph.node(node).ports.iter().enumerate();
    ports
        .map(|(number, port)| {
            let Location { partition, index } = locations[port.peer.index()];
            let inbox = first_inbox[port.peer.index()] + u32::from(port.peer_port);
            Wire {
                to: Destination { partition, inbox, node: index },
                rate: fabric.graph.link(port.link).rate,
                head_bytes: fabric.head_bytes(node, number as u16),
                framing: fabric.framing,
                latency: fabric.latency(node, number as u16),
            }
        })
        .collect()
}
