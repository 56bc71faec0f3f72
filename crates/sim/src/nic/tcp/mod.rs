//! TCP at a host: writes of the applications, both ends of connections, and transmission and reception of
//! segments and acknowledgements by the NIC.
//!
//! Models three kinds of application: one that writes a fixed size at a fixed rate into a bounded send buffer
//! and catches up after it was blocked, as `iperf3 -b` does; one that always has more to send; and a closed
//! loop with a constant number of unacknowledged writes, like a storage client. Segments are always full. The
//! receiving application reads data immediately, and data bypasses the receive buffer of the NIC. Leaves out
//! the CPU, segmentation offload and queueing disciplines of the host.

mod sack;

use super::{Host, Timer};
use crate::nic::Context;
use crate::nic::port::Control;
use crate::packet::{ConnectionId, ConnectionKind, Kind, Packet, Path, Priority};
use crate::record::{Record, TcpFrame, TcpFrameKind};
use engine::Message;
use std::collections::VecDeque;
use std::sync::Arc;
use transport::tcp::{
    Acknowledgement, Block, CongestionKind, SpanDistribution, TcpConfig, TcpReceiver, TcpSender,
};
use units::{Instant, Span};
use wire::Psn;
use wire::size::{TCP_ACK_FRAME_BYTES, TCP_DATA_FRAME_BYTES, tcp_sack_bytes};

/// Bits of segment numbers in packets.
const NUMBER_BITS: u32 = 24;

/// The writes of an application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writes {
    /// Time of the first write.
    pub(crate) start: Instant,
    /// Time from which nothing is written.
    pub(crate) stop: Instant,
    /// Size of a write [bytes], a multiple of the MSS.
    pub(crate) bytes: u64,
    /// Offered rate of payload [bit/s]; `None` if there is always more to send.
    pub(crate) rate_bps: Option<u64>,
    /// Number of unacknowledged writes of a closed loop, which has no rate.
    pub(crate) outstanding: Option<u32>,
}

/// Writes of a closed loop.
#[derive(Debug, Default)]
struct ClosedLoop {
    /// Issue time of each unacknowledged write, oldest first.
    issued: VecDeque<Instant>,
    /// Number of acknowledged writes.
    completed: u64,
    /// Their times from the issue to the acknowledgement of the last byte.
    times: SpanDistribution,
}

impl Writes {
    /// Due time of write number `number`.
    fn due(&self, number: u64) -> Instant {
        let Some(rate_bps) = self.rate_bps else { return self.start };
        let ps = u128::from(number) * u128::from(self.bytes) * 8_000_000_000_000 / u128::from(rate_bps);
        self.start + Span(u64::try_from(ps).unwrap_or(u64::MAX / 2))
    }

    /// Number of writes due until `now`, none after the end.
    fn count(&self, now: Instant) -> u64 {
        let (Some(rate_bps), Some(last)) = (self.rate_bps, self.stop.0.checked_sub(1)) else { return 0 };
        let now = now.min(Instant(last));
        if now < self.start {
            return 0;
        }
        let bytes = u128::from(now.since(self.start).0) * u128::from(rate_bps) / 8_000_000_000_000;
        // The first is due immediately. The quotient is one too low if a time was rounded down.
        let mut count = (bytes / u128::from(self.bytes)) as u64;
        while self.due(count) <= now {
            count += 1;
        }
        count
    }

    /// Bytes offered until `now`; `None` if there is always more to send.
    pub(crate) fn offered(&self, now: Instant) -> Option<u64> {
        self.rate_bps.map(|_| self.count(now) * self.bytes)
    }
}

/// Parameters of one end of a connection, with the path to the other end.
#[derive(Clone, Debug)]
pub(crate) struct TcpEndPlan {
    /// Number in the run.
    pub(crate) connection: u32,
    pub(crate) config: Arc<TcpConfig>,
    pub(crate) path: Path,
    pub(crate) priority: Priority,
    pub(crate) port: u16,
    pub(crate) is_captured: bool,
}

/// The sending end of a connection, with its application.
#[derive(Debug)]
pub(crate) struct TcpSource {
    plan: TcpEndPlan,
    writes: Writes,
    /// Its traffic runs until other jobs end.
    is_background: bool,
    sender: TcpSender,
    closed_loop: Option<Box<ClosedLoop>>,
    is_active: bool,
    /// Time of the next check.
    timer_at: Instant,
    /// Time at which everything was acknowledged.
    closed: Option<Instant>,
}

/// The receiving end of a connection.
#[derive(Debug)]
pub(crate) struct TcpSink {
    plan: TcpEndPlan,
    receiver: TcpReceiver,
    timer_at: Instant,
    marks: u64,
    /// Time at which the first bit of the last segment in order left its NIC.
    last_sent: Instant,
}

/// TCP at a host.
#[derive(Debug, Default)]
pub(crate) struct HostTcp {
    pub(crate) sources: Vec<TcpSource>,
    pub(crate) sinks: Vec<TcpSink>,
}

impl HostTcp {
    /// Start of each source.
    pub(super) fn starts(&self) -> impl Iterator<Item = (Instant, u32)> {
        (0..).zip(&self.sources).map(|(number, source)| (source.writes.start, number))
    }
}

impl TcpSource {
    pub(crate) fn new(plan: TcpEndPlan, writes: Writes, is_background: bool) -> Self {
        let sender = TcpSender::new(&plan.config);
        Self {
            plan,
            writes,
            is_background,
            sender,
            closed_loop: writes.outstanding.map(|_| Box::default()),
            is_active: false,
            timer_at: writes.start,
            closed: None,
        }
    }

    pub(crate) const fn connection(&self) -> u32 {
        self.plan.connection
    }

    pub(crate) const fn sender(&self) -> &TcpSender {
        &self.sender
    }

    pub(crate) const fn writes(&self) -> &Writes {
        &self.writes
    }

    /// Time at which everything was acknowledged, if it was.
    pub(crate) const fn closed(&self) -> Option<Instant> {
        self.closed
    }

    /// Times of the writes of a closed loop, from the issue to the acknowledgement of the last byte.
    pub(crate) fn write_times(&self) -> Option<&SpanDistribution> {
        self.closed_loop.as_ref().map(|closed_loop| &closed_loop.times)
    }

    /// The closed loop ends the acknowledged writes, issues as many, and writes as much of them as fits.
    fn write_in_loop(&mut self, now: Instant) {
        let (Some(closed_loop), Some(outstanding)) = (&mut self.closed_loop, self.writes.outstanding) else {
            return;
        };
        while self.sender.acked() >= (closed_loop.completed + 1) * self.writes.bytes {
            let issued = closed_loop.issued.pop_front().expect("only issued writes are acknowledged");
            closed_loop.times.add(now.since(issued));
            closed_loop.completed += 1;
        }
        if (self.writes.start..self.writes.stop).contains(&now) {
            closed_loop.issued.resize(outstanding as usize, now);
        }
        let unwritten = (closed_loop.completed + closed_loop.issued.len() as u64) * self.writes.bytes
            - self.sender.written();
        let mss = u64::from(self.plan.config.mss_bytes);
        self.sender.write(unwritten.min(self.sender.room(&self.plan.config)) / mss * mss);
    }

    /// The application writes the due data that fits.
    fn write(&mut self, now: Instant) {
        if self.closed_loop.is_some() {
            return self.write_in_loop(now);
        }
        let room = self.sender.room(&self.plan.config);
        if !(self.writes.start..self.writes.stop).contains(&now) {
            return;
        }
        let unwritten = self.writes.offered(now).map_or(room, |offered| offered - self.sender.written());
        let mss = u64::from(self.plan.config.mss_bytes);
        self.sender.write(unwritten.min(room) / mss * mss);
    }

    /// Time of the next write, unless the application is blocked.
    fn next_write(&self, now: Instant) -> Instant {
        let Some(offered) = self.writes.offered(now) else { return Instant::NEVER };
        if offered > self.sender.written() {
            return Instant::NEVER;
        }
        let due = self.writes.due(self.writes.count(now));
        if due < self.writes.stop { due } else { Instant::NEVER }
    }

    /// Time at which the application stops, if it is in the future.
    fn stop_after(&self, now: Instant) -> Instant {
        if self.writes.stop > now && self.closed.is_none() { self.writes.stop } else { Instant::NEVER }
    }

    /// Closes the connection once everything was written and acknowledged; returns true the first time.
    fn close(&mut self, now: Instant) -> bool {
        let is_open = self.closed_loop.as_ref().is_some_and(|closed_loop| !closed_loop.issued.is_empty());
        let is_done = now >= self.writes.stop && self.sender.acked() == self.sender.written() && !is_open;
        let closes = is_done && self.closed.is_none();
        if closes {
            self.closed = Some(now);
        }
        closes
    }
}

impl TcpSink {
    pub(crate) fn new(plan: TcpEndPlan) -> Self {
        Self {
            plan,
            receiver: TcpReceiver::default(),
            timer_at: Instant::NEVER,
            marks: 0,
            last_sent: Instant::ZERO,
        }
    }

    pub(crate) const fn connection(&self) -> u32 {
        self.plan.connection
    }

    /// Payload delivered in order [bytes].
    pub(crate) const fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Segments that arrived with congestion experienced.
    pub(crate) const fn marks(&self) -> u64 {
        self.marks
    }

    fn packet(&self, ack: &Acknowledgement) -> Packet {
        let mss = u64::from(self.plan.config.mss_bytes);
        let kind = Kind::TcpAck { congestion_echo: ack.congestion_echo };
        let frame_bytes = TCP_ACK_FRAME_BYTES + tcp_sack_bytes(ack.sack.as_slice().len() as u32);
        let TcpEndPlan { priority, path, .. } = self.plan;
        Packet::new(kind, priority, number_of(ack.offset, mss), frame_bytes, path)
            .with_sack(sack::encode(&ack.sack, ack.offset, mss))
    }
}

/// The number of the segment at `offset`.
fn number_of(offset: u64, mss: u64) -> Psn {
    Psn::new((offset / mss) as u32 & ((1 << NUMBER_BITS) - 1))
}

/// The offset of the segment with number `number` nearest to `near`; `None` before the first.
fn offset_of(number: Psn, near: u64, mss: u64) -> Option<u64> {
    let offset = number.value().wrapping_sub(number_of(near, mss).value());
    let distance = (offset << (32 - NUMBER_BITS)).cast_signed() >> (32 - NUMBER_BITS);
    Some((near / mss).checked_add_signed(i64::from(distance))? * mss)
}

/// Number of an end of a connection: a source or a sink.
const fn id_of(index: u32) -> ConnectionId {
    ConnectionId::new(ConnectionKind::Tcp, index)
}

impl Host {
    /// The TCP connections with an end at this host.
    pub(crate) fn tcp(&self) -> Option<&HostTcp> {
        self.tcp.as_deref()
    }

    /// A segment arrived.
    #[cold]
    pub(super) fn receive_tcp_data(&mut self, packet: &Packet) {
        let Some(tcp) = &mut self.tcp else { return };
        let now = packet.at();
        let sink = &mut tcp.sinks[packet.connection() as usize];
        let mss = u64::from(sink.plan.config.mss_bytes);
        let Some(start) = offset_of(packet.psn(), sink.receiver.delivered() / mss * mss, mss) else { return };
        sink.marks += u64::from(packet.is_marked());
        if start == sink.receiver.delivered() {
            sink.last_sent = packet.sent();
        }
        let segment = Block { start, end: start + mss };
        let replies = sink.receiver.on_segment(&sink.plan.config, now, segment, packet.is_marked());
        for ack in replies.into_iter().flatten() {
            self.acknowledge_tcp(packet.connection(), &ack, now);
        }
        self.arm_tcp_sink(packet.connection());
    }

    fn acknowledge_tcp(&mut self, sink: u32, ack: &Acknowledgement, now: Instant) {
        let Some(tcp) = &self.tcp else { return };
        let state = &tcp.sinks[sink as usize];
        let TcpEndPlan { port, is_captured, .. } = state.plan;
        let reply = Control { packet: state.packet(ack), connection: id_of(sink), is_captured };
        self.ports[usize::from(port)].enqueue_reply_in_lane(reply, now);
    }

    fn arm_tcp_sink(&mut self, sink: u32) {
        let Some(tcp) = &mut self.tcp else { return };
        let state = &mut tcp.sinks[sink as usize];
        let due = state.receiver.deadline();
        if due < state.timer_at {
            state.timer_at = due;
            self.timers.push(due, Timer::Receiver(id_of(sink)));
        }
    }

    /// A delayed acknowledgement may be due.
    #[cold]
    pub(super) fn fire_tcp_sink(&mut self, sink: u32, now: Instant) {
        let Some(tcp) = &mut self.tcp else { return };
        let state = &mut tcp.sinks[sink as usize];
        if state.timer_at != now {
            return;
        }
        state.timer_at = Instant::NEVER;
        if let Some(ack) = state.receiver.on_timeout(now) {
            self.acknowledge_tcp(sink, &ack, now);
        }
        self.arm_tcp_sink(sink);
    }

    /// An acknowledgement arrived.
    #[cold]
    pub(super) fn receive_tcp_ack(&mut self, packet: &Packet, congestion_echo: bool, context: &mut Context) {
        let Some(tcp) = &mut self.tcp else { return };
        let (now, source) = (packet.at(), packet.connection());
        let state = &mut tcp.sources[source as usize];
        let mss = u64::from(state.plan.config.mss_bytes);
        let Some(offset) = offset_of(packet.psn(), state.sender.acked(), mss) else { return };
        let ack = Acknowledgement { offset, sack: sack::decode(packet.sack(), offset, mss), congestion_echo };
        let acked = state.sender.on_ack(&state.plan.config, now, &ack);
        if !state.is_background {
            context.totals.add_progress(acked, now);
        }
        self.serve_tcp_source(source, now, context);
    }

    /// A write, the end of all writes or the retransmission timer may be due.
    #[cold]
    pub(super) fn fire_tcp_source(&mut self, source: u32, now: Instant, context: &mut Context) {
        let Some(tcp) = &mut self.tcp else { return };
        let state = &mut tcp.sources[source as usize];
        if state.timer_at != now {
            return;
        }
        state.timer_at = Instant::NEVER;
        state.sender.on_timeout(&state.plan.config, now);
        self.serve_tcp_source(source, now, context);
    }

    /// Lets the application of a source write, makes the source active and sets its timer.
    fn serve_tcp_source(&mut self, source: u32, now: Instant, context: &mut Context) {
        let Some(tcp) = &mut self.tcp else { return };
        let state = &mut tcp.sources[source as usize];
        state.write(now);
        if !state.is_active && state.sender.can_transmit(&state.plan.config) {
            state.is_active = true;
            self.ports[usize::from(state.plan.port)].enqueue_in_lane(id_of(source), state.plan.priority, now);
        }
        if state.close(now) && !state.is_background {
            context.records.push(Record::TcpClosed);
        }
        let due = state.sender.deadline().min(state.next_write(now)).min(state.stop_after(now));
        if due < state.timer_at {
            state.timer_at = due;
            self.timers.push(due, Timer::Sender(id_of(source)));
        }
    }

    /// The port sends a segment of a source.
    #[cold]
    pub(super) fn send_tcp_data(&mut self, port: usize, source: u32, now: Instant, context: &mut Context) {
        let sent = now + self.latency;
        let Some(tcp) = &mut self.tcp else { return };
        let state = &mut tcp.sources[source as usize];
        let config = &state.plan.config;
        if let Some(segment) = state.sender.poll_transmit(config, now) {
            let mss = u64::from(config.mss_bytes);
            debug_assert_eq!(segment.block.end - segment.block.start, mss, "segments are full");
            let TcpEndPlan { connection, priority, path, is_captured, .. } = state.plan;
            let number = number_of(segment.block.start, mss);
            let frame_bytes = TCP_DATA_FRAME_BYTES + config.mss_bytes;
            let packet = Packet::new(Kind::TcpData, priority, number, frame_bytes, path)
                .leaving(sent)
                .ecn_capable(config.congestion == CongestionKind::Dctcp);
            if is_captured {
                let kind = TcpFrameKind::Data { offset: segment.block.start, bytes: config.mss_bytes };
                context.records.push(Record::TcpFrame(Box::new(TcpFrame { sent, connection, kind })));
            }
            self.ports[port].transmit_data(&packet, now, context);
        }
        let Some(tcp) = &mut self.tcp else { return };
        let state = &mut tcp.sources[source as usize];
        state.is_active = state.sender.can_transmit(&state.plan.config);
        if state.is_active {
            self.ports[port].enqueue_in_lane(id_of(source), state.plan.priority, now);
        }
        self.serve_tcp_source(source, now, context);
    }

    /// Records an acknowledgement that leaves at `sent`.
    pub(super) fn note_tcp_ack(&self, control: &Control, sent: Instant, context: &mut Context) {
        let Some(tcp) = &self.tcp else { return };
        let state = &tcp.sinks[control.connection.index() as usize];
        let Kind::TcpAck { congestion_echo } = control.packet.kind() else { return };
        let mss = u64::from(state.plan.config.mss_bytes);
        let near = state.receiver.delivered() / mss * mss;
        let offset = offset_of(control.packet.psn(), near, mss).unwrap_or_default();
        let sack = sack::decode(control.packet.sack(), offset, mss);
        let ack = Acknowledgement { offset, sack, congestion_echo };
        let kind = TcpFrameKind::Ack { ack, echo: state.last_sent };
        let connection = state.plan.connection;
        context.records.push(Record::TcpFrame(Box::new(TcpFrame { sent, connection, kind })));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_offset_is_restored_from_its_number(near in 0_u64..1 << 30, distance in -8_000_000_i64..8_000_000, mss in 500_u64..9_000) {
            if let Some(segment) = near.checked_add_signed(distance) {
                let number = number_of(segment * mss, mss);
                prop_assert_eq!(offset_of(number, near * mss, mss), Some(segment * mss));
            }
        }

        #[test]
        fn writes_are_counted_when_they_are_due(rate_bps in 1_000_u64..1_000_000_000_000, bytes in 500_u64..1 << 20, number in 0_u64..1_000) {
            let writes = Writes {
                start: Instant(5_000),
                stop: Instant(u64::MAX),
                bytes,
                rate_bps: Some(rate_bps),
                outstanding: None,
            };
            let due = writes.due(number);
            prop_assert_eq!(writes.count(due), number + 1);
            prop_assert_eq!(writes.count(Instant(due.0 - 1)), number);
        }
    }
}
