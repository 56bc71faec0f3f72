//! Reception at a host: passes payload to the receive buffer or its responder, ACKs, NAKs and CNPs to
//! requesters, pause frames to ports; then reports and acknowledges chunks (parts of transfers) that are
//! complete.

use super::receiver::DataOutcome;
use super::sender::Sender;
use super::sending::{make_ready, window_packets};
use crate::nic::Context;
use crate::nic::intake::Drained;
use crate::nic::ledger::{Delivery, Sends, Vouched, WorkIds};
use crate::nic::{Host, Timer};
use crate::packet::Packet;
use crate::record::Record;
use engine::Message;
use record::ChunkStatus;
use transport::{AckOutcome, Config, Feedback, Position, RateControl, Recovery};
use units::{Instant, Span};

impl Host {
    /// Processes the first arrival at a port; returns the time of the next one.
    #[inline(always)]
    pub(crate) fn receive(&mut self, port: usize, first_inbox: u32, context: &mut Context) -> Instant {
        let inbox = context.inbox(first_inbox + port as u32);
        let Some(packet) = inbox.take_first() else { return Instant::NEVER };
        let next = inbox.next_arrival();
        self.received_frames += 1;
        let is_usual = !self.ports[port].has_options() && self.intake.is_none();
        let position = match packet.rc_position() {
            Some(position) if is_usual => Some(position),
            None if is_usual && packet.is_rc_ack() => {
                self.receive_ack(packet, context);
                None
            }
            _ => self.receive_first(port, packet, context),
        };
        if let Some(position) = position {
            self.receive_data(&packet, position, packet.at(), context);
        }
        next
    }

    /// Processes an arrival at a port. Payload that bypasses the receive buffer is only added to the buffer
    /// of its lane; its position is returned.
    #[inline(never)]
    fn receive_first(&mut self, port: usize, packet: Packet, context: &mut Context) -> Option<Position> {
        if packet.is_link_control() {
            self.receive_link_control(port, packet);
            return None;
        }
        let is_buffered = self.intake.is_some() && packet.position().is_some();
        let state = &mut self.ports[port];
        if state.has_options() {
            state.fill_lane(&packet);
            if !is_buffered {
                state.free_lane(&packet, packet.at());
            }
        }
        if is_buffered && !self.intake.as_ref().is_some_and(|intake| intake.is_open()) {
            self.take_in(packet);
            return None;
        }
        let position = packet.rc_position();
        if position.is_none() {
            self.receive_packet(&packet, context);
        }
        position
    }

    /// Adds payload to the receive buffer.
    #[cold]
    fn take_in(&mut self, packet: Packet) {
        let Some(intake) = &mut self.intake else { return };
        let pause = intake.arrive(packet, packet.at());
        self.answer_pressure(pause, packet.at());
    }

    /// The host drains a frame from the receive buffer.
    #[inline(never)]
    pub(crate) fn drain(&mut self, now: Instant, context: &mut Context) {
        let Some(drained) = self.intake.as_mut().and_then(|intake| intake.drain()) else { return };
        let Drained { packet, pause, notifies } = drained;
        self.answer_pressure(pause, now);
        if self.ports[0].credits().is_some() {
            let port = self.receivers.port(&self.config, packet.connection(), now);
            self.ports[port].free_lane(&packet, now);
        }
        self.receive_buffered(&packet, now, context);
        if notifies && self.receivers.notice_pressure(packet.connection(), now) {
            let (port, control) = self.receivers.notification(packet.connection());
            self.ports[port].enqueue_control(control, now);
        }
    }

    /// Sends the pause frames of the receive buffer by every port, and schedules their renewal.
    fn answer_pressure(&mut self, quanta: Option<u16>, now: Instant) {
        let (Some(quanta), Some(intake)) = (quanta, &self.intake) else { return };
        let (frames, renewal) = (intake.pause_frames(quanta).collect::<Vec<_>>(), intake.next_renewal());
        frames.into_iter().for_each(|pause| self.respond(pause, now));
        if renewal != Instant::NEVER {
            self.timers.push(renewal, Timer::RenewPause);
        }
    }

    /// Sends a pause frame by every port after the response time.
    fn respond(&mut self, pause: Packet, now: Instant) {
        if let Some(delays) = &mut self.pause_delays
            && delays.responses.push(now, pause).is_none()
        {
            return self.timers.push(delays.responses.last_due(), Timer::Pause);
        }
        self.send_pause(pause, now);
    }

    fn send_pause(&mut self, pause: Packet, now: Instant) {
        for port in &mut self.ports {
            port.send_pause(pause, now);
        }
    }

    /// Processes a pause frame or a flow control packet.
    #[cold]
    fn receive_link_control(&mut self, port: usize, packet: Packet) {
        if let Some(delays) = &mut self.pause_delays
            && delays.reactions.push(packet.at(), (port, packet)).is_none()
        {
            return self.timers.push(delays.reactions.last_due(), Timer::Pause);
        }
        self.ports[port].receive_link_control(&packet);
    }

    /// Sends the pause frames that are ready, and applies received ones that take effect.
    #[cold]
    pub(crate) fn take_pauses(&mut self, now: Instant) {
        while let Some((port, pause)) =
            self.pause_delays.as_mut().and_then(|delays| delays.reactions.pop_due(now))
        {
            self.ports[port].receive_link_control(&pause.arriving(now));
        }
        while let Some(pause) = self.pause_delays.as_mut().and_then(|delays| delays.responses.pop_due(now)) {
            self.send_pause(pause, now);
        }
    }

    pub(crate) fn renew_pause(&mut self, now: Instant) {
        let pause = self
            .intake
            .as_mut()
            .filter(|intake| intake.next_renewal() == now)
            .and_then(|intake| intake.request_pause(now));
        self.answer_pressure(pause, now);
    }

    /// Payload drained from the receive buffer reaches its responder at `now`.
    #[cold]
    pub(crate) fn receive_drained(
        &mut self,
        packet: &Packet,
        position: Position,
        now: Instant,
        context: &mut Context,
    ) {
        self.receive_data(packet, position, now, context);
    }

    /// Payload reaches its responder at `now`.
    #[inline(always)]
    fn receive_data(&mut self, packet: &Packet, position: Position, now: Instant, context: &mut Context) {
        let latency = Span(packet.at().0 - self.latency.0 - packet.sent().0);
        let outcome = self.receivers.on_data(&self.config, packet, position, now, latency);
        let DataOutcome { payload_bytes, chunk_delivered, .. } = outcome;
        self.count_payload(packet.connection(), payload_bytes, chunk_delivered, now, context);
        if let Some(reply) = outcome.reply {
            let (port, control) = self.receivers.reply(packet.connection(), reply);
            self.ports[port].enqueue_control(control, now);
        }
        if outcome.notifies {
            let (port, control) = self.receivers.notification(packet.connection());
            self.ports[port].enqueue_control(control, now);
        }
        if outcome.chunk_delivered {
            if let Some((port, control)) = self.receivers.confirmation(packet.connection(), &outcome) {
                self.ports[port].enqueue_control(control, now);
            }
            self.deliver_chunks(packet.connection(), now, context);
        }
    }

    /// Counts payload placed for a receiver; it may be the last of a chunk.
    #[inline(always)]
    pub(crate) fn count_payload(
        &mut self,
        receiver: u32,
        payload_bytes: u32,
        chunk_delivered: bool,
        now: Instant,
        context: &mut Context,
    ) {
        self.delivered_bytes += u64::from(payload_bytes);
        context.totals.delivered += u64::from(payload_bytes);
        if self.has_progress_only || self.count_delivery(receiver, payload_bytes) {
            // A message without payload is progress, too.
            let progress = payload_bytes.max(chunk_delivered.into());
            context.totals.add_progress(progress.into(), now);
        }
    }

    /// Chunks are complete: reports them and starts the transfers that wait for them.
    pub(crate) fn deliver_chunks(&mut self, receiver: u32, now: Instant, context: &mut Context) {
        while let Some(delivery) =
            self.receivers.next_delivery(&self.config, &mut self.chunk_frames, receiver, now)
        {
            self.deliver(&delivery, now, context);
            if self.receivers.are_in_order() {
                break;
            }
        }
        self.start_rounds(now, context);
    }

    /// Reports a delivered chunk and starts the transfers that wait for it.
    #[inline(always)]
    pub(crate) fn deliver(
        &mut self,
        Delivery { report, inbound }: &Delivery,
        now: Instant,
        context: &mut Context,
    ) {
        context.records.push(Record::delivered(report));
        if !self.jobs.deliver_uniform(report.round) {
            let mut started = std::mem::take(&mut self.jobs.started);
            self.jobs.deliver_part(*inbound, report.round, &mut started);
            self.start_transfers(started, now, context);
            self.take_in_arrived(now);
        }
    }

    #[inline(never)]
    pub(crate) fn receive_ack(&mut self, packet: Packet, context: &mut Context) {
        self.follow_up(&packet, context, Sender::on_ack);
    }

    #[cold]
    pub(crate) fn receive_nak(&mut self, packet: &Packet, context: &mut Context) {
        let Some(state) = self.senders.get_mut(packet.connection()) else { return };
        state.count(&mut self.sends, Sends::count_nak);
        self.follow_up(packet, context, Sender::on_nak);
        self.notify(packet.connection(), &Feedback { is_nak: true, ..Feedback::at(packet.at()) });
    }

    /// A congestion notification arrived.
    #[cold]
    pub(crate) fn receive_cnp(&mut self, packet: &Packet) {
        self.notify(packet.connection(), &Feedback { is_cnp: true, ..Feedback::at(packet.at()) });
        if let Some(state) = self.senders.get_mut(packet.connection()) {
            state.count(&mut self.sends, Sends::count_notification);
        }
    }

    /// Applies an acknowledgement: reports, more packets to send, transfers that waited for it.
    #[inline]
    fn follow_up(
        &mut self,
        packet: &Packet,
        context: &mut Context,
        acknowledge: impl FnOnce(&mut Sender, &Config, &Sends, &Packet) -> AckOutcome,
    ) {
        let Self { senders, pacers, sends, ports, config, data_frames, .. } = self;
        let (sender, now) = (packet.connection(), packet.at());
        // A dropped sender that is done has nothing left to acknowledge.
        let Some(state) = senders.get_mut(sender) else { return };
        let outcome = acknowledge(state, config, sends, packet);
        if data_frames.uses_acks && outcome.progressed() {
            pacers[sender].on_feedback(&outcome.feedback(config, now, packet.is_marked()));
        }
        let is_counted = state.is_counted();
        let completed = state.complete(outcome.completed);
        make_ready(ports, config, sender, state, window_packets(pacers, data_frames, sender), now);
        if config.recovery == Recovery::None {
            return self.follow_up_unrecovered(packet, &completed, context);
        }
        if completed.is_empty() {
            return;
        }
        for send in completed.clone() {
            let sent = self.chunk_frames.of(&self.config, self.sends.bytes_of(send));
            if is_counted {
                self.end_counted_send(send, sent, Some(now), context);
            } else {
                self.end_send(send, sent, now, context);
            }
        }
        self.acknowledge(completed, now, context);
    }

    /// Same, without recovery: the oldest chunks of a sender were acknowledged, and some are complete. A rank
    /// proceeds once they are known to be complete.
    #[inline(never)]
    fn follow_up_unrecovered(&mut self, packet: &Packet, acknowledged: &WorkIds, context: &mut Context) {
        let (sender, now, vouched) = (packet.connection(), packet.at(), Vouched::of(packet));
        let confirmed = self.unrecovered.as_mut().map(|chunks| chunks.confirm(sender, vouched));
        for (send, report) in confirmed.into_iter().flatten() {
            let report = report.ended(ChunkStatus::Complete, Some(now));
            context.records.push(Record::sent(&report));
            self.acknowledge(send.into(), now, context);
        }
        let state = &self.senders[sender];
        let mut chunks = state.ends_of(acknowledged.clone(), &self.config, &self.sends);
        while let Some((send, chunk)) = chunks.pop() {
            let sent = self.chunk_frames.of(&self.config, self.sends.bytes_of(send));
            if chunk.is_whole(vouched) {
                self.end_counted_send(send, sent, Some(now), context);
                self.acknowledge(send.into(), now, context);
            } else {
                let report = self.send_report(send, sent).ended(ChunkStatus::Unfinished, Some(now));
                self.sends.forget(send);
                self.unrecovered.get_or_insert_default().add(sender, chunk, (send, report));
            }
        }
    }
}
