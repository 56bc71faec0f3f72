//! Sampled series with a bounded number of points.
//!
//! A sample is taken before the first window at or after each multiple of the interval; while nothing happens
//! nothing is sampled. When a series is full every second point is dropped and the interval doubles, so that it
//! always covers the whole run. Cumulative values lose nothing by that.

use crate::kernel::{Probe, Window};
use crate::setup::FabricNode;
use crate::switch::forward::Forward;
use spec::{ObserveSpec, SeriesRow};
use topology::{Graph, NodeKind};
use units::{Instant, NodeId};

/// A sampled egress port.
#[derive(Clone, Copy, Debug)]
struct Watched {
    /// Place of its node in the partition.
    place: u32,
    node: NodeId,
    port: u16,
}

/// One sample of every watched port.
#[derive(Clone, Debug)]
struct Sample {
    at: Instant,
    /// Queue and bytes sent of each watched port.
    values: Vec<(u64, u64)>,
}

/// Samples the egress queues and sent bytes of the ports of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeriesProbe {
    watched: Vec<Watched>,
    samples: Vec<Sample>,
    points_max: usize,
    interval_ps: u64,
    next: Instant,
}

impl SeriesProbe {
    /// Deals the ports to watch out to the partitions of their nodes: switches first, hosts if there is room.
    pub(crate) fn assign(
        observe: &ObserveSpec,
        graph: &Graph,
        homes: &[(u32, u32)],
        partitions: usize,
    ) -> Vec<Self> {
        let empty = Self {
            points_max: observe.series_points as usize,
            interval_ps: observe.series_interval_ps.max(1),
            ..Self::default()
        };
        let mut probes = vec![empty; partitions];
        let of_kind = |kind| (0..graph.nodes.len()).filter(move |&node| graph.nodes[node].kind == kind);
        let ports = of_kind(NodeKind::Switch)
            .chain(of_kind(NodeKind::Host))
            .flat_map(|node| (0..graph.nodes[node].ports.len()).map(move |port| (node, port)));
        let room = if observe.series_points == 0 { 0 } else { observe.series_ports as usize };
        for (node, port) in ports.take(room) {
            let (partition, place) = homes[node];
            let watched = Watched { place, node: NodeId(node as u32), port: port as u16 };
            probes[partition as usize].watched.push(watched);
        }
        probes
    }

    /// The sampled values, series by series.
    pub(crate) fn rows(&self, graph: &Graph) -> Vec<SeriesRow> {
        let mut rows = Vec::with_capacity(self.watched.len() * self.samples.len() * 2);
        for (index, watched) in self.watched.iter().enumerate() {
            for metric in ["queue_bytes", "tx_bytes"] {
                rows.extend(self.samples.iter().map(|sample| SeriesRow {
                    metric,
                    node: graph.node(watched.node).name.clone(),
                    port: u32::from(watched.port),
                    time_ps: sample.at.0,
                    value: if metric == "queue_bytes" {
                        sample.values[index].0
                    } else {
                        sample.values[index].1
                    },
                }));
            }
        }
        rows
    }

    fn thin_out(&mut self) {
        let mut index = 0;
        self.samples.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        self.interval_ps *= 2;
    }
}

impl<F: Forward> Probe<FabricNode<F>> for SeriesProbe {
    #[inline]
    fn observe(&mut self, window: Window, nodes: &[FabricNode<F>]) {
        if window.start < self.next || self.watched.is_empty() {
            return;
        }
        if self.samples.len() == self.points_max {
            self.thin_out();
        }
        let values =
            self.watched.iter().map(|watched| sample(&nodes[watched.place as usize], watched.port)).collect();
        self.samples.push(Sample { at: window.start, values });
        self.next = Instant((window.start.0 / self.interval_ps + 1) * self.interval_ps);
    }

    fn due(&self) -> Instant {
        if self.watched.is_empty() { Instant::NEVER } else { self.next }
    }
}

/// Bytes queued at a port, and frame bytes it has sent.
fn sample<F: Forward>(node: &FabricNode<F>, port: u16) -> (u64, u64) {
    match node {
        FabricNode::Host(host) => (0, host.ports()[usize::from(port)].transmitter().bytes()),
        FabricNode::Switch(switch) => {
            let port = &switch.ports()[usize::from(port)];
            (port.queued_bytes(), port.transmitter().bytes())
        }
    }
}
