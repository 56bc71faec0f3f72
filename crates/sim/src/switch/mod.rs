//! Output-queued switch: a shared buffer, one queue per egress port and priority, and load balancing among
//! equal-cost next hops. Each time window (step of the simulation) is processed port by port, or, if a
//! threshold is within reach, on the exact path, in order of time.
//!
//! Models store-and-forward and cut-through switching with a fixed pipeline latency (included in the latency
//! of the incoming link), strict or weighted service of eight priorities, PFC, ECN marking, WRED by colour,
//! dynamic thresholds and drops. On InfiniBand each virtual lane of each link has its own buffer, granted by
//! credits; queues are at the egress, as if any input could reach any output at once. A frame occupies its
//! whole size in the buffer from its arrival, even while most of it has not arrived yet. Leaves out multicast
//! and egress reserves.

pub(crate) mod admission;
pub(crate) mod arrivals;
mod exact;
pub(crate) mod forward;
pub(crate) mod marking;
mod members;
mod port_set;
pub(crate) mod queue;
pub(crate) mod scheduled;
pub(crate) mod watchdog;

pub(crate) use arrivals::order::WINDOW_MAX;
pub(crate) use members::Member;
pub(crate) use queue::{EgressPlan, EgressPort, PriorityCounters, QueueCounters};

use crate::link::Dropped;
use crate::link::delayed::Delayed;
use crate::link::egress::SharedLinks;
use crate::packet::{FRAMES_AHEAD, Packet, Priority};
use admission::buffer::{BufferPlan, SharedBuffer};
use admission::pfc::{PausePlan, PauseRequests};
use admission::pools::Pools;
use admission::readout::{Readouts, Release};
use arrivals::Arrivals;
use arrivals::cut_through::Incoming;
use engine::{Inbox, Window};
use exact::{Parts, Replay, Returns};
use forward::{Choice, EgressSelection};
use marking::colour::Markers;
use members::Members;
use paths::Reroute;
use port_set::PortSet;
use queue::{SENDING_PORTS_MAX, Stored};
use std::ops::Range;
use std::sync::Arc;
use topology::Routes;
use units::{Instant, NodeId, Span, State};
use watchdog::Watchdog;
use wire::Framing;

/// Outputs of a switch while it is processed.
pub(crate) type Context = crate::record::Context<Packet>;

/// Distance, in inboxes, of the prefetch from the inbox being read.
const INBOXES_AHEAD: usize = 4;
/// Size above which routes no longer fit into a second-level cache of 1 MiB with the other state.
const LARGE_ROUTES_BYTES: usize = 256 << 10;

/// Parameters of a switch.
pub(crate) struct SwitchPlan {
    /// The switches of the topology that it represents.
    pub(crate) members: Vec<Member>,
    pub(crate) routes: Arc<Routes>,
    /// Later routes, in order of time.
    pub(crate) reroutes: Arc<[Reroute]>,
    pub(crate) ports: Vec<EgressPlan>,
    pub(crate) buffer: BufferPlan,
    /// When a frame leaves the buffer.
    pub(crate) release: Release,
    /// Part of the pipeline latency that is inside the buffer.
    pub(crate) inside: Span,
    /// Length of the longest frame.
    pub(crate) frame_bytes_max: u32,
    pub(crate) pauses: PausePlan,
    /// Time from when a pause frame would be received as data until it takes effect.
    pub(crate) pause_reaction: Span,
    /// The PFC watchdog, if configured.
    pub(crate) watchdog: Option<spec::WatchdogSpec>,
    /// Markers that colour frames received from hosts, if configured.
    pub(crate) markers: Option<Markers>,
    /// Frames may leave before their last bit has arrived.
    pub(crate) is_cut_through: bool,
    /// Links use credits: every window takes the exact path.
    pub(crate) has_credits: bool,
    pub(crate) framing: Framing,
    /// Take the exact path in every window.
    pub(crate) exact_only: bool,
    pub(crate) choice: Choice,
    /// Load balancing reads the load of every port.
    pub(crate) needs_loads: bool,
}

/// Number of windows processed on each path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathCounters {
    pub(crate) fast: u64,
    pub(crate) exact: u64,
}

/// A switch, or a chip that consists of several switches of the topology.
#[derive(State)]
pub(crate) struct Switch {
    #[state(skip)]
    members: Members,
    #[state(skip)]
    routes: Arc<Routes>,
    #[state(skip)]
    reroutes: Arc<[Reroute]>,
    /// Index and time of the next change of routes.
    next_reroute: usize,
    reroute_at: Instant,
    #[state(only_if = Choice::is_per_flow)]
    choice: Choice,
    ports: Vec<EgressPort>,
    buffer: SharedBuffer,
    requests: PauseRequests,
    /// Received pause frames that have not taken effect yet, with their ports.
    reactions: Delayed<(u16, Packet)>,
    /// Present with cut-through and ports of different rates.
    incoming: Option<Box<Incoming>>,
    watchdog: Option<Box<Watchdog>>,
    /// Markers that colour frames; `None` where colours have no effect.
    markers: Option<Box<Markers>>,
    /// Present on InfiniBand.
    #[state(skip)]
    returns: Option<Box<Returns>>,
    /// Frames being read out; `None` if frames are released when their transmissions start.
    readouts: Option<Box<Readouts>>,
    /// Upper bound of the buffer that frames being read out occupy.
    #[state(skip)]
    reading_max: u64,
    /// A port is paused or has a pause frame to send. Only windows on the exact path change this.
    is_pause_active: bool,
    /// Whether routes are prefetched.
    #[state(skip)]
    has_large_routes: bool,
    #[state(skip)]
    exact_only: bool,
    #[state(skip)]
    paths: PathCounters,
    /// Frames received on each port while no route to their destination was left.
    stranded: Vec<Dropped>,
    /// Ports with queued or arriving frames, and paused ports.
    #[state(skip)]
    busy: PortSet,
    /// Bytes queued at each port at the start of the window plus those directed to it since; read by adaptive
    /// load balancing.
    #[state(skip)]
    loads: Vec<u64>,
}

/// Buffers for sorting arrivals; empty between windows, so all switches of a partition share one.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    arrivals: Arrivals,
    /// Buffer space that the arrivals on each ingress port occupy.
    charges: Vec<u64>,
    /// Ports with work to do, in ascending order.
    busy_ports: Vec<u16>,
    replay: Replay,
    /// Buffer of scheduled switches.
    pub(crate) scheduled: scheduled::Arrivals,
}

/// Frames received on one port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

impl Switch {
    pub(crate) fn new(plan: SwitchPlan) -> Self {
        let ports = plan.ports.len();
        // Thresholds of pools, and colours, require a decision frame by frame.
        let has_colours = plan.markers.is_some() || plan.ports.iter().any(|port| port.wred.is_some());
        let exact_only = plan.exact_only
            || plan.has_credits
            || plan.buffer.pools.is_some()
            || has_colours
            || plan.inside > Span::ZERO
            || ports > SENDING_PORTS_MAX;
        let rates: Vec<_> = plan.ports.iter().map(|port| port.wire.rate).collect();
        let mut links = SharedLinks::default();
        let buffer = SharedBuffer::new(plan.buffer, ports);
        let readouts = Readouts::new(plan.release, plan.inside).map(Box::new);
        Self {
            reading_max: if readouts.is_some() {
                ports as u64 * buffer.charge(plan.frame_bytes_max)
            } else {
                0
            },
            readouts,
            members: Members::new(plan.members),
            has_large_routes: plan.routes.memory_bytes() > LARGE_ROUTES_BYTES,
            routes: plan.routes,
            reroute_at: plan.reroutes.first().map_or(Instant::NEVER, |reroute| reroute.at),
            reroutes: plan.reroutes,
            next_reroute: 0,
            choice: plan.choice,
            ports: plan.ports.into_iter().map(|port| EgressPort::new(port, &mut links)).collect(),
            buffer,
            incoming: if plan.is_cut_through {
                Incoming::new(plan.framing, &rates).map(Box::new)
            } else {
                None
            },
            requests: PauseRequests::new(plan.pauses, rates),
            reactions: Delayed::new(plan.pause_reaction),
            watchdog: plan.watchdog.map(|watchdog| Box::new(Watchdog::new(watchdog, ports))),
            markers: has_colours.then(|| Box::new(plan.markers.unwrap_or_default())),
            returns: plan.has_credits.then(Box::default),
            is_pause_active: false,
            exact_only,
            paths: PathCounters::default(),
            stranded: vec![Dropped::default(); ports],
            busy: PortSet::new(ports),
            loads: if plan.needs_loads { vec![0; ports] } else { Vec::new() },
        }
    }

    pub(crate) fn ports(&self) -> &[EgressPort] {
        &self.ports
    }

    /// Port numbers of a switch of the topology.
    pub(crate) fn numbers_of(&self, node: NodeId) -> Range<usize> {
        self.members.ports_of(node)
    }

    /// Ports of a switch of the topology.
    pub(crate) fn ports_of(&self, node: NodeId) -> &[EgressPort] {
        &self.ports[self.numbers_of(node)]
    }

    /// Frames received on each port while no route to their destination was left.
    pub(crate) fn stranded(&self) -> &[Dropped] {
        &self.stranded
    }

    /// Frames waiting for their last bit to arrive.
    pub(crate) fn incoming_frames(&self) -> u64 {
        self.incoming.as_ref().map_or(0, |incoming| incoming.frames())
    }

    /// The PFC watchdog, if configured.
    pub(crate) fn watchdog(&self) -> Option<&Watchdog> {
        self.watchdog.as_deref()
    }

    /// Whether the switch pauses `priority` on port `ingress`, or has not granted all of its buffer.
    pub(crate) fn blocks_sender(&self, ingress: u16, priority: Priority) -> bool {
        let credits = self.ports[usize::from(ingress)].credits();
        credits.is_some_and(|credits| credits.has_frames(priority))
            || self.buffer.is_pausing(ingress, priority)
    }

    /// Describes an inconsistency in the accounts of the pools, if there is one.
    pub(crate) fn fault(&self) -> Option<String> {
        self.buffer.pools().and_then(Pools::fault)
    }

    pub(crate) const fn paths(&self) -> PathCounters {
        self.paths
    }

    /// See [`engine::Node::process`].
    #[inline]
    pub(crate) fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Instant {
        if self.reroute_at < window.end {
            return self.process_across(window, inboxes, scratch, context);
        }
        self.process_part(window, inboxes, scratch, context)
    }

    /// Processes a window during or before which routes change: splits it at each change.
    #[cold]
    fn process_across(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Instant {
        let mut part = window;
        while self.reroute_at < window.end {
            let at = self.reroute_at;
            if at > part.start {
                self.process_part(Window { end: at, ..part }, inboxes.clone(), scratch, context);
                part.start = at;
            }
            self.take_routes(at);
        }
        self.process_part(part, inboxes, scratch, context)
    }

    /// Applies the routes valid at `now`.
    fn take_routes(&mut self, now: Instant) {
        while let Some(reroute) = self.reroutes.get(self.next_reroute).filter(|reroute| reroute.at <= now) {
            self.routes = Arc::clone(&reroute.routes);
            self.next_reroute += 1;
        }
        self.reroute_at = self.reroutes.get(self.next_reroute).map_or(Instant::NEVER, |next| next.at);
    }

    fn process_part(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Instant {
        for (load, port) in self.loads.iter_mut().zip(&self.ports) {
            *load = port.depth_bytes(window.start);
        }
        let is_large = context.is_large();
        self.take_arrivals(window, &mut scratch.arrivals, is_large, context.inboxes(inboxes));
        self.direct(&mut scratch.arrivals);
        let charge = self.complete_arrivals(window.end, &mut scratch.arrivals);
        let next = if self.is_calm(window.start, charge, scratch) {
            self.paths.fast += 1;
            if let Some(readouts) = &mut self.readouts {
                readouts.suspend(&mut self.buffer);
            }
            self.serve_ports(window.end, scratch, context)
        } else {
            self.paths.exact += 1;
            self.replay(window, scratch, context)
        };
        let next = self.incoming.as_ref().map_or(next, |incoming| next.min(incoming.next_due()));
        if next == Instant::NEVER { next } else { next.max(window.end) }
    }

    /// See [`engine::Node::prefetch`].
    pub(crate) fn prefetch(&self, inboxes: &[Inbox<Packet>]) {
        inboxes.iter().take(INBOXES_AHEAD).for_each(|inbox| inbox.prefetch_first(FRAMES_AHEAD));
    }

    /// With cut-through, defers frames whose last bits have not arrived. Returns the buffer space that the
    /// arrivals occupy, if it was computed.
    #[inline]
    fn complete_arrivals(&mut self, end: Instant, arrivals: &mut Arrivals) -> Option<u64> {
        let incoming = self.incoming.as_mut()?;
        let mut charge = charge_of(arrivals, &self.buffer, self.ports.len());
        for stored in incoming.complete_arrivals(end, arrivals, &mut self.busy) {
            charge += self.buffer.charge(stored.packet.frame_bytes());
        }
        Some(charge)
    }

    /// Whether ports are independent in this window: no threshold can be reached with `arriving` more bytes
    /// in the buffer, if known, and no pause is active.
    #[inline]
    fn is_calm(&self, start: Instant, arriving: Option<u64>, scratch: &mut Scratch) -> bool {
        !self.exact_only
            && !scratch.arrivals.has_control()
            && !self.is_pause_active
            && !self.buffer.any_pausing()
            && self.is_far(start, arriving, scratch)
    }

    /// Whether no threshold can be reached from `start` on. Sums up arrivals and frames being read out only
    /// if an upper bound does not suffice.
    #[inline]
    fn is_far(&self, start: Instant, arriving: Option<u64>, scratch: &mut Scratch) -> bool {
        let most = || scratch.arrivals.count() as u64 * self.buffer.charge(Packet::FRAME_BYTES_MAX);
        self.buffer.is_far_from_thresholds(arriving.unwrap_or_else(most) + self.reading_max)
            || self.is_far_exactly(start, arriving, scratch)
    }

    #[cold]
    fn is_far_exactly(&self, start: Instant, arriving: Option<u64>, scratch: &mut Scratch) -> bool {
        let arriving =
            arriving.unwrap_or_else(|| charge_of(&scratch.arrivals, &self.buffer, self.ports.len()));
        let occupied = arriving + self.being_read(start).map(|(_, _, charge)| charge).sum::<u64>();
        self.buffer.is_far_from_thresholds(occupied) || self.is_far_port_by_port(start, occupied, scratch)
    }

    /// Frames being read out at `now`: egress port, ingress port, occupied buffer space.
    fn being_read(&self, now: Instant) -> impl Iterator<Item = (usize, usize, u64)> {
        let ports = self.ports.iter().enumerate().filter(|_| self.readouts.is_some());
        let read = ports.filter_map(move |(egress, port)| Some((egress, port.being_read(now)?.0)));
        read.map(|(egress, frame)| {
            debug_assert!(
                self.buffer.charge(frame.frame_bytes) * self.ports.len() as u64 <= self.reading_max
            );
            (egress, usize::from(frame.ingress), self.buffer.charge(frame.frame_bytes))
        })
    }

    /// Detailed check for switches whose buffer is well filled in total: no group of a port with arrivals and
    /// no queue that receives frames reaches its threshold. Other groups and queues only shrink in this
    /// window.
    fn is_far_port_by_port(&self, start: Instant, occupied: u64, scratch: &mut Scratch) -> bool {
        let Some(limits) = self.buffer.limits_with(occupied) else { return false };
        let charge = |stored: &Stored| self.buffer.charge(stored.packet.frame_bytes());
        let Scratch { arrivals, charges, .. } = scratch;
        charges.clear();
        charges.resize(self.ports.len(), 0);
        for (egress, port) in self.ports.iter().enumerate().filter(|(egress, _)| arrivals.has(*egress)) {
            let mut bound = port.depth_bytes(start);
            for stored in arrivals.iter(egress) {
                bound += charge(stored);
                charges[usize::from(stored.ingress)] += charge(stored);
            }
            if bound > limits.queue {
                return false;
            }
        }
        let has_arrivals: Vec<bool> = charges.iter().map(|charge| *charge > 0).collect();
        for (_, ingress, charge) in self.being_read(start).filter(|(_, ingress, _)| has_arrivals[*ingress]) {
            charges[ingress] += charge;
        }
        let mut ingress = (0..).zip(charges);
        ingress.all(|(port, charge)| *charge == 0 || self.buffer.bytes_from(port) + *charge <= limits.group)
    }

    /// Receives the arrivals of `window`, port by port. If load balancing draws per packet, and the window
    /// consists of several, receives them window by window.
    #[inline]
    fn take_arrivals(
        &self,
        window: Window,
        arrivals: &mut Arrivals,
        is_large: bool,
        inboxes: &mut [Inbox<Packet>],
    ) {
        arrivals.begin(window.start, self.ports.len());
        if window.start < window.last_start && self.choice == Choice::PerPacket {
            take_before(window.last_start.min(window.end), arrivals, is_large, inboxes);
        }
        take_before(window.end, arrivals, is_large, inboxes);
    }

    /// Selects the egress port of every arrival.
    #[inline]
    fn direct(&mut self, arrivals: &mut Arrivals) {
        let selection = EgressSelection {
            has_large_routes: self.has_large_routes,
            loads: &mut self.loads,
            stranded: &mut self.stranded,
        };
        self.members.direct(arrivals, &self.routes, selection);
        arrivals.mark_ports(&mut self.busy);
    }

    /// The fast path: serves each port independently. Returns the earliest next transmission.
    #[inline]
    fn serve_ports(&mut self, end: Instant, scratch: &mut Scratch, context: &mut Context) -> Instant {
        let Scratch { arrivals, busy_ports, .. } = scratch;
        let mut next = Instant::NEVER;
        self.busy.list(busy_ports);
        for (index, &current) in busy_ports.iter().enumerate() {
            if context.is_large() {
                self.prefetch_ports(&busy_ports[index..], arrivals, context);
            }
            let (port, egress) = (&mut self.ports[usize::from(current)], usize::from(current));
            if self.incoming.is_none() {
                arrivals.sort(egress);
            }
            port.serve(arrivals.port_arrivals(egress), &mut self.buffer, end, context);
            arrivals.clear(egress);
            let sends = port.next_send_unpaused();
            next = next.min(sends);
            if sends == Instant::NEVER {
                self.busy.remove(current);
            }
        }
        next
    }

    /// Prefetches the state of the ports that follow the first of `busy_ports`, the nearest first.
    #[inline]
    fn prefetch_ports(&self, busy_ports: &[u16], arrivals: &Arrivals, context: &Context) {
        let port = |ahead: usize| busy_ports.get(ahead).map(|&index| &self.ports[usize::from(index)]);
        if let Some(near) = port(1) {
            near.prefetch_frames(arrivals.count_for(busy_ports[1].into()), context);
        }
        if let Some(next) = port(2) {
            next.prefetch_queues(context);
        }
        if let Some(far) = port(3) {
            far.prefetch();
        }
    }

    /// The exact path: processes everything in strict order of time. Returns the time of the next event.
    #[inline(never)]
    fn replay(&mut self, window: Window, scratch: &mut Scratch, context: &mut Context) -> Instant {
        if let Some(readouts) = &mut self.readouts {
            readouts.resume(window.start, &self.ports, &mut self.buffer);
        }
        let Scratch { arrivals, replay, busy_ports, .. } = scratch;
        let arrivals = arrivals.merge(self.busy.iter(), self.incoming.is_some());
        let parts = Parts {
            ports: &mut self.ports,
            buffer: &mut self.buffer,
            requests: &mut self.requests,
            reactions: &mut self.reactions,
            watchdog: self.watchdog.as_deref_mut(),
            markers: self.markers.as_deref_mut(),
            returns: self.returns.as_deref_mut(),
            readouts: self.readouts.as_deref_mut(),
            busy: &mut self.busy,
        };
        replay.run(parts, arrivals, window, context);
        let reaction = self.reactions.next_due();
        self.is_pause_active = self.requests.is_responding() || reaction != Instant::NEVER;
        let mut next = self.requests.next_due().min(reaction);
        self.busy.list(busy_ports);
        for &current in &*busy_ports {
            let port = &self.ports[usize::from(current)];
            let sends = port.next_send();
            next = next.min(sends);
            self.is_pause_active |= port.is_pause_active();
            if sends == Instant::NEVER && !port.is_pause_active() {
                self.busy.remove(current);
            }
        }
        let free = self.returns.as_ref().map_or(Instant::NEVER, |returns| returns.next_due());
        let read = self.readouts.as_ref().map_or(Instant::NEVER, |readouts| readouts.next_due());
        next.min(free).min(read).min(self.next_check())
    }

    /// When the watchdog next checks a queue; never if nothing is paused.
    fn next_check(&mut self) -> Instant {
        let Some(watchdog) = &mut self.watchdog else { return Instant::NEVER };
        if !self.is_pause_active {
            watchdog.forget();
        }
        watchdog.next_due()
    }
}

/// Receives the arrivals on each port before `end`, port by port.
#[inline]
fn take_before(end: Instant, arrivals: &mut Arrivals, is_large: bool, inboxes: &mut [Inbox<Packet>]) {
    if is_large {
        for ingress in 0..inboxes.len() {
            if let Some(ahead) = inboxes.get(ingress + INBOXES_AHEAD) {
                ahead.prefetch_first(FRAMES_AHEAD);
            }
            arrivals.take(&mut inboxes[ingress], ingress as u16, end);
        }
    } else {
        for (ingress, inbox) in inboxes.iter_mut().enumerate() {
            if !inbox.is_empty() {
                arrivals.take(inbox, ingress as u16, end);
            }
        }
    }
}

/// Buffer space that all arrivals for the first `ports` egress ports occupy.
fn charge_of(arrivals: &Arrivals, buffer: &SharedBuffer, ports: usize) -> u64 {
    let stored = (0..ports).flat_map(|egress| arrivals.iter(egress));
    stored.map(|stored| buffer.charge(stored.packet.frame_bytes())).sum()
}

impl Switch {
    /// The deepest egress queue [bytes].
    pub(crate) fn deepest_queue(&self) -> u64 {
        self.ports.iter().map(EgressPort::queued_bytes).max().unwrap_or(0)
    }

    /// Bytes stored in the shared buffer: the first state to differ when queues grow or shrink.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.buffer.shared_used()
    }

    /// Applies the deferred updates that are due by `now`: new routes, frames read from the buffer.
    pub(crate) fn catch_up(&mut self, now: Instant) {
        self.take_routes(now);
        if let Some(readouts) = &mut self.readouts {
            readouts.advance(now, &mut self.buffer);
        }
    }
}
