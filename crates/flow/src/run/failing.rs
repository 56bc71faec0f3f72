//! Effects of link failures on chunks.
//!
//! All failures and the resulting routes are known in advance, so the result for a flow that meets one is
//! computed at once, see [`crate::recovery`]: the flow leaves the network and resumes later. Leaves out the
//! load of lost packets on the links before the failed one.

use super::{Active, Run};
use crate::events::Kind;
use crate::path::{Idle, Path};
use crate::recovery::{Cut, Outcome, Recovery, Train};
use crate::work::{RATE_BITS, of_bytes, time_for};
use record::{ChunkStatus, EventRow};
use spec::RunSpec;
use std::collections::{BTreeSet, HashMap};
use units::{Instant, Span};

/// Number of waiting flows from which those that resume at nearly the same time are resumed together.
const MANY: usize = 4_096;
/// They wait longer by at most this fraction (one divided by this).
const PARTS: u64 = 64;

/// A burst, by slot.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    begun: Instant,
    packets: u64,
    wire_bytes: u64,
    /// Timeouts since the last acknowledgement.
    retries: u32,
}

impl Burst {
    /// Work to transmit a packet [2^-16 bit/s x ps].
    fn each(&self) -> u128 {
        of_bytes(self.wire_bytes) / u128::from(self.packets.max(1))
    }
}

/// A delivered chunk that is acknowledged late, or never.
#[derive(Clone, Copy, Debug)]
struct Late {
    chunk: u32,
    delivered: Instant,
    acknowledged: Option<Instant>,
}

/// A burst that its queue pair must resend.
#[derive(Clone, Copy, Debug)]
struct Stuck {
    slot: u32,
    train: Train,
    cut: Cut,
}

/// State of a run with link failures.
pub(super) struct Failing {
    recovery: Recovery,
    bursts: Vec<Burst>,
    /// By slot: outcome of flows that have left the network, or will for lack of acknowledgements, and the
    /// time of that.
    waiting: HashMap<u32, (Instant, Outcome)>,
    /// Queue pairs with packets to resend, by number.
    stuck: HashMap<u32, Stuck>,
    /// Chunks with late acknowledgements, by slot.
    late: HashMap<u32, Late>,
    /// Their slots, by queue pair.
    late_of: HashMap<u32, Vec<u32>>,
    /// Whether each chunk has a row.
    ended: Vec<bool>,
    /// Failed chunks.
    failed: BTreeSet<u32>,
    /// Failures of queue pairs.
    events: Vec<EventRow>,
}

impl Failing {
    pub(super) fn new(spec: &RunSpec, window: u64, chunks: u32) -> Option<Box<Self>> {
        (!spec.fabric.failures.is_empty()).then(|| {
            Box::new(Self {
                recovery: Recovery::new(spec, window),
                bursts: Vec::new(),
                waiting: HashMap::new(),
                stuck: HashMap::new(),
                late: HashMap::new(),
                late_of: HashMap::new(),
                ended: vec![false; chunks as usize],
                failed: BTreeSet::new(),
                events: Vec::new(),
            })
        })
    }

    /// Records the start of a burst.
    pub(super) fn note(&mut self, slot: u32, begun: Instant, packets: u64, wire_bytes: u64) {
        self.keep(slot, Burst { begun, packets, wire_bytes, retries: 0 });
    }

    fn keep(&mut self, slot: u32, burst: Burst) {
        if slot as usize >= self.bursts.len() {
            self.bursts.resize(slot as usize + 1, Burst::default());
        }
        self.bursts[slot as usize] = burst;
    }

    /// Records that a chunk is complete; returns when it was delivered, if its acknowledgement was late.
    pub(super) fn end(&mut self, chunk: u32, slot: u32) -> Option<Instant> {
        self.ended[chunk as usize] = true;
        self.late.remove(&slot).map(|late| late.delivered)
    }

    /// When the chunk of a slot is acknowledged, if that is late; `Some(None)` if it never is.
    pub(super) fn late(&self, slot: u32) -> Option<Option<Instant>> {
        self.late.get(&slot).map(|late| late.acknowledged)
    }
}

impl Run<'_> {
    /// Schedules the first failure or repair.
    pub(super) fn await_failures(&mut self) {
        self.await_change(0);
    }

    fn await_change(&mut self, number: u32) {
        let outages = self.paths.network.outages.as_ref();
        if let Some(&at) = outages.and_then(|outages| outages.times().get(number as usize)) {
            self.events.push(at, Kind::Changed, number, 0);
        }
    }

    /// Handles a change of links or routes.
    pub(super) fn changed(&mut self, number: u32, now: Instant) {
        let is_open = self.states.iter().any(|state| state.complete + state.failed < state.chunks);
        let Some(outages) = self.paths.network.outages.as_ref().filter(|_| is_open) else { return };
        let (routes, rates) = (outages.routes_at(now).clone(), outages.rates_at(now).collect::<Vec<_>>());
        let Some(fair) = self.sharing.fair() else { return };
        for (link, rate) in rates {
            let capacity = rate.bps() << RATE_BITS;
            [2 * link.0, 2 * link.0 + 1].into_iter().for_each(|link| fair.set_capacity(link, capacity));
        }
        // Packets in flight are lost even if routes change at once.
        let slots: Vec<u32> = fair.slots().collect();
        slots.into_iter().for_each(|slot| self.look_after(slot, now, Self::cut));
        self.paths.network.routes = routes;
        let Some(fair) = self.sharing.fair() else { return };
        let slots: Vec<u32> = fair.slots().collect();
        slots.into_iter().for_each(|slot| self.look_after(slot, now, Self::go_on));
        self.await_change(number + 1);
    }

    fn look_after(&mut self, slot: u32, now: Instant, act: impl Fn(&mut Self, u32, Instant, &Path)) {
        let chunk = self.active[slot as usize].chunk;
        let mut path = std::mem::take(&mut self.path);
        self.paths.find(&self.jobs, chunk, &mut path);
        self.paths.find_back(&mut path);
        act(self, slot, now, &path);
        self.path = path;
    }

    /// Lets a flow continue, possibly on another path.
    fn go_on(&mut self, slot: u32, now: Instant, path: &Path) {
        if !self.paths.network.is_clear(&path.legs, now) {
            return self.cut(slot, now, path);
        }
        self.divert(slot, now, path);
        if !self.paths.network.is_clear(&path.back, now) {
            self.mute(slot, now, path);
        }
    }

    fn divert(&mut self, slot: u32, now: Instant, path: &Path) {
        let shares = self.paths.network.shares(&path.legs, path.to);
        let Some(fair) = self.sharing.fair().filter(|fair| fair.goes_otherwise(slot, &shares)) else {
            return;
        };
        if path.back.is_empty() {
            return fair.divert(now, slot, shares, u64::MAX);
        }
        let Active { chunk, ref mut pace, .. } = self.active[slot as usize];
        let number = self.paths.number_idle(path, self.jobs.chunk(chunk).bytes);
        *pace = pace.known(number);
        let bound = self.paths.idle(number).bound(false);
        fair.divert(now, slot, shares, bound);
    }

    /// Stops a flow at the first link of its path that is down, if there is one.
    fn cut(&mut self, slot: u32, now: Instant, path: &Path) {
        if self.paths.network.is_clear(&path.legs, now) {
            return;
        }
        let frame = self.paths.frames.full_frames(1);
        let network = &self.paths.network;
        let lead = network.first_down(&path.legs, now).map(|place| network.lead(&path.legs, place, frame));
        let Some(fair) = self.sharing.fair() else { return };
        let (left, rate) = fair.progress(now, slot);
        fair.stop(slot);
        let Some(failing) = self.failing.as_deref() else { return };
        let burst = failing.bursts[slot as usize];
        let under_way = u128::from(rate) * u128::from(lead.unwrap_or_default().0);
        let sent = of_bytes(burst.wire_bytes).saturating_sub(left).saturating_sub(under_way);
        self.lose(slot, path, (sent, rate), (now, lead.unwrap_or_default()));
    }

    /// Handles the loss of all packets of a flow sent from `lead` before `at` on; `sent` is the work
    /// transmitted before [2^-16 bit/s x ps].
    fn lose(&mut self, slot: u32, path: &Path, (sent, rate): (u128, u64), (at, lead): (Instant, Span)) {
        let chunk = self.active[slot as usize].chunk;
        let number = self.jobs.chunk(chunk).queue_pair;
        let train = self.train_of(slot, path, rate);
        let Some(failing) = self.failing.as_deref() else { return };
        let burst = failing.bursts[slot as usize];
        let each = burst.each();
        let arrived = u64::try_from(sent / each.max(1)).unwrap_or(u64::MAX).min(burst.packets);
        let past = time_for(sent - each * u128::from(arrived), rate);
        let reach = self.paths.network.to_first_switch(path.back_to);
        let opens = self.paths.opens(path, Some(number), at);
        let cut = Cut {
            arrived,
            since: Instant(at.0.saturating_sub(lead.0 + past.0)).max(burst.begun.min(at)),
            opens: opens.map(|opens| Instant(opens.0.saturating_sub(reach.0)).max(burst.begun)),
        };
        let outcome = failing.recovery.of_data(&train, &cut);
        if let (Outcome::Again { .. }, Some(failing)) = (outcome, self.failing.as_deref_mut()) {
            failing.stuck.insert(number, Stuck { slot, train, cut });
        }
        match outcome {
            Outcome::Unhurt => {
                let at = opens.unwrap_or(at);
                let packets = burst.packets - arrived.min(burst.packets - 1);
                self.wait(slot, at, Outcome::Again { at, packets, retries: burst.retries });
            }
            outcome => self.wait(slot, at, outcome),
        }
    }

    /// The packets of a burst sent at a rate.
    fn train_of(&self, slot: u32, path: &Path, rate: u64) -> Train {
        let Active { chunk, pace, .. } = self.active[slot as usize];
        let burst = self.failing.as_deref().map(|failing| failing.bursts[slot as usize]).unwrap_or_default();
        let port = self.paths.network.capacity(self.paths.network.link_from(path.back_to));
        let behind = self.connections.get(&self.jobs.chunk(chunk).queue_pair);
        let idle = pace.idle_if_known(&self.paths);
        Train {
            packets: burst.packets,
            posted: burst.packets + behind.map_or(0, crate::windows::Connection::waiting_packets),
            each: time_for(burst.each(), rate),
            alone: time_for(burst.each(), port),
            round_trip: idle.map_or(Span::ZERO, |idle| idle.tail + idle.back),
            retries: burst.retries,
        }
    }

    fn wait(&mut self, slot: u32, now: Instant, outcome: Outcome) {
        let Some(failing) = self.failing.as_deref_mut() else { return };
        match outcome {
            Outcome::Unhurt => {}
            Outcome::Again { at, .. } => {
                let at = if failing.waiting.len() < MANY { at.max(now) } else { together(now, at.max(now)) };
                failing.waiting.insert(slot, (at, outcome));
                self.events.push(at, Kind::Resumed, 0, slot);
            }
            Outcome::Fails(at) => {
                let chunk = self.active[slot as usize].chunk;
                self.events.push(at.max(now), Kind::Failed, chunk, slot);
            }
        }
    }

    /// Handles the post of `packets` more on a queue pair: if it waits for a timeout, they may reveal the
    /// missing ones earlier.
    pub(super) fn posted(&mut self, queue_pair: u32, packets: u64, now: Instant) {
        let Some(failing) = self.failing.as_deref_mut() else { return };
        let Some(stuck) = failing.stuck.get_mut(&queue_pair) else { return };
        let Some(&(planned, Outcome::Again { retries, .. })) = failing.waiting.get(&stuck.slot) else {
            return;
        };
        let prompted = failing.recovery.prompted(&stuck.train, &stuck.cut, (now, packets));
        stuck.train.posted += packets;
        let (slot, left) = (stuck.slot, stuck.train.packets - stuck.cut.arrived);
        if let Some(at) = prompted.filter(|&at| at < planned) {
            self.wait(slot, now, Outcome::Again { at, packets: left, retries });
        }
    }

    /// Handles the loss of the acknowledgements of a flow from now on.
    fn mute(&mut self, slot: u32, now: Instant, path: &Path) {
        let Some(fair) = self.sharing.fair() else { return };
        let (left, rate) = fair.progress(now, slot);
        let train = self.train_of(slot, path, rate);
        let opens = self.paths.opens(path, None, now).unwrap_or(Instant::NEVER);
        let Some(failing) = self.failing.as_deref_mut() else { return };
        let Some((stalls, outcome)) = failing.recovery.of_acknowledgements(&train, [now, opens]) else {
            return;
        };
        if stalls < now + time_for(left, rate) {
            failing.waiting.insert(slot, (stalls, outcome));
            self.events.push(stalls, Kind::Stalled, 0, slot);
        }
    }

    /// Stops a flow for lack of acknowledgements, unless it has ended or met a failure.
    pub(super) fn stalled(&mut self, slot: u32, now: Instant) {
        let waiting = self.failing.as_deref().and_then(|failing| failing.waiting.get(&slot));
        let Some(&(_, outcome)) = waiting.filter(|(at, _)| *at == now) else { return };
        let Some(fair) = self.sharing.fair() else { return };
        if !fair.has(slot) {
            return;
        }
        let (left, _) = fair.progress(now, slot);
        fair.stop(slot);
        let Some(failing) = self.failing.as_deref_mut() else { return };
        let burst = failing.bursts[slot as usize];
        let each = burst.each();
        let packets = u64::try_from(left.div_ceil(each.max(1))).unwrap_or(u64::MAX).max(1);
        let outcome = match outcome {
            Outcome::Again { at, retries, .. } => Outcome::Again { at, packets, retries },
            other => other,
        };
        self.wait(slot, now, outcome);
    }

    /// Resumes a flow, unless its path is still down.
    pub(super) fn resumed(&mut self, slot: u32, now: Instant) {
        let number = self.jobs.chunk(self.active[slot as usize].chunk).queue_pair;
        let Some(failing) = self.failing.as_deref_mut() else { return };
        let waiting = failing.waiting.get(&slot).filter(|(at, _)| *at == now);
        let Some(&(_, Outcome::Again { packets, retries, .. })) = waiting else { return };
        failing.waiting.remove(&slot);
        failing.stuck.remove(&number);
        let before = failing.bursts[slot as usize];
        let wire_bytes =
            (u128::from(before.wire_bytes) * u128::from(packets) / u128::from(before.packets.max(1))) as u64;
        failing.keep(slot, Burst { begun: now, packets, wire_bytes, retries });
        self.launch(slot, now, false, wire_bytes);
    }

    /// Starts a burst in the network, if its path is up.
    pub(super) fn launch(&mut self, slot: u32, now: Instant, is_paced: bool, wire_bytes: u64) {
        let chunk = self.active[slot as usize].chunk;
        let mut path = std::mem::take(&mut self.path);
        self.paths.find(&self.jobs, chunk, &mut path);
        self.paths.find_back(&mut path);
        let has_ways = !path.legs.is_empty() && !path.back.is_empty();
        if has_ways {
            let number = self.paths.number_idle(&path, self.jobs.chunk(chunk).bytes);
            let pace = &mut self.active[slot as usize].pace;
            *pace = pace.known(number);
        }
        let idle = self.active[slot as usize].pace.idle_if_known(&self.paths).copied();
        let port = self.paths.network.capacity(self.paths.network.link_from(path.back_to));
        let bound = idle.map_or(port, |idle| idle.bound(is_paced));
        if !self.paths.network.is_clear(&path.legs, now) {
            self.lose(slot, &path, (0, bound), (now, Span::ZERO));
        } else {
            let shares = self.paths.network.shares(&path.legs, path.to);
            if let Some(fair) = self.sharing.fair() {
                fair.begin(now, slot, shares, bound, wire_bytes);
            }
            if !self.paths.network.is_clear(&path.back, now) {
                self.mute(slot, now, &path);
            }
        }
        self.path = path;
    }

    /// Whether the last packets of a burst, whose last bit has left, meet a failure; if so, handles it.
    pub(super) fn meets_failure(&mut self, slot: u32, now: Instant) -> bool {
        let Some(failing) = self.failing.as_deref_mut() else { return false };
        failing.waiting.remove(&slot);
        let burst = failing.bursts[slot as usize];
        let chunk = self.active[slot as usize].chunk;
        let path = self.paths.of(&self.jobs, chunk);
        let frame = self.paths.frames.full_frames(1);
        let Some((at, lead)) = self.paths.network.meets(&path.legs, now, frame) else { return false };
        // Its average rate is used.
        let all = of_bytes(burst.wire_bytes);
        let rate = u64::try_from(all / u128::from(now.since(burst.begun).0.max(1))).unwrap_or(u64::MAX);
        let late = now.since(Instant(at.0.saturating_sub(lead.0)).min(now));
        let sent = all.saturating_sub(u128::from(rate) * u128::from(late.0));
        self.lose(slot, &path, (sent, rate), (at, lead));
        true
    }

    /// When data delivered at `delivered` are acknowledged; `None` if the queue pair fails before.
    pub(super) fn acknowledged_at(&mut self, slot: u32, delivered: Instant, idle: &Idle) -> Option<Instant> {
        let at = delivered + idle.back;
        let Some(failing) = self.failing.as_deref() else { return Some(at) };
        let burst = failing.bursts[slot as usize];
        let chunk = self.active[slot as usize].chunk;
        let mut path = self.paths.of(&self.jobs, chunk);
        self.paths.find_back(&mut path);
        let frame = u64::from(self.paths.frames.framing.ack_frame_bytes());
        let met = self.paths.network.meets(&path.back, delivered, frame).map(|(at, _)| at);
        let lost_at = met.unwrap_or(delivered);
        let opens = self.paths.opens(&path, None, lost_at).unwrap_or(Instant::NEVER);
        if met.is_none() && opens <= delivered {
            self.acknowledge_before(self.jobs.chunk(chunk).queue_pair, at);
            return Some(at);
        }
        let opens = opens.max(lost_at);
        let train = Train { packets: 1, ..self.train_of(slot, &path, idle.slowest) };
        let outages = self.paths.network.outages.as_ref();
        let lost_since = outages.and_then(|outages| {
            let past = outages.times().iter().rev().skip_while(|&&time| time > delivered);
            let closed = |time: &&Instant| self.paths.opens(&path, None, **time) != Some(**time);
            past.take_while(closed).last().copied()
        });
        // Acknowledgements before the one in flight got through.
        let before = if lost_since.is_none() && met.is_some() { delivered } else { burst.begun };
        let since = lost_since.unwrap_or(before).max(burst.begun);
        let Some(failing) = self.failing.as_deref_mut() else { return Some(at) };
        let found = failing.recovery.acknowledged_again(&train, [since, opens]);
        let acknowledged = found.ok().map(|late| late.max(at));
        if self.active[slot as usize].pace.is_last() {
            failing.late.insert(slot, Late { chunk, delivered, acknowledged });
            failing.late_of.entry(self.jobs.chunk(chunk).queue_pair).or_default().push(slot);
        }
        if let Err(fails) = found {
            self.events.push(fails.max(delivered), Kind::Failed, chunk, slot);
        }
        acknowledged
    }

    /// An acknowledgement also covers everything that the queue pair sent before.
    fn acknowledge_before(&mut self, queue_pair: u32, at: Instant) {
        let Some(failing) = self.failing.as_deref_mut() else { return };
        for slot in failing.late_of.remove(&queue_pair).unwrap_or_default() {
            if let Some(late) = failing.late.get_mut(&slot)
                && late.acknowledged.is_none_or(|planned| planned > at)
            {
                late.acknowledged = Some(at);
                self.events.push(at, Kind::Completed, late.chunk, slot);
            }
        }
    }

    /// Whether a chunk has already ended at a time other than planned.
    pub(super) fn has_ended(&self, chunk: u32) -> bool {
        self.failing.as_deref().is_some_and(|failing| failing.ended[chunk as usize])
    }

    /// Handles a queue pair that has used up its retries: nothing of it continues.
    pub(super) fn failed(&mut self, chunk: u32, now: Instant) {
        if self.has_ended(chunk) {
            return;
        }
        let place = self.jobs.chunk(chunk);
        let mut chunks = BTreeSet::from([chunk]);
        if let Some(connection) = self.connections.get_mut(&place.queue_pair) {
            chunks.extend(connection.fail().map(|slot| self.active[slot as usize].chunk));
        }
        let pair = self.jobs.queue_pair(place.queue_pair);
        let node = &self.paths.network.graph.nodes[pair.src_host.index()].name;
        let event = EventRow {
            time_ps: now.0,
            kind: "qp_failed",
            node: node.clone(),
            detail: format!(
                "queue pair {} (rank {} to {}) used up its retries",
                pair.number, pair.src, pair.dst
            ),
        };
        if let Some(failing) = self.failing.as_deref_mut() {
            failing.events.push(event);
        }
        chunks.into_iter().for_each(|chunk| self.fail_chunk(chunk, now));
    }

    /// Records a chunk of a failed queue pair.
    pub(super) fn fail_chunk(&mut self, chunk: u32, now: Instant) {
        let is_new = self.failing.as_deref_mut().is_some_and(|failing| failing.failed.insert(chunk));
        let state = &mut self.states[self.jobs.job_of(chunk) as usize];
        if is_new {
            state.failed += 1;
            state.first_failed.get_or_insert(chunk);
            state.gave_up = state.gave_up.max(now);
        }
    }

    /// Adds rows of chunks that never ended; returns all events in order of time.
    pub(super) fn finish_failures(&mut self, end: Instant) -> Vec<EventRow> {
        let Some(failing) = self.failing.take() else { return Vec::new() };
        if !failing.failed.is_empty() {
            let open = (0..).zip(&failing.ended).filter(|(_, ended)| !**ended).map(|(chunk, _)| chunk);
            for chunk in open {
                let has_failed = failing.failed.contains(&chunk);
                let status = if has_failed { ChunkStatus::Failed } else { ChunkStatus::Unfinished };
                self.recorder.push(chunk, crate::rows::open_row(&self.jobs, chunk, status));
            }
        }
        let outages = self.paths.network.outages.as_ref();
        let happened = outages.map(|outages| outages.failures().events(&self.paths.network.graph, end));
        let mut events: Vec<EventRow> = failing.events;
        events.extend(happened.into_iter().flatten().map(|event| EventRow {
            time_ps: event.at.0,
            kind: event.kind,
            node: event.node,
            detail: event.detail,
        }));
        events.sort_by_key(|event| event.time_ps);
        events
    }
}

/// A time not before `at`, rounded so that flows decided at `now` coincide.
fn together(now: Instant, at: Instant) -> Instant {
    let step = (at.since(now).0 / PARTS + 1).next_power_of_two();
    Instant(at.0.next_multiple_of((step / 2).max(1)))
}
