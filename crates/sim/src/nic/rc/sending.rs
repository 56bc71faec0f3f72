//! Transmission at a host: serves ports with control packets and data of queue pairs; checks
//! retransmission timers; reports chunks (parts of transfers) that were acknowledged or have failed.

use super::resident_queue_pairs::ResidentQueuePairs;
use super::sender::{DataFrames, Sender, Service};
use crate::nic::ledger::{Frames, Sends, WorkId};
use crate::nic::port::{Control, Next, NicPort};
use crate::nic::prefetch_sender;
use crate::nic::timers::Timers;
use crate::nic::{Context, Host};
use crate::packet::ConnectionId;
use crate::record::{Record, SendReport};
use record::ChunkStatus;
use transport::{Config, Controller, Feedback, RateControl, TimeoutOutcome};
use units::Instant;

impl Host {
    /// Sends the next packet by a port.
    #[inline(always)]
    pub(crate) fn send(&mut self, port: usize, now: Instant, context: &mut Context) {
        let next = self.ports[port].next_active_if_plain(now).and_then(ConnectionId::as_rc);
        let sender = match next {
            Some(sender) => sender,
            None => match self.send_first(port, now, context) {
                Some(sender) => sender,
                None => return self.ports[port].schedule(now),
            },
        };
        self.serve(port, sender, now, context);
    }

    /// Sends packets that precede payload of queue pairs, or belong to other connections; otherwise returns
    /// the next sender.
    #[inline(never)]
    fn send_first(&mut self, port: usize, now: Instant, context: &mut Context) -> Option<u32> {
        let state = &mut self.ports[port];
        state.advance(now);
        let connection = if state.has_options() {
            self.send_with_options(port, now, context)?
        } else if let Some(control) = state.first_control() {
            if control.is_captured {
                self.send_captured(port, now, context);
            } else {
                state.transmit_first_control(now, context);
            }
            return None;
        } else {
            state.next_active()?
        };
        if connection.as_rc().is_none() {
            self.serve_other(port, connection, now, context);
        }
        connection.as_rc()
    }

    /// Sends the first control packet of a port, if it has one, and records it.
    #[cold]
    fn send_captured(&mut self, port: usize, now: Instant, context: &mut Context) {
        if let Some(control) = self.ports[port].first_control().copied() {
            self.note_reply(&control, now + self.latency, context);
            self.ports[port].transmit_first_control(now, context);
        }
    }

    /// [`Self::send_first`] by a port with options.
    #[cold]
    fn send_with_options(
        &mut self,
        port: usize,
        now: Instant,
        context: &mut Context,
    ) -> Option<ConnectionId> {
        let Self { ports, senders, config, data_frames, .. } = self;
        let framing = data_frames.framing;
        let next_frame_bytes = |connection: ConnectionId| {
            connection.as_rc().map_or(0, |sender| senders[sender].next_frame_bytes(config, framing))
        };
        match ports[port].pop_with_options(now, next_frame_bytes) {
            Next::LinkControl(packet) => self.ports[port].transmit(&packet, now, context),
            Next::Control(control) => self.send_control(port, &control, now, context),
            Next::Connection(connection) => return Some(connection),
            Next::Nothing => {}
        }
        None
    }

    /// Posts every next chunk of a sender that is ready; `outgoing` is the transfer of one of them.
    #[inline]
    pub(crate) fn post_ready(&mut self, sender: u32, outgoing: u32, now: Instant, context: &mut Context) {
        let Self { senders, pacers, sends, jobs, ports, config, data_frames, .. } = self;
        let state = &mut senders[sender];
        if state.is_local() {
            return self.post_local(sender, now);
        }
        let pass = || jobs.pass_of(outgoing);
        if data_frames.is_paced && state.has_sent_all() {
            pacers[sender].on_post(now, !state.is_busy());
        }
        state.post_ready(sender, config, sends, pass, now, context);
        let window = window_packets(pacers, data_frames, sender);
        make_ready(ports, config, sender, state, window, now);
    }

    #[inline]
    fn send_control(&mut self, port: usize, control: &Control, now: Instant, context: &mut Context) {
        if control.is_captured {
            self.note_reply(control, now + self.latency, context);
        }
        self.ports[port].transmit(&control.packet, now, context);
    }

    /// Serves the next queue pair.
    #[inline]
    fn serve(&mut self, port: usize, sender: u32, now: Instant, context: &mut Context) {
        let sent = now + self.latency;
        let Self { ports, senders, pacers, sends, config, data_frames, timers, .. } = self;
        let (port, config) = (&mut ports[port], &**config);
        if context.is_large()
            && let Some(ahead) = port.connection_ahead()
        {
            prefetch_sender(senders, pacers, ahead);
        }
        let state = &mut senders[sender];
        let window_packets = window_packets(pacers, data_frames, sender);
        let service = Service { now, sent, window_packets };
        let mut pacer = if data_frames.is_paced { Some(&mut pacers[sender]) } else { None };
        if pacer.as_ref().is_none_or(|pacer| pacer.ready_at() <= now)
            && let Some(packet) = state.next_packet(sender, config, data_frames, service, sends, context)
        {
            if let Some(pacer) = &mut pacer {
                if let Some(position) = packet.position() {
                    pacer.on_position(now, position);
                }
                let wire_bytes = packet.frame_bytes() + data_frames.framing.link_overhead_bytes();
                pacer.on_sent(now, packet.psn(), wire_bytes);
            }
            port.transmit_data(&packet.leaving(sent), now, context);
        }
        let connection = ConnectionId::rc(sender);
        if !state.stays_active(config, window_packets) {
            port.drop_served();
        } else if let Some(pacer) = pacer {
            port.rotate_or_defer(connection, pacer.ready_at(), now);
        } else {
            port.rotate(connection);
        }
        arm_timer(timers, sender, state, config, context);
        port.schedule(now);
    }

    pub(crate) fn check_deadline(&mut self, sender: u32, now: Instant, context: &mut Context) {
        let Some(state) = self.senders.get_mut(sender) else { return };
        state.take_timer();
        let outcome = state.on_timeout(&self.config, &self.sends, now);
        if outcome != TimeoutOutcome::NotDue && state.count(&mut self.sends, Sends::count_timeout) {
            self.notify(sender, &Feedback { is_timeout: true, ..Feedback::at(now) });
        }
        if outcome == TimeoutOutcome::Failed {
            self.fail_sender(sender, now, context);
        }
        let Self { ports, senders, pacers, config, data_frames, timers, .. } = self;
        let state = &mut senders[sender];
        arm_timer(timers, sender, state, config, context);
        make_ready(ports, config, sender, state, window_packets(pacers, data_frames, sender), now);
    }

    /// Notifies the rate controller of a sender of a NAK, a timeout or a CNP.
    #[cold]
    pub(crate) fn notify(&mut self, sender: u32, feedback: &Feedback<'_>) {
        if let Some(pacer) = self.pacers.get_mut(sender) {
            pacer.on_feedback(feedback);
        }
    }

    /// A queue pair has failed: reports each of its open chunks as failed.
    #[cold]
    fn fail_sender(&mut self, sender: u32, now: Instant, context: &mut Context) {
        let state = &mut self.senders[sender];
        let framing = self.data_frames.framing;
        let open: Vec<(WorkId, Frames)> = state.open(&self.config, framing, &self.sends).collect();
        state.fail();
        let queue_pair = self.sends.queue_pair_of(sender);
        context.records.push(Record::QueuePairFailed { queue_pair, at: now });
        open.into_iter().for_each(|(send, sent)| self.end_counted_send(send, sent, None, context));
    }

    /// A chunk without NAKs, timeouts, retransmissions and CNPs was acknowledged: reports it with `sent`
    /// frames.
    #[inline]
    pub(crate) fn end_send(&mut self, send: WorkId, sent: Frames, completed: Instant, context: &mut Context) {
        let pass = self.pass_of(send);
        match self.sends.plain_report(send, pass, sent, completed) {
            Some(report) => context.records.push(Record::Sent(report)),
            None => self.end_counted_send(send, sent, Some(completed), context),
        }
    }

    /// A chunk that may have such counts was acknowledged at `completed`, or has failed: reports it with
    /// `sent` frames, without those resent.
    #[inline(never)]
    pub(crate) fn end_counted_send(
        &mut self,
        send: WorkId,
        sent: Frames,
        completed: Option<Instant>,
        context: &mut Context,
    ) {
        let status = if completed.is_some() { ChunkStatus::Complete } else { ChunkStatus::Failed };
        let report = self.send_report(send, sent).ended(status, completed);
        context.records.push(Record::sent(&report));
        self.sends.forget(send);
    }

    /// The pass of an open chunk: that of its rank, since no phase ends before everything is acknowledged.
    #[inline]
    fn pass_of(&self, send: WorkId) -> u32 {
        self.jobs.pass_of(self.sends.outgoing_of(send))
    }

    /// Report of an open chunk so far.
    pub(crate) fn send_report(&self, send: WorkId, sent: Frames) -> SendReport {
        self.sends.report(send, self.pass_of(send), sent)
    }

    /// Reports of chunks that were posted and never ended.
    pub(crate) fn open_sends(&self) -> impl Iterator<Item = SendReport> {
        let framing = self.data_frames.framing;
        let open =
            self.senders.iter().flat_map(move |sender| sender.open(&self.config, framing, &self.sends));
        let unrecovered = self.unrecovered.iter().flat_map(|chunks| chunks.reports());
        open.map(|(send, sent)| self.send_report(send, sent)).chain(unrecovered)
    }
}

/// The window of a sender's rate controller [packets].
#[inline]
pub(super) fn window_packets(
    pacers: &ResidentQueuePairs<Controller>,
    frames: &DataFrames,
    sender: u32,
) -> u32 {
    // A controller that ignores acknowledgements has no window, and its memory is not accessed.
    if frames.uses_acks { pacers[sender].window_packets() } else { u32::MAX }
}

/// Adds a sender to the active senders of its port, unless it is active, if it has packets to send within the
/// window of its rate controller.
#[inline]
pub(super) fn make_ready(
    ports: &mut [NicPort],
    config: &Config,
    sender: u32,
    state: &mut Sender,
    window_packets: u32,
    now: Instant,
) {
    if state.becomes_active(config, window_packets) {
        ports[usize::from(state.port())].enqueue(ConnectionId::rc(sender), state.priority(), now);
    }
}

/// Maintains one timer entry per sender with packets outstanding; its deadline is checked when the timer
/// fires.
#[inline]
fn arm_timer(timers: &mut Timers, sender: u32, state: &mut Sender, config: &Config, context: &mut Context) {
    if state.needs_timer() {
        timers.arm(state.deadline(), sender);
        if state.is_at_last_retry(config) {
            context.totals.add_last_retry(state.deadline());
        }
    }
}
