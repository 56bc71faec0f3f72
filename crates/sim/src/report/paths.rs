//! Computes the path of the data of each queue pair, if load balancing assigns one path per flow: rows of
//! table `paths`, number of queue pairs at each port, chosen port at each switch.
//!
//! The paths depend on routes and hashes only, so they are computed after the run. Table `paths` is bounded:
//! if it would have too many rows, it has those of every k-th of the queue pairs with a link between switches,
//! with the smallest k that fits. The counts per port include every queue pair.

use crate::packet::{ConnectionId, Kind, Packet, Path, Priority};
use crate::setup::{Direction, Fabric, Flows, balancers};
use crate::switch::forward::{Balancer, Choice, choice};
use jobs::QueuePair;
use record::PathRow;
use serde::Serialize;
use spec::{RunSpec, SpecError};
use topology::{Graph, SwitchRoutes};
use transport::Position;
use units::{AttachmentId, NodeId};
use wire::Psn;

/// Egress port of the data of a queue pair at a switch with several equal next hops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathChoice {
    /// Its number.
    pub qp: u32,
    /// Name of the switch.
    pub switch: String,
    /// The chosen port of that switch.
    pub port: u16,
}

/// Returns the choices of all queue pairs, ordered by queue pair and along its path; empty if load balancing
/// sends packets of a queue pair on several paths.
///
/// # Errors
/// When the spec cannot be run.
pub fn path_choices(spec: &RunSpec) -> Result<Vec<PathChoice>, SpecError> {
    spec::check(spec)?;
    let fabric = Fabric::new(&spec.fabric)?;
    let flows = Flows::new(spec, &fabric)?;
    let mut choices = Vec::new();
    if choice(spec) != Choice::PerFlow {
        return Ok(choices);
    }
    let mut walk = Walk::new(spec, &fabric, &flows);
    for pair in (0..flows.queue_pair_count()).map(|number| flows.queue_pair(number)).filter(is_shown) {
        let [_, destination] = flows.attachments(&pair, Direction::Forward);
        walk.each_hop(&pair, |hop| {
            if fabric.routes.next_hops(hop.switch, destination).len() > 1 {
                let switch = fabric.graph.node(hop.switch).name.clone();
                choices.push(PathChoice { qp: pair.number, switch, port: hop.port as u16 });
            }
        });
    }
    Ok(choices)
}

/// Queue pairs at each port, and the rows of table `paths`.
pub(crate) struct Paths {
    /// Number of queue pairs whose data leaves by each port of each node; 0 if queue pairs have no path of
    /// their own.
    pub(crate) egress_qps: Vec<Vec<u32>>,
    pub(crate) rows: Vec<PathRow>,
}

/// Computes the paths of all queue pairs.
pub(crate) fn paths(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Paths {
    let mut walk = Walk::new(spec, fabric, flows);
    let links = walk.count_all(spec);
    let egress_qps = walk.queue_pairs_of_nodes();
    let links = links.unwrap_or_default();
    let Some(stride) = stride(&links, spec.observe.path_rows as usize) else {
        return Paths { egress_qps, rows: Vec::new() };
    };
    let mut rows = Vec::new();
    let with_links = (0..).zip(links).filter(|(_, links)| *links > 0);
    for pair in with_links.step_by(stride).map(|(number, _)| flows.queue_pair(number)) {
        let mut number = 0;
        walk.each_hop(&pair, |hop| {
            if hop.peer.index() >= fabric.graph.hosts() {
                rows.push(row(fabric, &pair, number, hop));
                number += 1;
            }
        });
    }
    Paths { egress_qps, rows }
}

/// Number of queue pairs whose data leaves by each port of each node; see [`Paths::egress_qps`].
pub(crate) fn queue_pairs_of_ports(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Vec<Vec<u32>> {
    let mut walk = Walk::new(spec, fabric, flows);
    walk.count_all(spec);
    walk.queue_pairs_of_nodes()
}

/// Whether a queue pair sends data of the collective through the network.
fn is_shown(pair: &QueuePair) -> bool {
    !pair.is_local() && pair.carries_payload
}

/// The smallest k for which every k-th of the counts above 0 add up to at most `most`; `None` if there is none.
fn stride(counts: &[u16], most: usize) -> Option<usize> {
    let counts: Vec<usize> = counts.iter().filter(|&&count| count > 0).map(|&count| count.into()).collect();
    let sum = |stride: usize| counts.iter().step_by(stride).sum::<usize>();
    let least = sum(1).div_ceil(most.max(1)).max(1);
    (least..=counts.len().max(least)).find(|&stride| sum(stride) <= most)
}

fn row(fabric: &Fabric, pair: &QueuePair, number: u32, hop: Hop) -> PathRow {
    PathRow {
        qp: pair.number,
        job: pair.job,
        src_rank: pair.src.0,
        dst_rank: pair.dst.0,
        hop: number,
        node: fabric.graph.node(hop.switch).name.clone(),
        port: hop.port as u32,
        peer: fabric.graph.node(hop.peer).name.clone(),
    }
}

/// A switch on a path, its egress port and the node at the other end.
#[derive(Clone, Copy)]
struct Hop {
    switch: NodeId,
    port: usize,
    peer: NodeId,
}

/// A switch on the paths.
struct OnPaths<'a> {
    routes: SwitchRoutes<'a>,
    balancer: Balancer,
    /// Peer of each port, and number of queue pairs that leave by it.
    ports: Vec<(NodeId, u32)>,
}

/// Follows the paths of queue pairs.
struct Walk<'a> {
    graph: &'a Graph,
    flows: &'a Flows,
    /// Number of queue pairs that leave by each port of each host.
    hosts: Vec<Vec<u32>>,
    switches: Vec<OnPaths<'a>>,
}

impl<'a> Walk<'a> {
    fn new(spec: &RunSpec, fabric: &'a Fabric, flows: &'a Flows) -> Self {
        let graph = &*fabric.graph;
        let (hosts, switches) = graph.nodes.split_at(graph.hosts());
        let numbers = (graph.hosts() as u32..).map(NodeId);
        let balancers = balancers(spec, fabric, flows);
        let switches = numbers.zip(switches).zip(balancers).map(|((node, switch), balancer)| OnPaths {
            routes: fabric.routes.of(node),
            balancer,
            ports: switch.ports.iter().map(|port| (port.peer, 0)).collect(),
        });
        let hosts = hosts.iter().map(|host| vec![0; host.ports.len()]).collect();
        Self { graph, flows, hosts, switches: switches.collect() }
    }

    /// Follows every queue pair and counts it at its ports; returns the number of links between switches of
    /// each, 0 for those not in the table. `None` if queue pairs have no path of their own: then none is
    /// counted.
    fn count_all(&mut self, spec: &RunSpec) -> Option<Vec<u16>> {
        if choice(spec) != Choice::PerFlow {
            return None;
        }
        let flows = self.flows;
        let mut links = Vec::with_capacity(flows.queue_pair_count() as usize);
        flows.each_queue_pair(|pair| links.push(if is_shown(&pair) { self.count(&pair) } else { 0 }));
        Some(links)
    }

    /// Number of queue pairs that leave by each port, by node.
    fn queue_pairs_of_nodes(&self) -> Vec<Vec<u32>> {
        let of_switch = |switch: &OnPaths<'_>| switch.ports.iter().map(|port| port.1).collect();
        self.hosts.iter().cloned().chain(self.switches.iter().map(of_switch)).collect()
    }

    /// Follows a queue pair; returns the number of links between switches on its path.
    fn count(&mut self, pair: &QueuePair) -> u16 {
        let mut switches = 0;
        self.each_hop(pair, |_| switches += 1);
        // The last switch is connected to the host.
        switches - 1
    }

    /// Follows a queue pair; calls `take` with each hop.
    #[inline]
    fn each_hop(&mut self, pair: &QueuePair, mut take: impl FnMut(Hop)) {
        let hosts = self.graph.hosts();
        let ends @ [source, destination] = self.flows.attachments(pair, Direction::Forward);
        let packet = probe_packet(self.flows, pair, ends);
        let source = self.graph.attachment(source);
        self.hosts[pair.src_host.index()][usize::from(source.host_port)] += 1;
        let mut node = source.switch;
        while let Some(switch) = node.index().checked_sub(hosts) {
            let OnPaths { routes, balancer, ports } = &mut self.switches[switch];
            let hops = routes.next_hops(destination);
            let choice = if hops.len() > 1 { balancer.choose(&packet, hops, &[]) } else { 0 };
            let port = usize::from(hops[choice]);
            let (peer, queue_pairs) = &mut ports[port];
            *queue_pairs += 1;
            take(Hop { switch: node, port, peer: *peer });
            node = *peer;
        }
    }
}

/// A packet with the path of a queue pair's data; the path does not depend on the sequence number.
#[inline(always)]
fn probe_packet(flows: &Flows, pair: &QueuePair, ends: [AttachmentId; 2]) -> Packet {
    let (receiver, entropy) = (flows.receiver(pair.number).unwrap_or(0), flows.entropy(pair, ends));
    let path = Path { destination: ends[1], connection: ConnectionId::rc(receiver), entropy };
    Packet::new(Kind::Data(Position::Only), Priority::default(), Psn::new(0), 0, path)
}

#[cfg(test)]
mod tests {
    use super::stride;

    #[test]
    fn the_table_of_paths_takes_every_kth_queue_pair_that_fits() {
        let counts = [2; 10];
        assert_eq!(
            (stride(&counts, 20), stride(&counts, 19), stride(&counts, 7)),
            (Some(1), Some(2), Some(4))
        );
        assert_eq!((stride(&counts, 2), stride(&counts, 1), stride(&counts, 0)), (Some(10), None, None));
        assert_eq!((stride(&[0; 4], 0), stride(&[], 5)), (Some(1), Some(1)));
        // Queue pairs without a link between switches do not count: they may be every second one.
        assert_eq!(stride(&[0, 2, 0, 2, 0, 2, 0, 2], 4), Some(2));
    }
}
