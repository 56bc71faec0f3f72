//! A port of a NIC: queues control packets (ACK, NAK, CNP) and connections with data to send, and selects and
//! transmits the next packet when the link is free.
//!
//! Pause frames and InfiniBand flow control packets are sent first, then control packets, then payload of the
//! queue pairs of the port's own priority, round robin; other lanes (connections of another kind or priority)
//! take turns with these.
//! Connections that their rate controller delays are in a heap by time.

mod lane;
mod options;

pub(crate) use options::SchedulingPlan;

use crate::link::changes::LinkChanges;
use crate::link::credits::{CreditPlan, Credits, block_without_credit};
use crate::link::egress::{Transmitter, Wire};
use crate::link::pause::PauseState;
use crate::nic::Context;
use crate::packet::{ConnectionId, Packet, Priority};
use engine::prefetch::LINE_BYTES;
use engine::{Destination, Message, Ring};
use lane::NextOfLane;
use options::{PortOptions, Scheduling};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::offset_of;
use transport::Position;
use units::{Instant, Rate, Span, State};

/// Connections prefetched beyond the one being served.
const CONNECTIONS_AHEAD: usize = 3;

/// A queued control packet, with the connection that sends it.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Control {
    pub(crate) packet: Packet,
    pub(crate) connection: ConnectionId,
    /// Its connection is captured.
    #[state(skip)]
    pub(crate) is_captured: bool,
}

/// Parameters of a port.
#[derive(Clone, Debug)]
pub(crate) struct NicPortPlan {
    pub(crate) wire: Wire,
    /// Changes of the link over time.
    pub(crate) changes: Option<LinkChanges>,
    /// Its own priority: that of most payload.
    pub(crate) data: Priority,
    /// Maximum rate of payload of a NIC that is slow in sending.
    pub(crate) pace: Option<Rate>,
    /// Credits of the link, on InfiniBand.
    pub(crate) credits: Option<CreditPlan>,
    /// Scheduling of payload, unless it is packet by packet without delays.
    pub(crate) scheduling: Option<SchedulingPlan>,
}

/// The next transmission of a port.
pub(crate) enum Next {
    LinkControl(Packet),
    Control(Control),
    Connection(ConnectionId),
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
    /// Its own priority: payload of others is in lanes.
    #[state(skip)]
    data: Priority,
    /// Flags of the fields of the third cache line that are in use: most packets need not load it.
    #[state(skip)]
    in_use: u8,
    next_send: Instant,
    control: Ring<Control>,
    /// Active connections: those with data to send, in the order of service.
    active: Ring<ConnectionId>,
    // Third cache line: not needed by most ports.
    /// Allocated at first use.
    options: Option<Box<PortOptions>>,
    /// Connections deferred by their rate controller, with the time at which they may send next.
    deferred: BinaryHeap<Reverse<(Instant, ConnectionId)>>,
    pause: PauseState,
}

/// In [`NicPort::in_use`]: it has [`PortOptions`].
const OPTIONS: u8 = 1;
/// In [`NicPort::in_use`]: a priority is paused.
const PAUSE: u8 = 2;
/// In [`NicPort::in_use`]: a connection is deferred by its rate controller.
const DEFERRED: u8 = 4;

/// Bytes at the start of a port that most ports need.
pub(crate) const HOT_BYTES: usize = offset_of!(NicPort, options);

const _: () = assert!(HOT_BYTES == 2 * LINE_BYTES, "most ports need two cache lines");

impl NicPort {
    pub(crate) fn new(plan: NicPortPlan) -> Self {
        let mut port = Self {
            transmitter: Transmitter::new(plan.wire, plan.changes),
            to: plan.wire.to,
            control: Ring::default(),
            active: Ring::default(),
            deferred: BinaryHeap::new(),
            pause: PauseState::new(plan.wire.rate),
            next_send: Instant::NEVER,
            in_use: 0,
            data: plan.data,
            options: (plan.credits.is_some() || plan.pace.is_some() || plan.scheduling.is_some()).then(
                || {
                    let credits = plan.credits.map(Credits::new);
                    let scheduling = plan.scheduling.map(|scheduling| Box::new(Scheduling::new(scheduling)));
                    Box::new(PortOptions { credits, pace: plan.pace, scheduling, ..PortOptions::default() })
                },
            ),
        };
        port.update_in_use();
        port
    }

    /// Updates `in_use` after a change of the fields of the third cache line.
    fn update_in_use(&mut self) {
        let options = if self.options.is_some() { OPTIONS } else { 0 };
        let paused = if self.pause.mask() != 0 { PAUSE } else { 0 };
        let deferred = if self.deferred.is_empty() { 0 } else { DEFERRED };
        self.in_use = options | paused | deferred;
    }

    pub(crate) const fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    pub(crate) const fn pause(&self) -> &PauseState {
        &self.pause
    }

    /// Pause frames requested with quanta other than zero, by priority.
    pub(crate) fn pauses_sent(&self) -> [u64; Priority::COUNT] {
        self.options.as_ref().map_or([0; Priority::COUNT], |options| options.pauses_sent)
    }

    /// Pause frames requested with zero quanta, by priority.
    pub(crate) fn resumes_sent(&self) -> [u64; Priority::COUNT] {
        self.options.as_ref().map_or([0; Priority::COUNT], |options| options.resumes_sent)
    }

    /// Pause frames, including those that end a pause, and flow control packets sent.
    pub(crate) fn link_control_sent(&self) -> u64 {
        let pause_frames = self.options.as_ref().map_or(0, |options| options.pause_frames_sent);
        pause_frames + self.credits().map_or(0, Credits::packets_sent)
    }

    /// Pause frames and flow control packets received.
    pub(crate) fn link_control_received(&self) -> u64 {
        self.pause.frames_received() + self.credits().map_or(0, Credits::packets_received)
    }

    /// Credits of the link, on InfiniBand.
    pub(crate) fn credits(&self) -> Option<&Credits> {
        self.options.as_ref()?.credits.as_ref()
    }

    /// Prefetches the entries of the next senders to serve and of the next control packet to be queued.
    #[inline]
    pub(crate) fn prefetch_queues(&self) {
        self.active.prefetch_first(1);
        self.control.prefetch_next(1);
    }

    /// The next connections to serve in the current order.
    #[inline]
    pub(crate) fn connections_ahead(&self) -> impl Iterator<Item = ConnectionId> {
        (0..CONNECTIONS_AHEAD).map_while(|index| self.active.get(index).copied())
    }

    /// The connection up to [`CONNECTIONS_AHEAD`] positions behind the next one to serve; `None` if there is
    /// only one.
    #[inline]
    pub(crate) fn connection_ahead(&self) -> Option<ConnectionId> {
        let last = self.active.len() - 1;
        if last == 0 { None } else { self.active.get(last.min(CONNECTIONS_AHEAD)).copied() }
    }

    /// Limits the rate of payload from now on.
    pub(crate) fn set_pace(&mut self, pace: Option<Rate>) {
        self.options_mut().pace = pace;
    }

    fn options_mut(&mut self) -> &mut PortOptions {
        self.in_use |= OPTIONS;
        self.options.get_or_insert_default()
    }

    fn credits_mut(&mut self) -> Option<&mut Credits> {
        self.options.as_mut()?.credits.as_mut()
    }

    /// Start of the next frame, or time of the next check; never while nothing is queued.
    #[inline]
    pub(crate) const fn next_send(&self) -> Instant {
        self.next_send
    }

    /// Processes a pause frame or a flow control packet.
    #[cold]
    pub(crate) fn receive_link_control(&mut self, packet: &Packet) {
        match self.credits_mut() {
            None => self.pause.receive(packet, packet.at()),
            Some(credits) => {
                credits.receive(packet);
                // The next packet is checked for credit when it is about to be sent.
                self.pause.unblock(packet.priority(), packet.at());
            }
        }
        self.update_in_use();
        self.schedule(packet.at());
    }

    /// Adds a frame to the buffer of its lane.
    #[inline]
    pub(crate) fn fill_lane(&mut self, packet: &Packet) {
        if let Some(credits) = self.credits_mut() {
            credits.take_in(packet);
        }
    }

    /// The host removed a frame from the buffer of its lane.
    #[inline]
    pub(crate) fn free_lane(&mut self, packet: &Packet, now: Instant) {
        if let Some(credits) = self.credits_mut() {
            credits.free(packet.priority(), packet.frame_bytes());
            self.schedule(now);
        }
    }

    /// Blocks a priority if its frame has no credit.
    fn block_priority(&mut self, priority: Priority, frame_bytes: u32, now: Instant) {
        if let Some(credits) = self.options.as_ref().and_then(|options| options.credits.as_ref()) {
            block_without_credit(credits, &mut self.pause, priority, Some(frame_bytes), now, now);
            self.update_in_use();
        }
    }

    /// Queues a pause frame for the switch.
    pub(crate) fn send_pause(&mut self, pause: Packet, now: Instant) {
        let options = self.options_mut();
        let counts = if pause.quanta() > 0 { &mut options.pauses_sent } else { &mut options.resumes_sent };
        counts[pause.priority().index()] += 1;
        options.urgent.push_back(pause);
        self.schedule(now);
    }

    #[inline]
    pub(crate) fn enqueue_control(&mut self, control: Control, now: Instant) {
        self.control.push_back(control);
        self.schedule_more(now);
    }

    /// Adds an active connection with this priority of payload.
    #[inline]
    pub(crate) fn enqueue(&mut self, connection: ConnectionId, priority: Priority, now: Instant) {
        if priority != self.data {
            return self.enqueue_in_lane(connection, priority, now);
        }
        self.active.push_back(connection);
        self.schedule_more(now);
    }

    /// Removes the connection being served, which is the first active one or was removed from its lane.
    #[inline]
    pub(crate) fn drop_served(&mut self) {
        if self.in_use & OPTIONS != 0 && self.drop_with_options() {
            return;
        }
        self.active.drop_front();
        self.active.rewind();
    }

    /// Returns whether the connection being served is of a lane.
    #[cold]
    fn drop_with_options(&mut self) -> bool {
        let PortOptions { lanes, scheduling, .. } = self.options_mut();
        let is_of_lane = lanes.take_served().is_some();
        if let Some(scheduling) = scheduling.as_mut().filter(|_| !is_of_lane) {
            scheduling.sent = 0;
        }
        is_of_lane
    }

    /// Moves the connection being served to the end of the active ones of its lane, once it has sent its
    /// packets.
    #[inline]
    pub(crate) fn rotate(&mut self, connection: ConnectionId) {
        if self.in_use & OPTIONS != 0 && self.rotate_with_options(connection) {
            return;
        }
        self.active.rotate();
    }

    /// Returns whether nothing is to be done at the port: the connection is of a lane, or sends more packets.
    #[cold]
    fn rotate_with_options(&mut self, connection: ConnectionId) -> bool {
        let PortOptions { lanes, scheduling, .. } = self.options_mut();
        if let Some(priority) = lanes.take_served() {
            lanes.push_connection(connection, priority);
            return true;
        }
        scheduling.as_mut().is_some_and(|scheduling| scheduling.continues())
    }

    /// Same, or defers it until its rate lets it send.
    #[inline]
    pub(crate) fn rotate_or_defer(&mut self, connection: ConnectionId, ready_at: Instant, now: Instant) {
        if ready_at <= now {
            return self.rotate(connection);
        }
        if self.in_use & OPTIONS != 0 && self.defer_with_options(connection, ready_at) {
            return;
        }
        self.drop_served();
        self.defer(connection, ready_at);
    }

    /// Defers the connection being served if it is of a lane; returns whether it is.
    #[cold]
    fn defer_with_options(&mut self, connection: ConnectionId, ready_at: Instant) -> bool {
        let lanes = &mut self.options_mut().lanes;
        let Some(priority) = lanes.take_served() else { return false };
        lanes.defer(connection, priority, ready_at);
        true
    }

    /// Adds a removed connection at the end of the active ones, or defers it until its rate lets it send.
    #[inline]
    pub(crate) fn enqueue_or_defer(
        &mut self,
        connection: ConnectionId,
        priority: Priority,
        ready_at: Instant,
        now: Instant,
    ) {
        match (priority == self.data, ready_at > now) {
            (true, true) => self.defer(connection, ready_at),
            (true, false) => self.active.push_back(connection),
            (false, true) => self.options_mut().lanes.defer(connection, priority, ready_at),
            (false, false) => self.options_mut().lanes.push_connection(connection, priority),
        }
    }

    /// Defers a connection until `ready_at`.
    #[inline]
    fn defer(&mut self, connection: ConnectionId, ready_at: Instant) {
        self.deferred.push(Reverse((ready_at, connection)));
        self.in_use |= DEFERRED;
    }

    /// Adds a reply to the lane of its connection.
    #[cold]
    pub(crate) fn enqueue_reply_in_lane(&mut self, reply: Control, now: Instant) {
        self.options_mut().lanes.push_reply(reply);
        self.schedule(now);
    }

    /// Adds an active connection to its lane.
    #[cold]
    pub(crate) fn enqueue_in_lane(&mut self, connection: ConnectionId, priority: Priority, now: Instant) {
        self.options_mut().lanes.push_connection(connection, priority);
        self.schedule(now);
    }

    /// Applies the effects of time until `now`: ends pauses, and activates deferred connections.
    pub(crate) fn advance(&mut self, now: Instant) {
        if self.in_use & PAUSE != 0 {
            self.pause.expire(now);
            self.update_in_use();
        }
        self.requeue_ready(now);
    }

    /// Activates the connections that are deferred until `now` or earlier.
    #[inline]
    fn requeue_ready(&mut self, now: Instant) {
        if self.in_use & DEFERRED != 0 {
            self.requeue_some_ready(now);
        }
    }

    #[inline]
    fn requeue_some_ready(&mut self, now: Instant) {
        while let Some(&Reverse((at, connection))) = self.deferred.peek()
            && at <= now
        {
            self.deferred.pop();
            self.active.push_back(connection);
        }
        if self.deferred.is_empty() {
            self.in_use &= !DEFERRED;
        }
    }

    /// Whether it has [`PortOptions`]; see [`Self::pop_with_options`].
    #[inline]
    pub(crate) const fn has_options(&self) -> bool {
        self.in_use & OPTIONS != 0
    }

    /// The next connection to serve at `now`, if nothing else needs a check.
    #[inline]
    pub(crate) fn next_active_if_plain(&mut self, now: Instant) -> Option<ConnectionId> {
        if self.in_use & (OPTIONS | PAUSE) != 0 || !self.control.is_empty() {
            return None;
        }
        self.requeue_ready(now);
        self.active.front().copied()
    }

    /// The next control packet, if it may be sent.
    #[inline]
    pub(crate) fn first_control(&self) -> Option<&Control> {
        self.control.front().filter(|_| self.may_send_control())
    }

    /// Sends the first control packet by a port without options, and removes it.
    #[inline(always)]
    pub(crate) fn transmit_first_control(&mut self, now: Instant, context: &mut Context) {
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

    /// The next connection to serve, if it may send.
    #[inline]
    pub(crate) fn next_active(&self) -> Option<ConnectionId> {
        if self.may_send_data() { self.active.front().copied() } else { None }
    }

    /// Removes the packet to send at `now`. `next_frame_bytes` returns the size of a connection's next frame.
    #[cold]
    pub(crate) fn pop_with_options(
        &mut self,
        now: Instant,
        next_frame_bytes: impl Fn(ConnectionId) -> u32,
    ) -> Next {
        let options = self.options_mut();
        options.lanes.requeue_ready(now);
        if let Some(pause) = options.urgent.pop_front() {
            options.pause_frames_sent += 1;
            return Next::LinkControl(pause);
        }
        if options.credits.is_some()
            && let Some(update) = self.flow_control_update(now, next_frame_bytes)
        {
            return Next::LinkControl(update);
        }
        if let Some(control) = self.next_control() {
            return Next::Control(control);
        }
        if self.options_mut().data_at > now {
            return Next::Nothing;
        }
        let has_payload = self.may_send_data() && !self.active.is_empty();
        let free_at = self.transmitter.free_at();
        let options = self.options_mut();
        let held_until = free_at.max(options.data_at);
        if let Some(scheduling) = options.scheduling.as_mut().filter(|_| has_payload) {
            let departure = scheduling.departure(now, held_until);
            if departure > now {
                self.options_mut().data_at = departure;
                return Next::Nothing;
            }
        }
        let paused = self.pause.mask();
        match self.options_mut().lanes.pop(has_payload, paused) {
            Some(NextOfLane::Reply(reply)) => Next::Control(reply),
            Some(NextOfLane::Connection(connection)) => Next::Connection(connection),
            None => self.next_active().map_or(Next::Nothing, Next::Connection),
        }
    }

    /// Returns the flow control packet that is due; otherwise blocks the next packet if it has no credit.
    fn flow_control_update(
        &mut self,
        now: Instant,
        next_frame_bytes: impl Fn(ConnectionId) -> u32,
    ) -> Option<Packet> {
        if let Some(update) = self.credits_mut().and_then(|credits| credits.next_update(now)) {
            return Some(update);
        }
        if let Some(Control { packet, .. }) = self.control.front().copied() {
            self.block_priority(packet.priority(), packet.frame_bytes(), now);
        }
        // A control packet that waits for credit is not overtaken in its lane.
        if !self.may_send_control() && self.may_send_data() && self.options_mut().data_at <= now {
            let frame_bytes = self.active.front().map(|&connection| next_frame_bytes(connection));
            frame_bytes.into_iter().for_each(|bytes| self.block_priority(self.data, bytes, now));
        }
        let in_lanes: Vec<_> = self.options_mut().lanes.first_of_each().collect();
        for (connection, priority) in in_lanes {
            self.block_priority(priority, next_frame_bytes(connection), now);
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
    pub(crate) fn schedule(&mut self, now: Instant) {
        if self.in_use & (OPTIONS | PAUSE) != 0 {
            return self.schedule_with_options(now);
        }
        let waits = !self.control.is_empty() || !self.active.is_empty();
        let next = if waits { now } else { self.next_deferred(now) };
        self.next_send = if next == Instant::NEVER { next } else { next.max(self.transmitter.free_at()) };
    }

    /// Same, if a priority is paused or the port has options.
    #[inline(never)]
    fn schedule_with_options(&mut self, now: Instant) {
        let mut next = if self.may_send_control() { now } else { self.next_data(now) };
        if let Some(options) = &self.options {
            next = options.next_send(next, now, self.may_send_control(), self.pause.mask());
        }
        if self.pause.mask() != 0 {
            next = next.min(self.next_pause_end(now));
        }
        self.next_send = if next == Instant::NEVER { next } else { next.max(self.transmitter.free_at()) };
    }

    /// The earliest time from `now` on at which an active connection may send.
    #[inline]
    fn next_data(&self, now: Instant) -> Instant {
        if !self.may_send_data() {
            return Instant::NEVER;
        }
        if self.active.is_empty() { self.next_deferred(now) } else { now }
    }

    /// The earliest time from `now` on at which a deferred connection may send.
    #[inline]
    fn next_deferred(&self, now: Instant) -> Instant {
        if self.in_use & DEFERRED == 0 {
            return Instant::NEVER;
        }
        self.deferred.peek().map_or(Instant::NEVER, |&Reverse((at, _))| at.max(now))
    }

    /// The earliest end of a pause for which a packet waits.
    #[cold]
    fn next_pause_end(&self, now: Instant) -> Instant {
        let data = if self.active.is_empty() && self.deferred.is_empty() { 0 } else { self.data.bit() };
        let control = self.control.front().map_or(0, |control| control.packet.priority().bit());
        let in_lanes = self.options.as_ref().map_or(0, |options| options.lanes.waiting());
        let expiry = self.pause.next_expiry(data | control | in_lanes);
        if expiry == Instant::NEVER { expiry } else { expiry.max(now) }
    }

    #[inline(never)]
    pub(crate) fn transmit(&mut self, packet: &Packet, now: Instant, context: &mut Context) {
        let has_options = self.has_options();
        if has_options {
            self.spend_credits(packet);
        }
        self.transmitter.transmit(packet, now, &mut context.outlet(self.to));
        if has_options {
            self.add_link_remainder(packet.frame_bytes());
        }
    }

    /// Delays the end of a frame by the fractions of a picosecond that were rounded off.
    #[cold]
    fn add_link_remainder(&mut self, frame_bytes: u32) {
        let Self { transmitter, options, .. } = self;
        if let Some(scheduling) = options.as_mut().and_then(|options| options.scheduling.as_mut())
            && scheduling.plan.is_exact
        {
            let bytes = frame_bytes + transmitter.framing().link_overhead_bytes();
            let rest = scheduling.link_remainder.next(transmitter.byte_time(), bytes);
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
    pub(crate) fn transmit_data(&mut self, packet: &Packet, now: Instant, context: &mut Context) {
        if self.has_options() {
            self.transmit_data_with_options(*packet, now, context);
        } else {
            // Assembled directly in the outlet: here its fields are in registers.
            self.transmitter.transmit(packet, now, &mut context.outlet(self.to));
        }
    }

    /// Same; then an impaired NIC waits, and so does one with a minimum interval between messages.
    #[cold]
    fn transmit_data_with_options(&mut self, packet: Packet, now: Instant, context: &mut Context) {
        self.transmit(&packet, now, context);
        let Self { transmitter, options, .. } = self;
        let Some(options) = options else { return };
        let PortOptions { pace, data_at, scheduling, .. } = &mut **options;
        let bytes = packet.frame_bytes() + transmitter.framing().link_overhead_bytes();
        let paced = pace.map(|pace| pace.byte_time());
        let Some(scheduling) = scheduling else {
            *data_at = paced.map_or(*data_at, |pace| now + pace.frame_span(bytes, 0));
            return;
        };
        let start = scheduling.drawn.take().unwrap_or(now);
        scheduling.due = match paced {
            Some(pace) => start + pace.frame_span(bytes, 0) + scheduling.pace_remainder(pace, bytes),
            None => start + Span(transmitter.free_at().0 - now.0),
        };
        let begins = packet.position().is_some_and(Position::starts_message);
        let interval = if begins { scheduling.plan.message_interval } else { Span::ZERO };
        scheduling.due = scheduling.due.max(start + interval);
        if paced.is_some() || interval > Span::ZERO {
            *data_at = scheduling.due;
        }
    }
}
