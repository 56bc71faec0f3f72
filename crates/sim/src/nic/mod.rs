//! A host: its NIC with one or more ports, and the transfers it takes part in.
//!
//! Models round-robin service of the queue pairs by packet with control packets first, pauses per priority, a
//! fixed latency on each side (part of the links' latency here) and, where the host is slower than the link,
//! a receive buffer. Leaves out PCIe, memory and doorbells.

mod arrivals;
mod chunk_frames;
mod intake;
mod latencies;
mod later;
mod ledger;
mod local;
mod port;
mod posting;
mod queue_pairs;
mod receiver;
mod receivers;
mod receiving;
mod reordering;
mod sender;
mod sending;
mod standing;
mod storage;
mod tcp;
mod timers;
mod transfers;
mod unconfirmed;

pub(crate) use intake::IntakePlan;
pub(crate) use later::QueuePairEnds;
pub(crate) use ledger::{Receives, Sends, Work, WorkMaker};
pub(crate) use local::SharedMemory;
pub(crate) use port::{NicPort, NicPortPlan, TurnPlan};
pub(crate) use queue_pairs::{QueuePairEnd, QueuePairSettings, ReplyPriorities};
pub(crate) use receivers::Receivers;
pub(crate) use reordering::{BUCKETS as REORDERING_BUCKETS, Reordering};
pub(crate) use sender::{Sender, write_opcode};
pub(crate) use standing::Standing;
pub(crate) use storage::{
    COMMAND_BYTES, COMPLETION_BYTES, ClientPlan, ConnectionPlan, RolePlan, Stop, StoragePlan, TargetPlan,
    connection_number,
};
pub(crate) use tcp::{HostTcp, TcpEndPlan, TcpSink, TcpSource, Writes};
pub(crate) use transfers::{
    InboundPlan, JobTimes, Measured, OutgoingPlan, PhaseEnd, PlanList, TransfersPlan,
};

use crate::link::delayed::Delayed;
use crate::packet::{FRAMES_AHEAD, Packet};
use crate::record::{Context, Record};
use chunk_frames::ChunkFrames;
use engine::prefetch::{LINE_BYTES, prefetch, prefetch_first, prefetch_line, prefetch_lines, prefetch_whole};
use engine::{Inbox, Window};
use intake::Intake;
use later::LaterSenders;
use sender::DataFrames;
use spec::LateFrames;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;
use storage::Storage;
use timers::{Timer, Timers};
use transfers::Transfers;
use transport::{Config, Controller};
use unconfirmed::Unconfirmed;
use units::{Cycle, Instant, Rate, Span};

/// What most windows need of a host, which is behind the kind of its node, and of a port is in so much of
/// them, from their beginning.
const HOST_BYTES: usize = 256;
const PORT_BYTES: usize = port::HOT_BYTES;

/// How many packets of an inbox are looked at to ask for their queue pairs' memory.
const PACKETS_AHEAD: usize = 24;
/// A host with no more senders and receivers than this asks for all of them: to see whose packets arrive
/// takes longer.
const FEW_QUEUE_PAIRS: usize = 2;

/// What a NIC can do from a time on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throughput {
    pub(crate) at: Instant,
    /// At most so much payload is sent.
    pub(crate) pace: Option<Rate>,
    /// So fast the host takes data out of the receive buffer, if that is slower than it comes.
    pub(crate) drain: Option<Rate>,
}

/// What a host is made of.
pub(crate) struct HostPlan {
    pub(crate) latency: Span,
    pub(crate) ports: Vec<NicPortPlan>,
    /// The receive buffer, if the host is slower than the link.
    pub(crate) intake: Option<IntakePlan>,
    /// From a level of the receive buffer to the pause frame, and from when a pause frame would be taken in
    /// as data to its effect.
    pub(crate) pause_delays: [Span; 2],
    /// In order of time.
    pub(crate) throughput: Vec<Throughput>,
    pub(crate) settings: QueuePairSettings,
    /// Those that are made at once.
    pub(crate) senders: Standing<Sender>,
    /// What the others are made from.
    pub(crate) later: Option<Arc<dyn QueuePairEnds>>,
    /// Links on the way of each, where a rate controller goes by them.
    pub(crate) links: Vec<u32>,
    pub(crate) sends: Sends,
    pub(crate) receivers: Receivers,
    pub(crate) transfers: TransfersPlan,
    /// What it does in a storage job.
    pub(crate) storage: Option<StoragePlan>,
    /// Its ends of TCP connections, if it has any.
    pub(crate) tcp: Option<HostTcp>,
    pub(crate) shared_memory: SharedMemory,
}

/// A host. What every window needs of it comes first.
#[repr(C)]
pub(crate) struct Host {
    timers: Timers,
    ports: Box<[NicPort]>,
    intake: Option<Box<Intake>>,
    config: Arc<Config>,
    latency: Span,
    senders: Standing<Sender>,
    /// When the rate of each sender lets it send; empty at line rate.
    pacers: Standing<Controller>,
    /// Frames that came in.
    received_frames: u64,
    /// Payload placed.
    delivered_bytes: u64,
    /// Its job goes on until others end: what it places is no progress.
    is_background: bool,
    data_frames: DataFrames,
    receivers: Receivers,
    // What is needed when a chunk begins or ends.
    /// Chunks of each sender.
    sends: Sends,
    chunk_frames: ChunkFrames,
    transfers: Transfers,
    // What few hosts have.
    shared_memory: SharedMemory,
    /// Changes of throughput to come, the next one last.
    throughput: Vec<Throughput>,
    storage: Option<Box<Storage>>,
    tcp: Option<Box<HostTcp>>,
    /// Without recovery.
    unconfirmed: Unconfirmed,
    /// What senders are made from, if not all are made at once.
    later: Option<Box<LaterSenders>>,
    /// Where pause frames are sent or take effect later than at once.
    pause_delays: Option<Box<PauseDelays>>,
}

/// Pause frames on their way within a NIC.
#[derive(Debug)]
struct PauseDelays {
    /// To be sent.
    responses: Delayed<Packet>,
    /// Received, with their ports.
    reactions: Delayed<(usize, Packet)>,
}

impl PauseDelays {
    /// None if there is no delay.
    fn new([response, reaction]: [Span; 2]) -> Option<Box<Self>> {
        let delays = Self { responses: Delayed::new(response), reactions: Delayed::new(reaction) };
        (response.max(reaction) > Span::ZERO).then(|| Box::new(delays))
    }

    /// See [`Cycle`].
    fn visit(&mut self, cycle: &mut Cycle) {
        let Self { responses, reactions } = self;
        responses.visit(cycle, |pause, cycle| pause.visit(cycle));
        reactions.visit(cycle, |(port, pause), cycle| {
            cycle.same(*port as u64);
            pause.visit(cycle);
        });
    }
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
        let transfers = Transfers::new(plan.transfers);
        let storage = plan.storage.map(|storage| Box::new(Storage::new(storage)));
        let start = storage.as_ref().and_then(|storage| storage.start());
        let changes = plan.throughput.iter().map(|change| (change.at, Timer::Throughput));
        let start = start.map(|at| (at, Timer::Storage));
        let starts = plan.tcp.iter().flat_map(HostTcp::starts);
        let starts = starts.map(|(at, source)| (at, Timer::TcpSource(source)));
        let timers = first_timer(&transfers).into_iter().chain(start).chain(changes);
        let settings = &plan.settings;
        let later = plan.later.map(|ends| Box::new(LaterSenders::new(ends, settings)));
        Self {
            timers: timers.chain(starts).collect(),
            storage,
            config: Arc::clone(&settings.config),
            latency: plan.latency,
            ports: plan.ports.into_iter().map(NicPort::new).collect(),
            intake: plan.intake.map(|intake| Box::new(Intake::new(intake))),
            is_background: transfers.is_background(),
            data_frames: DataFrames::new(settings, plan.sends.first_bytes()),
            chunk_frames: ChunkFrames::new(settings.framing, &settings.config),
            pacers: pacers(&plan.senders, &plan.links, settings),
            senders: plan.senders,
            sends: plan.sends,
            receivers: plan.receivers,
            transfers,
            throughput: plan.throughput.into_iter().rev().collect(),
            received_frames: 0,
            delivered_bytes: 0,
            tcp: plan.tcp.map(Box::new),
            shared_memory: plan.shared_memory,
            unconfirmed: Unconfirmed::default(),
            later,
            pause_delays: PauseDelays::new(plan.pause_delays),
        }
    }

    pub(crate) fn ports(&self) -> &[NicPort] {
        &self.ports
    }

    /// The rate that congestion control allows a sender at `now` [bit/s]; none without one, and while there
    /// is nothing to send.
    pub(crate) fn rate_bps(&self, sender: u32, now: Instant) -> Option<u64> {
        match &self.storage {
            Some(storage) => storage.rate_bps(sender, now),
            None => {
                self.senders.get(sender).filter(|sender| sender.is_busy())?;
                self.pacers.get(sender)?.rate_bps_at(now)
            }
        }
    }

    /// Frames that came in by all ports.
    pub(crate) const fn received_frames(&self) -> u64 {
        self.received_frames
    }

    /// Frames that found the receive buffer full.
    pub(crate) fn overrun_frames(&self) -> u64 {
        self.intake.as_ref().map_or(0, |intake| intake.dropped)
    }

    /// Pause frames that have come and do not take effect yet.
    pub(crate) fn pauses_to_act_on(&self) -> u64 {
        self.pause_delays.as_ref().map_or(0, |delays| delays.reactions.len() as u64)
    }

    /// Takes on the next change of throughput.
    fn change_throughput(&mut self) {
        let Some(Throughput { pace, drain, .. }) = self.throughput.pop() else { return };
        self.ports.iter_mut().for_each(|port| port.set_pace(pace));
        if let Some(intake) = &mut self.intake {
            intake.set_drain(drain);
        }
    }

    /// Payload placed since the start.
    pub(crate) const fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// What measured rounds took at each of its ranks, in their order.
    pub(crate) fn measured(&self) -> impl Iterator<Item = Measured> {
        self.transfers.measured()
    }

    /// Reports of chunks that were posted and never completed.
    pub(crate) fn open_chunks(&self) -> impl Iterator<Item = crate::record::SendReport> {
        let operations = self.storage.iter().flat_map(|storage| storage.open_operations());
        self.open_sends().chain(operations)
    }

    /// What a storage target sent for operations that it has begun.
    pub(crate) fn served_so_far(&self) -> impl Iterator<Item = crate::record::SendReport> {
        self.storage.iter().flat_map(|storage| storage.served_so_far())
    }

    /// What has arrived of chunks that were never delivered.
    pub(crate) fn undelivered_chunks(&self) -> impl Iterator<Item = crate::record::ReceiveReport> {
        let operations = self.storage.iter().flat_map(|storage| storage.undelivered());
        self.receivers.undelivered(&self.config).chain(operations)
    }

    /// Frames that came after their chunk had been delivered, by queue pair.
    pub(crate) fn late(&self) -> impl Iterator<Item = (u32, LateFrames)> {
        self.receivers.late()
    }

    /// How far out of order packets came, by queue pair; none where they cannot overtake each other.
    pub(crate) fn reordering(&self) -> &[Reordering] {
        self.receivers.reordering()
    }

    /// Has the start of each message of one sender reported; false if none has anything to send.
    pub(crate) fn watch(&mut self) -> bool {
        self.senders.iter_mut().any(|sender| sender.watch(true))
    }

    /// Has no start of a message reported any more.
    pub(crate) fn unwatch(&mut self) {
        self.senders.iter_mut().for_each(|sender| _ = sender.watch(false));
    }

    /// It has no queue pairs and nothing has reached it: its state is what it was made with.
    fn is_untouched(&self) -> bool {
        self.received_frames == 0
            && self.senders.is_empty()
            && self.later.is_none()
            && self.storage.is_none()
            && self.throughput.is_empty()
            && !self.ports.iter().any(|port| port.transmitter().may_change())
    }

    /// See [`Cycle`]. Transfers change only when chunks are posted, which a sender shows, delivered or
    /// acknowledged, which is reported; until a rank is no longer busy there is a timer.
    pub(crate) fn visit(&mut self, cycle: &mut Cycle) {
        let is_untouched = self.is_untouched();
        cycle.same(u64::from(is_untouched));
        if is_untouched {
            return;
        }
        let Self {
            config,
            latency: _,
            ports,
            senders,
            pacers,
            sends,
            receivers,
            is_background: _,
            data_frames: _,
            chunk_frames: _,
            transfers: _,
            shared_memory: _,
            timers,
            intake,
            throughput,
            received_frames,
            delivered_bytes,
            storage,
            unconfirmed,
            later: _,
            pause_delays,
            // Fast-forward is off where there is TCP.
            tcp: _,
        } = self;
        unconfirmed.visit(cycle);
        cycle.same(throughput.len() as u64);
        cycle.count(received_frames);
        cycle.count(delivered_bytes);
        ports.iter_mut().for_each(|port| port.visit(cycle));
        cycle.same(senders.first().into());
        senders.iter_mut().for_each(|sender| sender.visit(cycle, config, sends));
        pacers.iter_mut().for_each(|pacer| pacer.visit(cycle));
        sends.visit(cycle);
        receivers.visit(cycle);
        timers.visit(cycle);
        if let Some(intake) = intake {
            intake.visit(cycle);
        }
        if let Some(delays) = pause_delays {
            delays.visit(cycle);
        }
        if storage.is_some() {
            cycle.never_repeats();
        }
    }

    /// See [`engine::Node::process`].
    pub(crate) fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        context: &mut Context<Packet, Record>,
    ) -> Instant {
        // With one port and no receive buffer there is less to look at.
        let is_plain = self.ports.len() == 1 && self.intake.is_none();
        // What is sent in this window arrives in later ones.
        let (mut port, mut arrival) = self.next_arrival(is_plain, inboxes.start, context);
        loop {
            let (now, action) = self.next_action(is_plain);
            if arrival <= now && arrival < window.end {
                let next = self.receive(port, inboxes.start, context);
                (port, arrival) =
                    if is_plain { (0, next) } else { self.next_arrival(false, inboxes.start, context) };
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

    /// See [`engine::Node::prefetch`].
    pub(crate) fn prefetch(&self, stage: usize, inboxes: &[Inbox<Packet>]) {
        match stage {
            0 => {
                prefetch_lines(self, HOST_BYTES);
                prefetch(inboxes, 0);
            }
            1 => {
                if self.data_frames.is_paced {
                    prefetch_whole(&self.ports, 0);
                } else {
                    prefetch_first(&self.ports, 0, PORT_BYTES);
                }
                inboxes.iter().for_each(|inbox| inbox.prefetch_first(FRAMES_AHEAD));
                if self.data_frames.ends_often {
                    self.prefetch_ends();
                }
            }
            _ => {
                if self.data_frames.ends_often {
                    self.ports[0].prefetch_queues();
                    self.transfers.prefetch();
                }
                if self.senders.len() <= FEW_QUEUE_PAIRS && self.receivers.len() <= FEW_QUEUE_PAIRS {
                    self.prefetch_all_queue_pairs();
                } else {
                    inboxes.iter().for_each(|inbox| self.prefetch_queue_pairs(inbox));
                }
                let ahead = self.ports[0].senders_ahead();
                ahead.for_each(|sender| prefetch_sender(&self.senders, &self.pacers, sender));
                self.timers.prefetch();
            }
        }
    }

    /// Asks for what of the host is needed when a chunk begins or ends.
    #[inline]
    fn prefetch_ends(&self) {
        const FIRST: usize = offset_of!(Host, sends) / LINE_BYTES;
        const LAST: usize = (offset_of!(Host, shared_memory) - 1) / LINE_BYTES;
        (FIRST..=LAST).for_each(|line| prefetch_line(self, line));
    }

    /// Asks for what the packets of all queue pairs need, whatever is in the inboxes.
    #[inline]
    fn prefetch_all_queue_pairs(&self) {
        self.receivers.prefetch_all();
        self.senders.prefetch_all();
    }

    /// Asks for what the first packets of an inbox need: what follows a packet of the same queue pair needs
    /// the same, unless it ends a message.
    #[inline]
    fn prefetch_queue_pairs(&self, inbox: &Inbox<Packet>) {
        let mut before = None;
        for packet in inbox.iter().take(PACKETS_AHEAD) {
            let needs = (packet.queue_pair, packet.position().is_some());
            if before != Some(needs) || packet.asks() {
                self.prefetch_queue_pair(packet);
            }
            before = Some(needs);
        }
    }

    /// Asks for what an arriving packet needs. Lists that are not of queue pairs have the same order when
    /// each chunk has a queue pair of its own.
    #[inline]
    fn prefetch_queue_pair(&self, packet: &Packet) {
        let queue_pair = packet.queue_pair as usize;
        if packet.position().is_some() {
            self.receivers.prefetch(packet);
            if packet.asks() {
                self.transfers.prefetch_inbound(queue_pair);
            }
        } else {
            self.senders.prefetch(packet.queue_pair);
            self.sends.prefetch(queue_pair);
            self.transfers.prefetch_outgoing(queue_pair);
        }
    }

    /// The port with the first arrival, and when that is.
    #[inline]
    fn next_arrival(
        &self,
        is_plain: bool,
        first_inbox: u32,
        context: &Context<Packet, Record>,
    ) -> (usize, Instant) {
        let mut next = (0, context.next_arrival(first_inbox));
        for port in 1..if is_plain { 1 } else { self.ports.len() } {
            let at = context.next_arrival(first_inbox + port as u32);
            if at < next.1 {
                next = (port, at);
            }
        }
        next
    }

    /// The earliest of what is due besides arrivals, which come first. At equal times the receive buffer
    /// comes first, then timers, then sending; ports in order.
    #[inline]
    fn next_action(&self, is_plain: bool) -> (Instant, Action) {
        let mut next = (self.timers.next(), Action::Fire);
        if is_plain {
            let send = self.ports[0].next_send();
            return if send < next.0 { (send, Action::Send { port: 0 }) } else { next };
        }
        if let Some(intake) = &self.intake
            && intake.next_drained() <= next.0
        {
            next = (intake.next_drained(), Action::Drain);
        }
        // By number: over items of this size an iterator divides to know how many there are.
        let mut index = 0;
        while let Some(port) = self.ports.get(index) {
            if port.next_send() < next.0 {
                next = (port.next_send(), Action::Send { port: index });
            }
            index += 1;
        }
        next
    }

    fn fire(&mut self, now: Instant, context: &mut Context<Packet, Record>) {
        match self.timers.pop() {
            Some(Timer::Start) => self.start_first(now, context),
            Some(Timer::Post(outgoing)) => {
                if let Some(next) = self.transfers.release_after(outgoing) {
                    self.timers.push(next, Timer::Post(outgoing + 1));
                }
                self.post_transfer(outgoing, now, context);
            }
            Some(Timer::Retransmit(sender)) => self.check_deadline(sender, now, context),
            Some(Timer::RenewPause) => self.renew_pause(now),
            Some(Timer::Storage) => self.fire_storage(now, context),
            Some(Timer::TcpSource(source)) => self.fire_tcp_source(source, now, context),
            Some(Timer::TcpSink(sink)) => self.fire_tcp_sink(sink, now),
            Some(Timer::Local(sender)) => self.finish_local(sender, now, context),
            Some(Timer::Received(inbound)) => self.take_inbound(inbound, now, context),
            Some(Timer::Throughput) => self.change_throughput(),
            Some(Timer::Pause) => self.take_pauses(now),
            None => {}
        }
    }
}

/// Asks for what a sender needs to send.
#[inline]
fn prefetch_sender(senders: &Standing<Sender>, pacers: &Standing<Controller>, sender: u32) {
    senders.prefetch(sender);
    pacers.prefetch(sender);
}

/// How each sender is paced; nothing at line rate.
fn pacers(senders: &Standing<Sender>, links: &[u32], settings: &QueuePairSettings) -> Standing<Controller> {
    if !settings.controllers.iter().any(Controller::is_paced) {
        return Standing::default();
    }
    let begin = |sender: &Sender| settings.controllers[usize::from(sender.port())].clone();
    let mut pacers: Standing<Controller> = senders.iter().map(begin).collect();
    pacers.iter_mut().zip(links).for_each(|(pacer, &links)| pacer.set_links(links));
    pacers
}

/// When a host first acts by itself. Open-loop traffic is posted one by one, see
/// [`Transfers::release_after`].
fn first_timer(transfers: &Transfers) -> Option<(Instant, Timer)> {
    match transfers.first_release() {
        Some(first) => Some((first, Timer::Post(0))),
        // What a host that begins late waits for may have come by then.
        None => (transfers.begins_late()
            || transfers.of_first_phase().any(|outgoing| transfers.waits_for_nothing(outgoing)))
        .then(|| (transfers.start(), Timer::Start)),
    }
}
