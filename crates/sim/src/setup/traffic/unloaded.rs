//! Computes the completion times of messages and storage operations on an idle fabric, the reference of
//! slowdowns.
//!
//! Models the first of the equal-cost paths: each link transmits frame after frame at line rate,
//! store-and-forward or cut-through. In scheduled fabrics all fabric links together transmit the cells of
//! each frame. Leaves out impaired NICs, receive buffers, rate control, windows and the wait for credits:
//! these are part of the slowdown.

use crate::link::egress::WHOLE_FRAME;
use crate::nic::{COMMAND_BYTES, COMPLETION_BYTES, write_opcode};
use crate::setup::Fabric;
use crate::setup::switches::scheduled::host_ports;
use crate::switch::scheduled::CellStream;
use spec::{LossRecovery, QpType, RunSpec, ScheduledSpec, StorageSpec, TransportSpec};
use std::collections::VecDeque;
use topology::Attachment;
use transport::{Position, Verb};
use units::{AttachmentId, Instant, NodeId, Rate, Span};
use wire::size::{ACK_FRAME_BYTES, data_frame_bytes};
use wire::{Framing, Opcode};

/// A segment of a path.
enum Hop {
    Link(Link),
    Cells(Cells),
}

/// A link of a path.
struct Link {
    rate: Rate,
    framing: Framing,
    /// Time after which the next node may act on a frame; `None` if it waits for the last bit.
    head: Option<Span>,
    /// From then until it acts.
    latency: Span,
    free_at: Instant,
}

/// From one scheduled leaf to another: the links up, and the links down, each transmit cells as one stream.
struct Cells {
    bytes: u64,
    header_bytes: u64,
    link_rate: Rate,
    /// Total rate of all links.
    rate: Rate,
    up: CellStream,
    down: CellStream,
    /// From the last bit on a link up, and on a link down, until the other end acts.
    latencies: [Span; 2],
}

impl Cells {
    /// From the leaf at `node` to that of `to`.
    fn new(scheduled: &ScheduledSpec, fabric: &Fabric, node: NodeId, port: u16, to: AttachmentId) -> Self {
        let leaf = fabric.graph.node(node);
        let end = leaf.ports[usize::from(port)];
        let down = fabric.routes.next_hops(end.peer, to)[0];
        let link_rate = fabric.graph.link(end.link).rate.scaled(scheduled.fabric_speedup_ppm);
        let links = (leaf.ports.len() - host_ports(&fabric.graph, leaf)) as u64;
        Self {
            bytes: scheduled.cell_bytes.into(),
            header_bytes: scheduled.cell_header_bytes.into(),
            link_rate,
            rate: Rate::from_bps(link_rate.bps().saturating_mul(links)),
            up: CellStream::default(),
            down: CellStream::default(),
            latencies: [fabric.latency(node, port), fabric.latency(end.peer, down)],
        }
    }

    /// Transmits a frame that is complete at one leaf at `at`; returns the time of its last cell at the
    /// other. Cells are counted without rounding, as frames may share them: no real stream of cells is
    /// faster.
    fn cross(&mut self, at: Instant, frame_bytes: u32) -> Instant {
        let frame_bytes = u64::from(frame_bytes);
        let is_first = self.up.free_at == Instant::ZERO;
        let last_bytes = if is_first { self.bytes.min(frame_bytes + self.header_bytes) } else { 0 };
        let last_span = self.link_rate.span_of(last_bytes);
        let span = self.rate.span_of(frame_bytes * self.bytes / (self.bytes - self.header_bytes));
        let at_spine = self.up.carry(at, at, span, last_span) + self.latencies[0];
        self.down.carry(Instant(at_spine.0 - span.0), at_spine, span, last_span) + self.latencies[1]
    }
}

/// State that consists of times which advance as frames pass.
trait Clocked {
    /// Calls `act` with each of its times, always in the same order.
    fn each_time(&mut self, act: &mut dyn FnMut(&mut Instant));
}

impl Clocked for Vec<Hop> {
    fn each_time(&mut self, act: &mut dyn FnMut(&mut Instant)) {
        for hop in self {
            match hop {
                Hop::Link(link) => act(&mut link.free_at),
                Hop::Cells(cells) => [&mut cells.up, &mut cells.down]
                    .into_iter()
                    .for_each(|stream| stream.times().into_iter().for_each(&mut *act)),
            }
        }
    }
}

/// Repeats `act` `count` times, for example to send frames of one size that are all ready by then.
///
/// Each time depends on the previous ones by sums and maxima only. So once an iteration advances all times by
/// the same amount, all later ones do, and the remaining iterations are added at once.
fn repeat<C: Clocked>(clocked: &mut C, count: u64, mut act: impl FnMut(&mut C)) {
    let mut before: Vec<Instant> = Vec::new();
    for done in 1..=count {
        act(clocked);
        let mut times = Vec::with_capacity(before.len());
        clocked.each_time(&mut |time| times.push(*time));
        let mut steps = times.iter().zip(&before).map(|(time, before)| time.since(*before));
        if let Some(step) = steps.next()
            && steps.all(|other| other == step)
        {
            let rest = Span(step.0 * (count - done));
            return clocked.each_time(&mut |time| *time += rest);
        }
        before = times;
    }
}

/// Time from the release of `bytes` at one port to the acknowledgement of their last packet, or to its
/// arrival if nothing is acknowledged.
pub(crate) fn unloaded(spec: &RunSpec, fabric: &Fabric, [from, to]: [AttachmentId; 2], bytes: u64) -> Span {
    let mut forward = path(spec, fabric, from, to);
    let arrived = if bytes == 0 {
        // A message without payload is still one frame.
        cross(&mut forward, Instant::ZERO, fabric.framing.frame_bytes(write_opcode(Position::Only), 0))
    } else {
        let frame = |starts: bool, _: bool, payload_bytes| {
            let is_single = starts || spec.transport.recovery == LossRecovery::Selective;
            let position = if is_single { Position::Only } else { Position::Middle };
            fabric.framing.frame_bytes(write_opcode(position), payload_bytes)
        };
        send_all(&spec.transport, &mut forward, Instant::ZERO, bytes, frame)
    };
    let ended = match spec.transport.connection {
        QpType::Rc => cross(&mut path(spec, fabric, to, from), arrived, fabric.framing.ack_frame_bytes()),
        QpType::Uc => arrived,
    };
    ended.since(Instant::ZERO)
}

/// Time from the issue of a storage operation by the client at one port to the arrival of its completion from
/// the target at the other.
pub(crate) fn unloaded_operation(
    spec: &RunSpec,
    fabric: &Fabric,
    [client, target]: [AttachmentId; 2],
    storage: &StorageSpec,
    is_read: bool,
) -> Span {
    let (transport, block_bytes) = (&spec.transport, storage.block_bytes);
    let (mut there, mut back) = (path(spec, fabric, client, target), path(spec, fabric, target, client));
    let in_capsule = !is_read && block_bytes <= storage.in_capsule_bytes;
    let command_bytes = COMMAND_BYTES + if in_capsule { block_bytes } else { 0 };
    let mut at = Instant::ZERO;
    let command = message(transport, Opcode::send, command_bytes).collect::<Vec<_>>();
    for (index, &frame_bytes) in (1..).zip(&command) {
        at = cross(&mut there, Instant::ZERO, frame_bytes);
        if index == command.len() || (index as u64).is_multiple_of(transport.ack_every.into()) {
            cross(&mut back, at, ACK_FRAME_BYTES);
        }
    }
    if !is_read && !in_capsule {
        let outstanding = vec![at; storage.outstanding_reads as usize];
        let mut reads = Reads { there, back, outstanding: outstanding.into() };
        at = reads.fetch(transport, block_bytes);
        back = reads.back;
    }
    let storing = storage.service_rate_bps.map(|rate| Rate::from_bps(rate).span_of(block_bytes));
    at = at + Span(storage.service_time_ps) + storing.unwrap_or_default();
    if is_read {
        let frame =
            |starts, ends, payload_bytes| data_frame_bytes(Opcode::write(starts, ends), payload_bytes);
        send_all(transport, &mut back, at, block_bytes, frame);
    }
    let completion = data_frame_bytes(Opcode::SendOnly, COMPLETION_BYTES as u32);
    cross(&mut back, at, completion).since(Instant::ZERO)
}

/// A target that fetches data with READs.
struct Reads {
    there: Vec<Hop>,
    back: Vec<Hop>,
    /// Completion times of the READs in flight, oldest first; the next READ waits for the first of them.
    outstanding: VecDeque<Instant>,
}

impl Clocked for Reads {
    fn each_time(&mut self, act: &mut dyn FnMut(&mut Instant)) {
        self.there.each_time(act);
        self.back.each_time(act);
        self.outstanding.iter_mut().for_each(&mut *act);
    }
}

impl Reads {
    /// Fetches `bytes`, each message with a READ; returns the time of the last byte.
    fn fetch(&mut self, transport: &TransportSpec, bytes: u64) -> Instant {
        let batch = transport.message_bytes * self.outstanding.len() as u64;
        repeat(self, bytes / batch, |reads| reads.fetch_batch(transport, batch));
        self.fetch_batch(transport, bytes % batch);
        self.outstanding.back().copied().unwrap_or_default()
    }

    /// Fetches `bytes` with READs, each of which waits for an earlier one.
    fn fetch_batch(&mut self, transport: &TransportSpec, bytes: u64) {
        let request = data_frame_bytes(Verb::Read.opcode(Position::Only), 0);
        let frame = |starts, ends, payload_bytes| {
            data_frame_bytes(Opcode::read_response(starts, ends), payload_bytes)
        };
        for start in (0..bytes).step_by(transport.message_bytes as usize) {
            let before = self.outstanding.pop_front().unwrap_or_default();
            let requested = cross(&mut self.back, before, request);
            let message_bytes = (bytes - start).min(transport.message_bytes);
            let fetched = send_message(transport, &mut self.there, requested, message_bytes, frame);
            self.outstanding.push_back(fetched);
        }
    }
}

/// Sends `bytes` that are ready at `at`, divided into messages; returns the arrival of the last. `frame`
/// returns the size of a frame from: whether it starts its message, whether it ends it, its payload.
fn send_all(
    transport: &TransportSpec,
    path: &mut Vec<Hop>,
    at: Instant,
    bytes: u64,
    frame: impl Fn(bool, bool, u32) -> u32,
) -> Instant {
    let (full, rest) = (bytes / transport.message_bytes, bytes % transport.message_bytes);
    let mut train = Train { path, arrived: at };
    repeat(&mut train, full, |train| {
        train.arrived = send_message(transport, train.path, at, transport.message_bytes, &frame);
    });
    if rest > 0 { send_message(transport, train.path, at, rest, &frame) } else { train.arrived }
}

/// Consecutive frames or messages on a path.
struct Train<'a> {
    path: &'a mut Vec<Hop>,
    /// Arrival of the last one.
    arrived: Instant,
}

impl Clocked for Train<'_> {
    fn each_time(&mut self, act: &mut dyn FnMut(&mut Instant)) {
        self.path.each_time(act);
        act(&mut self.arrived);
    }
}

/// [`send_all`] for one message.
fn send_message(
    transport: &TransportSpec,
    path: &mut Vec<Hop>,
    at: Instant,
    bytes: u64,
    frame: impl Fn(bool, bool, u32) -> u32,
) -> Instant {
    let mtu = u64::from(transport.mtu_bytes);
    let frames = bytes.div_ceil(mtu);
    let last = (bytes - (frames - 1) * mtu) as u32;
    if frames == 1 {
        return cross(path, at, frame(true, true, last));
    }
    cross(path, at, frame(true, false, transport.mtu_bytes));
    let middle = frame(false, false, transport.mtu_bytes);
    repeat(path, frames - 2, |path| _ = cross(path, at, middle));
    cross(path, at, frame(false, true, last))
}

/// Sizes of the frames of one message.
fn message(
    transport: &TransportSpec,
    opcode: fn(bool, bool) -> Opcode,
    bytes: u64,
) -> impl Iterator<Item = u32> {
    let mtu = u64::from(transport.mtu_bytes);
    (0..bytes).step_by(mtu as usize).map(move |offset| {
        let payload = (bytes - offset).min(mtu);
        data_frame_bytes(opcode(offset == 0, offset + payload == bytes), payload as u32)
    })
}

/// Sends a frame that is ready at `at` along `path`; returns its arrival.
fn cross(path: &mut [Hop], at: Instant, frame_bytes: u32) -> Instant {
    path.iter_mut().fold(at, |at, hop| match hop {
        Hop::Cells(cells) => cells.cross(at, frame_bytes),
        Hop::Link(link) => {
            let start = at.max(link.free_at);
            link.free_at = link.rate.frame_end(start, frame_bytes, link.framing.link_overhead_bytes());
            link.head.map_or(link.free_at, |head| start + head) + link.latency
        }
    })
}

/// The first of the equal paths.
fn path(spec: &RunSpec, fabric: &Fabric, from: AttachmentId, to: AttachmentId) -> Vec<Hop> {
    let Attachment { host, host_port, .. } = *fabric.graph.attachment(from);
    let mut hops: Vec<Hop> = Vec::new();
    let (mut node, mut port) = (NodeId(host.0), host_port);
    let leaf = fabric.graph.attachment(to).switch;
    loop {
        let end = fabric.graph.node(node).ports[usize::from(port)];
        if let Some(scheduled) = &spec.fabric.switch.scheduled
            && node.index() >= fabric.graph.hosts()
            && node != leaf
        {
            hops.push(Hop::Cells(Cells::new(scheduled, fabric, node, port, to)));
            (node, port) = (leaf, fabric.routes.next_hops(leaf, to)[0]);
            continue;
        }
        let rate = fabric.graph.link(end.link).rate;
        // At an output port faster than the previous link, a frame that is cut through would underrun.
        if let Some(Hop::Link(before)) = hops.last_mut()
            && before.rate.bps() < rate.bps()
        {
            before.head = None;
        }
        let head = Some(fabric.head_bytes(node, port)).filter(|&head| head != WHOLE_FRAME);
        let head = head.map(|head| rate.frame_span(head.into(), 0));
        let latency = fabric.latency(node, port);
        hops.push(Hop::Link(Link { rate, framing: fabric.framing, head, latency, free_at: Instant::ZERO }));
        node = end.peer;
        if node.index() < fabric.graph.hosts() {
            return hops;
        }
        port = fabric.routes.next_hops(node, to)[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn transport(mtu_bytes: u32, message_bytes: u64) -> TransportSpec {
        let rate_control = spec::RateControlSpec::LINE_RATE;
        let priorities = spec::PrioritySpec { data: 3, ack: 6, cnp: 6 };
        TransportSpec {
            mtu_bytes,
            message_bytes,
            connection: QpType::Rc,
            qp_mode: spec::QpMode::PerPair,
            qps_per_rank_pair: 1,
            ack_every: 2,
            window_packets: 1 << 23,
            recovery: LossRecovery::GoBackN,
            ooo_window_packets: 512,
            priorities,
            dscp: None,
            timeout_ps: 1,
            retry_count: 7,
            rate_control,
        }
    }

    /// A path of links, each `(Gb/s, cut-through, latency)`, and of cells after the first one if `has_cells`.
    fn path_of(links: &[(u64, bool, u64)], has_cells: bool) -> Vec<Hop> {
        let link = |&(gbps, cuts, latency): &(u64, bool, u64)| {
            let rate = Rate::from_gbps(gbps);
            let head = cuts.then(|| rate.frame_span(64, 0));
            let (framing, latency) = (Framing::Ethernet, Span(latency));
            Hop::Link(Link { rate, framing, head, latency, free_at: Instant::ZERO })
        };
        let mut path: Vec<Hop> = links.iter().map(link).collect();
        if has_cells {
            let cells = Cells {
                bytes: 256,
                header_bytes: 16,
                link_rate: Rate::from_gbps(50),
                rate: Rate::from_gbps(350),
                up: CellStream::default(),
                down: CellStream::default(),
                latencies: [Span(700_000), Span(650_001)],
            };
            path.insert(1, Hop::Cells(cells));
        }
        path
    }

    fn frame(starts: bool, ends: bool, payload_bytes: u32) -> u32 {
        data_frame_bytes(Opcode::write(starts, ends), payload_bytes)
    }

    /// Sends frame by frame.
    fn one_by_one(transport: &TransportSpec, path: &mut [Hop], at: Instant, bytes: u64) -> Instant {
        let mut arrived = at;
        for start in (0..bytes).step_by(transport.message_bytes as usize) {
            let size = (bytes - start).min(transport.message_bytes);
            for frame_bytes in message(transport, Opcode::write, size) {
                arrived = cross(path, at, frame_bytes);
            }
        }
        arrived
    }

    proptest! {
        #[test]
        fn repetition_takes_as_long_as_frame_by_frame(
            links in prop::collection::vec((1_u64..800, any::<bool>(), 1_000_u64..3_000_000), 1..6),
            has_cells: bool,
            mtu in prop::sample::select(vec![256_u32, 1024, 4096]),
            message_packets in 1_u64..40,
            odd in 0_u64..300,
            bytes in 1_u64..3_000_000,
            at in 0_u64..5_000_000,
        ) {
            let transport = transport(mtu, (message_packets * u64::from(mtu)).saturating_sub(odd).max(1));
            let mut quick = path_of(&links, has_cells);
            let mut slow = path_of(&links, has_cells);
            let bytes = bytes.min(transport.message_bytes * 2_000);
            let sent = send_all(&transport, &mut quick, Instant(at), bytes, frame);
            prop_assert_eq!(sent, one_by_one(&transport, &mut slow, Instant(at), bytes));
            // Later frames see the same state of the path.
            prop_assert_eq!(cross(&mut quick, Instant(at), 100), cross(&mut slow, Instant(at), 100));
        }

        #[test]
        fn reads_that_repeat_take_as_long_as_one_by_one(
            there in prop::collection::vec((1_u64..800, any::<bool>(), 1_000_u64..3_000_000), 1..5),
            back in prop::collection::vec((1_u64..800, any::<bool>(), 1_000_u64..3_000_000), 1..5),
            outstanding in 1_usize..9,
            bytes in 1_u64..2_000_000,
            at in 0_u64..5_000_000,
        ) {
            let transport = transport(1024, 8_192);
            let reads = || Reads {
                there: path_of(&there, false),
                back: path_of(&back, false),
                outstanding: vec![Instant(at); outstanding].into(),
            };
            let mut slow = reads();
            slow.fetch_batch(&transport, bytes);
            prop_assert_eq!(reads().fetch(&transport, bytes), slow.outstanding.back().copied().unwrap_or_default());
        }
    }
}
