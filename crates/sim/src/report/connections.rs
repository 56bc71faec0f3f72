//! Results of TCP connections at the end of a run: rows of table `connections` and summaries. From the spec:
//! payload offered, number of connections that end by themselves, and the longest time that TCP may wait
//! without an acknowledgement.

use super::World;
use crate::nic::{TcpSink, TcpSource};
use crate::setup::{Connection, FabricNode};
use record::ConnectionRow;
use spec::{RunSpec, TcpSpec, TcpSummary};
use std::collections::HashSet;
use transport::tcp::SpanDistribution;
use units::{HostId, Instant, Span};

/// Permille of the two percentiles of round-trip times.
const MEDIAN: u64 = 500;
const P99: u64 = 990;

/// Number of TCP connections that end by themselves.
pub(crate) fn open_connections(spec: &RunSpec, connections: &[Connection]) -> u64 {
    let ends = |each: &&Connection| spec.tcp[each.tcp as usize].duration_ps.is_some();
    connections.iter().filter(ends).count() as u64
}

/// Bytes offered by rate-limited TCP traffic that ends by itself, for the display of progress.
pub(crate) fn offered_bytes(spec: &RunSpec) -> u64 {
    let of = |tcp: &TcpSpec| {
        let (rate, duration) = (tcp.rate_bps.unwrap_or(0), tcp.duration_ps.unwrap_or(0));
        let each = u128::from(rate) * u128::from(duration) / 8_000_000_000_000;
        (each as u64).saturating_mul(tcp.hosts.len() as u64)
    };
    spec.tcp.iter().fold(0, |sum, tcp| sum.saturating_add(of(tcp)))
}

/// Consecutive retransmission timeouts without an acknowledgement after which TCP has stalled; hosts give up
/// after 5 (Windows) to 15 (Linux).
const TIMEOUTS_MAX: u32 = 6;

/// Upper bound of the time that TCP waits without any acknowledgement [ps]: until it starts or stops writing,
/// plus [`TIMEOUTS_MAX`] timeouts with exponential backoff.
pub(crate) fn tcp_patience(spec: &RunSpec) -> u64 {
    let waits = spec.tcp.iter().filter(|tcp| tcp.duration_ps.is_some()).map(|tcp| {
        let writes = tcp.start_ps + tcp.start_spread_ps + tcp.duration_ps.unwrap_or(0);
        let timeout = |number| tcp.rto_initial_ps.saturating_mul(1_u64 << number).min(tcp.rto_max_ps);
        (0..=TIMEOUTS_MAX).map(timeout).fold(writes, u64::saturating_add)
    });
    waits.max().unwrap_or(0)
}

/// Table `connections`.
pub(crate) fn connection_rows(world: &World, end: Instant) -> Vec<ConnectionRow> {
    let numbered = (0..).zip(ends(world));
    numbered.map(|(number, (each, source, sink))| row(number, each, source, sink, end)).collect()
}

/// Each connection with its two ends.
fn ends(world: &World) -> impl Iterator<Item = (&Connection, &TcpSource, &TcpSink)> {
    let hosts: Vec<_> = world
        .nodes()
        .filter_map(|node| match node {
            FabricNode::Host(host) => Some(host.tcp()),
            FabricNode::Switch(_) | FabricNode::Scheduled(_) => None,
        })
        .collect();
    world.connections.iter().map(move |each| {
        let (src, dst) = (hosts[each.src_host.index()], hosts[each.dst_host.index()]);
        let source = &src.expect("a sending host has sources").sources[each.source as usize];
        let sink = &dst.expect("a receiving host has sinks").sinks[each.sink as usize];
        debug_assert_eq!(source.connection(), sink.connection());
        (each, source, sink)
    })
}

/// Summary of each entry of `tcp` in the spec.
pub(crate) fn tcp_summaries(spec: &RunSpec, world: &World, end: Instant) -> Vec<TcpSummary> {
    let mut sums: Vec<(TcpSummary, SpanDistribution)> =
        spec.tcp.iter().map(|tcp| empty(tcp, world)).collect();
    let mut write_times: Vec<Option<SpanDistribution>> = vec![None; spec.tcp.len()];
    let mut senders = vec![HashSet::new(); spec.tcp.len()];
    for (number, (each, source, sink)) in (0..).zip(ends(world)) {
        let (summary, times) = &mut sums[each.tcp as usize];
        add(summary, &row(number, each, source, sink, end));
        times.merge(source.sender().rtt().distribution());
        if let Some(more) = source.write_times() {
            write_times[each.tcp as usize].get_or_insert_default().merge(more);
        }
        senders[each.tcp as usize].insert(each.src_host);
    }
    type Ended = ((TcpSummary, SpanDistribution), (HashSet<HostId>, Option<SpanDistribution>));
    let finish = |((mut summary, times), (senders, writes)): Ended| {
        let ps = |span: Option<Span>| span.map(|span| span.0);
        let of_writes = WriteTimes::of(writes.as_ref());
        summary.writes = of_writes.count;
        summary.write_mean_ps = of_writes.mean_ps;
        summary.write_p50_ps = of_writes.p50_ps;
        summary.write_p99_ps = of_writes.p99_ps;
        summary.write_max_ps = of_writes.max_ps;
        summary.senders = senders.len() as u64;
        summary.rtt_mean_ps = ps(times.mean());
        summary.rtt_p50_ps = ps(times.percentile(MEDIAN));
        summary.rtt_p99_ps = ps(times.percentile(P99));
        summary.rtt_max_ps = ps(times.largest());
        summary
    };
    sums.into_iter().zip(senders.into_iter().zip(write_times)).map(finish).collect()
}

/// Latencies of the writes of a closed loop; all `None` without one.
#[derive(Default)]
struct WriteTimes {
    count: Option<u64>,
    mean_ps: Option<u64>,
    p50_ps: Option<u64>,
    p99_ps: Option<u64>,
    max_ps: Option<u64>,
}

impl WriteTimes {
    fn of(times: Option<&SpanDistribution>) -> Self {
        let Some(times) = times else { return Self::default() };
        let ps = |span: Option<Span>| span.map(|span| span.0);
        Self {
            count: Some(times.total()),
            mean_ps: ps(times.mean()),
            p50_ps: ps(times.percentile(MEDIAN)),
            p99_ps: ps(times.percentile(P99)),
            max_ps: ps(times.largest()),
        }
    }
}

fn empty(tcp: &TcpSpec, world: &World) -> (TcpSummary, SpanDistribution) {
    let dropped = world.states().filter_map(|node| match node {
        FabricNode::Switch(switch) => {
            let ports = switch.ports().iter();
            Some(
                ports
                    .map(|port| {
                        port.by_priority()
                            .map_or(0, |counted| counted[usize::from(tcp.priority)].dropped_early_or_late())
                    })
                    .sum::<u64>(),
            )
        }
        // TCP is not supported on scheduled switches.
        FabricNode::Host(_) | FabricNode::Scheduled(_) => None,
    });
    let summary = TcpSummary {
        name: tcp.name.clone(),
        offered_bytes: tcp.rate_bps.map(|_| 0),
        dropped_frames: dropped.sum(),
        ..TcpSummary::default()
    };
    (summary, SpanDistribution::default())
}

fn add(summary: &mut TcpSummary, row: &ConnectionRow) {
    summary.start_ps = summary.start_ps.into_iter().chain(row.start_ps).min();
    summary.end_ps = summary.end_ps.max(row.end_ps);
    summary.connections += 1;
    summary.connections_complete += u64::from(row.is_complete);
    summary.offered_bytes = summary.offered_bytes.zip(row.offered_bytes).map(|(sum, more)| sum + more);
    summary.delivered_bytes += row.delivered_bytes;
    summary.segments += row.segments;
    summary.retransmits += row.retransmits;
    summary.timeouts += row.timeouts;
    summary.fast_recoveries += row.fast_recoveries;
    summary.ecn_ce_rx += row.ecn_ce_rx;
}

fn row(number: u32, each: &Connection, source: &TcpSource, sink: &TcpSink, end: Instant) -> ConnectionRow {
    let (sender, start) = (source.sender(), source.writes().start);
    let counters = sender.counters();
    let times = sender.rtt().distribution();
    let ps = |span: Option<Span>| span.map(|span| span.0);
    let end = source.closed().unwrap_or(end);
    let writes = WriteTimes::of(source.write_times());
    ConnectionRow {
        tcp: each.tcp,
        connection: number,
        source_port: each.source_port,
        src_rank: each.src.0,
        dst_rank: each.dst.0,
        src_host: each.src_host.0,
        dst_host: each.dst_host.0,
        start_ps: (start < end).then_some(start.0),
        end_ps: end.0,
        is_complete: source.closed().is_some(),
        offered_bytes: source.writes().offered(end),
        delivered_bytes: sink.delivered(),
        acked_bytes: sender.acked(),
        segments: counters.segments,
        retransmits: counters.retransmissions,
        timeouts: counters.timeouts,
        fast_recoveries: counters.fast_recoveries,
        ecn_ce_rx: sink.marks(),
        rtt_samples: times.total(),
        rtt_mean_ps: ps(times.mean()),
        rtt_p50_ps: ps(times.percentile(MEDIAN)),
        rtt_p99_ps: ps(times.percentile(P99)),
        rtt_max_ps: ps(times.largest()),
        writes: writes.count,
        write_mean_ps: writes.mean_ps,
        write_p50_ps: writes.p50_ps,
        write_p99_ps: writes.p99_ps,
        write_max_ps: writes.max_ps,
        window_bytes: sender.window().bytes,
    }
}
