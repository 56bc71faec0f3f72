//! Selects the values that time series sample: metrics of the ports with most queue pairs, rates of every
//! k-th queue pair, deliveries of every k-th TCP connection.

use super::series::Metric;
use crate::packet::{ConnectionId, ConnectionKind, Priority};
use crate::report::paths::queue_pairs_of_ports;
use crate::setup::{Connection, Direction, Fabric, Flows, Layout, connection_kind};
use spec::RunSpec;
use std::cmp::Reverse;
use std::collections::HashMap;
use topology::{Graph, NodeKind};
use units::{HostId, NodeId};

/// A port or connection whose metric is sampled.
pub(super) struct Selected {
    pub(super) node: NodeId,
    pub(super) port: u16,
    pub(super) metric: Metric,
}

/// All sampled values of a run.
pub(super) fn selected<'a>(spec: &'a RunSpec, layout: &Layout<'a>) -> impl Iterator<Item = Selected> + 'a {
    let Layout { fabric, flows, connections, .. } = *layout;
    let graph = &fabric.graph;
    port_metrics(spec, fabric, flows).into_iter().chain(rates(spec, graph, flows)).chain(tcp_deliveries(
        spec,
        graph,
        connections,
    ))
}

/// The sampled ports, each as node and port: those of switches first, then hosts if there is room. If there
/// is no room for all switch ports, half of them are links between switches and half are links to hosts.
/// Ports with most queue pairs are preferred, then low port numbers.
fn sampled_ports(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Vec<(usize, usize)> {
    let (graph, most) = (&fabric.graph, spec.observe.series_ports as usize);
    let of_kind = |kind| (0..graph.nodes.len()).filter(move |&node| graph.nodes[node].kind == kind);
    let ports_of = |node: usize| (0..graph.nodes[node].ports.len()).map(move |port| (node, port));
    let mut of_switches: Vec<_> = of_kind(NodeKind::Switch).flat_map(ports_of).collect();
    if of_switches.len() <= most {
        let of_hosts = of_kind(NodeKind::Host).flat_map(ports_of);
        return of_switches.into_iter().chain(of_hosts).take(most).collect();
    }
    let queue_pairs = queue_pairs_of_ports(spec, fabric, flows);
    of_switches.sort_by_key(|&(node, port)| (Reverse(queue_pairs[node][port]), port, node));
    let joins_switches = |&(node, port): &(usize, usize)| {
        graph.node(graph.nodes[node].ports[port].peer).kind == NodeKind::Switch
    };
    let (between, to_hosts) = of_switches.into_iter().partition::<Vec<_>, _>(joins_switches);
    let half = (most / 2).max(most.saturating_sub(to_hosts.len()));
    let chosen = between.iter().take(half).copied();
    let rest = most - chosen.len();
    chosen.chain(to_hosts.iter().take(rest).copied()).collect()
}

/// Metrics of each sampled port: queue, bytes sent, pauses, dynamic thresholds.
fn port_metrics(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Vec<Selected> {
    let graph = &fabric.graph;
    let lossless = spec.fabric.switch.pfc.as_ref().map_or(&[][..], |pfc| &pfc.priorities);
    let mut selected = Vec::new();
    for (node, port) in sampled_ports(spec, fabric, flows) {
        let pauses = lossless.iter().map(|&priority| Metric::Paused(Priority(priority)));
        let is_switch = graph.nodes[node].kind == NodeKind::Switch;
        let ecn = fabric.settings.of(NodeId(node as u32)).ecn.as_ref();
        let ecn = ecn.filter(|ecn| is_switch && ecn.dynamic.is_some());
        let moving = ecn.map_or(&[][..], |ecn| &ecn.priorities);
        let thresholds = moving
            .iter()
            .flat_map(|&priority| [Metric::EcnMin(Priority(priority)), Metric::EcnMax(Priority(priority))]);
        let voq = (is_switch && spec.fabric.switch.scheduled.is_some()).then_some(Metric::Voq);
        let metrics = [Metric::Queue, Metric::Sent].into_iter().chain(voq).chain(pauses).chain(thresholds);
        selected.extend(metrics.map(|metric| Selected {
            node: NodeId(node as u32),
            port: port as u16,
            metric,
        }));
    }
    selected
}

/// The rates of every k-th queue pair, up to the configured number; empty without rate control.
fn rates(spec: &RunSpec, graph: &Graph, flows: &Flows) -> Vec<Selected> {
    let most = spec.observe.series_qps as usize;
    if most == 0 || !spec.transport.rate_control.config().is_paced() {
        return Vec::new();
    }
    let stride = (flows.queue_pair_count() as usize).div_ceil(most).max(1);
    let mut next: HashMap<(HostId, ConnectionKind), u32> = HashMap::new();
    let mut selected = Vec::new();
    for (index, pair) in flows.queue_pairs().enumerate() {
        let kind = connection_kind(spec, pair.job);
        let next = next.entry((pair.src_host, kind)).or_default();
        let sender = ConnectionId::new(kind, *next);
        *next += 1;
        if index.is_multiple_of(stride) && pair.carries_payload {
            let [src, _] = flows.attachments(&pair, Direction::Forward);
            let port = graph.attachment(src).host_port;
            let metric = Metric::Rate { sender, queue_pair: pair.number };
            selected.push(Selected { node: NodeId(pair.src_host.0), port, metric });
        }
    }
    selected
}

/// Deliveries of every k-th TCP connection, at most `observe.series_qps` of them, at their receiving hosts.
fn tcp_deliveries<'a>(
    spec: &RunSpec,
    graph: &'a Graph,
    connections: &'a [Connection],
) -> impl Iterator<Item = Selected> + 'a {
    let most = spec.observe.series_qps as usize;
    let stride = connections.len().div_ceil(most.max(1)).max(1);
    let sampled = (0..).zip(connections).step_by(stride).take(most);
    sampled.map(|(connection, each)| {
        let port = graph.attachment(each.dst_attachment).host_port;
        let metric = Metric::TcpDelivered { sink: each.sink, connection };
        Selected { node: NodeId(each.dst_host.0), port, metric }
    })
}
