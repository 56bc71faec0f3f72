//! How long a message takes on a fabric that carries nothing else: what its slowdown is measured against.
//!
//! Models each link of the first of the equal paths taking frame after frame at line rate, stored and forwarded or cut
//! through. Leaves out impaired NICs, receive buffers, rate control and windows: they are part of the slowdown.

use super::Fabric;
use crate::egress::WHOLE_FRAME;
use crate::nic::{COMMAND_BYTES, COMPLETION_BYTES, write_opcode};
use spec::{LossRecovery, StorageSpec, TransportSpec};
use topology::Attachment;
use transport::{Position, Verb};
use units::{AttachmentId, Instant, NodeId, Rate, Span};
use wire::size::{ACK_FRAME_BYTES, data_frame_bytes};
use wire::{Framing, Opcode};

/// A link of a path.
struct Hop {
    rate: Rate,
    framing: Framing,
    /// Time after which the next node may act on a frame; none if it waits for the last bit.
    head: Option<Span>,
    /// From then on until it acts.
    latency: Span,
    free_at: Instant,
}

/// From the offer of `bytes` at one port to the acknowledgement of their last packet.
pub(super) fn unloaded(
    transport: &TransportSpec,
    fabric: &Fabric,
    [from, to]: [AttachmentId; 2],
    bytes: u64,
) -> Span {
    let mut forward = path(fabric, from, to);
    let arrivals = frames(transport, fabric.framing, bytes)
        .map(|frame_bytes| cross(&mut forward, Instant::ZERO, frame_bytes));
    let arrived = arrivals.last().unwrap_or_default();
    cross(&mut path(fabric, to, from), arrived, fabric.framing.ack_frame_bytes()).since(Instant::ZERO)
}

/// From the issue of a storage operation by the client at one port to the arrival of its completion from the target at the
/// other.
pub(super) fn unloaded_operation(
    transport: &TransportSpec,
    fabric: &Fabric,
    [client, target]: [AttachmentId; 2],
    block_bytes: u64,
    storage: &StorageSpec,
    is_read: bool,
) -> Span {
    let (mut there, mut back) = (path(fabric, client, target), path(fabric, target, client));
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

/// When a target has `bytes` that it asks for from `at` on, each message with a READ, so many of them at once.
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
    path.iter_mut().fold(at, |at, hop| {
        let start = at.max(hop.free_at);
        hop.free_at = hop.rate.frame_end(start, frame_bytes, hop.framing.link_overhead_bytes());
        hop.head.map_or(hop.free_at, |head| start + head) + hop.latency
    })
}

/// The links of the first of the equal paths.
fn path(fabric: &Fabric, from: AttachmentId, to: AttachmentId) -> Vec<Hop> {
    let Attachment { host, host_port, .. } = *fabric.graph.attachment(from);
    let mut hops: Vec<Hop> = Vec::new();
    let (mut node, mut port) = (NodeId(host.0), host_port);
    loop {
        let end = fabric.graph.node(node).ports[usize::from(port)];
        let rate = fabric.graph.link(end.link).rate;
        // Out of a port faster than the one before it, a frame that cuts through would run dry.
        if let Some(before) = hops.last_mut().filter(|before| before.rate.bps() < rate.bps()) {
            before.head = None;
        }
        let head = Some(fabric.head_bytes(node, port)).filter(|&head| head != WHOLE_FRAME);
        let head = head.map(|head| rate.frame_span(head.into(), 0));
        let (latency, framing) = (fabric.latency(node, port), fabric.framing);
        hops.push(Hop { rate, framing, head, latency, free_at: Instant::ZERO });
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
