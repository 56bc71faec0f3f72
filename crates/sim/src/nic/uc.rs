//! Unreliable connections (RoCE queue pairs) of a host, in place of reliable ones: both ends of each, the
//! chunks (parts of transfers) that they send and receive, and the part of [`Host`] that transmits and
//! receives their packets.
//!
//! A chunk ends at its sender when the NIC passes its last packet to the link, and is delivered when all its
//! messages have arrived; one that lost a message is never delivered. The transports are those of
//! [`transport::UcSender`] and [`transport::UcReceiver`].

use super::ledger::{Delivery, Frames, OpenChunks, ReceiveQueue, Receives, SendQueue, Sends, Work};
use super::ledger::{WorkId, WorkIds, frames_of};
use super::{Context, Host, QueuePairEnd, QueuePairSettings, Reordering};
use crate::packet::{ConnectionId, ConnectionKind, Kind, Packet, Path};
use crate::record::{Frame, FrameKind, ReceiveReport, Record, SendReport};
use engine::Message;
use spec::MessageCounts;
use std::iter::repeat;
use transport::{
    Config, Controller, Disposition, Position, RateControl, Recovery, UcDisposition, UcReceiver, UcSender,
    UcTransmit,
};
use units::{Instant, Span};
use wire::{Framing, Opcode};

/// Number of an end of a connection.
const fn id_of(index: u32) -> ConnectionId {
    ConnectionId::new(ConnectionKind::Uc, index)
}

/// The sending end of a connection.
#[derive(Debug)]
struct UcSource {
    end: QueuePairEnd,
    sender: UcSender,
    /// Its chunks that were posted and not sent completely.
    queue: SendQueue,
    controller: Controller,
    is_active: bool,
    /// Messages sent completely.
    messages: u64,
}

/// The receiving end of a connection.
#[derive(Debug)]
struct UcSink {
    queue_pair: u32,
    receiver: UcReceiver,
    chunks: Expected,
    /// Messages that arrived completely.
    messages: u64,
}

/// The chunks that a receiving end expects.
#[derive(Debug)]
enum Expected {
    FromNetwork(OpenChunks),
    /// From a rank on the same host, through memory.
    Local(ReceiveQueue),
}

/// The unreliable connections of a host.
#[derive(Debug)]
pub(crate) struct HostUc {
    sources: Vec<UcSource>,
    sinks: Vec<UcSink>,
    receives: Receives,
    /// Of each sink, if packets may overtake each other.
    reordering: Box<[Reordering]>,
    framing: Framing,
}

/// The effects of an arriving packet.
struct Arrival {
    /// Payload placed [bytes].
    payload_bytes: u32,
    completes_chunk: bool,
}

impl UcSource {
    /// The next packet, on the link from `sent`, and whether it is the last of its chunk.
    fn next_packet(
        &mut self,
        config: &Config,
        framing: Framing,
        sends: &Sends,
        sent: Instant,
        context: &mut Context,
    ) -> Option<(Packet, bool)> {
        let UcTransmit { transmit, completes } =
            self.sender.poll_transmit(config, self.queue.sizes(sends))?;
        let (next, &QueuePairEnd { path, priority, .. }) = (transmit.packet, &self.end);
        self.messages += u64::from(next.position.ends_message());
        if self.end.is_captured {
            let opcode = Opcode::write(next.position.starts_message(), next.position.ends_message());
            let kind = FrameKind::Verb {
                opcode: opcode.unreliable().expect("every write has its opcode"),
                ack_request: false,
                payload_bytes: next.payload_bytes,
                message_bytes: transmit.message_bytes,
                offset_bytes: transmit.offset_bytes,
                message_sequence: 0,
            };
            let queue_pair = self.end.queue_pair;
            let frame = Frame { sent, queue_pair, psn: next.psn, is_backward: false, kind };
            context.records.push(Record::Frame(Box::new(frame)));
        }
        let frame_bytes = framing.write_frame_bytes(next.position.starts_message(), next.payload_bytes);
        let packet = Packet::new(Kind::Uc(next.position), priority, next.psn, frame_bytes, path);
        Some((packet.padded(next.payload_bytes), completes))
    }

    /// Chunks posted and not sent completely, each with its frames sent.
    fn open(
        &self,
        config: &Config,
        framing: Framing,
        sends: &Sends,
    ) -> impl Iterator<Item = (WorkId, Frames)> {
        let bytes_of = self.queue.sizes(sends);
        let of_first = match self.sender.sent() {
            0 => Frames::default(),
            packets => frames_of(framing, config, bytes_of(0), packets),
        };
        self.queue.open().zip(std::iter::once(of_first).chain(repeat(Frames::default())))
    }
}

impl UcSink {
    /// Processes a packet that spent `latency` in the fabric.
    fn take(
        &mut self,
        config: &Config,
        framing: Framing,
        receives: &Receives,
        packet: &Packet,
        position: Position,
        latency: Span,
    ) -> Arrival {
        let disposition = self.receiver.on_packet(packet.psn(), position);
        let is_dropped = disposition == UcDisposition::Dropped;
        self.messages += u64::from(disposition == UcDisposition::CompletesMessage);
        let mut arrival = Arrival { payload_bytes: 0, completes_chunk: false };
        let Expected::FromNetwork(chunks) = &mut self.chunks else { return arrival };
        let Some(chunk) = chunks.chunk_of(config, packet.psn(), receives) else { return arrival };
        chunk.count(packet, if is_dropped { Disposition::OutOfOrder } else { Disposition::Accepted });
        if packet.is_marked() {
            chunk.count_mark(false);
        }
        if !is_dropped {
            let filled_up = framing.write_payload_bytes(position.starts_message(), packet.frame_bytes());
            arrival.payload_bytes = filled_up - packet.pad_bytes();
            arrival.completes_chunk = chunk.count_placed(latency);
        }
        arrival
    }

    /// Removes the next delivered chunk; of a rank on the same host, the one just copied.
    fn next_delivered(&mut self, receives: &Receives) -> Option<Delivery> {
        match &mut self.chunks {
            Expected::FromNetwork(chunks) => chunks.next_delivered(),
            Expected::Local(queue) => {
                let (Work { chunk, transfer: inbound, .. }, round) = queue.take_next(receives);
                Some(Delivery { report: ReceiveReport::new(chunk, round), inbound })
            }
        }
    }
}

impl HostUc {
    /// The connections with these sending and receiving ends, whose work is in `sends` and `receives`.
    pub(crate) fn new(
        sources: impl Iterator<Item = QueuePairEnd>,
        sinks: impl Iterator<Item = QueuePairEnd>,
        sends: &Sends,
        receives: Receives,
        settings: &QueuePairSettings,
    ) -> Self {
        let source = |(number, end): (u32, QueuePairEnd)| UcSource {
            sender: UcSender::new(end.initial_psn),
            queue: sends.queue(number),
            controller: settings.controllers[usize::from(end.port)].clone(),
            is_active: false,
            messages: 0,
            end: QueuePairEnd {
                path: Path { connection: id_of(end.path.connection.index()), ..end.path },
                ..end
            },
        };
        let mut reordering = Vec::new();
        let sink = |(number, end): (u32, QueuePairEnd)| {
            let queue = receives.queue(number);
            if settings.may_reorder {
                reordering.push(Reordering::new(end.queue_pair, end.initial_psn));
            }
            UcSink {
                queue_pair: end.queue_pair,
                receiver: UcReceiver::new(end.initial_psn),
                chunks: match end.is_local {
                    false => Expected::FromNetwork(OpenChunks::new(Recovery::None, end.initial_psn, queue)),
                    true => Expected::Local(queue),
                },
                messages: 0,
            }
        };
        let sources = (0..).zip(sources).map(source).collect();
        let sinks = (0..).zip(sinks).map(sink).collect();
        Self { sources, sinks, receives, reordering: reordering.into(), framing: settings.framing }
    }

    /// The rate that its rate control allows a source at `now` [bit/s]; `None` at line rate, and while there
    /// is nothing to send.
    pub(super) fn rate_bps(&self, source: u32, now: Instant) -> Option<u64> {
        let source = self.sources.get(source as usize).filter(|source| source.is_active)?;
        source.controller.rate_bps_at(now)
    }

    /// Posts the next chunk of a source to a rank on the same host, if it is ready.
    pub(super) fn post_local(&mut self, source: u32, sends: &mut Sends, now: Instant) -> Option<WorkId> {
        self.sources[source as usize].queue.post_next(source, sends, now)
    }

    /// The oldest chunk of a source has been copied to a rank on the same host: ends it, and returns the sink.
    pub(super) fn end_local(&mut self, source: u32) -> (u32, WorkIds) {
        let UcSource { end, queue, .. } = &mut self.sources[source as usize];
        (end.path.connection.index(), queue.end_oldest(1))
    }

    /// The send queue of each source.
    pub(super) fn send_queues(&mut self) -> impl Iterator<Item = &mut SendQueue> {
        self.sources.iter_mut().map(|source| &mut source.queue)
    }

    /// Reports of chunks received in part and not delivered.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = ReceiveReport> {
        self.sinks.iter().flat_map(|sink| match &sink.chunks {
            Expected::FromNetwork(chunks) => Some(chunks.undelivered()).into_iter().flatten(),
            Expected::Local(_) => None.into_iter().flatten(),
        })
    }

    /// Reordering of packets, by queue pair; empty if packets cannot overtake each other.
    pub(super) fn reordering(&self) -> &[Reordering] {
        &self.reordering
    }

    /// Messages sent, and messages received, by queue pair.
    pub(super) fn messages(&self) -> impl Iterator<Item = (u32, MessageCounts)> {
        let sent = self
            .sources
            .iter()
            .map(|source| (source.end.queue_pair, MessageCounts { sent: source.messages, received: 0 }));
        let received = self
            .sinks
            .iter()
            .map(|sink| (sink.queue_pair, MessageCounts { sent: 0, received: sink.messages }));
        sent.chain(received)
    }
}

impl Host {
    /// Posts every next chunk of a source that is ready.
    #[inline(never)]
    pub(super) fn post_uc(&mut self, index: u32, now: Instant) {
        let Some(uc) = &mut self.uc else { return };
        let UcSource { end, sender, queue, controller, is_active, .. } = &mut uc.sources[index as usize];
        if end.is_local {
            return self.post_local(index, now);
        }
        if !sender.can_transmit() {
            controller.on_post(now, true);
        }
        queue.post_ready(index, &mut self.sends, now, |_, _| {
            sender.post();
            true
        });
        if !*is_active && sender.can_transmit() {
            *is_active = true;
            self.ports[usize::from(end.port)].enqueue(id_of(index), end.priority, now);
        }
    }

    /// A port serves a source.
    #[inline(never)]
    pub(super) fn serve_uc(&mut self, port: usize, index: u32, now: Instant, context: &mut Context) {
        let Some(uc) = &mut self.uc else { return };
        let (sent, framing) = (now + self.latency, uc.framing);
        let source = &mut uc.sources[index as usize];
        let mut completes_chunk = false;
        if source.controller.ready_at() <= now
            && let Some((packet, completes)) =
                source.next_packet(&self.config, framing, &self.sends, sent, context)
        {
            completes_chunk = completes;
            if let Some(position) = packet.position() {
                source.controller.on_position(now, position);
            }
            let wire_bytes = packet.frame_bytes() + framing.link_overhead_bytes();
            source.controller.on_sent(now, packet.psn(), wire_bytes);
            self.ports[port].transmit_data(&packet.leaving(sent), now, context);
        }
        source.is_active = source.sender.can_transmit();
        if source.is_active {
            self.ports[port].rotate_or_defer(id_of(index), source.controller.ready_at(), now);
        } else {
            self.ports[port].drop_served();
        }
        if completes_chunk {
            let completed = source.queue.end_oldest(1);
            self.complete_uc(completed, now, context);
        }
    }

    /// Chunks were sent completely: reports them and starts what waits for that.
    fn complete_uc(&mut self, completed: WorkIds, now: Instant, context: &mut Context) {
        for send in completed.clone() {
            let sent = self.chunk_frames.of(&self.config, self.sends.bytes_of(send));
            self.end_send(send, sent, now, context);
        }
        self.acknowledge(completed, now, context);
    }

    /// Payload reaches its sink at `now`.
    #[inline(never)]
    pub(super) fn receive_uc(
        &mut self,
        packet: &Packet,
        position: Position,
        now: Instant,
        context: &mut Context,
    ) {
        let Some(uc) = &mut self.uc else { return };
        let latency = Span(packet.at().0 - self.latency.0 - packet.sent().0);
        let index = packet.connection() as usize;
        if let Some(reordering) = uc.reordering.get_mut(index) {
            reordering.arrive(packet.psn());
        }
        let arrival = uc.sinks[index].take(&self.config, uc.framing, &uc.receives, packet, position, latency);
        let Arrival { payload_bytes, completes_chunk } = arrival;
        self.count_payload(packet.connection(), payload_bytes, completes_chunk, now, context);
        if completes_chunk {
            self.deliver_uc(packet.connection(), now, context);
        }
    }

    /// A chunk for a sink is complete: reports it and starts the transfers that wait for it.
    pub(super) fn deliver_uc(&mut self, sink: u32, now: Instant, context: &mut Context) {
        let next = |uc: &mut Box<HostUc>| uc.sinks[sink as usize].next_delivered(&uc.receives);
        if let Some(Delivery { report, inbound }) = self.uc.as_mut().and_then(next) {
            self.deliver(&Delivery { report: report.delivered_at(now), inbound }, now, context);
        }
        self.start_rounds(now, context);
    }

    /// Reports of chunks that were posted and not sent completely.
    pub(super) fn open_uc_sends(&self) -> impl Iterator<Item = SendReport> {
        let open = self.uc.iter().flat_map(|uc| {
            uc.sources.iter().flat_map(|source| source.open(&self.config, uc.framing, &self.sends))
        });
        open.map(|(send, sent)| self.send_report(send, sent))
    }
}
