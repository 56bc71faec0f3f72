//! Time series with a bounded number of points.
//!
//! A sample is taken before the first window at or after each multiple of the interval; an idle network is
//! not sampled. When a series is full, every second point is dropped and the interval doubles, so that it
//! always covers the whole run. Cumulative values remain exact. The number of sampled ports is bounded (those
//! with most queue pairs), and so is the number of queue pairs (every k-th).

use super::live::{Counts, LiveSamples, Seen};
use super::times::SampleTimes;
use super::totals::SampledTotals;
use super::values::sample_alike;
use crate::packet::Priority;
use crate::record::Totals;
use crate::report::paths::queue_pairs_of_ports;
use crate::setup::{Connection, Direction, Fabric, FabricNode, Flows, Layout, Location};
use crate::switch::EgressPort;
use crate::switch::scheduled::Scheduled;
use engine::{Probe, Window};
use jobs::Stopped;
use record::SeriesRow;
use spec::RunSpec;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;
use topology::{Graph, NodeKind};
use units::{Instant, NodeId};

/// Most rows of one batch.
const BATCH_ROWS: usize = 4_096;

/// A sampled quantity.
#[derive(Clone, Copy, Debug)]
pub(super) enum Metric {
    /// Bytes queued at the port.
    Queue,
    /// Frame bytes sent by the port.
    Sent,
    /// Bytes in the virtual output queues of a scheduled leaf that were received by the port.
    Voq,
    /// Time for which a priority of the port was paused.
    Paused(Priority),
    /// Kmin of a priority of the port, as set by dynamic ECN.
    EcnMin(Priority),
    /// Kmax of a priority of the port, as set by dynamic ECN.
    EcnMax(Priority),
    /// Rate of a sender of the host.
    Rate { sender: u32, queue_pair: u32 },
    /// Payload of a TCP connection delivered in order to the host.
    TcpDelivered { sink: u32, connection: u32 },
}

impl Metric {
    const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue_bytes",
            Self::Sent => "tx_bytes",
            Self::Voq => "voq_bytes",
            Self::Paused(_) => "paused_ps",
            Self::EcnMin(_) => "ecn_kmin_bytes",
            Self::EcnMax(_) => "ecn_kmax_bytes",
            Self::Rate { .. } => "rate_bps",
            Self::TcpDelivered { .. } => "tcp_delivered_bytes",
        }
    }

    /// The priority of the metric, if it has one.
    pub(super) const fn priority(self) -> Option<Priority> {
        match self {
            Self::Paused(priority) | Self::EcnMin(priority) | Self::EcnMax(priority) => Some(priority),
            Self::Queue | Self::Sent | Self::Voq | Self::Rate { .. } | Self::TcpDelivered { .. } => None,
        }
    }
}

/// A sampled value of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    /// Index of its node in the partition.
    pub(super) index: u32,
    /// Index of the port in the node state: among those of the chip if the switch is part of one.
    pub(super) number: u16,
    node: NodeId,
    port: u16,
    pub(super) metric: Metric,
}

/// Samples the watched values of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeriesProbe {
    /// Sorted by the name of the metric.
    watched: Vec<Watched>,
    /// Range of each metric in `watched`.
    alike: Vec<Range<usize>>,
    pub(super) totals: SampledTotals,
    live: LiveSamples,
    counts_marks: bool,
    /// Times of the samples.
    pub(super) times: Vec<Instant>,
    /// By sample: the values of all of `watched`; `None` if there is no value.
    pub(super) values: Vec<Option<u64>>,
    pub(super) times_to_come: SampleTimes,
}

impl SeriesProbe {
    /// Assigns the values to sample to the partitions of their nodes.
    pub(crate) fn assign(spec: &RunSpec, layout: &Layout<'_>) -> Vec<Self> {
        let Layout { fabric, flows, connections, locations, partitions } = *layout;
        let empty = Self {
            times_to_come: SampleTimes::new(
                spec.observe.series_points as usize,
                spec.observe.series_interval_ps.max(1),
            ),
            counts_marks: fabric.settings.all().iter().any(|switch| switch.ecn.is_some()),
            ..Self::default()
        };
        let mut probes = vec![empty; partitions];
        if spec.observe.series_points > 0 {
            for (probe, totals) in probes.iter_mut().zip(SampledTotals::assign(spec, locations, partitions)) {
                probe.totals = totals;
            }
            let graph = &fabric.graph;
            let places = port_metrics(spec, fabric, flows)
                .into_iter()
                .chain(rates(spec, graph, flows))
                .chain(tcp_deliveries(spec, graph, connections));
            for (node, port, metric) in places {
                let Location { partition, index } = locations[node.index()];
                let number = fabric.chips.first_port(node) + port;
                probes[partition as usize].watched.push(Watched { index, number, node, port, metric });
            }
        }
        probes.iter_mut().for_each(Self::arrange);
        probes
    }

    /// Sorts `watched` by metric.
    fn arrange(&mut self) {
        self.watched.sort_by_key(|watched| watched.metric.name());
        let mut start = 0;
        for alike in self.watched.chunk_by(|one, next| one.metric.name() == next.metric.name()) {
            self.alike.push(start..start + alike.len());
            start += alike.len();
        }
    }

    /// The samples for the live view.
    pub(crate) const fn live(&self) -> &LiveSamples {
        &self.live
    }

    /// Counters of a sample that are not in any series.
    pub(super) fn counts(&self, nodes: &[FabricNode], totals: Totals) -> Counts {
        let ports = || self.watched.iter().filter(|watched| matches!(watched.metric, Metric::Queue));
        let marked = |watched: &Watched| watched.marked_frames(&nodes[watched.index as usize]);
        Counts {
            delivered_bytes: totals.progress,
            marked_frames: if self.counts_marks { ports().map(marked).sum() } else { 0 },
        }
    }

    /// Passes the last sample to the live view.
    pub(super) fn tell(&self, at: Instant, counts: Counts) {
        let queue_max_bytes = self.totals.queues.last().copied().unwrap_or(0);
        let mut seen = Seen { at, counts, queue_max_bytes, paused_ps: 0 };
        let sample = &self.values[self.values.len() - self.watched.len()..];
        for alike in &self.alike {
            let values = sample[alike.clone()].iter().map(|value| value.unwrap_or(0));
            if let Metric::Paused(_) = self.watched[alike.start].metric {
                seen.paused_ps = values.sum();
            }
        }
        self.live.add(seen);
    }

    /// All series.
    fn series(&self) -> impl Iterator<Item = Series<'_>> {
        (0..self.watched.len()).map(|index| Series { probe: self, index })
    }

    /// The values of a sample at `now`.
    pub(super) fn sampled(&self, nodes: &[FabricNode], now: Instant) -> Vec<Option<u64>> {
        let mut values = Vec::new();
        self.sample_into(nodes, now, &mut values);
        values
    }

    /// Appends the values at `now` of all of `watched`.
    fn sample_into(&self, nodes: &[FabricNode], now: Instant, values: &mut Vec<Option<u64>>) {
        for alike in &self.alike {
            sample_alike(&self.watched[alike.clone()], nodes, now, values);
        }
    }

    /// Time of the next sample.
    pub(crate) const fn due(&self) -> Instant {
        self.times_to_come.due()
    }

    /// Starts a sample at `at`; drops older ones if there is no room.
    pub(super) fn begin(&mut self, at: Instant) {
        if self.times_to_come.take(at) {
            self.thin_out();
        }
        self.times.push(at);
    }

    /// Drops every second sample.
    fn thin_out(&mut self) {
        let width = self.watched.len();
        let kept = self.times.len().div_ceil(2);
        for sample in 1..kept {
            self.times[sample] = self.times[2 * sample];
            self.values.copy_within(2 * sample * width..(2 * sample + 1) * width, sample * width);
        }
        self.times.truncate(kept);
        self.values.truncate(kept * width);
        self.totals.thin_out(kept);
    }
}

/// The samples of one watched value.
struct Series<'a> {
    probe: &'a SeriesProbe,
    /// Index in `watched`.
    index: usize,
}

impl Series<'_> {
    fn watched(&self) -> &Watched {
        &self.probe.watched[self.index]
    }

    /// Times and values of the samples.
    fn samples(&self) -> impl Iterator<Item = (Instant, u64)> {
        let values = self.probe.values.iter().skip(self.index).step_by(self.probe.watched.len());
        self.probe.times.iter().zip(values).filter_map(|(&at, &value)| Some((at, value?)))
    }

    /// Whether the series has rows; that of a priority that was never paused has none.
    fn is_worth_rows(&self) -> bool {
        !matches!(self.watched().metric, Metric::Paused(_))
            || self.samples().last().is_none_or(|(_, paused_ps)| paused_ps > 0)
    }
}

/// Emits all series, ordered by metric, node and port, regardless of partitions. One batch at a time, to
/// limit memory.
pub(crate) fn emit_series<'a>(
    probes: impl Iterator<Item = &'a SeriesProbe>,
    graph: &Graph,
    mut batch: impl FnMut(Vec<SeriesRow>) -> Result<(), Stopped>,
) -> Result<(), Stopped> {
    let mut all: Vec<Series<'a>> =
        probes.flat_map(SeriesProbe::series).filter(Series::is_worth_rows).collect();
    let key = |series: &Series<'a>| {
        let Watched { metric, node, port, .. } = *series.watched();
        (metric.name(), &graph.node(node).name, port)
    };
    all.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut rows = Vec::with_capacity(BATCH_ROWS);
    for series in &all {
        let node = Arc::from(&*graph.node(series.watched().node).name);
        for (at, value) in series.samples() {
            if rows.len() == BATCH_ROWS {
                batch(std::mem::replace(&mut rows, Vec::with_capacity(BATCH_ROWS)))?;
            }
            rows.push(series.watched().row(&node, at, value));
        }
    }
    batch(rows)
}

impl Watched {
    fn row(&self, node: &Arc<str>, at: Instant, value: u64) -> SeriesRow {
        SeriesRow {
            metric: self.metric.name(),
            node: Arc::clone(node),
            port: u32::from(self.port),
            job: None,
            priority: self.metric.priority().map(|priority| u32::from(priority.0)),
            qp: match self.metric {
                Metric::Rate { queue_pair, .. } => Some(queue_pair),
                Metric::TcpDelivered { connection, .. } => Some(connection),
                _ => None,
            },
            time_ps: at.0,
            value,
        }
    }

    /// Frames marked with congestion experienced by the port.
    fn marked_frames(&self, node: &FabricNode) -> u64 {
        let ports = match node {
            FabricNode::Host(_) | FabricNode::Scheduled(Scheduled::Element(_)) => &[],
            FabricNode::Switch(switch) => switch.ports(),
            FabricNode::Scheduled(Scheduled::Leaf(leaf)) => leaf.ports(),
        };
        ports.get(usize::from(self.number)).map_or(0, EgressPort::marked_frames)
    }
}

type Place = (NodeId, u16, Metric);

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
fn port_metrics(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Vec<Place> {
    let graph = &fabric.graph;
    let lossless = spec.fabric.switch.pfc.as_ref().map_or(&[][..], |pfc| &pfc.priorities);
    let mut places = Vec::new();
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
        places.extend(metrics.map(|metric| (NodeId(node as u32), port as u16, metric)));
    }
    places
}

/// The rates of every k-th queue pair, up to the configured number; empty without rate control.
fn rates(spec: &RunSpec, graph: &Graph, flows: &Flows) -> Vec<Place> {
    let most = spec.observe.series_qps as usize;
    if most == 0 || spec.transport.rate_control.is_line_rate() {
        return Vec::new();
    }
    let stride = (flows.queue_pair_count() as usize).div_ceil(most).max(1);
    let mut senders = vec![0; graph.hosts()];
    let mut places = Vec::new();
    for (index, pair) in flows.queue_pairs().enumerate() {
        let sender = senders[pair.src_host.index()];
        senders[pair.src_host.index()] += 1;
        if index.is_multiple_of(stride) && pair.carries_payload {
            let [src, _] = flows.attachments(&pair, Direction::Forward);
            let port = graph.attachment(src).host_port;
            let metric = Metric::Rate { sender, queue_pair: pair.number };
            places.push((NodeId(pair.src_host.0), port, metric));
        }
    }
    places
}

/// Deliveries of every k-th TCP connection, at most `observe.series_qps` of them, at their receiving hosts.
fn tcp_deliveries<'a>(
    spec: &RunSpec,
    graph: &'a Graph,
    connections: &'a [Connection],
) -> impl Iterator<Item = Place> + 'a {
    let most = spec.observe.series_qps as usize;
    let stride = connections.len().div_ceil(most.max(1)).max(1);
    let sampled = (0..).zip(connections).step_by(stride).take(most);
    sampled.map(|(connection, each)| {
        let port = graph.attachment(each.dst_attachment).host_port;
        let metric = Metric::TcpDelivered { sink: each.sink, connection };
        (NodeId(each.dst_host.0), port, metric)
    })
}

impl Probe<FabricNode> for SeriesProbe {
    #[inline]
    fn observe(&mut self, window: Window, nodes: &[FabricNode], totals: Totals) {
        if window.start < self.due() {
            return;
        }
        self.begin(window.start);
        let mut values = std::mem::take(&mut self.values);
        self.sample_into(nodes, window.start, &mut values);
        self.values = values;
        self.totals.sample(nodes, totals, window.start);
        self.tell(window.start, self.counts(nodes, totals));
    }

    #[inline]
    fn due(&self) -> Instant {
        Self::due(self)
    }

    /// Sums include all hosts; losses and the deepest queue include all nodes.
    fn sees(&self, nodes: &[FabricNode]) -> Vec<bool> {
        let sees_all = self.totals.counts_losses || self.totals.sees_queues;
        let is_summed = |node| sees_all || matches!(node, &FabricNode::Host(_));
        let mut seen: Vec<bool> = nodes.iter().map(is_summed).collect();
        self.watched.iter().for_each(|watched| seen[watched.index as usize] = true);
        seen
    }
}
