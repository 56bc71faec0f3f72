//! How long a message takes on a fabric that carries nothing else: what its slowdown is measured against.
//!
//! Models each link of the first of the equal paths taking frame after frame at line rate, stored and
//! forwarded or cut through; of scheduled switches, all fabric links together taking the cells of each frame.
//! Leaves out impaired NICs, receive buffers, rate control, windows and the wait for credits: they are part
//! of the slowdown.

use super::Fabric;
use super::scheduled::host_ports;
use crate::link::egress::WHOLE_FRAME;
use crate::nic::{COMMAND_BYTES, COMPLETION_BYTES, write_opcode};
use crate::switch::scheduled::CellStream;
use spec::{LossRecovery, RunSpec, ScheduledSpec, StorageSpec, TransportSpec};
use topology::Attachment;
use transport::{Position, Verb};
use units::{AttachmentId, Instant, NodeId, Rate, Span};
use wire::size::{ACK_FRAME_BYTES, data_frame_bytes};
use wire::{Framing, Opcode};

/// A part of a path.
enum Hop {
    Link(Link),
    Cells(Cells),
}

/// A link of a path.
struct Link {
    rate: Rate,
    framing: Framing,
    /// Time after which the next node may act on a frame; none if it waits for the last bit.
    head: Option<Span>,
    /// From then on until it acts.
    latency: Span,
    free_at: Instant,
}

/// From one scheduled leaf to another: all fabric links up, and all down, take the cells of frames in one
/// stream.
struct Cells {
    bytes: u64,
    header_bytes: u64,
    link_rate: Rate,
    /// All links together.
    rate: Rate,
    up: CellStream,
    down: CellStream,
    /// From the last bit on a link up, and on one down, until the other end acts.
    latencies: [Span; 2],
}

impl Cells {
    /// From the leaf at `node` to that of `to`.
    fn new(
        scheduled: &ScheduledSpec,
        fabric: &Fabric,
        (node, port): (NodeId, u16),
        to: AttachmentId,
    ) -> Self {
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

    /// A frame that is whole at one leaf at `at` is so at the other when its last cell is. Cells are counted
    /// without rounding, as frames may share them: no real stream of them is faster.
    fn cross(&mut self, at: Instant, frame_bytes: u32) -> Instant {
        let frame_bytes = u64::from(frame_bytes);
        let is_first = self.up.free_at == Instant::ZERO;
        let last_bytes = if is_first { self.bytes.min(frame_bytes + self.header_bytes) } else { 0 };
        let alone = self.link_rate.span_of(last_bytes);
        let span = self.rate.span_of(frame_bytes * self.bytes / (self.bytes - self.header_bytes));
        let at_spine = self.up.carry(at, at, span, alone) + self.latencies[0];
        self.down.carry(Instant(at_spine.0 - span.0), at_spine, span, alone) + self.latencies[1]
    }
}

/// From the offer of `bytes` at one port to the acknowledgement of their last packet.
pub(super) fn unloaded(spec: &RunSpec, fabric: &Fabric, [from, to]: [AttachmentId; 2], bytes: u64) -> Span {
    let mut forward = path(spec, fabric, from, to);
    let arrivals = frames(&spec.transport, fabric.framing, bytes)
        .map(|frame_bytes| cross(&mut forward, Instant::ZERO, frame_bytes));
    let arrived = arrivals.last().unwrap_or_default();
    cross(&mut path(spec, fabric, to, from), arrived, fabric.framing.ack_frame_bytes()).since(Instant::ZERO)
}

/// From the issue of a storage operation by the client at one port to the arrival of its completion from the
/// target at the other.
pub(super) fn unloaded_operation(
    spec: &RunSpec,
    fabric: &Fabric,
    [client, target]: [AttachmentId; 2],
    block_bytes: u64,
    storage: &StorageSpec,
    is_read: bool,
) -> Span {
    let transport = &spec.transport;
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
        at = fetched(transport, (&mut there, &mut back), at, block_bytes, storage.outstanding_reads);
    }
    let storing = storage.service_rate_bps.map(|rate| Rate::from_bps(rate).span_of(block_bytes));
    at = at + Span(storage.service_time_ps) + storing.unwrap_or_default();
    if is_read {
        for size in messages(transport, block_bytes) {
            message(transport, Opcode::write, size)
                .for_each(|frame_bytes| _ = cross(&mut back, at, frame_bytes));
        }
    }
    let completion = data_frame_bytes(Opcode::SendOnly, COMPLETION_BYTES as u32);
    cross(&mut back, at, completion).since(Instant::ZERO)
}

/// When a target has `bytes` that it asks for from `at` on, each message with a READ, so many of them at
/// once.
fn fetched(
    transport: &TransportSpec,
    (there, back): (&mut [Hop], &mut [Hop]),
    at: Instant,
    bytes: u64,
    outstanding_reads: u32,
) -> Instant {
    let request = data_frame_bytes(Verb::Read.opcode(Position::Only), 0);
    let mut fetched: Vec<Instant> = Vec::new();
    for (index, size) in messages(transport, bytes).enumerate() {
        let before = index.checked_sub(outstanding_reads as usize);
        let asked = cross(back, before.map_or(at, |index| fetched[index]), request);
        let arrivals = message(transport, Opcode::read_response, size)
            .map(|frame_bytes| cross(there, asked, frame_bytes));
        fetched.push(arrivals.last().unwrap_or(asked));
    }
    fetched.last().copied().unwrap_or(at)
}

/// Sizes of the messages of a transfer.
fn messages(transport: &TransportSpec, bytes: u64) -> impl Iterator<Item = u64> {
    let message_bytes = transport.message_bytes;
    (0..bytes).step_by(message_bytes as usize).map(move |start| (bytes - start).min(message_bytes))
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

/// Sends a frame that is ready at `at` along `path`; returns when it has arrived.
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
            hops.push(Hop::Cells(Cells::new(scheduled, fabric, (node, port), to)));
            (node, port) = (leaf, fabric.routes.next_hops(leaf, to)[0]);
            continue;
        }
        let rate = fabric.graph.link(end.link).rate;
        // Out of a port faster than the one before it, a frame that cuts through would run dry.
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

/// Sizes of the frames of a transfer; one without payload is a frame all the same.
fn frames(transport: &TransportSpec, framing: Framing, bytes: u64) -> impl Iterator<Item = u32> {
    let empty = (bytes == 0).then(|| framing.frame_bytes(write_opcode(Position::Only), 0));
    let (mtu, message_bytes) = (u64::from(transport.mtu_bytes), transport.message_bytes);
    let alone = transport.recovery == LossRecovery::Selective;
    let messages =
        (0..bytes).step_by(message_bytes as usize).map(move |start| (bytes - start).min(message_bytes));
    let frames = messages.flat_map(move |size| {
        (0..size).step_by(mtu as usize).map(move |offset| {
            let starts = alone || offset == 0;
            let position = if starts { Position::Only } else { Position::Middle };
            framing.frame_bytes(write_opcode(position), (size - offset).min(mtu) as u32)
        })
    });
    empty.into_iter().chain(frames)
}
