//! A port of a NIC: pause frames or flow control packets first, then control packets, then the queue pairs round robin.

use super::tcp_lane::{NextTcp, TcpAckWaiting, TcpLane};
use crate::credits::{CreditPlan, Credits, hold_without_credit};
use crate::egress::{Transmitter, Wire};
use crate::fast_forward::visit_heap;
use crate::kernel::{Context, Message};
use crate::link_changes::LinkChanges;
use crate::packet::{Packet, Priority};
use crate::pause::PauseState;
use crate::ring::Ring;
use crate::switch::Received;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Cycle, Instant, Rate};

/// How many senders ahead of the one being served memory is asked for.
const SENDERS_AHEAD: usize = 3;

/// A control packet waiting to be sent, with the receiver it comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub(super) packet: Packet,
    pub(super) receiver: u32,
    /// Its queue pair is captured.
    pub(super) is_captured: bool,
}

/// How a port is set up.
#[derive(Clone, Debug)]
pub(crate) struct NicPortPlan {
    pub(crate) wire: Wire,
    /// What happens to the link.
    pub(crate) changes: Option<LinkChanges>,
    /// Priority of payload.
    pub(crate) data: Priority,
    /// What a NIC that is slow in sending still sends.
    pub(crate) pace: Option<Rate>,
    /// Credits of the link, on InfiniBand.
    pub(crate) credits: Option<CreditPlan>,
}

/// What a port sends next.
pub(super) enum Next {
    LinkControl(Packet),
    Control(Control),
    Sender(u32),
    Tcp(NextTcp),
    Nothing,
}

/// A port of a NIC.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct NicPort {
    // The first line of the cache, and the second: all that a frame needs.
    transmitter: Transmitter,
    next_send: Instant,
    control: Ring<Control>,
    /// Senders with something to send, in the order of service.
    round: Ring<u32>,
    // The third.
    received: Received,
    /// Senders whose rate holds them back, with the time they may send next.
    paced: BinaryHeap<Reverse<(Instant, u32)>>,
    /// When an impaired NIC may send data again.
    data_at: Instant,
    /// What waits for TCP, once there was something.
    tcp: Option<Box<TcpLane>>,
    /// Priority of payload.
    data: Priority,
    pause: PauseState,
    /// Pause frames, ahead of everything.
    urgent: Ring<Packet>,
    /// On InfiniBand.
    credits: Option<Box<Credits>>,
    // Behind what is looked at for each frame.
    /// What an impaired NIC still sends.
    pace: Option<Rate>,
    pauses_sent: u64,
    pause_frames_sent: u64,
}

impl NicPort {
    pub(super) fn new(plan: NicPortPlan) -> Self {
        Self {
            transmitter: Transmitter::new(plan.wire, plan.changes),
            urgent: Ring::default(),
            control: Ring::default(),
            round: Ring::default(),
            paced: BinaryHeap::new(),
            pause: PauseState::new(plan.wire.rate),
            credits: plan.credits.map(|plan| Box::new(Credits::new(plan))),
            data_at: Instant::ZERO,
            next_send: Instant::NEVER,
            received: Received::default(),
            pauses_sent: 0,
            pause_frames_sent: 0,
            data: plan.data,
            pace: plan.pace,
            tcp: None,
        }
    }

    pub(crate) const fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    pub(crate) const fn received(&self) -> Received {
        self.received
    }

    pub(crate) const fn pause(&self) -> &PauseState {
        &self.pause
    }

    /// Priority of payload, for which alone a NIC asks for pauses.
    pub(crate) const fn data_priority(&self) -> Priority {
        self.data
    }

    /// Pause frames asked for with other than zero quanta.
    pub(crate) const fn pauses_sent(&self) -> u64 {
        self.pauses_sent
    }

    /// Pause frames, those that end a pause included, and flow control packets put on the link.
    pub(crate) fn link_control_sent(&self) -> u64 {
        self.pause_frames_sent + self.credits().map_or(0, Credits::packets_sent)
    }

    /// Pause frames and flow control packets that came in.
    pub(crate) fn link_control_received(&self) -> u64 {
        self.pause.frames_received() + self.credits().map_or(0, Credits::packets_received)
    }

    /// Credits of the link, on InfiniBand.
    pub(crate) fn credits(&self) -> Option<&Credits> {
        self.credits.as_deref()
    }

    /// The senders that are served next, as things stand.
    #[inline]
    pub(super) fn senders_ahead(&self) -> impl Iterator<Item = u32> {
        (0..SENDERS_AHEAD).map_while(|place| self.round.get(place).copied())
    }

    /// Sends payload at most at that rate from now on.
    pub(super) const fn set_pace(&mut self, pace: Option<Rate>) {
        self.pace = pace;
    }

    /// Counts an arrival.
    #[inline]
    pub(super) const fn count_arrival(&mut self, packet: &Packet) {
        self.received.frames += 1;
        self.received.bytes += packet.frame_bytes() as u64;
    }

    /// When the next frame starts, or when to look again; never while nothing waits.
    #[inline]
    pub(super) const fn next_send(&self) -> Instant {
        self.next_send
    }

    /// Acts on a pause frame or a flow control packet.
    pub(super) fn receive_link_control(&mut self, packet: &Packet) {
        match &mut self.credits {
            None => self.pause.receive(packet, packet.at()),
            Some(credits) => {
                credits.receive(packet);
                // What is next is looked at when it is its turn.
                self.pause.let_go(packet.priority(), packet.at());
            }
        }
        self.schedule(packet.at());
    }

    /// Takes a frame into the buffer of its lane.
    pub(super) fn fill_lane(&mut self, packet: &Packet) {
        if let Some(credits) = &mut self.credits {
            credits.take_in(packet);
        }
    }

    /// The host has taken a frame out of the buffer of its lane.
    pub(super) fn free_lane(&mut self, packet: &Packet, now: Instant) {
        if let Some(credits) = &mut self.credits {
            credits.free(packet.priority(), packet.frame_bytes());
            self.schedule(now);
        }
    }

    /// Holds a priority back if a frame has no credit.
    fn look_at_credit(&mut self, priority: Priority, frame_bytes: u32, now: Instant) {
        if let Some(credits) = &self.credits {
            let next = (priority, Some(frame_bytes));
            hold_without_credit(credits, &mut self.pause, next, (now, now));
        }
    }

    /// Queues a pause frame for the switch.
    pub(super) fn send_pause(&mut self, pause: Packet, now: Instant) {
        self.pauses_sent += u64::from(pause.quanta() > 0);
        self.urgent.push_back(pause);
        self.schedule(now);
    }

    #[inline]
    pub(super) fn enqueue_control(&mut self, control: Control, now: Instant) {
        self.control.push_back(control);
        self.schedule_more(now);
    }

    /// Takes a sender into the round.
    #[inline]
    pub(super) fn enqueue_sender(&mut self, sender: u32, now: Instant) {
        self.round.push_back(sender);
        self.schedule_more(now);
    }

    /// Puts a sender just served at the end of the round, or aside until its rate lets it send.
    #[inline]
    pub(super) fn requeue_sender(&mut self, sender: u32, ready_at: Instant, now: Instant) {
        if ready_at > now {
            self.paced.push(Reverse((ready_at, sender)));
        } else {
            self.round.push_back(sender);
        }
    }

    #[cold]
    pub(super) fn enqueue_tcp_ack(&mut self, ack: TcpAckWaiting, now: Instant) {
        self.tcp.get_or_insert_default().push_ack(ack);
        self.schedule(now);
    }

    /// Takes a TCP source into its round.
    #[cold]
    pub(super) fn enqueue_tcp_source(&mut self, source: u32, now: Instant) {
        self.tcp.get_or_insert_default().push_source(source);
        self.schedule(now);
    }

    /// Takes out what to send of TCP, if it is its turn or `others` have nothing to send. Its priority is never paused: PFC is for
    /// lossless ones.
    #[cold]
    fn pop_tcp(&mut self, others: bool) -> Option<NextTcp> {
        let lane = self.tcp.as_mut()?;
        if others && !lane.has_turn {
            lane.has_turn = true;
            return None;
        }
        lane.pop()
    }

    /// Takes out what to send at `now`. `next_frame_bytes` gives the size of a sender's next frame.
    #[inline]
    pub(super) fn pop_next(&mut self, now: Instant, next_frame_bytes: impl Fn(u32) -> u32) -> Next {
        self.pause.expire(now);
        while let Some(&Reverse((at, sender))) = self.paced.peek()
            && at <= now
        {
            self.paced.pop();
            self.round.push_back(sender);
        }
        if let Some(pause) = self.urgent.pop_front() {
            self.pause_frames_sent += 1;
            return Next::LinkControl(pause);
        }
        if self.credits.is_some()
            && let Some(update) = self.look_at_credits(now, next_frame_bytes)
        {
            return Next::LinkControl(update);
        }
        if self.may_send_control() {
            return self.control.pop_front().map_or(Next::Nothing, Next::Control);
        }
        if self.data_at > now {
            return Next::Nothing;
        }
        if self.tcp.is_some()
            && let Some(next) = self.pop_tcp(self.may_send_data() && !self.round.is_empty())
        {
            return Next::Tcp(next);
        }
        if self.may_send_data() {
            return self.round.pop_front().map_or(Next::Nothing, Next::Sender);
        }
        Next::Nothing
    }

    /// The flow control packet that is due; else what is next is held back if it has no credit.
    #[cold]
    fn look_at_credits(&mut self, now: Instant, next_frame_bytes: impl Fn(u32) -> u32) -> Option<Packet> {
        if let Some(update) = self.credits.as_mut().and_then(|credits| credits.next_update(now)) {
            return Some(update);
        }
        if let Some(Control { packet, .. }) = self.control.front().copied() {
            self.look_at_credit(packet.priority(), packet.frame_bytes(), now);
        }
        // A control packet that waits for credit is not overtaken in its lane.
        if !self.may_send_control() && self.may_send_data() && self.data_at <= now {
            let frame_bytes = self.round.front().map(|&sender| next_frame_bytes(sender));
            frame_bytes.into_iter().for_each(|bytes| self.look_at_credit(self.data, bytes, now));
        }
        None
    }

    #[inline]
    fn may_send_control(&self) -> bool {
        self.control.front().is_some_and(|control| self.pause.mask() & control.packet.priority().bit() == 0)
    }

    #[inline]
    const fn may_send_data(&self) -> bool {
        self.pause.mask() & self.data.bit() == 0
    }

    /// Sets the time of the next frame after there is more to send at `now`; nothing is sooner than when the link is free.
    #[inline]
    fn schedule_more(&mut self, now: Instant) {
        if self.next_send > now.max(self.transmitter.free_at()) {
            self.schedule(now);
        }
    }

    /// Sets the time of the next frame after something changed at `now`.
    #[inline]
    pub(super) fn schedule(&mut self, now: Instant) {
        let mut next = Instant::NEVER;
        if !self.urgent.is_empty() || self.may_send_control() {
            next = now;
        } else if !self.round.is_empty() && self.may_send_data() {
            next = now.max(self.data_at);
        } else if let Some(&Reverse((at, _))) = self.paced.peek()
            && self.may_send_data()
        {
            next = now.max(at).max(self.data_at);
        }
        if self.tcp.as_ref().is_some_and(|lane| !lane.is_empty()) {
            next = next.min(now.max(self.data_at));
        }
        if self.pause.mask() != 0 {
            next = next.min(self.next_unpaused(now));
        }
        if let Some(credits) = &self.credits {
            let update = credits.update_due();
            next = next.min(if update == Instant::NEVER { update } else { update.max(now) });
        }
        self.next_send = if next == Instant::NEVER { next } else { next.max(self.transmitter.free_at()) };
    }

    /// When something that waits for the end of a pause may go.
    #[cold]
    fn next_unpaused(&self, now: Instant) -> Instant {
        let data = if self.round.is_empty() && self.paced.is_empty() { 0 } else { self.data.bit() };
        let control = self.control.front().map_or(0, |control| control.packet.priority().bit());
        let expiry = self.pause.next_expiry(data | control);
        if expiry == Instant::NEVER { expiry } else { expiry.max(now) }
    }

    #[inline(never)]
    pub(super) fn transmit<R>(&mut self, packet: Packet, now: Instant, context: &mut Context<Packet, R>) {
        if let Some(credits) = &mut self.credits
            && !packet.is_link_control()
        {
            credits.spend(&packet);
        }
        self.transmitter.transmit(&packet, now, context);
    }

    /// Sends payload; an impaired NIC then waits.
    #[inline]
    pub(super) fn transmit_data<R>(
        &mut self,
        packet: Packet,
        now: Instant,
        context: &mut Context<Packet, R>,
    ) {
        self.transmit(packet, now, context);
        if let Some(pace) = self.pace {
            self.data_at =
                pace.frame_end(now, packet.frame_bytes(), self.transmitter.framing().link_overhead_bytes());
        }
    }
}

impl NicPort {
    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            transmitter,
            data: _,
            pace: _,
            urgent,
            control,
            round,
            paced,
            pause,
            credits,
            data_at,
            next_send,
            received,
            pauses_sent,
            pause_frames_sent,
            // Fast-forward is off where there is TCP.
            tcp: _,
        } = self;
        transmitter.visit(cycle);
        cycle.same_list([urgent.len(), control.len(), round.len()].into_iter().map(|len| len as u64));
        urgent.change_all(|pause| pause.visit(cycle));
        control.change_all(|Control { packet, receiver, is_captured: _ }| {
            packet.visit(cycle);
            cycle.same(u64::from(*receiver));
        });
        round.iter().for_each(|sender| cycle.same(u64::from(*sender)));
        visit_heap(paced, |(at, sender)| {
            cycle.time(at);
            cycle.same(u64::from(*sender));
        });
        pause.visit(cycle);
        if let Some(credits) = credits {
            credits.visit(cycle);
        }
        cycle.time(data_at);
        cycle.time(next_send);
        let Received { frames, bytes } = received;
        [frames, bytes, pauses_sent, pause_frames_sent].into_iter().for_each(|count| cycle.count(count));
    }
}
