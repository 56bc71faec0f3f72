//! Reads the current value of each sampled metric (queue length, bytes sent, time paused, thresholds, rate)
//! from the state of its node.

use super::series::{Metric, Watched};
use crate::nic::Host;
use crate::packet::ConnectionId;
use crate::setup::FabricNode;
use crate::switch::EgressPort;
use crate::switch::scheduled::{Leaf, Scheduled};
use units::Instant;

/// Appends the values at `now` of `watched`, which have the same metric on different ports. The loops of the
/// most frequent metrics are specialised.
pub(super) fn sample_metric(
    watched: &[Watched],
    nodes: &[FabricNode],
    now: Instant,
    values: &mut Vec<Option<u64>>,
) {
    let all = watched.iter();
    match watched[0].metric {
        Metric::Queue => values.extend(all.map(|watched| watched.sample(Metric::Queue, nodes, now))),
        Metric::Sent => values.extend(all.map(|watched| watched.sample(Metric::Sent, nodes, now))),
        Metric::Paused(_) => values.extend(all.map(|watched| {
            let priority = watched.metric.priority()?;
            watched.sample(Metric::Paused(priority), nodes, now)
        })),
        _ => values.extend(all.map(|watched| watched.sample(watched.metric, nodes, now))),
    }
}

impl Watched {
    #[inline(always)]
    fn sample(&self, metric: Metric, nodes: &[FabricNode], now: Instant) -> Option<u64> {
        match &nodes[self.index as usize] {
            FabricNode::Host(host) => sample_host(host, self.number, metric, now),
            FabricNode::Switch(switch) => sample_port(&switch.ports()[usize::from(self.number)], metric, now),
            FabricNode::Scheduled(Scheduled::Leaf(leaf)) => sample_leaf(leaf, self.number, metric, now),
            FabricNode::Scheduled(Scheduled::Element(_)) => None,
        }
    }
}

/// The deepest egress queue of a switch [bytes]; 0 for a host.
pub(super) fn deepest_queue(node: &FabricNode, now: Instant) -> u64 {
    match node {
        FabricNode::Host(_) | FabricNode::Scheduled(Scheduled::Element(_)) => 0,
        FabricNode::Switch(switch) => switch.deepest_queue(),
        FabricNode::Scheduled(Scheduled::Leaf(leaf)) => {
            let ports = leaf.ports().iter().map(EgressPort::queued_bytes).max().unwrap_or(0);
            ports.max(leaf.uplink().map_or(0, |uplink| uplink.backlog_bytes(now)))
        }
    }
}

#[inline(always)]
fn sample_host(host: &Host, port: u16, metric: Metric, now: Instant) -> Option<u64> {
    let port = &host.ports()[usize::from(port)];
    match metric {
        Metric::Queue => Some(0),
        Metric::Sent => Some(port.transmitter().bytes()),
        Metric::Paused(priority) => Some(port.pause().paused_of(priority, now).0),
        Metric::Rate { sender, .. } => rate_bps(host, sender, now),
        Metric::TcpDelivered { sink, .. } => tcp_delivered(host, sink),
        Metric::EcnMin(_) | Metric::EcnMax(_) | Metric::Voq => None,
    }
}

/// A value of a switch port.
#[inline(always)]
fn sample_port(port: &EgressPort, metric: Metric, now: Instant) -> Option<u64> {
    match metric {
        Metric::Queue => Some(port.queued_bytes()),
        Metric::Sent => Some(port.transmitter().bytes()),
        Metric::Paused(priority) => Some(port.pause().paused_of(priority, now).0),
        Metric::EcnMin(priority) => Some(port.ecn_range(priority, now)?.kmin_bytes),
        Metric::EcnMax(priority) => Some(port.ecn_range(priority, now)?.kmax_bytes),
        Metric::Rate { .. } | Metric::TcpDelivered { .. } | Metric::Voq => None,
    }
}

/// Not inlined, so that the far more frequent samples of ports take few instructions.
#[inline(never)]
fn rate_bps(host: &Host, sender: ConnectionId, now: Instant) -> Option<u64> {
    host.rate_bps(sender, now)
}

/// Not inlined for the same reason.
#[inline(never)]
fn tcp_delivered(host: &Host, sink: u32) -> Option<u64> {
    Some(host.tcp()?.sinks.get(sink as usize)?.delivered())
}

/// A value of a port of a scheduled leaf. Its fabric ports have a common queue, which is reported at the
/// first.
#[inline(never)]
fn sample_leaf(leaf: &Leaf, port: u16, metric: Metric, now: Instant) -> Option<u64> {
    let Some(egress) = leaf.ports().get(usize::from(port)) else {
        let (uplink, link) = (leaf.uplink()?, usize::from(port) - leaf.ports().len());
        return match metric {
            Metric::Queue if link == 0 => Some(uplink.backlog_bytes(now)),
            Metric::Sent => Some(uplink.sent_on(link as u32).bytes),
            _ => None,
        };
    };
    match metric {
        Metric::Queue => Some(egress.queued_bytes()),
        Metric::Sent => Some(egress.transmitter().bytes()),
        Metric::Paused(priority) => Some(egress.pause().paused_of(priority, now).0),
        Metric::Voq => Some(leaf.voq_bytes(port)),
        Metric::EcnMin(_) | Metric::EcnMax(_) | Metric::Rate { .. } | Metric::TcpDelivered { .. } => None,
    }
}
