//! A port of a NIC: pause frames and control packets first, then the queue pairs round robin.

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
}

/// How a port is set up.
#[derive(Clone, Debug)]
pub(crate) struct NicPortPlan {
    pub(crate) wire: Wire,
    /// What happens to the link.
    pub(crate) changes: Option<LinkChanges>,
    /// Priority of payload.
    pub(crate) data: Priority,
    /// What an impaired NIC still sends.
    pub(crate) pace: Option<Rate>,
}

/// What a port sends next.
pub(super) enum Next {
    Pause(Packet),
    Control(Control),
    Sender(u32),
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
    /// Priority of payload.
    data: Priority,
    pause: PauseState,
    /// Pause frames, ahead of everything.
    urgent: Ring<Packet>,
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
            data_at: Instant::ZERO,
            next_send: Instant::NEVER,
            received: Received::default(),
            pauses_sent: 0,
            pause_frames_sent: 0,
            data: plan.data,
            pace: plan.pace,
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

    /// Pause frames put on the link, those that end a pause included.
    pub(crate) const fn pause_frames_sent(&self) -> u64 {
        self.pause_frames_sent
    }

    /// The senders that are served next, as things stand.
    #[inline]
    pub(super) fn senders_ahead(&self) -> impl Iterator<Item = u32> {
        (0..SENDERS_AHEAD).map_while(|place| self.round.get(place).copied())
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

    /// Acts on a pause frame.
    pub(super) fn receive_pause(&mut self, pause: &Packet) {
        self.pause.receive(pause, pause.at());
        self.schedule(pause.at());
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
        self.schedule(now);
    }

    /// Takes a sender into the round.
    #[inline]
    pub(super) fn enqueue_sender(&mut self, sender: u32, now: Instant) {
        self.round.push_back(sender);
        self.schedule(now);
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

    /// Takes out what to send at `now`.
    #[inline]
    pub(super) fn pop_next(&mut self, now: Instant) -> Next {
        self.pause.expire(now);
        while let Some(&Reverse((at, sender))) = self.paced.peek()
            && at <= now
        {
            self.paced.pop();
            self.round.push_back(sender);
        }
        if let Some(pause) = self.urgent.pop_front() {
            self.pause_frames_sent += 1;
            return Next::Pause(pause);
        }
        if self.may_send_control() {
            return self.control.pop_front().map_or(Next::Nothing, Next::Control);
        }
        if self.may_send_data() && self.data_at <= now {
            return self.round.pop_front().map_or(Next::Nothing, Next::Sender);
        }
        Next::Nothing
    }

    #[inline]
    fn may_send_control(&self) -> bool {
        self.control.front().is_some_and(|control| self.pause.mask() & control.packet.priority().bit() == 0)
    }

    #[inline]
    const fn may_send_data(&self) -> bool {
        self.pause.mask() & self.data.bit() == 0
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
        if self.pause.mask() != 0 {
            next = next.min(self.next_unpaused(now));
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

    #[inline]
    pub(super) fn transmit<R>(&mut self, packet: Packet, now: Instant, context: &mut Context<Packet, R>) {
        self.transmitter.transmit(packet, now, context);
    }

    /// Sends payload; an impaired NIC then waits.
    #[inline]
    pub(super) fn transmit_data<R>(
        &mut self,
        packet: Packet,
        now: Instant,
        context: &mut Context<Packet, R>,
    ) {
        self.transmitter.transmit(packet, now, context);
        if let Some(pace) = self.pace {
            self.data_at = pace.frame_end(now, packet.frame_bytes());
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
            data_at,
            next_send,
            received,
            pauses_sent,
            pause_frames_sent,
        } = self;
        transmitter.visit(cycle);
        cycle.same_list([urgent.len(), control.len(), round.len()].into_iter().map(|len| len as u64));
        urgent.change_all(|pause| pause.visit(cycle));
        control.change_all(|Control { packet, receiver }| {
            packet.visit(cycle);
            cycle.same(u64::from(*receiver));
        });
        round.iter().for_each(|sender| cycle.same(u64::from(*sender)));
        visit_heap(paced, |(at, sender)| {
            cycle.time(at);
            cycle.same(u64::from(*sender));
        });
        pause.visit(cycle);
        cycle.time(data_at);
        cycle.time(next_send);
        let Received { frames, bytes } = received;
        [frames, bytes, pauses_sent, pause_frames_sent].into_iter().for_each(|count| cycle.count(count));
    }
}
