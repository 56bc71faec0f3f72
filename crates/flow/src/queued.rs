//! Flows of senders that do not react: excess load of a link waits in a queue before it.

use crate::events::{Events, Kind};
use crate::network::Network;
use crate::path::{Path, Paths};
use crate::queues::{ACKS, DATA, Overflow, Queues, Told};
use crate::senders::Sender;
use crate::work::{of_bytes, part_of, time_for};
use jobs::Jobs;
use units::{Instant, Span};

/// The assumed rate of a sender's flows on links is updated when it is wrong by this fraction, or at once
/// while there are few flows.
const STALE_PART: u64 = 32;
const FEW: u64 = 16;
/// Flows of at most this many frames are treated as one unit: in one queue after the other, instead of in all
/// at the same time.
const TOGETHER: u64 = 1;

/// A flow, by slot.
#[derive(Clone, Copy, Default)]
struct Flow {
    /// Assumed rate on the links that its last bit has not left [2^-16 bit/s].
    rate: u64,
    chunk: u32,
    /// Bytes for which it occupies a link if it is treated as one unit; 0 otherwise.
    together: u32,
}

struct Port {
    sender: Sender,
    capacity: u64,
    /// Assumed rate of each of its flows.
    rate: u64,
    /// Flows without an assumed rate yet.
    fresh: Vec<u32>,
    told: u32,
    is_touched: bool,
}

/// Progress of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its last bit has passed all queues.
    Through,
    /// Its last bit waits for the link of this hop until this time.
    Waits(u8, Instant),
}

/// Flows, by slot.
pub(crate) struct Queued {
    queues: Queues,
    ports: Vec<Port>,
    /// Port of a host by its directed link.
    port_of: Vec<u32>,
    flows: Vec<Flow>,
    touched: Vec<u32>,
    frame_bytes: u64,
    /// Path of the flow being processed.
    path: Path,
}

/// Forwards notifications of queues to the list of events, and to the ports.
struct Notes<'a> {
    events: &'a mut Events,
    slowed: Vec<u32>,
}

impl Told for Notes<'_> {
    fn empties(&mut self, at: Instant, link: u32) {
        self.events.push(at, Kind::Emptied, 0, link);
    }

    fn looks(&mut self, at: Instant, link: u32) {
        self.events.push(at, Kind::Rested, 0, link);
    }

    fn sends(&mut self, link: u32) {
        self.slowed.push(link);
    }
}

impl Queued {
    pub(crate) fn new(network: &Network, frame_bytes: u64) -> Self {
        let mut port_of = vec![u32::MAX; 2 * network.graph.links.len()];
        let mut ports = Vec::new();
        for attachment in &network.graph.attachments {
            let link = network.link_of(units::NodeId(attachment.host.0), attachment.host_port);
            let capacity = network.capacity(link);
            let mut sender = Sender::default();
            sender.set_rate(Instant::ZERO, capacity);
            port_of[link as usize] = ports.len() as u32;
            ports.push(Port { sender, capacity, rate: 0, fresh: Vec::new(), told: 0, is_touched: false });
        }
        let (flows, touched) = (Vec::new(), Vec::new());
        let (queues, path) = (network.queues(frame_bytes), Path::default());
        Self { queues, ports, port_of, flows, touched, frame_bytes, path }
    }

    /// Starts a flow.
    pub(crate) fn begin(&mut self, now: Instant, slot: u32, chunk: u32, first_link: u32, wire_bytes: u64) {
        let sender = self.port_of[first_link as usize];
        if slot as usize >= self.flows.len() {
            self.flows.resize(slot as usize + 1, Flow::default());
        }
        let together = if wire_bytes <= TOGETHER * self.frame_bytes { wire_bytes as u32 } else { 0 };
        self.flows[slot as usize] = Flow { rate: 0, chunk, together };
        let port = &mut self.ports[sender as usize];
        port.sender.begin(now, (chunk, slot), wire_bytes);
        if together == 0 {
            port.fresh.push(slot);
        }
        self.touch(sender);
    }

    /// Handles an event of a sender with schedule version `told`: removes the next flow that has sent its
    /// last frame.
    pub(crate) fn take_sent(&mut self, now: Instant, port: u32, told: u32) -> Option<u32> {
        let place = &mut self.ports[port as usize];
        if place.told != told {
            return None;
        }
        let sent = place.sender.take_ended(now, self.frame_bytes);
        self.touch(port);
        sent
    }

    /// Moves the last bit of a flow from the link of a hop to its next queue.
    pub(crate) fn move_on(
        &mut self,
        now: Instant,
        (slot, mut hop): (u32, u8),
        paths: &Paths,
        jobs: &Jobs,
    ) -> Step {
        let Flow { rate, chunk, together } = self.flows[slot as usize];
        let together = u64::from(together);
        paths.find(jobs, chunk, &mut self.path);
        self.queues.fetch(&self.path.legs[usize::from(hop)..]);
        loop {
            let mut wait = None;
            let (queues, path) = (&mut self.queues, &self.path);
            let crossed = path.legs[..=usize::from(hop)].iter().filter(|_| together > 0);
            let slowest = crossed.map(|leg| paths.network.capacity(leg.link)).min();
            paths.network.turns_behind(hop, &path.legs, path.to, &mut |turn| {
                queues.offer(now, DATA, &turn, [rate, 0]);
                let longer = queues.longer(turn.to, slowest, together);
                wait = wait.max(Some(queues.wait(turn.to, now) + longer));
                queues.join(now, turn.to, part_of(together, turn.part));
            });
            match wait {
                None if together > 0 => {
                    paths.find_back(&mut self.path);
                    self.acknowledge(now, paths, (together * u64::from(self.path.acks)) >> 16);
                    return Step::Through;
                }
                None => {
                    paths.find_back(&mut self.path);
                    self.arrive(now, paths, [rate, 0]);
                    return Step::Through;
                }
                Some(Span::ZERO) => hop += 1,
                Some(wait) => return Step::Waits(hop + 1, now + wait),
            }
        }
    }

    /// Handles a queue that may be empty.
    pub(crate) fn emptied(&mut self, now: Instant, link: u32, events: &mut Events) {
        self.queues.emptied(now, link, &mut Notes { events, slowed: Vec::new() });
    }

    /// Handles the end of the rest time of a link: its rates will be recomputed.
    pub(crate) fn rested(&mut self, link: u32) {
        self.queues.rested(link);
    }

    /// Recomputes rates after the events at `now`.
    pub(crate) fn settle(&mut self, now: Instant, events: &mut Events, paths: &Paths, jobs: &Jobs) {
        for port in 0..self.touched.len() {
            self.weigh(now, self.touched[port], paths, jobs);
        }
        let mut notes = Notes { events, slowed: Vec::new() };
        self.queues.settle(now, &mut notes);
        for link in notes.slowed {
            let port = self.port_of[link as usize];
            let rate = self.queues.sending_rate(link);
            self.ports[port as usize].sender.set_rate(now, rate);
            self.touch(port);
        }
        for port in std::mem::take(&mut self.touched) {
            let place = &mut self.ports[port as usize];
            place.is_touched = false;
            place.told = place.told.wrapping_add(1);
            if let Some(at) = place.sender.settle(now, self.frame_bytes) {
                events.push(at, Kind::Look(place.told), 0, port);
            }
        }
    }

    /// Updates the assumed rates of the flows of a sender.
    fn weigh(&mut self, now: Instant, port: u32, paths: &Paths, jobs: &Jobs) {
        let place = &mut self.ports[port as usize];
        place.sender.settle(now, self.frame_bytes);
        let sharing = place.sender.sharing();
        if sharing == 0 {
            return;
        }
        let (fair, counted) = (place.capacity / sharing, place.rate * sharing);
        let is_stale = fair != place.rate
            && (sharing <= FEW || counted.abs_diff(place.capacity) > place.capacity / STALE_PART);
        let mut slots = std::mem::take(&mut place.fresh);
        if is_stale {
            place.rate = fair;
            slots = place.sender.slots().collect();
        }
        let rate = place.rate;
        for slot in slots {
            let flow = &mut self.flows[slot as usize];
            let before = flow.rate;
            if flow.together > 0 || before == rate {
                continue;
            }
            flow.rate = rate;
            paths.find(jobs, flow.chunk, &mut self.path);
            paths.find_back(&mut self.path);
            self.queues.fetch(&self.path.legs);
            self.count(now, paths, [before, rate]);
        }
    }

    /// Changes the assumed rate of a flow on every link of its path.
    fn count(&mut self, now: Instant, paths: &Paths, rates: [u64; 2]) {
        let (queues, Path { legs, to, .. }) = (&mut self.queues, &self.path);
        paths.network.turns(legs, *to, &mut |turn| queues.offer(now, DATA, &turn, rates));
        self.arrive(now, paths, rates);
    }

    /// Changes it for the destination host, and for acknowledgements.
    fn arrive(&mut self, now: Instant, paths: &Paths, rates: [u64; 2]) {
        let (queues, network, path) = (&mut self.queues, &paths.network, &self.path);
        queues.deliver(network.link_to(path.to), rates);
        queues.fetch(&path.back);
        let acks = rates.map(|rate| part_of(rate, path.acks));
        network.turns(&path.back, path.back_to, &mut |turn| queues.offer(now, ACKS, &turn, acks));
    }

    /// Adds acknowledgements of `bytes` to the queues of the return path, with priority over data.
    fn acknowledge(&mut self, now: Instant, paths: &Paths, bytes: u64) {
        let (queues, network, path) = (&mut self.queues, &paths.network, &self.path);
        network.turns(&path.back, path.back_to, &mut |turn| {
            queues.join(now, turn.to, part_of(bytes, turn.part));
        });
        let sender = self.port_of[path.back[0].link as usize];
        let place = &mut self.ports[sender as usize];
        if place.sender.yields(now, time_for(of_bytes(bytes), place.capacity)) {
            self.touch(sender);
        }
    }

    /// Path of the flow whose last bit passed all queues last.
    pub(crate) const fn path(&self) -> &Path {
        &self.path
    }

    /// The first queue that did not fit into its switch, so that frames would have been lost.
    pub(crate) const fn overflow(&self) -> Option<Overflow> {
        self.queues.overflow
    }

    /// Number of recomputations of the output of a link.
    pub(crate) const fn rate_changes(&self) -> u64 {
        self.queues.looks
    }

    fn touch(&mut self, port: u32) {
        if !std::mem::replace(&mut self.ports[port as usize].is_touched, true) {
            self.touched.push(port);
        }
    }
}
