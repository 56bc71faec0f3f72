//! Rejects specs with delays that the flow model neglects but real senders react to: round-trip times on idle
//! paths above the target of the rate control, and waits behind other queue pairs beyond the retransmission
//! timeout.
//!
//! Flows have no delays for senders to react to: Swift keeps its largest window, TIMELY its rate, and no
//! timer expires. If the round-trip time of an idle path already exceeds the target of Swift or the upper
//! limit of TIMELY, real senders slow down to almost nothing. If an acknowledgement may arrive after the
//! timeout, packets that were not lost are resent. Both make a run of packets many times as long, so a spec
//! with such delays is rejected.

use crate::network::idle_time::FrameCount;
use crate::network::paths::{Path, Paths};
use crate::rates::{time_for, work_of_bytes};
use jobs::Jobs;
use spec::{JobSpec, RunSpec, SpecError, TransportSpec, unsupported};
use std::collections::HashMap;
use topology::Graph;
use units::{HostId, Rate, Span};
use workload::Relay;

/// Upper bound of the links of a path in both directions, for a bound of delays without paths.
const LINKS_MAX: u64 = 24;
/// Upper bound of the size of a frame, for the same bound.
const FRAME_BYTES_MAX: u64 = 4_300;

/// Checks that no delay is too long.
///
/// # Errors
/// When one is, with the hosts.
pub(crate) fn check(spec: &RunSpec, paths: &Paths, jobs: &Jobs) -> Result<(), SpecError> {
    let graph = &paths.network.graph;
    if !may_exceed(spec, graph) {
        return Ok(());
    }
    let may_expire = may_expire(spec, graph);
    let (mut delays, mut loads) = (Delays::new(spec), Loads::default());
    for pair in jobs.queue_pairs().filter(|pair| !pair.is_local()) {
        let mut chunks = jobs.chunks_of(pair.number).peekable();
        let Some(&first) = chunks.peek() else { continue };
        let mut path = paths.of(jobs, first);
        paths.find_ack_legs(&mut path);
        if path.legs.is_empty() || path.ack_legs.is_empty() {
            continue;
        }
        let bytes = jobs.chunk(first).bytes;
        delays.add(paths, &path, Hosts { from: pair.src_host, to: pair.dst_host }, bytes);
        if !may_expire {
            continue;
        }
        let outstanding = delays.outstanding(paths, bytes);
        let mut steps: Vec<u32> = chunks.map(|chunk| jobs.chunk_with_pair(chunk).1.step).collect();
        steps.dedup();
        steps.into_iter().for_each(|step| loads.add(&path, step, outstanding));
    }
    delays.check(loads.longest_wait(spec, paths))
}

/// [`check`] for rings whose blocks never wait for each other.
pub(crate) fn check_rings<'a>(
    spec: &RunSpec,
    paths: &Paths,
    rings: impl Iterator<Item = (&'a JobSpec, &'a Relay)>,
) -> Result<(), SpecError> {
    if !may_exceed(spec, &paths.network.graph) {
        return Ok(());
    }
    let mut delays = Delays::new(spec);
    let parts = u64::from(spec.transport.qps_per_rank_pair);
    for (job, ring) in rings {
        for rank in 0..ring.ranks {
            let [from, to] = [rank, (rank + 1) % ring.ranks].map(|rank| HostId(job.hosts[rank as usize]));
            if from == to {
                continue;
            }
            let (source, destination) = paths.network.graph.attachments_between(from, to, 0);
            let bytes = ring.bytes(rank).div_ceil(parts);
            if let Some(path) = paths.between([source, destination], bytes) {
                delays.add(paths, &path, Hosts { from, to }, bytes);
            }
        }
    }
    delays.check(Span::ZERO)
}

/// Whether paths must be examined.
pub(crate) fn may_exceed(spec: &RunSpec, graph: &Graph) -> bool {
    spec.transport.rate_control.config().target_delay(0).is_some() || may_expire(spec, graph)
}

/// Whether the timeout is not above an upper bound of all delays.
fn may_expire(spec: &RunSpec, graph: &Graph) -> bool {
    let slowest = graph.links.iter().map(|link| link.rate.bps()).min().unwrap_or(1);
    let cable = graph.links.iter().map(|link| link.delay).max().unwrap_or_default();
    let latency = spec.fabric.nic.latency_ps.max(spec.fabric.switch.pipeline_latency_ps);
    let packets = u64::from(spec.transport.ack_every) + LINKS_MAX;
    let bytes = packets * FRAME_BYTES_MAX + spec.fabric.switch.buffer.size_bytes;
    let wait = Rate::from_bps(slowest).span_of(bytes);
    let longest = LINKS_MAX * (cable.0 + latency) + wait.0;
    spec.transport.timeout_ps <= longest
}

/// The longest delays on idle paths.
struct Delays<'a> {
    transport: &'a TransportSpec,
    /// The round-trip time that exceeds its target most.
    late: Option<LateRoundTrip>,
    /// The longest time from a post to its first acknowledgement.
    acknowledged: FirstAcknowledgement,
    /// Times of all paths of one kind.
    computed: HashMap<DelayKey, IdleDelays>,
}

/// Hosts of a queue pair.
#[derive(Clone, Copy, Default)]
struct Hosts {
    from: HostId,
    to: HostId,
}

struct LateRoundTrip {
    rtt: Span,
    target: Span,
    hosts: Hosts,
}

#[derive(Default)]
struct FirstAcknowledgement {
    after: Span,
    hosts: Hosts,
}

/// Kinds of the links of a path in both directions, and sizes of its first packet and first flight [bytes].
#[derive(PartialEq, Eq, Hash)]
struct DelayKey {
    links: Vec<u32>,
    packet_bytes: u64,
    flight_bytes: u64,
}

/// Delays from the post of a chunk.
#[derive(Clone, Copy)]
struct IdleDelays {
    /// Until its first packet is acknowledged, if it is acknowledged at once.
    packet: Span,
    /// Until the first acknowledgement.
    acknowledged: Span,
}

/// Bytes that a queue pair may have on a link.
#[derive(Clone, Copy)]
struct Outstanding {
    /// Before its first acknowledgement.
    flight: u64,
    /// Before its window is full.
    window: u64,
}

impl<'a> Delays<'a> {
    fn new(spec: &'a RunSpec) -> Self {
        let acknowledged = FirstAcknowledgement::default();
        Self { transport: &spec.transport, late: None, acknowledged, computed: HashMap::new() }
    }

    /// Bytes of a chunk that are sent before the first acknowledgement.
    fn first_flight(&self, paths: &Paths, bytes: u64) -> u64 {
        let packets = u64::from(self.transport.ack_every).min(paths.window_packets);
        (packets * paths.frames.mtu_bytes()).min(self.transport.message_bytes).min(bytes)
    }

    fn outstanding(&self, paths: &Paths, bytes: u64) -> Outstanding {
        let FrameCount { frames, wire_bytes, .. } = paths.frames.count(bytes);
        let window = (wire_bytes / frames.max(1)).saturating_mul(paths.window_packets).min(wire_bytes);
        Outstanding { flight: paths.frames.count(self.first_flight(paths, bytes)).wire_bytes, window }
    }

    /// Adds the delays of a chunk on its path.
    fn add(&mut self, paths: &Paths, path: &Path, hosts: Hosts, bytes: u64) {
        let packet_bytes = paths.frames.mtu_bytes().min(bytes);
        let flight_bytes = self.first_flight(paths, bytes);
        let legs = path.legs.iter().chain(&path.ack_legs);
        let links = legs.map(|leg| paths.network.timing_index(leg.link)).collect();
        let key = DelayKey { links, packet_bytes, flight_bytes };
        let IdleDelays { packet, acknowledged } = *self.computed.entry(key).or_insert_with(|| {
            let ack_delay = paths.frames.ack_delay(&paths.network.timings(&path.ack_legs));
            let timings = paths.network.timings(&path.legs);
            let [packet, acknowledged] =
                [packet_bytes, flight_bytes].map(|bytes| paths.frames.unloaded(&timings, bytes) + ack_delay);
            IdleDelays { packet, acknowledged }
        });
        if acknowledged > self.acknowledged.after {
            self.acknowledged = FirstAcknowledgement { after: acknowledged, hosts };
        }
        let links = path.legs.len() as u64;
        let Some(target) = self.transport.rate_control.config().target_delay(links) else { return };
        let excess = self.late.as_ref().map_or(0, |late| late.rtt.0 - late.target.0);
        if packet.0.saturating_sub(target.0) > excess {
            self.late = Some(LateRoundTrip { rtt: packet, target, hosts });
        }
    }

    /// Checks that no delay is too long if acknowledgements wait up to `wait` behind others.
    fn check(&self, wait: Span) -> Result<(), SpecError> {
        if let Some(LateRoundTrip { rtt, target, hosts: Hosts { from, to } }) = self.late {
            let delays = format!(
                "a target of {target}, and {rtt} from host {from} to host {to} and back with nothing in the way"
            );
            let allowed = "a longer target (flows have no delay to react to)";
            return Err(unsupported("transport.rate_control", delays, allowed));
        }
        let FirstAcknowledgement { after, hosts: Hosts { from, to } } = self.acknowledged;
        let timeout = Span(self.transport.timeout_ps);
        if timeout > after + wait {
            return Ok(());
        }
        let delays = match timeout > after {
            true => format!(
                "{timeout}, and acknowledgements that may come after {} behind other queue pairs",
                after + wait
            ),
            false => format!(
                "{timeout}, and {after} until host {to} has acknowledged the first packets of host {from}"
            ),
        };
        let allowed = "a longer timeout (flows send nothing again after a timeout)";
        Err(unsupported("transport.timeout_ps", delays, allowed))
    }
}

/// Bytes that queue pairs may have on a link at once, by step and link.
#[derive(Default)]
struct Loads {
    of: HashMap<(u32, u32), Load>,
}

/// Bytes that all queue pairs may have on a link, and the smallest of them.
#[derive(Clone, Copy)]
struct Load {
    sum: u64,
    smallest: u64,
}

impl Loads {
    fn add(&mut self, path: &Path, step: u32, outstanding: Outstanding) {
        for (hop, leg) in path.legs.iter().enumerate() {
            // A host serves its queue pairs round robin, so the first packets of each wait for those of
            // others.
            let bytes = if hop == 0 { outstanding.flight } else { outstanding.window };
            let load = self.of.entry((step, leg.link)).or_insert(Load { sum: 0, smallest: u64::MAX });
            load.sum = load.sum.saturating_add(bytes);
            load.smallest = bytes.min(load.smallest);
        }
    }

    /// The longest time that a queue pair waits for the others, in a queue of at most one buffer.
    fn longest_wait(&self, spec: &RunSpec, paths: &Paths) -> Span {
        let waits = self.of.iter().map(|(&(_, link), &Load { sum, smallest })| {
            let bytes = (sum - smallest).min(spec.fabric.switch.buffer.size_bytes);
            time_for(work_of_bytes(bytes), paths.network.capacity(link))
        });
        waits.max().unwrap_or_default()
    }
}
