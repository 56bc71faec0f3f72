//! A host: its NIC with one or more ports, and the transfers it takes part in.
//!
//! Models round-robin service of the queue pairs by packet with control packets first, pauses per priority, a
//! fixed latency on each side (part of the links' latency here) and, where the host is slower than the link, a
//! receive buffer. Leaves out PCIe, memory and doorbells.

mod arrivals;
mod intake;
mod port;
mod receiver;
mod sender;
mod transfers;

pub(crate) use intake::IntakePlan;
pub(crate) use port::{NicPort, NicPortPlan};
pub(crate) use receiver::{ReceiveChunk, Receiver, ReceiverPlan, ReplyPriorities};
pub(crate) use sender::{SendChunk, Sender, SenderPlan, write_opcode};
pub(crate) use transfers::{JobTimes, Outgoing, Transfers};

use crate::fast_forward::visit_heap;
use crate::kernel::{Context, Inbox, Message, Window};
use crate::packet::{Kind, Packet};
use crate::prefetch::{prefetch, prefetch_whole};
use crate::record::Record;
use intake::Intake;
use port::{Control, Next};
use receiver::Delivery;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use transport::{AckOutcome, Config, Position, Recovery, TimeoutOutcome};
use units::{Cycle, Instant, Span};
use wire::Psn;

/// How many packets of an inbox are looked at to ask for their queue pairs' memory.
const PACKETS_AHEAD: usize = 8;

/// What may be due at a host, besides packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// Post an outgoing transfer.
    Post(u32),
    /// Look at the retransmission deadline of a sender.
    Retransmit(u32),
    /// Renew the pause the receive buffer asked for.
    RenewPause,
}

/// What a host is made of.
pub(crate) struct HostPlan {
    pub(crate) config: Arc<Config>,
    pub(crate) latency: Span,
    pub(crate) ports: Vec<NicPortPlan>,
    /// The receive buffer, if the host is slower than the link.
    pub(crate) intake: Option<IntakePlan>,
    pub(crate) senders: Vec<Sender>,
    pub(crate) sends: Vec<SendChunk>,
    pub(crate) receivers: Vec<Receiver>,
    pub(crate) receives: Vec<ReceiveChunk>,
    pub(crate) transfers: Transfers,
}

/// A host.
pub(crate) struct Host {
    config: Arc<Config>,
    latency: Span,
    ports: Vec<NicPort>,
    senders: Vec<Sender>,
    /// Chunks of each sender, see [`Sender::chunks`].
    sends: Vec<SendChunk>,
    receivers: Vec<Receiver>,
    /// Chunks of each receiver, see [`Receiver::chunks`].
    receives: Vec<ReceiveChunk>,
    transfers: Transfers,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    intake: Option<Box<Intake>>,
}

/// The next thing a host does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Drain,
    Fire,
    Send { port: usize },
}

impl Host {
    pub(crate) fn new(plan: HostPlan) -> Self {
        let mut transfers = plan.transfers;
        transfers.arm();
        let posts = transfers.first_posts().into_iter();
        let timers = posts.map(|(at, outgoing)| Reverse((at, Timer::Post(outgoing))));
        Self {
            timers: timers.collect(),
            config: plan.config,
            latency: plan.latency,
            ports: plan.ports.into_iter().map(NicPort::new).collect(),
            intake: plan.intake.map(|intake| Box::new(Intake::new(intake))),
            senders: plan.senders,
            sends: plan.sends,
            receivers: plan.receivers,
            receives: plan.receives,
            transfers,
        }
    }

    pub(crate) fn ports(&self) -> &[NicPort] {
        &self.ports
    }

    /// The rate that congestion control allows a sender; see [`Sender::rate_bps`].
    pub(crate) fn rate_bps(&self, sender: u32, now: Instant) -> Option<u64> {
        self.senders[sender as usize].rate_bps(now)
    }

    /// Frames that found the receive buffer full.
    pub(crate) fn overrun_frames(&self) -> u64 {
        self.intake.as_ref().map_or(0, |intake| intake.dropped)
    }

    /// Reports of chunks that were posted and never completed.
    pub(crate) fn open_chunks(&self) -> impl Iterator<Item = crate::record::SendReport> {
        self.senders.iter().flat_map(Sender::open_chunks)
    }

    /// What has arrived of chunks that were never delivered.
    pub(crate) fn undelivered_chunks(&self) -> impl Iterator<Item = crate::record::ReceiveReport> {
        self.receivers.iter().flat_map(|receiver| receiver.undelivered(&self.receives))
    }

    /// Has the start of each message of one sender reported; false if none has anything to send.
    pub(crate) fn watch(&mut self) -> bool {
        self.senders.iter_mut().any(|sender| sender.watch(true))
    }

    /// Has no start of a message reported any more.
    pub(crate) fn unwatch(&mut self) {
        self.senders.iter_mut().for_each(|sender| _ = sender.watch(false));
    }

    /// See [`Cycle`]. Transfers change only when chunks are posted, which a sender shows, delivered or acknowledged, which
    /// is reported.
    pub(crate) fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            config: _,
            latency: _,
            ports,
            senders,
            sends: _,
            receivers,
            receives: _,
            transfers: _,
            timers,
            intake,
        } = self;
        ports.iter_mut().for_each(|port| port.visit(cycle));
        senders.iter_mut().for_each(|sender| sender.visit(cycle));
        receivers.iter_mut().for_each(|receiver| receiver.visit(cycle));
        cycle.same(timers.len() as u64);
        visit_heap(timers, |(at, _)| cycle.time(at));
        if let Some(intake) = intake {
            intake.visit(cycle);
        }
    }

    /// See [`crate::kernel::Node::process`].
    pub(crate) fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        context: &mut Context<Packet, Record>,
    ) -> Instant {
        loop {
            let (port, arrival) = self.next_arrival(inboxes.start, context);
            let (now, action) = self.next_action();
            if arrival <= now && arrival < window.end {
                self.receive(port, inboxes.start, window.end, context);
                continue;
            }
            if now >= window.end {
                return now;
            }
            match action {
                Action::Drain => self.drain(now, context),
                Action::Fire => self.fire(now, context),
                Action::Send { port } => self.send(port, now, context),
            }
        }
    }

    /// See [`crate::kernel::Node::prefetch`].
    pub(crate) fn prefetch(&self, stage: usize, inboxes: &[Inbox<Packet>]) {
        if stage == 1 {
            prefetch_whole(&self.ports, 0);
            inboxes.iter().for_each(Inbox::prefetch);
            return;
        }
        for packet in inboxes.iter().flat_map(|inbox| inbox.iter().take(PACKETS_AHEAD)) {
            self.prefetch_queue_pair(packet);
        }
        self.ports[0].senders_ahead().for_each(|sender| prefetch_whole(&self.senders, sender as usize));
    }

    /// Asks for what an arriving packet needs. Lists that are not of queue pairs have the same order when each chunk
    /// has a queue pair of its own.
    #[inline]
    fn prefetch_queue_pair(&self, packet: &Packet) {
        let queue_pair = packet.queue_pair as usize;
        if let Kind::Data(_) = packet.kind() {
            prefetch_whole(&self.receivers, queue_pair);
            prefetch(&self.receives, queue_pair);
            prefetch(&self.transfers.inbound, queue_pair);
        } else {
            prefetch_whole(&self.senders, queue_pair);
            prefetch(&self.sends, queue_pair);
            prefetch(&self.transfers.outgoing, queue_pair);
        }
    }

    /// The port with the first arrival, and when that is.
    #[inline]
    fn next_arrival(&self, first_inbox: u32, context: &Context<Packet, Record>) -> (usize, Instant) {
        let mut next = (0, context.next_arrival(first_inbox));
        for port in 1..self.ports.len() {
            let at = context.next_arrival(first_inbox + port as u32);
            if at < next.1 {
                next = (port, at);
            }
        }
        next
    }

    /// The earliest of what is due besides arrivals, which come first. At equal times the receive buffer comes first,
    /// then timers, then sending; ports in order.
    #[inline]
    fn next_action(&self) -> (Instant, Action) {
        let mut next = (self.timers.peek().map_or(Instant::NEVER, |&Reverse((at, _))| at), Action::Fire);
        if let Some(intake) = &self.intake
            && intake.next_drained() <= next.0
        {
            next = (intake.next_drained(), Action::Drain);
        }
        for (index, port) in self.ports.iter().enumerate() {
            if port.next_send() < next.0 {
                next = (port.next_send(), Action::Send { port: index });
            }
        }
        next
    }

    #[inline]
    fn receive(
        &mut self,
        port: usize,
        first_inbox: u32,
        end: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        let Some(packet) = context.inbox(first_inbox + port as u32).take_before(end) else { return };
        self.ports[port].count_arrival(&packet);
        match packet.kind() {
            Kind::Data(position) if self.intake.is_none() => {
                self.receive_data(&packet, position, packet.at(), context);
            }
            Kind::Data(_) => self.take_in(packet),
            Kind::Ack => self.receive_ack(&packet, context),
            Kind::Nak => self.receive_nak(&packet, context),
            Kind::Cnp => self.senders[packet.queue_pair as usize].on_cnp(packet.at()),
            Kind::Pause => self.ports[port].receive_pause(&packet),
        }
    }

    /// Puts payload into the receive buffer.
    fn take_in(&mut self, packet: Packet) {
        let Some(intake) = &mut self.intake else { return };
        let pause = intake.arrive(packet, packet.at());
        self.answer_pressure(pause, packet.at());
    }

    /// The host takes a frame out of the receive buffer.
    fn drain(&mut self, now: Instant, context: &mut Context<Packet, Record>) {
        let Some((packet, pause)) = self.intake.as_mut().and_then(|intake| intake.drain()) else { return };
        self.answer_pressure(pause, now);
        if let Kind::Data(position) = packet.kind() {
            self.receive_data(&packet, position, now, context);
        }
    }

    /// Sends a pause frame of the receive buffer by every port, and sees to its renewal.
    fn answer_pressure(&mut self, pause: Option<Packet>, now: Instant) {
        let Some(pause) = pause else { return };
        for port in &mut self.ports {
            port.send_pause(pause, now);
        }
        if let Some(intake) = &self.intake
            && intake.next_renewal() != Instant::NEVER
        {
            self.timers.push(Reverse((intake.next_renewal(), Timer::RenewPause)));
        }
    }

    fn renew_pause(&mut self, now: Instant) {
        let pause = self
            .intake
            .as_mut()
            .filter(|intake| intake.next_renewal() == now)
            .and_then(|intake| intake.ask(now));
        self.answer_pressure(pause, now);
    }

    /// Payload reaches its responder at `now`.
    #[inline]
    fn receive_data(
        &mut self,
        packet: &Packet,
        position: Position,
        now: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        let receiver = &mut self.receivers[packet.queue_pair as usize];
        let latency = Span(packet.at().0 - self.latency.0 - packet.sent().0);
        let outcome = receiver.on_data(&self.config, packet, position, now, latency, &self.receives);
        if !self.transfers.is_background() {
            context.totals.progress += u64::from(outcome.payload_bytes);
        }
        let port = usize::from(receiver.port());
        for reply in [outcome.reply, outcome.notification].into_iter().flatten() {
            let control = Control { packet: reply, receiver: packet.queue_pair };
            self.ports[port].enqueue_control(control, now);
        }
        if outcome.chunk_delivered {
            self.deliver_chunks(packet.queue_pair, now, context);
        }
    }

    /// Chunks have arrived whole: reports them and starts what waited for them.
    fn deliver_chunks(&mut self, receiver: u32, now: Instant, context: &mut Context<Packet, Record>) {
        while let Some(Delivery { report, inbound }) =
            self.receivers[receiver as usize].next_delivery(now, &self.receives)
        {
            let round = report.round;
            context.records.push(Record::Delivered(report));
            let mut started = std::mem::take(&mut self.transfers.started);
            self.transfers.deliver_part(inbound, round, &mut started);
            self.start_transfers(started, now, context);
        }
        self.start_rounds(now, context);
    }

    /// Begins the rounds whose turn it is at this host.
    #[inline]
    fn start_rounds(&mut self, now: Instant, context: &mut Context<Packet, Record>) {
        let mut started = std::mem::take(&mut self.transfers.started);
        while self.transfers.next_round(&mut started) {
            self.rearm_senders();
            self.start_transfers(started, now, context);
            started = std::mem::take(&mut self.transfers.started);
        }
        self.transfers.started = started;
    }

    fn rearm_senders(&mut self) {
        let mut first = 0;
        for sender in &mut self.senders {
            first = sender.rearm(first);
        }
        for send in &mut self.sends {
            send.is_ready = false;
        }
    }

    /// Starts `outgoing` transfers and gives the list back to be used again.
    #[inline]
    fn start_transfers(
        &mut self,
        mut outgoing: Vec<u32>,
        now: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        for transfer in outgoing.drain(..) {
            self.start_transfer(transfer, now, context);
        }
        self.transfers.started = outgoing;
    }

    #[inline]
    fn receive_ack(&mut self, packet: &Packet, context: &mut Context<Packet, Record>) {
        let sender = &mut self.senders[packet.queue_pair as usize];
        let (requester, now) = (sender.requester(), packet.at());
        let outcome = match self.config.recovery {
            Recovery::GoBackN | Recovery::None => requester.on_ack(&self.config, now, packet.psn()),
            Recovery::Selective { .. } => {
                let highest = Psn::new(packet.message_sequence());
                requester.on_selective_ack(&self.config, now, packet.psn(), highest)
            }
        };
        self.follow_up(packet, outcome, context);
    }

    #[cold]
    fn receive_nak(&mut self, packet: &Packet, context: &mut Context<Packet, Record>) {
        let sender = &mut self.senders[packet.queue_pair as usize];
        sender.count_nak();
        let (requester, now) = (sender.requester(), packet.at());
        let outcome = match self.config.recovery {
            Recovery::GoBackN | Recovery::None => requester.on_nak(&self.config, now, packet.psn()),
            Recovery::Selective { .. } => {
                let newest = Psn::new(packet.message_sequence());
                requester.on_selective_nak(&self.config, now, newest, packet.psn())
            }
        };
        self.follow_up(packet, outcome, context);
    }

    /// What an acknowledgement leads to: reports, more to send, transfers that waited for it.
    #[inline]
    fn follow_up(&mut self, packet: &Packet, outcome: AckOutcome, context: &mut Context<Packet, Record>) {
        let now = packet.at();
        let sender = &mut self.senders[packet.queue_pair as usize];
        let completed = sender.complete(outcome.completed, now, context);
        self.make_ready(packet.queue_pair, now);
        self.acknowledge(completed, now, context);
    }

    /// Sends have been acknowledged: starts what waited for that.
    #[inline]
    fn acknowledge(&mut self, sends: Range<u32>, now: Instant, context: &mut Context<Packet, Record>) {
        if sends.is_empty() {
            return;
        }
        for send in sends {
            let outgoing = self.sends[send as usize].outgoing;
            if let Some(next) = self.transfers.acknowledge_part(outgoing) {
                self.start_transfer(next, now, context);
            }
        }
        self.start_rounds(now, context);
    }

    /// Puts a sender into its port's round, if it has something to send and is not there yet.
    #[inline]
    fn make_ready(&mut self, sender: u32, now: Instant) {
        let state = &mut self.senders[sender as usize];
        if state.enters_round(&self.config) {
            self.ports[usize::from(state.port())].enqueue_sender(sender, now);
        }
    }

    fn fire(&mut self, now: Instant, context: &mut Context<Packet, Record>) {
        match self.timers.pop() {
            Some(Reverse((_, Timer::Post(outgoing)))) => {
                if let Some(next) = self.transfers.release_after(outgoing) {
                    self.timers.push(Reverse((next, Timer::Post(outgoing + 1))));
                }
                self.post_transfer(outgoing, now, context);
            }
            Some(Reverse((_, Timer::Retransmit(sender)))) => self.check_deadline(sender, now, context),
            Some(Reverse((_, Timer::RenewPause))) => self.renew_pause(now),
            None => {}
        }
    }

    /// The dependencies of a transfer have arrived: it is posted once the software overhead has passed.
    fn start_transfer(&mut self, outgoing: u32, now: Instant, context: &mut Context<Packet, Record>) {
        let overhead = self.transfers.times.overhead;
        if overhead == Span::ZERO {
            self.post_transfer(outgoing, now, context);
        } else {
            self.timers.push(Reverse((now + overhead, Timer::Post(outgoing))));
        }
    }

    fn post_transfer(&mut self, outgoing: u32, now: Instant, context: &mut Context<Packet, Record>) {
        for part in self.transfers.parts(outgoing) {
            let (sender, chunk) = self.transfers.part(part);
            self.sends[chunk as usize].is_ready = true;
            self.senders[sender as usize].post_ready(
                &self.config,
                &self.sends,
                self.transfers.round(),
                now,
                context,
            );
            self.make_ready(sender, now);
        }
    }

    fn check_deadline(&mut self, sender: u32, now: Instant, context: &mut Context<Packet, Record>) {
        let state = &mut self.senders[sender as usize];
        state.is_timed = false;
        match state.requester().on_timeout(&self.config, now) {
            TimeoutOutcome::NotDue => {}
            TimeoutOutcome::Resend => state.count_timeout(),
            TimeoutOutcome::Failed => {
                state.count_timeout();
                state.fail(now, context);
            }
        }
        self.arm_timer(sender);
        self.make_ready(sender, now);
    }

    /// Keeps one timer entry per sender with something outstanding; it is looked at again when it comes up.
    #[inline]
    fn arm_timer(&mut self, sender: u32) {
        let state = &mut self.senders[sender as usize];
        let deadline = state.requester().deadline();
        if !state.is_timed && deadline != Instant::NEVER {
            state.is_timed = true;
            self.timers.push(Reverse((deadline, Timer::Retransmit(sender))));
        }
    }

    #[inline]
    fn send(&mut self, port: usize, now: Instant, context: &mut Context<Packet, Record>) {
        let sent = now + self.latency;
        match self.ports[port].pop_next(now) {
            Next::Pause(pause) => self.ports[port].transmit(pause, now, context),
            Next::Control(Control { packet, receiver }) => {
                self.receivers[receiver as usize].note_reply(&packet, sent, context);
                self.ports[port].transmit(packet, now, context);
            }
            Next::Sender(sender) => {
                if context.is_large()
                    && let Some(ahead) = self.ports[port].senders_ahead().last()
                {
                    prefetch_whole(&self.senders, ahead as usize);
                }
                self.send_data(port, sender, now, context);
            }
            Next::Nothing => {}
        }
        self.ports[port].schedule(now);
    }

    #[inline]
    fn send_data(&mut self, port: usize, sender: u32, now: Instant, context: &mut Context<Packet, Record>) {
        let sent = now + self.latency;
        let state = &mut self.senders[sender as usize];
        if state.ready_at() <= now
            && let Some(packet) = state.next_packet(&self.config, now, sent, context)
        {
            self.ports[port].transmit_data(packet.leaving(sent), now, context);
        }
        if state.stays_in_round(&self.config) {
            self.ports[port].requeue_sender(sender, state.ready_at(), now);
        }
        self.arm_timer(sender);
    }
}
