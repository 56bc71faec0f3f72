//! Which way the data of each queue pair takes, where load balancing gives each one path.
//!
//! The paths follow from routes and hashes alone, so they are walked once the run is over. Table `paths` is bounded:
//! where its rows would be too many, it has those of every k-th queue pair, with the smallest k that fits. The counts
//! per port cover every queue pair.

use crate::packet::{Kind, Packet, Path, Priority};
use crate::setup::{Direction, Fabric, Flows, PathHash, QueuePair, forwards};
use crate::switch::forward::{Choice, Forward};
use spec::{PathRow, RunSpec};
use transport::Position;
use units::NodeId;

/// Queue pairs at each port, and the rows of table `paths`.
pub(crate) struct Paths {
    /// How many queue pairs send their data out of each port of each node; 0 where they have no path of their own.
    pub(crate) egress_qps: Vec<Vec<u32>>,
    pub(crate) rows: Vec<PathRow>,
}

/// Walks the paths of all queue pairs.
pub(crate) fn paths<F: Forward>(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Paths {
    let graph = &fabric.graph;
    let mut egress_qps: Vec<Vec<u32>> = graph.nodes.iter().map(|node| vec![0; node.ports.len()]).collect();
    if F::CHOICE != Choice::PerFlow {
        return Paths { egress_qps, rows: Vec::new() };
    }
    let mut walk = Walk::<F> { fabric, hash: &flows.path_hash, forwards: forwards(spec, fabric, flows) };
    let mut links = Vec::with_capacity(flows.queue_pair_count() as usize);
    for pair in flows.queue_pairs() {
        if pair.is_local() || !pair.carries_payload {
            links.push(0);
            continue;
        }
        let source = graph.attachment(pair.src_attachment);
        egress_qps[pair.src_host.index()][usize::from(source.host_port)] += 1;
        let mut count: usize = 0;
        walk.each_hop(&pair, |node, port, peer| {
            egress_qps[node.index()][port] += 1;
            count += usize::from(peer.index() >= graph.hosts());
        });
        links.push(count);
    }
    let Some(stride) = stride(&links, spec.observe.path_rows as usize) else {
        return Paths { egress_qps, rows: Vec::new() };
    };
    let mut rows = Vec::new();
    let shown = |pair: &QueuePair| !pair.is_local() && pair.carries_payload;
    let every = (0..flows.queue_pair_count()).step_by(stride).map(|number| flows.queue_pair(number));
    for pair in every.filter(shown) {
        let mut hop = 0;
        walk.each_hop(&pair, |node, port, peer| {
            if peer.index() >= graph.hosts() {
                rows.push(row(fabric, &pair, hop, (node, port, peer)));
                hop += 1;
            }
        });
    }
    Paths { egress_qps, rows }
}

/// The smallest k for which every k-th of the counts add up to at most `most`; none if no k does.
fn stride(counts: &[usize], most: usize) -> Option<usize> {
    let total: usize = counts.iter().sum();
    let least = total.div_ceil(most.max(1)).max(1);
    let sum = |stride: usize| counts.iter().step_by(stride).sum::<usize>();
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
    hash: &'a PathHash,
    forwards: Vec<F>,
}

impl<F: Forward> Walk<'_, F> {
    /// Calls `visit` with switch, egress port and next node for each switch on the way.
    fn each_hop(&mut self, pair: &QueuePair, mut visit: impl FnMut(NodeId, usize, NodeId)) {
        let graph = &self.fabric.graph;
        let packet = probe_packet(self.fabric, self.hash, pair);
        let mut node = graph.attachment(pair.src_attachment).switch;
        while node.index() >= graph.hosts() {
            let hops = self.fabric.routes.next_hops(node, pair.dst_attachment);
            let forward = &mut self.forwards[node.index() - graph.hosts()];
            let choice = if hops.len() > 1 { forward.choose(&packet, hops, &[]) } else { 0 };
            let port = usize::from(hops[choice]);
            let peer = graph.node(node).ports[port].peer;
            visit(node, port, peer);
            node = peer;
        }
    }
}

/// A packet that takes the way of a queue pair's data.
fn probe_packet(fabric: &Fabric, hash: &PathHash, pair: &QueuePair) -> Packet {
    let path = Path {
        destination: pair.dst_attachment,
        queue_pair: pair.receiver,
        entropy: hash.of(&fabric.graph, pair, Direction::Forward),
    };
    Packet::new(Kind::Data(Position::Only), Priority::default(), pair.initial_psn(), 0, path)
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
