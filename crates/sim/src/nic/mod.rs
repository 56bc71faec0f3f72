//! A host: NIC with one or more ports, queue pairs, TCP connections, storage, and the transfers in which its
//! ranks take part; processes arrivals, timers and transmissions of a time window (step of the simulation) in
//! order of time.
//!
//! Models round-robin service of the queue pairs, packet by packet and after control packets, pauses per
//! priority, a fixed latency on each side (here part of the links' latency) and, if the host is slower than
//! the link, a receive buffer. Leaves out PCIe, memory and doorbells.

mod connections;
mod host_jobs;
mod intake;
mod ledger;
mod local;
mod port;
mod posting;
mod rc;
mod storage;
mod tcp;
mod timers;
mod uc;

pub(crate) use host_jobs::HostJobsPlan;
pub(crate) use intake::IntakePlan;
pub(crate) use ledger::{Receives, Sends, Work, WorkMaker};
pub(crate) use port::{NicPort, NicPortPlan, SchedulingPlan};
pub(crate) use rc::{
    QueuePairEnd, QueuePairEnds, QueuePairSettings, REORDERING_BUCKETS, Receivers, Reordering,
    ReplyPriorities, ResidentQueuePairs, Sender, write_opcode,
};
pub(crate) use storage::{
    COMMAND_BYTES, COMPLETION_BYTES, ClientPlan, ConnectionPlan, RolePlan, Stop, StoragePlan, TargetPlan,
};
pub(crate) use tcp::{HostTcp, TcpEndPlan, TcpSink, TcpSource, Writes};
pub(crate) use uc::HostUc;

use crate::link::delayed::Delayed;
use crate::packet::{ConnectionId, ConnectionKind, FRAMES_AHEAD, Packet};
use engine::prefetch::{LINE_BYTES, prefetch, prefetch_first, prefetch_line, prefetch_lines, prefetch_whole};
use engine::{Inbox, Window};
use host_jobs::{HostJobs, JobDelivery};
use intake::Intake;
use jobs::Measured;
use ledger::{ChunkFrames, UnrecoveredChunks};
use rc::{DataFrames, LazySenders};
use spec::{LateFrames, MessageCounts};
use std::iter::{Empty, empty};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;
use storage::Storage;
use timers::{Timer, Timers};
use transport::{Config, Controller, RateControl, Unsent};
use units::{Instant, Rate, Span, State};

/// Outputs of a host while it is processed.
pub(crate) type Context = crate::record::Context<Packet>;

/// Bytes at the start of a host (behind the node's kind) and of a port that most windows need.
const HOST_BYTES: usize = 256;
const PORT_BYTES: usize = port::HOT_BYTES;

/// Packets at the front of an inbox whose queue pairs are prefetched.
const PACKETS_AHEAD: usize = 24;
/// Maximum of senders and of receivers of a host that are all prefetched: checking whose packets arrive would
/// take longer.
const FEW_QUEUE_PAIRS: usize = 2;

/// Limits of a NIC from a time on.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Throughput {
    pub(crate) at: Instant,
    /// Maximum rate of payload sent.
    pub(crate) pace: Option<Rate>,
    /// Rate at which the host drains the receive buffer, if it is lower than the arrival rate.
    pub(crate) drain: Option<Rate>,
}

/// Parameters of a host.
pub(crate) struct HostPlan {
    pub(crate) latency: Span,
    pub(crate) ports: Vec<NicPortPlan>,
    /// The receive buffer, if the host is slower than the link.
    pub(crate) intake: Option<IntakePlan>,
    /// Delay from a threshold of the receive buffer to the pause frame, and from the time at which a pause
    /// frame would be received as data to its effect.
    pub(crate) pause_delays: [Span; 2],
    /// In order of time.
    pub(crate) throughput: Vec<Throughput>,
    pub(crate) traffic: HostTraffic,
    /// Its endpoints of TCP connections, if any.
    pub(crate) tcp: Option<HostTcp>,
}

/// Traffic of the jobs that a host sends and receives.
pub(crate) struct HostTraffic {
    pub(crate) settings: QueuePairSettings,
    /// Senders created at the start.
    pub(crate) senders: ResidentQueuePairs<Sender>,
    /// Parameters of queue pairs that are created on demand.
    pub(crate) lazy: Option<Arc<dyn QueuePairEnds>>,
    /// Number of links on each sender's path, if a rate controller depends on it.
    pub(crate) links: Vec<u32>,
    pub(crate) sends: Sends,
    pub(crate) receivers: Receivers,
    /// Unreliable connections in place of these senders and receivers, if the jobs use them.
    pub(crate) uc: Option<HostUc>,
    pub(crate) jobs: HostJobsPlan,
    /// Its role in a storage job.
    pub(crate) storage: Option<StoragePlan>,
}

impl HostTraffic {
    /// Traffic of jobs on unreliable connections.
    pub(crate) fn unreliable(
        uc: HostUc,
        sends: Sends,
        settings: QueuePairSettings,
        jobs: HostJobsPlan,
    ) -> Self {
        let none = Receives::from(WorkMaker::default());
        Self {
            senders: ResidentQueuePairs::default(),
            lazy: None,
            links: Vec::new(),
            receivers: Receivers::new(empty::<Empty<QueuePairEnd>>(), 0, none, &settings),
            uc: Some(uc),
            storage: None,
            sends,
            settings,
            jobs,
        }
    }
}

/// A host. Fields that every window needs are at the start.
#[repr(C)]
#[derive(State)]
#[state(initial = Self::is_untouched)]
pub(crate) struct Host {
    timers: Timers,
    ports: Box<[NicPort]>,
    intake: Option<Box<Intake>>,
    #[state(skip)]
    config: Arc<Config>,
    #[state(skip)]
    latency: Span,
    senders: ResidentQueuePairs<Sender>,
    /// Rate controllers of the senders; empty at line rate.
    pacers: ResidentQueuePairs<Controller>,
    #[state(count)]
    received_frames: u64,
    /// Payload placed.
    #[state(count)]
    delivered_bytes: u64,
    /// All payload is progress of the run; see [`HostJobs::have_progress_only`].
    #[state(skip)]
    has_progress_only: bool,
    #[state(skip)]
    data_frames: DataFrames,
    receivers: Receivers,
    // Needed when a chunk starts or ends.
    /// Chunks of each sender.
    sends: Sends,
    #[state(skip)]
    chunk_frames: ChunkFrames,
    // Change only when chunks are posted (visible at a sender), delivered or acknowledged (both reported); a
    // busy rank has a timer.
    #[state(skip)]
    jobs: HostJobs,
    // Used by few hosts.
    /// Payload placed for each job, if there are several.
    deliveries: Box<[JobDelivery]>,
    /// Future changes of throughput, the next one last.
    throughput: Vec<Throughput>,
    #[state(only_if = Option::is_none)]
    storage: Option<Box<Storage>>,
    #[state(only_if = Option::is_none)]
    tcp: Option<Box<HostTcp>>,
    #[state(only_if = Option::is_none)]
    uc: Option<Box<HostUc>>,
    /// Without recovery: acknowledged chunks that may be incomplete.
    unrecovered: Option<Box<UnrecoveredChunks>>,
    /// Creates senders on demand, unless all are created at the start.
    #[state(skip)]
    lazy: Option<Box<LazySenders>>,
    /// Present if pause frames are sent, or take effect, with a delay.
    pause_delays: Option<Box<PauseDelays>>,
}

/// Delayed pause frames within a NIC.
#[derive(Debug, State)]
struct PauseDelays {
    /// To be sent.
    responses: Delayed<Packet>,
    /// Received, with their ports.
    reactions: Delayed<(usize, Packet)>,
}

impl PauseDelays {
    /// `None` if there is no delay.
    fn new([response, reaction]: [Span; 2]) -> Option<Box<Self>> {
        let delays = Self { responses: Delayed::new(response), reactions: Delayed::new(reaction) };
        (response.max(reaction) > Span::ZERO).then(|| Box::new(delays))
    }
}

/// The next event of a host other than an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Drain,
    Fire,
    Send { port: usize },
}

impl Host {
    pub(crate) fn new(plan: HostPlan) -> Self {
        let traffic = plan.traffic;
        let (deliveries, jobs) = (JobDelivery::of(&traffic.jobs), HostJobs::new(traffic.jobs));
        let storage = traffic.storage.map(|storage| Box::new(Storage::new(storage)));
        let start = storage.as_ref().and_then(|storage| storage.start());
        let changes = plan.throughput.iter().map(|change| (change.at, Timer::Throughput));
        let start = start.map(|at| (at, Timer::Storage));
        let starts = plan.tcp.iter().flat_map(HostTcp::starts);
        let starts =
            starts.map(|(at, source)| (at, Timer::Sender(ConnectionId::new(ConnectionKind::Tcp, source))));
        let job_starts = jobs.starts().map(|(at, job)| (at, Timer::Start(job)));
        let releases = jobs.first_releases().map(|(at, outgoing)| (at, Timer::Post(outgoing)));
        let timers = job_starts.chain(releases).chain(start).chain(changes);
        let settings = &traffic.settings;
        let lazy = traffic.lazy.map(|ends| Box::new(LazySenders::new(ends, settings)));
        Self {
            timers: timers.chain(starts).collect(),
            storage,
            config: Arc::clone(&settings.config),
            latency: plan.latency,
            ports: plan.ports.into_iter().map(NicPort::new).collect(),
            intake: plan.intake.map(|intake| Box::new(Intake::new(intake))),
            has_progress_only: jobs.have_progress_only(),
            data_frames: DataFrames::new(settings, traffic.sends.first_bytes()),
            chunk_frames: ChunkFrames::new(settings.framing, &settings.config),
            pacers: pacers(&traffic.senders, &traffic.links, settings),
            senders: traffic.senders,
            sends: traffic.sends,
            receivers: traffic.receivers,
            jobs,
            deliveries,
            throughput: plan.throughput.into_iter().rev().collect(),
            received_frames: 0,
            delivered_bytes: 0,
            tcp: plan.tcp.map(Box::new),
            uc: traffic.uc.map(Box::new),
            unrecovered: None,
            lazy,
            pause_delays: PauseDelays::new(plan.pause_delays),
        }
    }

    pub(crate) fn ports(&self) -> &[NicPort] {
        &self.ports
    }

    /// The rate that congestion control allows a sender at `now` [bit/s]; `None` without congestion control,
    /// and while there is nothing to send.
    pub(crate) fn rate_bps(&self, sender: ConnectionId, now: Instant) -> Option<u64> {
        let index = sender.index();
        match sender.kind() {
            ConnectionKind::Storage => self.storage.as_ref()?.rate_bps(index, now),
            ConnectionKind::Rc => {
                self.senders.get(index).filter(|sender| sender.is_busy())?;
                self.pacers.get(index)?.rate_bps_at(now)
            }
            ConnectionKind::Uc => self.uc.as_ref()?.rate_bps(index, now),
            ConnectionKind::Tcp => None,
        }
    }

    /// Frames received by all ports.
    pub(crate) const fn received_frames(&self) -> u64 {
        self.received_frames
    }

    /// Frames dropped because the receive buffer was full.
    pub(crate) fn overrun_frames(&self) -> u64 {
        self.intake.as_ref().map_or(0, |intake| intake.dropped)
    }

    /// Pause frames received that do not take effect yet.
    pub(crate) fn pauses_to_act_on(&self) -> u64 {
        self.pause_delays.as_ref().map_or(0, |delays| delays.reactions.len() as u64)
    }

    /// Applies the next change of throughput.
    fn change_throughput(&mut self) {
        let Some(Throughput { pace, drain, .. }) = self.throughput.pop() else { return };
        self.ports.iter_mut().for_each(|port| port.set_pace(pace));
        if let Some(intake) = &mut self.intake {
            intake.set_drain(drain);
        }
    }

    /// Payload placed for a job since the start.
    pub(crate) fn delivered_bytes(&self, job: u32) -> u64 {
        let delivery = self.deliveries.iter().find(|delivery| delivery.job == job);
        delivery.map_or(self.delivered_bytes, |delivery| delivery.bytes)
    }

    /// Counts payload placed by a receiver for its job, if there are several; returns whether it is progress.
    /// That of a single job that runs until other jobs end is none.
    #[inline(never)]
    fn count_delivery(&mut self, receiver: u32, bytes: u32) -> bool {
        let delivery = self.deliveries.iter_mut().find(|delivery| delivery.receivers.contains(&receiver));
        delivery.is_some_and(|delivery| {
            delivery.bytes += u64::from(bytes);
            !delivery.is_background
        })
    }

    /// Durations of measured rounds at each rank of a job, in the order of the ranks.
    pub(crate) fn measured(&self, job: u32) -> impl Iterator<Item = Measured> {
        self.jobs.measured(job)
    }

    /// Reports of chunks that were posted and never completed.
    pub(crate) fn open_chunks(&self) -> impl Iterator<Item = crate::record::SendReport> {
        let operations = self.storage.iter().flat_map(|storage| storage.open_operations());
        self.open_sends().chain(self.open_uc_sends()).chain(operations)
    }

    /// Reports of operations that have started at a storage target: frames sent so far.
    pub(crate) fn served_so_far(&self) -> impl Iterator<Item = crate::record::SendReport> {
        self.storage.iter().flat_map(|storage| storage.served_so_far())
    }

    /// Reports of chunks received in part and never delivered.
    pub(crate) fn undelivered_chunks(&self) -> impl Iterator<Item = crate::record::ReceiveReport> {
        let operations = self.storage.iter().flat_map(|storage| storage.undelivered());
        let unreliable = self.uc.iter().flat_map(|uc| uc.undelivered());
        self.receivers.undelivered(&self.config).chain(unreliable).chain(operations)
    }

    /// Frames that arrived after the delivery of their chunk, by queue pair.
    pub(crate) fn late(&self) -> impl Iterator<Item = (u32, LateFrames)> {
        self.receivers.late()
    }

    /// Reordering of packets, by queue pair; empty if packets cannot overtake each other.
    pub(crate) fn reordering(&self) -> &[Reordering] {
        self.uc.as_ref().map_or_else(|| self.receivers.reordering(), |uc| uc.reordering())
    }

    /// Messages of its unreliable connections, by queue pair.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (u32, MessageCounts)> {
        self.uc.iter().flat_map(|uc| uc.messages())
    }

    /// Starts recording the start of each message of one sender; false if none has anything to send.
    pub(crate) fn watch(&mut self) -> bool {
        self.senders.iter_mut().any(|sender| sender.watch(true))
    }

    /// Stops recording the start of messages.
    pub(crate) fn unwatch(&mut self) {
        self.senders.iter_mut().for_each(|sender| _ = sender.watch(false));
    }

    /// The rest of the chunk that each sender is sending; see
    /// [`Requester::unsent`](transport::Requester::unsent).
    pub(crate) fn unsent(&self) -> impl Iterator<Item = Option<Unsent>> {
        self.senders.iter().map(|sender| sender.unsent(&self.config, &self.sends))
    }

    /// It has no queue pairs and has received nothing: its state is the initial state.
    fn is_untouched(&self) -> bool {
        self.received_frames == 0
            && self.senders.is_empty()
            && self.lazy.is_none()
            && self.storage.is_none()
            && self.uc.is_none()
            && self.throughput.is_empty()
            && !self.ports.iter().any(|port| port.transmitter().may_change())
    }

    /// See [`engine::Node::process`].
    pub(crate) fn process(&mut self, window: Window, inboxes: Range<u32>, context: &mut Context) -> Instant {
        // With one port and no receive buffer there is less to check.
        let is_plain = self.ports.len() == 1 && self.intake.is_none();
        // Packets sent in this window arrive in later ones.
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
                    self.jobs.prefetch();
                }
                if self.senders.len() <= FEW_QUEUE_PAIRS && self.receivers.len() <= FEW_QUEUE_PAIRS {
                    self.prefetch_all_queue_pairs();
                } else {
                    inboxes.iter().for_each(|inbox| self.prefetch_queue_pairs(inbox));
                }
                let ahead = self.ports[0].connections_ahead();
                ahead.for_each(|connection| prefetch_sender(&self.senders, &self.pacers, connection));
                self.timers.prefetch();
            }
        }
    }

    /// Prefetches the fields that are needed when a chunk starts or ends.
    #[inline]
    fn prefetch_ends(&self) {
        const FIRST: usize = offset_of!(Host, sends) / LINE_BYTES;
        const LAST: usize = (offset_of!(Host, deliveries) - 1) / LINE_BYTES;
        (FIRST..=LAST).for_each(|line| prefetch_line(self, line));
    }

    /// Prefetches the state of all queue pairs, independent of the inboxes.
    #[inline]
    fn prefetch_all_queue_pairs(&self) {
        self.receivers.prefetch_all();
        self.senders.prefetch_all();
    }

    /// Prefetches the state for the first packets of an inbox. Consecutive packets of a queue pair need the
    /// same state, unless one ends a message.
    #[inline]
    fn prefetch_queue_pairs(&self, inbox: &Inbox<Packet>) {
        let mut before = None;
        for packet in inbox.iter().take(PACKETS_AHEAD) {
            let needs = (packet.connection(), packet.rc_position().is_some());
            if before != Some(needs) || packet.requests_ack() {
                self.prefetch_queue_pair(packet);
            }
            before = Some(needs);
        }
    }

    /// Prefetches the state for an arriving packet. Lists that are not indexed by queue pair have the same
    /// order if each chunk has its own queue pair.
    #[inline]
    fn prefetch_queue_pair(&self, packet: &Packet) {
        let queue_pair = packet.connection() as usize;
        if packet.rc_position().is_some() {
            self.receivers.prefetch(packet);
            if packet.requests_ack() {
                self.jobs.prefetch_inbound(queue_pair);
            }
        } else {
            self.senders.prefetch(packet.connection());
            self.sends.prefetch(queue_pair);
            self.jobs.prefetch_outgoing(queue_pair);
        }
    }

    /// The port with the first arrival, and its time.
    #[inline]
    fn next_arrival(&self, is_plain: bool, first_inbox: u32, context: &Context) -> (usize, Instant) {
        let mut next = (0, context.next_arrival(first_inbox));
        for port in 1..if is_plain { 1 } else { self.ports.len() } {
            let at = context.next_arrival(first_inbox + port as u32);
            if at < next.1 {
                next = (port, at);
            }
        }
        next
    }

    /// The earliest event other than arrivals, which precede it at equal times. At equal times the receive
    /// buffer precedes timers, and timers precede sending; ports in order.
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
        // By index: over items of this size, an iterator divides to get their number.
        let mut index = 0;
        while let Some(port) = self.ports.get(index) {
            if port.next_send() < next.0 {
                next = (port.next_send(), Action::Send { port: index });
            }
            index += 1;
        }
        next
    }

    #[inline(never)]
    fn fire(&mut self, now: Instant, context: &mut Context) {
        match self.timers.pop() {
            Some(Timer::Start(job)) => self.start_job(job, now, context),
            Some(Timer::Post(outgoing)) => {
                if let Some(next) = self.jobs.release_after(outgoing) {
                    self.timers.push(next, Timer::Post(outgoing + 1));
                }
                self.post_transfer(outgoing, now, context);
            }
            Some(Timer::Sender(connection)) => self.check_sender(connection, now, context),
            Some(Timer::Receiver(connection)) => self.check_receiver(connection, now),
            Some(Timer::RenewPause) => self.renew_pause(now),
            Some(Timer::Storage) => self.fire_storage(now, context),
            Some(Timer::Local(sender)) => self.finish_local(sender, now, context),
            Some(Timer::Received(inbound)) => self.take_inbound(inbound, now, context),
            Some(Timer::Finished(inbound)) => self.end_inbound(inbound, now, context),
            Some(Timer::Throughput) => self.change_throughput(),
            Some(Timer::Pause) => self.take_pauses(now),
            None => {}
        }
    }
}

/// Prefetches the state that a sender needs to send.
#[inline]
fn prefetch_sender(
    senders: &ResidentQueuePairs<Sender>,
    pacers: &ResidentQueuePairs<Controller>,
    connection: ConnectionId,
) {
    if let Some(sender) = connection.as_rc() {
        senders.prefetch(sender);
        pacers.prefetch(sender);
    }
}

/// Creates the rate controller of each sender; none at line rate.
fn pacers(
    senders: &ResidentQueuePairs<Sender>,
    links: &[u32],
    settings: &QueuePairSettings,
) -> ResidentQueuePairs<Controller> {
    if !settings.controllers.iter().any(Controller::is_paced) {
        return ResidentQueuePairs::default();
    }
    let begin = |sender: &Sender| settings.controllers[usize::from(sender.port())].clone();
    let mut pacers: ResidentQueuePairs<Controller> = senders.iter().map(begin).collect();
    pacers.iter_mut().zip(links).for_each(|(pacer, &links)| pacer.set_links(links));
    pacers
}
