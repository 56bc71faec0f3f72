//! A port of a NIC: sends pause frames or flow control packets first, then control packets, then payload of
//! the queue pairs, round robin.

use super::tcp::{NextTcp, TcpAckWaiting, TcpLane};
use crate::link::changes::LinkChanges;
use crate::link::credits::{CreditPlan, Credits, hold_without_credit};
use crate::link::egress::{Transmitter, Wire};
use crate::link::pause::PauseState;
use crate::packet::{Packet, Priority};
use crate::record::Context;
use engine::Ring;
use engine::prefetch::LINE_BYTES;
use engine::{Destination, Message};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::offset_of;
use transport::Position;
use units::{ByteTime, Carry, Instant, Rate, Span, State, Stream};

/// Senders prefetched beyond the one being served.
const SENDERS_AHEAD: usize = 3;

/// A queued control packet, with the receiver that sends it.
#[derive(Clone, Copy, Debug, State)]
pub(super) struct Control {
    pub(super) packet: Packet,
    pub(super) receiver: u32,
    /// Its queue pair is captured.
    #[state(skip)]
    pub(super) is_captured: bool,
}

/// Parameters of a port.
#[derive(Clone, Debug)]
pub(crate) struct NicPortPlan {
    pub(crate) wire: Wire,
    /// Changes of the link over time.
    pub(crate) changes: Option<LinkChanges>,
    /// Priority of payload.
    pub(crate) data: Priority,
    /// Maximum rate of payload of a NIC that is slow in sending.
    pub(crate) pace: Option<Rate>,
    /// Credits of the link, on InfiniBand.
    pub(crate) credits: Option<CreditPlan>,
    /// Scheduling of payload, unless it is packet by packet without delays.
    pub(crate) turns: Option<TurnPlan>,
}

/// Scheduling of payload at a port, unless it is packet by packet without delays.
#[derive(Clone, Debug)]
pub(crate) struct TurnPlan {
    /// Packets that a queue pair sends before the next one is served.
    pub(crate) packets: u32,
    /// Minimum time between the first frames of consecutive messages.
    pub(crate) message_interval: Span,
    /// Upper limit of the random delay of each frame.
    pub(crate) jitter: Span,
    /// Random stream of the delays.
    pub(crate) stream: Stream,
    /// The byte time is no whole number of picoseconds, and the remainder is compensated.
    pub(crate) is_exact: bool,
}

/// State of the scheduling of payload at a port.
#[derive(Debug, State)]
struct Turns {
    #[state(skip)]
    plan: TurnPlan,
    /// Packets that the queue pair at the front of the round has sent since it reached the front.
    sent: u32,
    /// Fractions of a picosecond left over: on the link, and in the pacing of an impaired NIC.
    on_link: Carry,
    by_pace: Carry,
    /// Time of the next frame if the earlier ones had no jitter.
    due: Instant,
    /// Time, before jitter, of the frame for which jitter was drawn.
    drawn: Option<Instant>,
}

impl Turns {
    fn new(plan: TurnPlan) -> Self {
        let (on_link, by_pace) = (Carry::default(), Carry::default());
        Self { plan, sent: 0, on_link, by_pace, due: Instant::ZERO, drawn: None }
    }

    /// Counts a packet sent by the served queue pair; returns whether it sends the next one, too.
    const fn goes_on(&mut self) -> bool {
        self.sent += 1;
        let goes_on = self.sent < self.plan.packets;
        if !goes_on {
            self.sent = 0;
        }
        goes_on
    }

    /// Time at which a frame leaves that could leave at `now`, if other frames occupied the port until
    /// `held_until`.
    fn leave_at(&mut self, now: Instant, held_until: Instant) -> Instant {
        if self.plan.jitter == Span::ZERO || self.drawn.is_some() {
            return now;
        }
        // A frame that had to wait for others is due when they would have finished without jitter.
        let turn = if now <= held_until { self.due.min(now) } else { now };
        self.drawn = Some(turn);
        (turn + Span(self.plan.stream.below(self.plan.jitter.0 + 1))).max(now)
    }

    /// Remainder of the pacing time of a frame of an impaired NIC.
    const fn by_pace(&mut self, pace: ByteTime, bytes: u32) -> Span {
        if self.plan.is_exact { self.by_pace.next(pace, bytes) } else { Span::ZERO }
    }
}

/// The next transmission of a port.
pub(super) enum Next {
    LinkControl(Packet),
    Control(Control),
    Sender(u32),
    Tcp(NextTcp),
    Nothing,
}

/// A port of a NIC.
#[derive(Debug, State)]
#[repr(C, align(64))]
pub(crate) struct NicPort {
    // First and second cache line: all that a frame needs.
    transmitter: Transmitter,
    /// The other end of the link.
    #[state(skip)]
    to: Destination,
    /// Priority of payload.
    #[state(skip)]
    data: Priority,
    /// Flags of the fields of the third cache line that are in use, see [`Self::look`].
    #[state(skip)]
    aside: u8,
    next_send: Instant,
    control: Ring<Control>,
    /// Senders with data to send, in the order of service.
    round: Ring<u32>,
    // Third cache line: not needed by most ports.
    /// Allocated at first use.
    special: Option<Box<Special>>,
    /// Senders delayed by their rate, with the time at which they may send next.
    paced: BinaryHeap<Reverse<(Instant, u32)>>,
    pause: PauseState,
}

/// In [`NicPort::aside`]: it has a [`Special`].
const SPECIAL: u8 = 1;
/// In [`NicPort::aside`]: a priority is paused.
const PAUSED: u8 = 2;
/// In [`NicPort::aside`]: a sender is delayed by its rate.
const PACED: u8 = 4;

/// Bytes at the start of a port that most ports need.
pub(super) const HOT_BYTES: usize = offset_of!(NicPort, special);

const _: () = assert!(HOT_BYTES == 2 * LINE_BYTES, "of most ports two lines are looked at");

/// State that most ports never have.
#[derive(Debug, Default, State)]
struct Special {
    /// Pause frames, sent before everything else.
    urgent: Ring<Packet>,
    /// On InfiniBand.
    credits: Option<Credits>,
    /// Queued TCP segments and acknowledgements.
    #[state(only_if = TcpLane::is_empty)]
    tcp: TcpLane,
    /// Maximum rate of payload of an impaired NIC.
    pace: Option<Rate>,
    /// Time from which payload may be sent again.
    data_at: Instant,
    turns: Option<Box<Turns>>,
    #[state(count)]
    pauses_sent: u64,
    #[state(count)]
    resumes_sent: u64,
    #[state(count)]
    pause_frames_sent: u64,
}

impl Special {
    /// Time of the next transmission of a port that would send a control packet or payload at `next`.
    #[cold]
    fn next_send(&self, next: Instant, now: Instant, is_control: bool) -> Instant {
        let next = if is_control || next == Instant::NEVER { next } else { next.max(self.data_at) };
        let urgent = if self.urgent.is_empty() { Instant::NEVER } else { now };
        let tcp = if self.tcp.is_empty() { Instant::NEVER } else { now.max(self.data_at) };
        let update = self.credits.as_ref().map_or(Instant::NEVER, Credits::update_due).max(now);
        next.min(urgent).min(tcp).min(update)
    }
}

impl NicPort {
    pub(super) fn new(plan: NicPortPlan) -> Self {
        let mut port = Self {
            transmitter: Transmitter::new(plan.wire, plan.changes),
            to: plan.wire.to,
            control: Ring::default(),
            round: Ring::default(),
            paced: BinaryHeap::new(),
            pause: PauseState::new(plan.wire.rate),
            next_send: Instant::NEVER,
            aside: 0,
            data: plan.data,
            special: (plan.credits.is_some() || plan.pace.is_some() || plan.turns.is_some()).then(|| {
                let credits = plan.credits.map(Credits::new);
                let turns = plan.turns.map(|turns| Box::new(Turns::new(turns)));
                Box::new(Special { credits, pace: plan.pace, turns, ..Special::default() })
            }),
        };
        port.look();
        port
    }

    /// Updates the flags of the third cache line after a change of its fields.
    fn look(&mut self) {
        let special = if self.special.is_some() { SPECIAL } else { 0 };
        let paused = if self.pause.mask() != 0 { PAUSED } else { 0 };
        let paced = if self.paced.is_empty() { 0 } else { PACED };
        self.aside = special | paused | paced;
    }

    pub(crate) const fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    pub(crate) const fn pause(&self) -> &PauseState {
        &self.pause
    }

    /// Priority of payload, the only one for which a NIC requests pauses.
    pub(crate) const fn data_priority(&self) -> Priority {
        self.data
    }

    /// Pause frames requested with quanta other than zero.
    pub(crate) fn pauses_sent(&self) -> u64 {
        self.special.as_ref().map_or(0, |special| special.pauses_sent)
    }

    /// Pause frames requested with zero quanta.
    pub(crate) fn resumes_sent(&self) -> u64 {
        self.special.as_ref().map_or(0, |special| special.resumes_sent)
    }

    /// Pause frames, including those that end a pause, and flow control packets sent.
    pub(crate) fn link_control_sent(&self) -> u64 {
        let pause_frames = self.special.as_ref().map_or(0, |special| special.pause_frames_sent);
        pause_frames + self.credits().map_or(0, Credits::packets_sent)
    }

    /// Pause frames and flow control packets received.
    pub(crate) fn link_control_received(&self) -> u64 {
        self.pause.frames_received() + self.credits().map_or(0, Credits::packets_received)
    }

    /// Credits of the link, on InfiniBand.
    pub(crate) fn credits(&self) -> Option<&Credits> {
        self.special.as_ref()?.credits.as_ref()
    }

    /// Prefetches the entries of the next senders to serve and of the next control packet to be queued.
    #[inline]
    pub(super) fn prefetch_queues(&self) {
        self.round.prefetch_first(1);
        self.control.prefetch_next(1);
    }

    /// The next senders to serve in the current order.
    #[inline]
    pub(super) fn senders_ahead(&self) -> impl Iterator<Item = u32> {
        (0..SENDERS_AHEAD).map_while(|place| self.round.get(place).copied())
    }

    /// The sender up to [`SENDERS_AHEAD`] positions behind the next one to serve; `None` if there is only
    /// one.
    #[inline]
    pub(super) fn sender_ahead(&self) -> Option<u32> {
        let last = self.round.len() - 1;
        if last == 0 { None } else { self.round.get(last.min(SENDERS_AHEAD)).copied() }
    }

    /// Limits the rate of payload from now on.
    pub(super) fn set_pace(&mut self, pace: Option<Rate>) {
        self.special().pace = pace;
    }

    fn special(&mut self) -> &mut Special {
        self.aside |= SPECIAL;
        self.special.get_or_insert_default()
    }

    fn credits_mut(&mut self) -> Option<&mut Credits> {
        self.special.as_mut()?.credits.as_mut()
    }

    /// Start of the next frame, or time of the next check; never while nothing is queued.
    #[inline]
    pub(super) const fn next_send(&self) -> Instant {
        self.next_send
    }

    /// Processes a pause frame or a flow control packet.
    #[cold]
    pub(super) fn receive_link_control(&mut self, packet: &Packet) {
        match self.credits_mut() {
            None => self.pause.receive(packet, packet.at()),
            Some(credits) => {
                credits.receive(packet);
                // The next packet is checked for credit when it is about to be sent.
                self.pause.let_go(packet.priority(), packet.at());
            }
        }
        self.look();
        self.schedule(packet.at());
    }

    /// Adds a frame to the buffer of its lane.
    #[inline]
    pub(super) fn fill_lane(&mut self, packet: &Packet) {
        if let Some(credits) = self.credits_mut() {
            credits.take_in(packet);
        }
    }

    /// The host removed a frame from the buffer of its lane.
    #[inline]
    pub(super) fn free_lane(&mut self, packet: &Packet, now: Instant) {
        if let Some(credits) = self.credits_mut() {
            credits.free(packet.priority(), packet.frame_bytes());
            self.schedule(now);
        }
    }

    /// Blocks a priority if its frame has no credit.
    fn look_at_credit(&mut self, priority: Priority, frame_bytes: u32, now: Instant) {
        if let Some(credits) = self.special.as_ref().and_then(|special| special.credits.as_ref()) {
            let next = (priority, Some(frame_bytes));
            hold_without_credit(credits, &mut self.pause, next, (now, now));
            self.look();
        }
    }

    /// Queues a pause frame for the switch.
    pub(super) fn send_pause(&mut self, pause: Packet, now: Instant) {
        let special = self.special();
        let count = if pause.quanta() > 0 { &mut special.pauses_sent } else { &mut special.resumes_sent };
        *count += 1;
        special.urgent.push_back(pause);
        self.schedule(now);
    }

    #[inline]
    pub(super) fn enqueue_control(&mut self, control: Control, now: Instant) {
        self.control.push_back(control);
        self.schedule_more(now);
    }

    /// Adds a sender to the round.
    #[inline]
    pub(super) fn enqueue_sender(&mut self, sender: u32, now: Instant) {
        self.round.push_back(sender);
        self.schedule_more(now);
    }

    /// Removes the sender just served, the first, from the round.
    #[inline]
    pub(super) fn drop_sender(&mut self) {
        self.round.drop_front();
        self.round.rewind();
        if self.aside & SPECIAL != 0
            && let Some(turns) = self.turns_mut()
        {
            turns.sent = 0;
        }
    }

    #[cold]
    fn turns_mut(&mut self) -> Option<&mut Turns> {
        self.special.as_mut()?.turns.as_deref_mut()
    }

    /// Moves the sender just served, the first, to the end of the round, once it has sent its packets.
    #[inline]
    pub(super) fn turn_round(&mut self, sender: u32) {
        if self.aside & SPECIAL != 0 && self.turns_mut().is_some_and(Turns::goes_on) {
            return;
        }
        if self.round.len() > 1 {
            self.round.drop_front();
            self.round.push_back(sender);
        }
    }

    /// Same, or defers it until its rate lets it send.
    #[inline]
    pub(super) fn turn_round_paced(&mut self, sender: u32, ready_at: Instant, now: Instant) {
        if ready_at > now {
            self.drop_sender();
            self.put_aside(sender, ready_at);
        } else {
            self.turn_round(sender);
        }
    }

    /// Adds a removed sender at the end of the round, or defers it until its rate lets it send.
    #[inline]
    pub(super) fn requeue_sender(&mut self, sender: u32, ready_at: Instant, now: Instant) {
        if ready_at > now {
            self.put_aside(sender, ready_at);
        } else {
            self.round.push_back(sender);
        }
    }

    /// Defers a sender until `ready_at`.
    #[inline]
    fn put_aside(&mut self, sender: u32, ready_at: Instant) {
        self.paced.push(Reverse((ready_at, sender)));
        self.aside |= PACED;
    }

    #[cold]
    pub(super) fn enqueue_tcp_ack(&mut self, ack: TcpAckWaiting, now: Instant) {
        self.special().tcp.push_ack(ack);
        self.schedule(now);
    }

    /// Adds a TCP source to the TCP round.
    #[cold]
    pub(super) fn enqueue_tcp_source(&mut self, source: u32, now: Instant) {
        self.special().tcp.push_source(source);
        self.schedule(now);
    }

    /// Applies the effects of time until `now`: ends pauses, and returns deferred senders to the round.
    pub(super) fn begin_turn(&mut self, now: Instant) {
        if self.aside & PAUSED != 0 {
            self.pause.expire(now);
            self.look();
        }
        self.end_waits(now);
    }

    /// Returns the senders to the round that are deferred until `now` or earlier.
    #[inline]
    fn end_waits(&mut self, now: Instant) {
        if self.aside & PACED != 0 {
            self.end_some_waits(now);
        }
    }

    #[inline]
    fn end_some_waits(&mut self, now: Instant) {
        while let Some(&Reverse((at, sender))) = self.paced.peek()
            && at <= now
        {
            self.paced.pop();
            self.round.push_back(sender);
        }
        if self.paced.is_empty() {
            self.aside &= !PACED;
        }
    }

    /// It has state that most ports never have: see [`Self::pop_with_special`].
    #[inline]
    pub(super) const fn has_special(&self) -> bool {
        self.aside & SPECIAL != 0
    }

    /// The next sender to serve at `now`, if nothing else needs a check.
    #[inline]
    pub(super) fn sole_sender(&mut self, now: Instant) -> Option<u32> {
        if self.aside & (SPECIAL | PAUSED) != 0 || !self.control.is_empty() {
            return None;
        }
        self.end_waits(now);
        self.round.front().copied()
    }

    /// The next control packet, if it may be sent.
    #[inline]
    pub(super) fn first_control(&self) -> Option<&Control> {
        self.control.front().filter(|_| self.may_send_control())
    }

    /// Sends the first control packet by a port without special state, and removes it.
    #[inline]
    pub(super) fn transmit_first_control<R>(&mut self, now: Instant, context: &mut Context<Packet, R>) {
        let Self { transmitter, control, to, .. } = self;
        if let Some(Control { packet, .. }) = control.front() {
            transmitter.transmit(packet, now, &mut context.outlet(*to));
            control.drop_front();
            control.rewind();
        }
    }

    /// Removes the next control packet, if it may be sent.
    fn next_control(&mut self) -> Option<Control> {
        if !self.may_send_control() {
            return None;
        }
        let control = self.control.pop_front();
        self.control.rewind();
        control
    }

    /// The next sender to serve, if it may send.
    #[inline]
    pub(super) fn next_sender(&self) -> Option<u32> {
        if self.may_send_data() { self.round.front().copied() } else { None }
    }

    /// Removes the packet to send at `now`. `next_frame_bytes` returns the size of a sender's next frame.
    #[cold]
    pub(super) fn pop_with_special(&mut self, now: Instant, next_frame_bytes: impl Fn(u32) -> u32) -> Next {
        let special = self.special();
        if let Some(pause) = special.urgent.pop_front() {
            special.pause_frames_sent += 1;
            return Next::LinkControl(pause);
        }
        if special.credits.is_some()
            && let Some(update) = self.look_at_credits(now, next_frame_bytes)
        {
            return Next::LinkControl(update);
        }
        if let Some(control) = self.next_control() {
            return Next::Control(control);
        }
        if self.special().data_at > now {
            return Next::Nothing;
        }
        let others = self.may_send_data() && !self.round.is_empty();
        let free_at = self.transmitter.free_at();
        let special = self.special();
        let held_until = free_at.max(special.data_at);
        if let Some(turns) = special.turns.as_mut().filter(|_| others) {
            let leaves_at = turns.leave_at(now, held_until);
            if leaves_at > now {
                self.special().data_at = leaves_at;
                return Next::Nothing;
            }
        }
        match self.pop_tcp(others) {
            Some(tcp) => Next::Tcp(tcp),
            None => self.next_sender().map_or(Next::Nothing, Next::Sender),
        }
    }

    /// Removes the next TCP packet, if TCP is to be served or `others` is false. The priority of TCP is never
    /// paused: PFC is for lossless priorities.
    fn pop_tcp(&mut self, others: bool) -> Option<NextTcp> {
        let lane = &mut self.special().tcp;
        if others && !lane.has_turn {
            lane.has_turn = true;
            return None;
        }
        lane.pop()
    }

    /// Returns the flow control packet that is due; otherwise blocks the next packet if it has no credit.
    fn look_at_credits(&mut self, now: Instant, next_frame_bytes: impl Fn(u32) -> u32) -> Option<Packet> {
        if let Some(update) = self.credits_mut().and_then(|credits| credits.next_update(now)) {
            return Some(update);
        }
        if let Some(Control { packet, .. }) = self.control.front().copied() {
            self.look_at_credit(packet.priority(), packet.frame_bytes(), now);
        }
        // A control packet that waits for credit is not overtaken in its lane.
        if !self.may_send_control() && self.may_send_data() && self.special().data_at <= now {
            let frame_bytes = self.round.front().map(|&sender| next_frame_bytes(sender));
            frame_bytes.into_iter().for_each(|bytes| self.look_at_credit(self.data, bytes, now));
        }
        None
    }

    #[inline]
    fn may_send_control(&self) -> bool {
        let mask = self.pause.mask();
        let first = self.control.front();
        first.is_some_and(|control| mask == 0 || mask & control.packet.priority().bit() == 0)
    }

    #[inline]
    const fn may_send_data(&self) -> bool {
        self.pause.mask() == 0 || self.pause.mask() & self.data.bit() == 0
    }

    /// Updates the time of the next frame after more was queued at `now`; no frame starts before the link is
    /// free.
    #[inline]
    fn schedule_more(&mut self, now: Instant) {
        if self.next_send > now.max(self.transmitter.free_at()) {
            self.schedule(now);
        }
    }

    /// Updates the time of the next frame after a change at `now`.
    #[inline]
    pub(super) fn schedule(&mut self, now: Instant) {
        if self.aside & (SPECIAL | PAUSED) != 0 {
            return self.schedule_with_special(now);
        }
        let waits = !self.control.is_empty() || !self.round.is_empty();
        let next = if waits { now } else { self.next_paced(now) };
        self.next_send = if next == Instant::NEVER { next } else { next.max(self.transmitter.free_at()) };
    }

    /// Same, if a priority is paused or the port has special state.
    #[inline(never)]
    fn schedule_with_special(&mut self, now: Instant) {
        let mut next = if self.may_send_control() { now } else { self.next_data(now) };
        if let Some(special) = &self.special {
            next = special.next_send(next, now, self.may_send_control());
        }
        if self.pause.mask() != 0 {
            next = next.min(self.next_unpaused(now));
        }
        self.next_send = if next == Instant::NEVER { next } else { next.max(self.transmitter.free_at()) };
    }

    /// The earliest time from `now` on at which a sender may send.
    #[inline]
    fn next_data(&self, now: Instant) -> Instant {
        if !self.may_send_data() {
            return Instant::NEVER;
        }
        if self.round.is_empty() { self.next_paced(now) } else { now }
    }

    /// The earliest time from `now` on at which a deferred sender may send.
    #[inline]
    fn next_paced(&self, now: Instant) -> Instant {
        if self.aside & PACED == 0 {
            return Instant::NEVER;
        }
        self.paced.peek().map_or(Instant::NEVER, |&Reverse((at, _))| at.max(now))
    }

    /// The earliest end of a pause for which a packet waits.
    #[cold]
    fn next_unpaused(&self, now: Instant) -> Instant {
        let data = if self.round.is_empty() && self.paced.is_empty() { 0 } else { self.data.bit() };
        let control = self.control.front().map_or(0, |control| control.packet.priority().bit());
        let expiry = self.pause.next_expiry(data | control);
        if expiry == Instant::NEVER { expiry } else { expiry.max(now) }
    }

    #[inline(never)]
    pub(super) fn transmit<R>(&mut self, packet: &Packet, now: Instant, context: &mut Context<Packet, R>) {
        let is_special = self.has_special();
        if is_special {
            self.spend_credits(packet);
        }
        self.transmitter.transmit(packet, now, &mut context.outlet(self.to));
        if is_special {
            self.make_up(packet.frame_bytes());
        }
    }

    /// Delays the end of a frame by the fractions of a picosecond that were rounded off.
    #[cold]
    fn make_up(&mut self, frame_bytes: u32) {
        let Self { transmitter, special, .. } = self;
        if let Some(turns) = special.as_mut().and_then(|special| special.turns.as_mut())
            && turns.plan.is_exact
        {
            let bytes = frame_bytes + transmitter.framing().link_overhead_bytes();
            let rest = turns.on_link.next(transmitter.byte_time(), bytes);
            transmitter.wait_until(transmitter.free_at() + rest);
        }
    }

    #[cold]
    fn spend_credits(&mut self, packet: &Packet) {
        if let Some(credits) = self.credits_mut()
            && !packet.is_link_control()
        {
            credits.spend(packet);
        }
    }

    /// Sends payload.
    #[inline(always)]
    pub(super) fn transmit_data<R>(
        &mut self,
        packet: &Packet,
        now: Instant,
        context: &mut Context<Packet, R>,
    ) {
        if self.has_special() {
            self.transmit_data_with_special(*packet, now, context);
        } else {
            // Assembled directly in the outlet: here its fields are in registers.
            self.transmitter.transmit(packet, now, &mut context.outlet(self.to));
        }
    }

    /// Same; then an impaired NIC waits, and so does one with a minimum interval between messages.
    #[cold]
    fn transmit_data_with_special<R>(
        &mut self,
        packet: Packet,
        now: Instant,
        context: &mut Context<Packet, R>,
    ) {
        self.transmit(&packet, now, context);
        let Self { transmitter, special, .. } = self;
        let Some(special) = special else { return };
        let Special { pace, data_at, turns, .. } = &mut **special;
        let bytes = packet.frame_bytes() + transmitter.framing().link_overhead_bytes();
        let paced = pace.map(|pace| pace.byte_time());
        let Some(turns) = turns else {
            *data_at = paced.map_or(*data_at, |pace| now + pace.frame_span(bytes, 0));
            return;
        };
        let turn = turns.drawn.take().unwrap_or(now);
        turns.due = match paced {
            Some(pace) => turn + pace.frame_span(bytes, 0) + turns.by_pace(pace, bytes),
            None => turn + Span(transmitter.free_at().0 - now.0),
        };
        let begins = packet.position().is_some_and(Position::starts_message);
        let interval = if begins { turns.plan.message_interval } else { Span::ZERO };
        turns.due = turns.due.max(turn + interval);
        if paced.is_some() || interval > Span::ZERO {
            *data_at = turns.due;
        }
    }
}
