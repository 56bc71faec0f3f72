//! Builds the TCP connections of a run: pairs of ranks, ports and start times, and the endpoints at each
//! host.

use crate::nic::{HostTcp, TcpEndPlan, TcpSink, TcpSource, Writes};
use crate::packet::{ConnectionId, ConnectionKind, Path, Priority};
use crate::setup::Fabric;
use jobs::refusal;
use paths::five_tuple_hash;
use spec::{RunSpec, SpecError, TcpSpec, unsupported};
use std::collections::HashSet;
use std::net::SocketAddrV4;
use std::sync::Arc;
use transport::tcp::TcpConfig;
use units::{AttachmentId, HostId, Instant, Rank, Seed, Span};
use workload::Shape;

/// First source port of a connection (RFC 6335: dynamic ports), and number of ports to draw from.
const SOURCE_PORT_MIN: u16 = 49_152;
const SOURCE_PORTS: u64 = 1 << 14;
/// Destination port of all connections: that of iperf3.
pub(crate) const TCP_DESTINATION_PORT: u16 = 5_201;
/// Most connections of a run.
const CONNECTIONS_MAX: usize = 1 << 20;

/// A TCP connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// Index of its traffic in the spec.
    pub(crate) tcp: u32,
    pub(crate) src: Rank,
    pub(crate) dst: Rank,
    pub(crate) src_host: HostId,
    pub(crate) dst_host: HostId,
    pub(crate) src_attachment: AttachmentId,
    pub(crate) dst_attachment: AttachmentId,
    pub(crate) source_port: u16,
    /// Sequence number of its first byte.
    pub(crate) first_sequence: u32,
    /// Its index among the sources of its sending host, and among the sinks of its receiving host.
    pub(crate) source: u32,
    pub(crate) sink: u32,
    start: Instant,
    /// Connections of its sending host in the same traffic.
    siblings: u64,
}

/// The connections of all TCP traffic.
///
/// # Errors
/// When a collective is unknown or needs other ranks, there are too many connections, or two ranks cannot
/// reach each other.
pub(crate) fn connections(spec: &RunSpec, fabric: &Fabric) -> Result<Vec<Connection>, SpecError> {
    let mut connections = Vec::new();
    let mut counts = vec![(0_u32, 0_u32); fabric.graph.hosts()];
    for (index, tcp) in (0..).zip(&spec.tcp) {
        let pairs = pairs(spec, index, tcp)?;
        let count = pairs.len() * tcp.connections as usize + connections.len();
        if count > CONNECTIONS_MAX {
            let field = format!("tcp[{index}].connections");
            return Err(unsupported(
                field,
                format!("{count} connections"),
                format!("at most {CONNECTIONS_MAX}"),
            ));
        }
        let first = connections.len();
        for [src, dst] in pairs {
            for _ in 0..tcp.connections {
                let number = (connections.len() - first) as u64;
                connections.push(connection(spec, fabric, index, [src, dst], number, &mut counts)?);
            }
        }
        let mut siblings = vec![0; tcp.hosts.len()];
        connections[first..].iter().for_each(|each| siblings[each.src.index()] += 1);
        connections[first..].iter_mut().for_each(|each| each.siblings = siblings[each.src.index()]);
    }
    Ok(connections)
}

/// Distinct pairs of sender and receiver, in the order of the schedule.
fn pairs(spec: &RunSpec, index: u32, tcp: &TcpSpec) -> Result<Vec<[Rank; 2]>, SpecError> {
    let ranks = tcp.hosts.len() as u32;
    let field = format!("tcp[{index}].collective");
    let refuse = |error| refusal(&field, &error);
    let shape = Shape {
        ranks,
        // Any size that every pattern can divide among the ranks.
        data_bytes: u64::from(ranks) << 20,
        root: Rank(tcp.root),
        stream: Seed(spec.seed).stream("workload.pattern", u64::from(tcp.stream)),
    };
    let schedule = workload::schedule_for(&tcp.collective, &tcp.algorithm, &shape).map_err(refuse)?;
    let mut distinct = HashSet::new();
    let pairs = schedule.transfers().map(|transfer| [transfer.src, transfer.dst]);
    Ok(pairs.filter(|&pair| distinct.insert(pair)).collect())
}

fn connection(
    spec: &RunSpec,
    fabric: &Fabric,
    index: u32,
    [src, dst]: [Rank; 2],
    number: u64,
    counts: &mut [(u32, u32)],
) -> Result<Connection, SpecError> {
    let tcp = &spec.tcp[index as usize];
    let host = |rank: Rank| HostId(tcp.hosts[rank.index()]);
    let (src_host, dst_host) = (host(src), host(dst));
    let (src_attachment, dst_attachment) =
        fabric.graph.attachments_between(src_host, dst_host, number as u32);
    let switch = fabric.graph.attachment(src_attachment).switch;
    if fabric.routes.next_hops(switch, dst_attachment).is_empty() {
        let found = format!("host {src_host} cannot reach host {dst_host}");
        return Err(unsupported(format!("tcp[{index}].hosts"), found, "hosts that are joined by switches"));
    }
    // Random draws of this traffic do not depend on other traffic.
    let id = (u64::from(tcp.stream) << 32) | number;
    let draw = |name| Seed(spec.seed).family(name).stream(id);
    let (source, sink) = (counts[src_host.index()].0, counts[dst_host.index()].1);
    counts[src_host.index()].0 += 1;
    counts[dst_host.index()].1 += 1;
    Ok(Connection {
        tcp: index,
        src,
        dst,
        src_host,
        dst_host,
        src_attachment,
        dst_attachment,
        source_port: SOURCE_PORT_MIN + draw("tcp.source_port").below(SOURCE_PORTS) as u16,
        first_sequence: draw("tcp.first_sequence").next_u32(),
        source,
        sink,
        start: Instant(tcp.start_ps) + Span(draw("tcp.start").below(tcp.start_spread_ps + 1)),
        siblings: 1,
    })
}

/// The TCP endpoints of each host; `None` for a host without connections. Frames of connections in `captured`
/// are recorded.
pub(crate) fn host_tcp(
    spec: &RunSpec,
    fabric: &Fabric,
    connections: &[Connection],
    captured: &HashSet<u32>,
) -> Vec<Option<HostTcp>> {
    let mut hosts: Vec<Option<HostTcp>> = (0..fabric.graph.hosts()).map(|_| None).collect();
    let configs: Vec<_> = spec.tcp.iter().map(|tcp| Arc::new(config(tcp))).collect();
    for (number, each) in (0..).zip(connections) {
        let tcp = &spec.tcp[each.tcp as usize];
        let (src, dst) = (each.src_attachment, each.dst_attachment);
        let end = |attachment, port| SocketAddrV4::new(fabric.graph.attachment(attachment).ip, port);
        let (source_end, sink_end) = (end(src, each.source_port), end(dst, TCP_DESTINATION_PORT));
        let plan = |from: AttachmentId, destination, peer, entropy| TcpEndPlan {
            connection: number,
            config: Arc::clone(&configs[each.tcp as usize]),
            path: Path { destination, connection: ConnectionId::new(ConnectionKind::Tcp, peer), entropy },
            priority: Priority(tcp.priority),
            port: fabric.graph.attachment(from).host_port,
            is_captured: captured.contains(&number),
        };
        let there = five_tuple_hash(spec, source_end, sink_end);
        let back = five_tuple_hash(spec, sink_end, source_end);
        let source =
            TcpSource::new(plan(src, dst, each.sink, there), writes(tcp, each), tcp.duration_ps.is_none());
        let sink = TcpSink::new(plan(dst, src, each.source, back));
        hosts[each.src_host.index()].get_or_insert_default().sources.push(source);
        hosts[each.dst_host.index()].get_or_insert_default().sinks.push(sink);
    }
    hosts
}

fn writes(tcp: &TcpSpec, connection: &Connection) -> Writes {
    let stop =
        tcp.duration_ps.map_or(Instant::NEVER, |duration| Instant(tcp.start_ps.saturating_add(duration)));
    Writes {
        start: connection.start,
        stop,
        bytes: tcp.write_bytes.next_multiple_of(u64::from(tcp.mss_bytes())),
        rate_bps: tcp.rate_bps.map(|rate| (rate / connection.siblings).max(1)),
        outstanding: tcp.outstanding_writes,
    }
}

const fn config(tcp: &TcpSpec) -> TcpConfig {
    TcpConfig {
        mss_bytes: tcp.mss_bytes(),
        initial_window_segments: tcp.initial_window_segments,
        window_bytes: tcp.window_bytes,
        ack_every: tcp.ack_every,
        delayed_ack: Span(tcp.delayed_ack_ps),
        rto_initial: Span(tcp.rto_initial_ps),
        rto_min: Span(tcp.rto_min_ps),
        rto_max: Span(tcp.rto_max_ps),
        congestion: tcp.congestion,
    }
}
