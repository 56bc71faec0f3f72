//! Builds the parameters of the switches of a run: load balancers, ports, buffer, PFC, ECN thresholds; checks
//! buffers and pinned paths.

pub(super) mod colours;
pub(super) mod pools;
pub(super) mod scheduled;

use super::{Direction, Fabric, Flows, host_ports};
use crate::link::egress::Wire;
use crate::packet::{Packet, Priority};
use crate::switch::admission::buffer::{BufferPlan, LosslessPlan, default_headroom_bytes, unshared_bytes};
use crate::switch::admission::pfc::PausePlan;
use crate::switch::admission::readout::Release;
use crate::switch::forward::{Balancer, ForwardPlan, balancing, choice, needs_loads};
use crate::switch::marking::ecn::{EcnMarker, EcnThresholds};
use crate::switch::marking::ecn_control::EcnControl;
use crate::switch::marking::ecn_law::{EcnLaw, MarkingRange};
use crate::switch::queue::schedule::{Dwrr, Scheduler};
use crate::switch::{EgressPlan, Member, SwitchPlan};
use colours::{markers, marking_thresholds, wred};
use paths::Reroute;
use pools::{check_pools, pools_plan};
use spec::{
    EcnSpec, ForwardingSpec, LoadBalancing, PfcSpec, ReleaseSpec, RunSpec, SchedulingSpec, SpecError,
    unsupported,
};
use std::sync::Arc;
use topology::{Graph, Node, NodeKind};
use units::{LINK_OVERHEAD_BYTES, NodeId, Seed, Span, Stream};
use wire::Opcode;
use wire::size::{MIN_FRAME_BYTES, data_frame_bytes};

/// The load balancer of each switch, in order.
pub(crate) fn balancers(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Vec<Balancer> {
    let paths_below = paths_below(&fabric.graph);
    let switches = fabric.graph.nodes.iter().filter(|node| node.kind == NodeKind::Switch);
    let destination = |queue_pair| {
        let [_, attachment] = flows.attachments(&flows.queue_pair(queue_pair), Direction::Forward);
        (attachment, flows.receiver(queue_pair).expect("paths are pinned"))
    };
    (0..)
        .zip(switches)
        .map(|(switch, node)| {
            Balancer::new(&ForwardPlan {
                seed: Seed(spec.seed),
                switch,
                name: &node.name,
                paths_below: paths_below[usize::from(node.tier)],
                spec: balancing(spec),
                destination: &destination,
            })
        })
        .collect()
}

/// Number of paths from a host up to a switch of each tier, in a tree: the product of the uplinks of a switch
/// of each tier below it.
fn paths_below(graph: &Graph) -> Vec<u64> {
    let mut uplinks = vec![1];
    for node in &graph.nodes[graph.hosts()..] {
        let is_up = |port: &&topology::Port| graph.node(port.peer).tier > node.tier;
        let tier = usize::from(node.tier);
        uplinks.resize(uplinks.len().max(tier + 1), 1);
        uplinks[tier] = uplinks[tier].max(node.ports.iter().filter(is_up).count() as u64);
    }
    let times = |paths: &mut u64, uplinks: &u64| Some(std::mem::replace(paths, *paths * uplinks));
    uplinks.iter().scan(1, times).collect()
}

/// The switch formed by `members`; `wires` returns the wires of each of them.
pub(super) fn switch_plan(
    spec: &RunSpec,
    fabric: &Fabric,
    members: Vec<(NodeId, Balancer)>,
    wires: impl Fn(NodeId) -> Vec<Wire>,
    reroutes: Arc<[Reroute]>,
    exact_only: bool,
) -> SwitchPlan {
    let nodes: Vec<NodeId> = members.iter().map(|member| member.0).collect();
    let switch = fabric.settings.of(nodes[0]);
    let count = port_count(fabric, &nodes);
    let is_ideal = fabric.graph.node(nodes[0]).ideal;
    let ecn = switch.ecn.as_ref().filter(|_| !is_ideal);
    // Buffers of InfiniBand links release a frame when it has been sent, regardless of this setting.
    let is_unlimited = is_ideal || fabric.credits.is_some();
    let release = if is_unlimited { Release::Start } else { release_of(switch.buffer.release) };
    let egress = |node: NodeId, port: usize, wire: Wire| EgressPlan {
        wire,
        changes: fabric.changes(node, port as u16, Seed(spec.seed), |rate| rate),
        scheduler: scheduler(&switch.scheduling),
        marker: switch.ecn.as_ref().and_then(|ecn| marker(spec, ecn, node, port, wire)),
        control: switch.ecn.as_ref().and_then(|ecn| ecn_control(ecn, count, wire, release)),
        wred: ecn.and_then(|ecn| wred(spec, ecn, node, port, wire)).map(Box::new),
        credits: fabric.credits,
        release,
        frame_bytes_max: frame_bytes_max(spec),
    };
    let mut ports = Vec::with_capacity(count);
    for &node in &nodes {
        ports.extend(wires(node).into_iter().enumerate().map(|(port, wire)| egress(node, port, wire)));
    }
    let member = |(node, balancer)| Member { node, balancer, ports: port_count(fabric, &[node]) as u16 };
    SwitchPlan {
        members: members.into_iter().map(member).collect(),
        routes: Arc::clone(&fabric.routes),
        reroutes,
        ports,
        buffer: if is_unlimited { unlimited() } else { buffer_plan(spec, fabric, &nodes) },
        release,
        inside: if is_unlimited { Span::ZERO } else { Span(switch.buffer.pipeline_ps) },
        frame_bytes_max: frame_bytes_max(spec),
        pauses: pause_plan(switch.pfc.as_ref()),
        pause_reaction: if is_ideal { Span::ZERO } else { late_reaction(spec, switch.pfc.as_ref()) },
        watchdog: if is_ideal { None } else { switch.pfc.as_ref().and_then(|pfc| pfc.watchdog) },
        markers: if is_ideal { None } else { markers(spec, fabric, &nodes) },
        is_cut_through: switch.forwarding == ForwardingSpec::CutThrough,
        has_credits: fabric.credits.is_some(),
        framing: fabric.framing,
        exact_only,
        choice: choice(spec),
        needs_loads: needs_loads(spec),
    }
}

const fn release_of(spec: ReleaseSpec) -> Release {
    match spec {
        ReleaseSpec::Start {} => Release::Start,
        ReleaseSpec::End {} => Release::End,
        ReleaseSpec::Cells { bytes } => Release::Cells(bytes),
    }
}

/// The longest frame that a switch forwards.
fn frame_bytes_max(spec: &RunSpec) -> u32 {
    let is_rdma_only = spec.tcp.is_empty();
    let data = data_frame_bytes(Opcode::WriteOnlyWithImmediate, spec.transport.mtu_bytes);
    if is_rdma_only { data } else { Packet::FRAME_BYTES_MAX }
}

/// Parameters of the pause frames of a switch; without PFC it sends none.
pub(super) fn pause_plan(pfc: Option<&PfcSpec>) -> PausePlan {
    PausePlan {
        quanta: pfc.map_or(0, |pfc| pfc.quanta),
        response: pfc.map_or(Span::ZERO, |pfc| Span(pfc.response_ps)),
        sends_xon: pfc.is_none_or(|pfc| !pfc.ends_by_time),
    }
}

/// Additional delay of a received pause frame compared with a data frame.
fn late_reaction(spec: &RunSpec, pfc: Option<&PfcSpec>) -> Span {
    let latency_ps = spec.fabric.switch.pipeline_latency_ps;
    let reaction_ps = pfc.and_then(|pfc| pfc.reaction_ps).unwrap_or(latency_ps);
    Span(reaction_ps - latency_ps)
}

/// The buffer of an ideal switch, or of one whose links have buffers of their own.
const fn unlimited() -> BufferPlan {
    BufferPlan { size_bytes: u64::MAX, cell_bytes: 1, lossy_alpha: None, lossless: None, pools: None }
}

/// Total ports of `nodes`.
fn port_count(fabric: &Fabric, nodes: &[NodeId]) -> usize {
    nodes.iter().map(|&node| fabric.graph.node(node).ports.len()).sum()
}

/// The buffer shared by `nodes`.
fn buffer_plan(spec: &RunSpec, fabric: &Fabric, nodes: &[NodeId]) -> BufferPlan {
    let switch = fabric.settings.of(nodes[0]);
    BufferPlan {
        size_bytes: switch.buffer.size_bytes,
        cell_bytes: switch.buffer.cell_bytes,
        lossy_alpha: switch.buffer.lossy_alpha,
        lossless: switch.pfc.as_ref().map(|pfc| lossless_plan(spec, fabric, nodes, pfc)),
        pools: switch.buffer.pools.as_ref().map(|pools| pools_plan(spec, fabric, nodes, pools)),
    }
}

pub(super) fn lossless_plan(
    spec: &RunSpec,
    fabric: &Fabric,
    nodes: &[NodeId],
    pfc: &PfcSpec,
) -> LosslessPlan {
    let of_port =
        |node, port| pfc.headroom_bytes.unwrap_or_else(|| default_headroom(spec, fabric, node, port));
    let ports = |node: NodeId| 0..fabric.graph.node(node).ports.len() as u16;
    let headroom = nodes.iter().flat_map(|&node| ports(node).map(move |port| of_port(node, port)));
    LosslessPlan {
        priorities: priority_mask(&pfc.priorities),
        xoff: pfc.xoff,
        xon_offset_bytes: pfc.xon_offset_bytes,
        reserved_bytes: pfc.reserved_bytes,
        headroom_bytes: headroom.collect(),
    }
}

/// Headroom of a port: bytes that its peer still sends after a pause was requested.
fn default_headroom(spec: &RunSpec, fabric: &Fabric, node: NodeId, port: u16) -> u64 {
    let plug = fabric.graph.node(node).ports[usize::from(port)];
    let link = fabric.graph.link(plug.link);
    let there_and_back = fabric.latency(node, port) + fabric.latency(plug.peer, plug.peer_port);
    let peer_reaction = match fabric.graph.node(plug.peer).kind {
        NodeKind::Host => spec.fabric.nic.late_reaction(),
        NodeKind::Switch => late_reaction(spec, fabric.settings.of(plug.peer).pfc.as_ref()).0,
    };
    let own_response = fabric.settings.of(node).pfc.as_ref().map_or(0, |pfc| pfc.response_ps);
    let response = Span(there_and_back.0 - 2 * link.delay.0 + own_response + peer_reaction);
    let frame_bytes = data_frame_bytes(Opcode::WriteFirst, spec.transport.mtu_bytes);
    let cell_bytes = fabric.settings.of(node).buffer.cell_bytes;
    let on_link = default_headroom_bytes(link.rate, link.delay, response, frame_bytes);
    in_cells(on_link, cell_bytes, frame_bytes) + u64::from(frame_bytes).next_multiple_of(cell_bytes)
}

/// Most buffer taken by `on_link` bytes of frames in whole cells, for frames of at most `frame_bytes`: the
/// worst case is the shortest frame, or one with a single byte in its last cell. SONiC's formula has the same
/// factor for its percentage of small packets, 100 % by default.
fn in_cells(on_link: u64, cell_bytes: u64, frame_bytes: u32) -> u64 {
    let shortest = u64::from(MIN_FRAME_BYTES);
    let one_byte_over = shortest.next_multiple_of(cell_bytes) + 1;
    let of_frames = |frame: u64| {
        let on_link_each = frame + u64::from(LINK_OVERHEAD_BYTES);
        (on_link * frame.next_multiple_of(cell_bytes)).div_ceil(on_link_each)
    };
    let frames = [shortest, one_byte_over, u64::from(frame_bytes)];
    let sizes = frames.into_iter().filter(|&frame| frame <= u64::from(frame_bytes));
    sizes.map(of_frames).fold(on_link, u64::max)
}

/// The buffer of a scheduled leaf: only its first `hosts` ports receive frames.
pub(super) fn host_buffer(spec: &RunSpec, fabric: &Fabric, node: NodeId, hosts: usize) -> BufferPlan {
    let mut plan = buffer_plan(spec, fabric, &[node]);
    if let Some(lossless) = &mut plan.lossless {
        lossless.headroom_bytes.truncate(hosts);
    }
    plan
}

/// Checks that every switch has buffer left after its reserves and headrooms.
pub(crate) fn check_buffers(spec: &RunSpec, fabric: &Fabric) -> Result<(), SpecError> {
    for nodes in buffers(fabric) {
        let switch = fabric.settings.of(nodes[0]);
        if let Some(pools) = &switch.buffer.pools {
            check_pools(spec, fabric, &nodes, pools)?;
            continue;
        }
        let Some(pfc) = &switch.pfc else { continue };
        let size = switch.buffer.size_bytes;
        let mut lossless = lossless_plan(spec, fabric, &nodes, pfc);
        if spec.fabric.switch.scheduled.is_some() {
            let node = fabric.graph.node(nodes[0]);
            lossless.headroom_bytes.truncate(host_ports(&fabric.graph, node));
        }
        let needed = unshared_bytes(&lossless);
        if needed >= size {
            let field = format!("{}.pfc.headroom_bytes", fabric.settings.field(nodes[0]));
            let (ports, names) = (lossless.headroom_bytes.len(), names_of(fabric, &nodes));
            let found = format!("{needed} bytes of reserve and headroom for the {ports} ports of {names}");
            return Err(unsupported(field, found, format!("less than its buffer of {size} bytes")));
        }
    }
    Ok(())
}

/// The switches that share each buffer.
fn buffers(fabric: &Fabric) -> impl Iterator<Item = Vec<NodeId>> {
    let Fabric { graph, chips, .. } = fabric;
    let ids = (0..graph.nodes.len() as u32).map(NodeId);
    let has_buffer = |id: &NodeId| {
        let node = graph.node(*id);
        node.kind == NodeKind::Switch && !node.ideal && chips.first(*id) == *id
    };
    ids.filter(has_buffer).map(|id| chips.of(id).map_or_else(|| vec![id], <[NodeId]>::to_vec))
}

pub(super) fn names_of(fabric: &Fabric, nodes: &[NodeId]) -> String {
    let names: Vec<&str> = nodes.iter().map(|&node| fabric.graph.node(node).name.as_str()).collect();
    names.join(", ")
}

/// Checks that each pinned switch, queue pair and uplink exists.
pub(crate) fn check_pins(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Result<(), SpecError> {
    let LoadBalancing::Pinned { pins } = &spec.fabric.load_balancing else { return Ok(()) };
    for (index, pin) in pins.iter().enumerate() {
        let refuse = |name: &str, found: String, allowed: String| {
            Err(unsupported(format!("fabric.load_balancing.pins[{index}].{name}"), found, allowed))
        };
        let is_it = |node: &Node| node.kind == NodeKind::Switch && node.name == pin.switch;
        let Some(node) = fabric.graph.nodes.iter().position(is_it) else {
            return refuse("switch", pin.switch.clone(), "a switch of the topology".into());
        };
        let pairs = flows.queue_pair_count();
        if pin.qp >= pairs {
            return refuse("qp", pin.qp.to_string(), format!("0 to {}", pairs.saturating_sub(1)));
        }
        let pair = flows.queue_pair(pin.qp);
        let [_, to] = flows.attachments(&pair, Direction::Forward);
        let hops = fabric.routes.next_hops(NodeId(node as u32), to).len();
        if pin.uplink as usize >= hops {
            let found = format!("uplink {} of {} towards host {}", pin.uplink, pin.switch, pair.dst_host);
            return refuse("uplink", found, format!("0 to {}", hops.saturating_sub(1)));
        }
    }
    Ok(())
}

pub(super) fn priority_mask(priorities: &[u8]) -> u8 {
    priorities.iter().fold(0, |mask, &priority| mask | Priority(priority).bit())
}

pub(super) fn scheduler(spec: &SchedulingSpec) -> Scheduler {
    match spec {
        SchedulingSpec::Strict {} => Scheduler::Strict,
        SchedulingSpec::Dwrr { quantum_bytes } => Scheduler::Dwrr(Box::new(Dwrr::new(*quantum_bytes))),
    }
}

/// The ECN marker of a port, with its own random stream; `None` if WRED replaces it.
fn marker(spec: &RunSpec, ecn: &EcnSpec, node: NodeId, port: usize, wire: Wire) -> Option<EcnMarker> {
    let (kmin_bytes, kmax_bytes, pmax_ppm) = marking_thresholds(spec, ecn)?;
    let thresholds = EcnThresholds {
        priorities: priority_mask(&ecn.priorities),
        range: marking_range(ecn, kmin_bytes, kmax_bytes, wire),
        pmax_2e32: share_2e32(pmax_ppm),
    };
    Some(EcnMarker::new(thresholds, marking_stream(spec, node, port)))
}

/// Random stream for ECN marking and WRED drops at a port.
pub(super) fn marking_stream(spec: &RunSpec, node: NodeId, port: usize) -> Stream {
    let index = (u64::from(node.0) << 16) | port as u64;
    Seed(spec.seed).stream("switch.ecn", index)
}

pub(super) fn share_2e32(ppm: u32) -> u64 {
    (u64::from(ppm) << 32) / 1_000_000
}

/// Kmin and Kmax at a port.
pub(super) fn marking_range(ecn: &EcnSpec, kmin: u64, kmax: u64, wire: Wire) -> MarkingRange {
    let scaled = |bytes: u64| match ecn.reference_rate_bps {
        Some(reference) => (u128::from(bytes) * u128::from(wire.rate.bps()) / u128::from(reference)) as u64,
        None => bytes,
    };
    MarkingRange { kmin_bytes: scaled(kmin), kmax_bytes: scaled(kmax) }
}

/// Control of dynamic thresholds of a port, if configured; `ports` is the number of ports of its switch.
fn ecn_control(ecn: &EcnSpec, ports: usize, wire: Wire, release: Release) -> Option<Box<EcnControl>> {
    let dynamic = ecn.dynamic?;
    let law = EcnLaw::new(dynamic, wire.rate);
    let range = marking_range(ecn, ecn.kmin_bytes, ecn.kmax_bytes, wire);
    Some(Box::new(EcnControl::new(law, range, &ecn.priorities, ports, release)))
}
