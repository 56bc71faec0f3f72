//! Time series of ports and connections with a bounded number of points: takes samples during the run, emits
//! rows at its end.
//!
//! A sample is taken before the first time window (step of the simulation) at or after each multiple of the
//! interval; an idle network is not sampled. When a series is full, every second point is dropped and the
//! interval doubles, so that it always covers the whole run. Cumulative values remain exact. The number of
//! sampled ports is bounded (those with most queue pairs), and so is the number of queue pairs (every k-th).

use super::live::{Counts, LiveSample, LiveSamples};
use super::selection::{Selected, selected};
use super::totals::SampledTotals;
use super::values::sample_metric;
use crate::packet::{ConnectionId, Priority};
use crate::record::Totals;
use crate::setup::{FabricNode, Layout, Location};
use crate::switch::EgressPort;
use crate::switch::scheduled::Scheduled;
use engine::{Probe, Window};
use jobs::Stopped;
use record::SeriesRow;
use spec::RunSpec;
use std::ops::Range;
use std::sync::Arc;
use topology::Graph;
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
    Rate { sender: ConnectionId, queue_pair: u32 },
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

/// Sample times: multiples of an interval that doubles when the number of samples reaches its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleTimes {
    /// 0 disables sampling.
    points_max: usize,
    points: usize,
    interval_ps: u64,
    next: Instant,
}

impl Default for SampleTimes {
    fn default() -> Self {
        Self::new(0, 1)
    }
}

impl SampleTimes {
    pub(super) const fn new(points_max: usize, interval_ps: u64) -> Self {
        let next = if points_max == 0 { Instant::NEVER } else { Instant::ZERO };
        Self { points_max, points: 0, interval_ps, next }
    }

    /// The next sample is taken at the first opportunity from this time on.
    #[inline]
    pub(super) const fn due(&self) -> Instant {
        self.next
    }

    /// A sample is taken at `at`; returns whether every second of the previous ones must be dropped.
    pub(super) const fn take(&mut self, at: Instant) -> bool {
        let is_full = self.points == self.points_max;
        if is_full {
            self.points = self.points.div_ceil(2);
            self.interval_ps *= 2;
        }
        self.points += 1;
        self.next = Instant((at.0 / self.interval_ps + 1) * self.interval_ps);
        is_full
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
    metric_ranges: Vec<Range<usize>>,
    pub(super) totals: SampledTotals,
    live: LiveSamples,
    counts_marks: bool,
    /// Times of the samples.
    pub(super) times: Vec<Instant>,
    /// By sample: the values of all of `watched`; `None` if there is no value.
    pub(super) values: Vec<Option<u64>>,
    pub(super) schedule: SampleTimes,
}

impl SeriesProbe {
    /// Assigns the values to sample to the partitions of their nodes.
    pub(crate) fn assign(spec: &RunSpec, layout: &Layout<'_>) -> Vec<Self> {
        let Layout { fabric, locations, partitions, .. } = *layout;
        let empty = Self {
            schedule: SampleTimes::new(
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
            for Selected { node, port, metric } in selected(spec, layout) {
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
        for group in self.watched.chunk_by(|one, next| one.metric.name() == next.metric.name()) {
            self.metric_ranges.push(start..start + group.len());
            start += group.len();
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
    pub(super) fn update_live(&self, at: Instant, counts: Counts) {
        let queue_max_bytes = self.totals.queues.last().copied().unwrap_or(0);
        let mut live = LiveSample { at, counts, queue_max_bytes, paused_ps: 0 };
        let sample = &self.values[self.values.len() - self.watched.len()..];
        for range in &self.metric_ranges {
            let values = sample[range.clone()].iter().map(|value| value.unwrap_or(0));
            if let Metric::Paused(_) = self.watched[range.start].metric {
                live.paused_ps = values.sum();
            }
        }
        self.live.add(live);
    }

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
        for range in &self.metric_ranges {
            sample_metric(&self.watched[range.clone()], nodes, now, values);
        }
    }

    /// Time of the next sample.
    pub(crate) const fn due(&self) -> Instant {
        self.schedule.due()
    }

    /// Starts a sample at `at`; drops older ones if there is no room.
    pub(super) fn begin(&mut self, at: Instant) {
        if self.schedule.take(at) {
            self.thin_out();
        }
        self.times.push(at);
    }

    /// Drops every second sample.
    fn thin_out(&mut self) {
        let width = self.watched.len();
        let remaining = self.times.len().div_ceil(2);
        for sample in 1..remaining {
            self.times[sample] = self.times[2 * sample];
            self.values.copy_within(2 * sample * width..(2 * sample + 1) * width, sample * width);
        }
        self.times.truncate(remaining);
        self.values.truncate(remaining * width);
        self.totals.thin_out(remaining);
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
        self.update_live(window.start, self.counts(nodes, totals));
    }

    #[inline]
    fn due(&self) -> Instant {
        Self::due(self)
    }

    /// Sums include all hosts; losses and the deepest queue include all nodes.
    fn sees(&self, nodes: &[FabricNode]) -> Vec<bool> {
        let sees_all = self.totals.counts_losses || self.totals.sees_queues;
        let is_summed = |node| sees_all || matches!(node, &FabricNode::Host(_));
        let mut visible: Vec<bool> = nodes.iter().map(is_summed).collect();
        self.watched.iter().for_each(|watched| visible[watched.index as usize] = true);
        visible
    }
}
