//! Which way the data of each queue pair takes, where load balancing gives each one path.
//!
//! The paths follow from routes and hashes alone, so they are walked once the run is over. Table `paths` is bounded:
//! where its rows would be too many, it has those of every k-th queue pair, with the smallest k that fits. The counts
//! per port cover every queue pair.

use crate::packet::{Kind, Packet, Path, Priority};
use crate::setup::{Direction, Fabric, Flows, QueuePair, forwards};
use crate::switch::forward::{Choice, Forward};
use spec::{PathRow, RunSpec};
use topology::Graph;
use transport::Position;
use units::{AttachmentId, NodeId};
use wire::Psn;

/// Queue pairs at each port, and the rows of table `paths`.
pub(crate) struct Paths {
    /// How many queue pairs send their data out of each port of each node; 0 where they have no path of their own.
    pub(crate) egress_qps: Vec<Vec<u32>>,
    pub(crate) rows: Vec<PathRow>,
}

/// Walks the paths of all queue pairs.
pub(crate) fn paths<F: Forward>(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Paths {
    let graph = &fabric.graph;
    let mut ports = Ports::new(graph);
    if F::CHOICE != Choice::PerFlow {
        return Paths { egress_qps: ports.queue_pairs_of_nodes(), rows: Vec::new() };
    }
    let mut walk = Walk::<F> { fabric, flows, forwards: forwards(spec, fabric, flows) };
    let mut links: Vec<u16> = Vec::with_capacity(flows.queue_pair_count() as usize);
    flows.each_queue_pair(|pair| {
        links.push(if is_shown(&pair) { walk.count(&pair, &mut ports) } else { 0 });
    });
    let egress_qps = ports.queue_pairs_of_nodes();
    let Some(stride) = stride(&links, spec.observe.path_rows as usize) else {
        return Paths { egress_qps, rows: Vec::new() };
    };
    let mut rows = Vec::new();
    let every = (0..flows.queue_pair_count()).step_by(stride).map(|number| flows.queue_pair(number));
    for pair in every.filter(is_shown) {
        let mut hop = 0;
        walk.each_hop(&pair, |node, port| {
            let peer = graph.node(node).ports[port].peer;
            if peer.index() >= graph.hosts() {
                rows.push(row(fabric, &pair, hop, (node, port, peer)));
                hop += 1;
            }
            peer
        });
    }
    Paths { egress_qps, rows }
}

/// Whether data of the collective takes a way through the network.
fn is_shown(pair: &QueuePair) -> bool {
    !pair.is_local() && pair.carries_payload
}

/// All ports of all nodes.
struct Ports {
    /// First port of each node, and one past the last of all.
    starts: Vec<usize>,
    /// Where each leads, and how many queue pairs send their data out of it.
    counted: Vec<(NodeId, u32)>,
}

impl Ports {
    fn new(graph: &Graph) -> Self {
        let mut ports = Self { starts: vec![0], counted: Vec::new() };
        for node in &graph.nodes {
            ports.counted.extend(node.ports.iter().map(|port| (port.peer, 0)));
            ports.starts.push(ports.counted.len());
        }
        ports
    }

    /// Counts a queue pair that leaves a node by a port; returns where that leads.
    #[inline]
    fn count(&mut self, node: NodeId, port: usize) -> NodeId {
        let (peer, queue_pairs) = &mut self.counted[self.starts[node.index()] + port];
        *queue_pairs += 1;
        *peer
    }

    /// What was counted, by node and port.
    fn queue_pairs_of_nodes(&self) -> Vec<Vec<u32>> {
        let counts = |ports: &[(NodeId, u32)]| ports.iter().map(|port| port.1).collect();
        self.starts.windows(2).map(|range| counts(&self.counted[range[0]..range[1]])).collect()
    }
}

/// The smallest k for which every k-th of the counts add up to at most `most`; none if no k does.
fn stride(counts: &[u16], most: usize) -> Option<usize> {
    let sum = |stride: usize| counts.iter().step_by(stride).map(|&count| usize::from(count)).sum::<usize>();
    let least = sum(1).div_ceil(most.max(1)).max(1);
    (least..=counts.len().max(least)).find(|&stride| sum(stride) <= most)
}

fn row(fabric: &Fabric, pair: &QueuePair, hop: u32, (node, port, peer): (NodeId, usize, NodeId)) -> PathRow {
    PathRow {
        qp: pair.number,
        job: pair.job,
        src_rank: pair.src.0,
        dst_rank: pair.dst.0,
        hop,
        node: fabric.graph.node(node).name.clone(),
        port: port as u32,
        peer: fabric.graph.node(peer).name.clone(),
    }
}

struct Walk<'a, F> {
    fabric: &'a Fabric,
    flows: &'a Flows,
    forwards: Vec<F>,
}

impl<F: Forward> Walk<'_, F> {
    /// Counts a queue pair at every port on its way; returns how many links between switches that has.
    fn count(&mut self, pair: &QueuePair, ports: &mut Ports) -> u16 {
        let graph = &self.fabric.graph;
        let [source, _] = self.flows.attachments(pair, Direction::Forward);
        ports.count(NodeId(pair.src_host.0), graph.attachment(source).host_port.into());
        // The last switch leads to a host.
        self.each_hop(pair, |node, port| ports.count(node, port)) - 1
    }

    /// Calls `take` with each switch on the way and its egress port, which gives the node there; returns how many
    /// switches there are.
    #[inline]
    fn each_hop(&mut self, pair: &QueuePair, mut take: impl FnMut(NodeId, usize) -> NodeId) -> u16 {
        let graph = &self.fabric.graph;
        let ends @ [source, destination] = self.flows.attachments(pair, Direction::Forward);
        let packet = probe_packet(self.flows, pair, ends);
        let mut node = graph.attachment(source).switch;
        let mut switches = 0;
        while node.index() >= graph.hosts() {
            let hops = self.fabric.routes.next_hops(node, destination);
            let forward = &mut self.forwards[node.index() - graph.hosts()];
            let choice = if hops.len() > 1 { forward.choose(&packet, hops, &[]) } else { 0 };
            node = take(node, hops[choice].into());
            switches += 1;
        }
        switches
    }
}

/// A packet that takes the way of a queue pair's data, whatever its sequence number.
#[inline]
fn probe_packet(flows: &Flows, pair: &QueuePair, ends: [AttachmentId; 2]) -> Packet {
    let (queue_pair, entropy) = (flows.receiver(pair.number), flows.entropy(pair, ends));
    let path = Path { destination: ends[1], queue_pair, entropy };
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
        // The first queue pairs have the longest ways.
        assert_eq!(stride(&[9, 0, 0, 0, 9, 0, 0, 0], 10), Some(3));
    }
}
