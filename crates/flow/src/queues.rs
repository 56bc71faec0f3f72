//! Links with queues, first in first out, and what flows over them when senders do not react.
//!
//! Such a sender sends as fast as its port, whatever becomes of its frames, so a link that gets more than it
//! can pass on keeps the rest in a queue. Per link there is what arrives, what leaves and the queue; a link
//! passes on its flows in the proportion in which they arrive. Approximate: the mixture that leaves is the one
//! that arrives now, not the one that arrived when what leaves now did. How long the last bit of a flow waits
//! is exact for the queues there are.
//!
//! Acknowledgements go ahead of data: what they take of a link, data do not have.

use crate::marks::Marks;
use crate::network::Turn;
use crate::work::{of_bytes, part_of, time_for};
use units::{Instant, Span};

/// Fractional bits of the part of what arrives that leaves.
const PASSED_BITS: u32 = 32;
const ALL_PASSED: u64 = 1 << PASSED_BITS;
/// Changes by less than one in so many, as a power of two, go no further.
const SMALL_CHANGE_BITS: u32 = 7;
/// What goes over links.
pub(crate) const DATA: usize = 0;
pub(crate) const ACKS: usize = 1;
/// Parts of a round, each flow a frame, that a link rests.
const ROUND_PARTS: u64 = 4;
/// What changes by less than one in so many of a link's rate, as a power of two, is not looked at until more
/// has changed.
const UNSEEN_BITS: u32 = 12;
/// How often a link may be looked at for one change: acknowledgements close circles.
const LOOKS_MAX: u8 = 4;

/// What goes from a link to another; of data, and of acknowledgements.
#[derive(Clone, Copy, Default)]
struct Passage {
    /// What its flows would carry if nothing held them back before it.
    offered: [u64; 2],
    /// What they carry.
    carried: [u64; 2],
    /// The link it leads to.
    to: u32,
}

struct Link {
    capacity: u64,
    /// What arrives, of data and of acknowledgements.
    arriving: [u64; 2],
    /// Data that leave.
    leaving: u64,
    /// What its flows would carry on if nothing held them back.
    offered: [u64; 2],
    /// Part of what is offered that is carried on, of [`ALL_PASSED`].
    passed: [u64; 2],
    /// What a sender at its start offers, instead of what arrives.
    is_source: bool,
    /// [2^-16 bit/s x ps], at `since`.
    backlog: u128,
    since: Instant,
    first_passage: u32,
    passages: u32,
    /// Its place in the order in which changes go along paths.
    place: u32,
    /// Flows that go on from it or to the host that it leads to.
    flows: u32,
    /// What of it has changed since it was looked at.
    unseen: u64,
    /// When it was looked at, and whether it will be looked at again for what came since.
    looked: Instant,
    is_deferred: bool,
    looks: u8,
    /// When its queue will be empty as it was last worked out, and when it is to be looked at for that.
    empties: Instant,
    asked: Instant,
}

impl Link {
    fn count(&mut self, [before, rate]: [u64; 2]) {
        self.flows = self.flows + u32::from(before == 0 && rate > 0) - u32::from(before > 0 && rate == 0);
    }

    /// From when on it may be looked at again: the order of frames within a round is not known, so a quarter
    /// of one decides nothing.
    fn rests_until(&self, frame: u128) -> Instant {
        let round = time_for(frame * u128::from(self.flows), self.capacity);
        self.looked + Span(round.0 / ROUND_PARTS)
    }

    /// When its queue will be empty, while it becomes shorter.
    fn empties_at(&self, now: Instant, capacity: u64) -> Option<Instant> {
        let surplus = capacity.checked_sub(self.arriving[DATA]).filter(|&surplus| surplus > 0)?;
        let span = (self.backlog > 0).then(|| time_for(self.backlog, surplus))?;
        // Rounded up, so that nothing is left then.
        now.0.checked_add(span.0)?.checked_add(1).map(Instant)
    }
}

/// Links of a fabric as queues.
pub(crate) struct Queues {
    links: Vec<Link>,
    passages: Vec<Passage>,
    /// Links to look at by their places, and the link at each place.
    dirty: Marks,
    order: Vec<u32>,
    looked: Vec<u32>,
    /// Queues that are shorter count as empty [2^-16 bit/s x ps].
    frame: u128,
    /// None where nothing is lost, as it is paused.
    buffer: Option<Buffer>,
    pub(crate) overflow: Option<Overflow>,
    pub(crate) looks: u64,
}

/// What a switch has for queues that may lose frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) bytes: u64,
    /// A queue may have this ratio of what is free at most: numerator and denominator.
    pub(crate) alpha: Option<[u32; 2]>,
}

impl Buffer {
    /// Whether a queue fits, of all queues of its switch [2^-16 bit/s x ps].
    fn holds(self, queue: u128, all: u128) -> bool {
        let free = of_bytes(self.bytes).saturating_sub(all);
        let limit =
            self.alpha.map_or(free + queue, |[over, under]| free / u128::from(under) * u128::from(over));
        all <= of_bytes(self.bytes) && queue <= limit
    }
}

/// A queue that is longer than its switch lets it be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overflow {
    pub(crate) link: u32,
    pub(crate) bytes: u64,
}

/// A link as [`Queues::new`] takes it.
pub(crate) struct LinkPlan {
    /// [2^-16 bit/s].
    pub(crate) capacity: u64,
    /// Order in which changes go along paths.
    pub(crate) rank: u32,
    /// A host sends on it.
    pub(crate) is_source: bool,
    /// The links that a flow may go on to, in the order of the ports of the node it leads to.
    pub(crate) next: Vec<u32>,
}

/// What a settled network tells.
pub(crate) trait Told {
    /// A queue may be empty at `at`.
    fn empties(&mut self, at: Instant, link: u32);
    /// A link is to be looked at again at `at`.
    fn looks(&mut self, at: Instant, link: u32);
    /// What a sender's link lets through is another now.
    fn sends(&mut self, link: u32);
}

impl Queues {
    pub(crate) fn new(
        plans: impl Iterator<Item = LinkPlan>,
        (frame_bytes, buffer): (u64, Option<Buffer>),
    ) -> Self {
        let (mut links, mut passages, mut ranks) = (Vec::new(), Vec::new(), Vec::new());
        for plan in plans {
            links.push(Link {
                capacity: plan.capacity,
                arriving: [0; 2],
                leaving: 0,
                offered: [0; 2],
                passed: [ALL_PASSED; 2],
                is_source: plan.is_source,
                backlog: 0,
                since: Instant::ZERO,
                first_passage: passages.len() as u32,
                passages: plan.next.len() as u32,
                place: 0,
                flows: 0,
                unseen: 0,
                looked: Instant::ZERO,
                is_deferred: false,
                looks: 0,
                empties: Instant::ZERO,
                asked: Instant::NEVER,
            });
            ranks.push(plan.rank);
            passages.extend(plan.next.into_iter().map(|to| Passage { to, ..Passage::default() }));
        }
        let mut order: Vec<u32> = (0..links.len() as u32).collect();
        order.sort_by_key(|&link| ranks[link as usize]);
        (0..).zip(&order).for_each(|(place, &link)| links[link as usize].place = place);
        Self {
            dirty: Marks::new(links.len()),
            order,
            links,
            passages,
            looked: Vec::new(),
            frame: of_bytes(frame_bytes),
            buffer,
            overflow: None,
            looks: 0,
        }
    }

    /// The link that a turn leads to.
    pub(crate) fn leads_to(&self, turn: &Turn) -> u32 {
        self.passages[self.passage_of(turn)].to
    }

    fn passage_of(&self, turn: &Turn) -> usize {
        self.links[turn.from as usize].first_passage as usize + usize::from(turn.port)
    }

    /// What a sender's link lets through of its data [2^-16 bit/s].
    pub(crate) fn sending_rate(&self, link: u32) -> u64 {
        let link = &self.links[link as usize];
        carried(link.capacity, link.passed[DATA])
    }

    /// A flow, or its acknowledgements, takes a turn with another rate than before.
    pub(crate) fn offer(&mut self, now: Instant, class: usize, turn: &Turn, [before, rate]: [u64; 2]) {
        let [before, rate] = [before, rate].map(|rate| part_of(rate, turn.part));
        let place = self.passage_of(turn);
        let (passage, link) = (&mut self.passages[place], &mut self.links[turn.from as usize]);
        passage.offered[class] = passage.offered[class] - before + rate;
        link.offered[class] = link.offered[class] - before + rate;
        if class == DATA {
            link.count([before, rate]);
        }
        let carried = carried(passage.offered[class], link.passed[class]);
        self.carry(now, class, place, carried);
        self.change(turn.from, class, [before, rate]);
    }

    /// A flow is for the host that a link leads to, with another rate than before.
    pub(crate) fn deliver(&mut self, link: u32, [before, rate]: [u64; 2]) {
        let place = &mut self.links[link as usize];
        place.offered[DATA] = place.offered[DATA] - before + rate;
        place.count([before, rate]);
        self.change(link, DATA, [before, rate]);
    }

    /// What is offered to a link has changed: it is looked at if that matters.
    fn change(&mut self, number: u32, class: usize, [before, rate]: [u64; 2]) {
        let link = &mut self.links[number as usize];
        link.unseen += before.abs_diff(rate);
        let others = link.offered[class] - rate;
        if others == 0 || link.unseen > link.capacity >> UNSEEN_BITS {
            self.mark(number);
        }
    }

    /// Another rate goes from a link to the next.
    fn carry(&mut self, now: Instant, class: usize, place: usize, carried: u64) {
        let passage = &mut self.passages[place];
        let before = std::mem::replace(&mut passage.carried[class], carried);
        if before != carried {
            let to = passage.to;
            self.bring_up(to, now);
            let arriving = &mut self.links[to as usize].arriving[class];
            *arriving = *arriving - before + carried;
            let is_only = *arriving == carried;
            let link = &mut self.links[to as usize];
            link.unseen += before.abs_diff(carried);
            if is_only || link.unseen > link.capacity >> UNSEEN_BITS {
                self.mark(to);
            }
        }
    }

    /// Brings the queue of a link up to date.
    fn bring_up(&mut self, number: u32, now: Instant) {
        let backlog = self.backlog(number, now);
        let link = &mut self.links[number as usize];
        (link.backlog, link.since) = (backlog, now);
    }

    /// How long what arrives at a link now waits in its queue.
    pub(crate) fn wait(&self, link: u32, now: Instant) -> Span {
        match self.backlog(link, now) {
            0 => Span::ZERO,
            backlog => time_for(backlog, self.capacity_for_data(link)),
        }
    }

    /// Frames of so many bytes join the queue of a link at once.
    pub(crate) fn join(&mut self, now: Instant, number: u32, bytes: u64) {
        if bytes > 0 {
            self.bring_up(number, now);
            self.links[number as usize].backlog += of_bytes(bytes);
            self.check_buffer(number, now);
        }
    }

    /// How much longer than on links of that capacity frames of so many bytes take on this one.
    pub(crate) fn longer(&self, link: u32, slowest: Option<u64>, bytes: u64) -> Span {
        let spans = [Some(self.links[link as usize].capacity), slowest]
            .map(|rate| rate.map(|rate| time_for(of_bytes(bytes), rate)));
        let [on_this, before] = spans.map(|span| span.unwrap_or_default());
        Span(on_this.0.saturating_sub(before.0))
    }

    /// A queue may be empty; if it will be later, it is to be asked again then.
    pub(crate) fn emptied(&mut self, now: Instant, link: u32, told: &mut impl Told) {
        let place = &mut self.links[link as usize];
        if place.asked == now {
            place.asked = Instant::NEVER;
        }
        if place.empties == now {
            place.looked = Instant::ZERO;
            self.mark(link);
        } else if place.empties > now {
            self.ask(link, told);
        }
    }

    /// Has itself told when a queue is empty, unless it asks sooner.
    fn ask(&mut self, number: u32, told: &mut impl Told) {
        let link = &mut self.links[number as usize];
        if link.empties < link.asked {
            link.asked = link.empties;
            told.empties(link.empties, number);
        }
    }

    /// A link has rested.
    pub(crate) fn rested(&mut self, link: u32) {
        self.links[link as usize].is_deferred = false;
        self.mark(link);
    }

    fn mark(&mut self, number: u32) {
        self.dirty.insert(self.links[number as usize].place);
    }

    /// Works out what leaves every link that a change reaches.
    pub(crate) fn settle(&mut self, now: Instant, told: &mut impl Told) {
        while let Some(place) = self.dirty.pop() {
            let number = self.order[place as usize];
            let link = &mut self.links[number as usize];
            let rests_until = link.rests_until(self.frame);
            if rests_until > now && link.leaving > 0 && link.looks == 0 {
                if !std::mem::replace(&mut link.is_deferred, true) {
                    told.looks(rests_until, number);
                }
                continue;
            }
            if link.looks == LOOKS_MAX {
                continue;
            }
            if link.looks == 0 {
                self.looked.push(number);
            }
            link.looks += 1;
            link.looked = now;
            link.unseen = 0;
            self.looks += 1;
            self.look(number, now, told);
        }
        for number in self.looked.drain(..) {
            self.links[number as usize].looks = 0;
        }
    }

    fn look(&mut self, number: u32, now: Instant, told: &mut impl Told) {
        let capacity = self.capacity_for_data(number);
        self.bring_up(number, now);
        self.check_buffer(number, now);
        let back = self.links[(number ^ 1) as usize].passed[DATA];
        let link = &mut self.links[number as usize];
        if link.arriving[DATA] <= capacity && link.backlog < self.frame / 16 {
            link.backlog = 0;
        }
        let before = link.passed;
        if link.is_source {
            // A host acknowledges as many data as reach it.
            link.passed = [parts_of(capacity, link.capacity), back];
        } else {
            let is_full = link.arriving[DATA] > capacity || link.backlog > 0;
            link.leaving = if is_full { capacity } else { link.arriving[DATA] };
            link.passed = [
                parts_of(link.leaving, link.offered[DATA]),
                parts_of(link.arriving[ACKS], link.offered[ACKS]),
            ];
            if let Some(end) = link.empties_at(now, capacity) {
                link.empties = end;
                self.ask(number, told);
            }
        }
        let link = &mut self.links[number as usize];
        let is_source = link.is_source;
        let bits = if is_source { SMALL_CHANGE_BITS + 5 } else { SMALL_CHANGE_BITS };
        let differs = [DATA, ACKS].map(|class| differs(before[class], link.passed[class], bits));
        for class in [DATA, ACKS] {
            if !differs[class] {
                link.passed[class] = before[class];
            }
        }
        if differs[DATA] {
            self.pass_on(number, now, DATA);
            match is_source {
                true => told.sends(number),
                false => self.mark_acknowledging(number ^ 1),
            }
        }
        if differs[ACKS] {
            self.pass_on(number, now, ACKS);
        }
    }

    /// Notes the first queue that does not fit into its switch.
    fn check_buffer(&mut self, number: u32, now: Instant) {
        let link = &self.links[number as usize];
        let Some(buffer) = self.buffer.filter(|_| self.overflow.is_none() && !link.is_source) else { return };
        // What leads back leads to the same switch, so it goes on to all of its links.
        let back = &self.links[(number ^ 1) as usize];
        if link.backlog <= of_bytes(buffer.bytes) / (4 * u128::from(back.passages.max(1))) {
            return;
        }
        let places = back.first_passage as usize..(back.first_passage + back.passages) as usize;
        let queues = self.passages[places].iter().map(|passage| passage.to);
        let all = queues.map(|queue| self.backlog(queue, now)).sum();
        if !buffer.holds(link.backlog, all) {
            let bytes = u64::try_from(link.backlog / of_bytes(1)).unwrap_or(u64::MAX);
            self.overflow = Some(Overflow { link: number, bytes });
        }
    }

    fn mark_acknowledging(&mut self, number: u32) {
        let link = &self.links[number as usize];
        if link.is_source && link.offered[ACKS] > 0 {
            self.mark(number);
        }
    }

    fn pass_on(&mut self, number: u32, now: Instant, class: usize) {
        let link = &self.links[number as usize];
        let (passed, first, count) =
            (link.passed[class], link.first_passage as usize, link.passages as usize);
        for place in first..first + count {
            let offered = self.passages[place].offered[class];
            if offered > 0 {
                self.carry(now, class, place, carried(offered, passed));
            }
        }
    }

    /// What acknowledgements leave of a link for data.
    fn capacity_for_data(&self, number: u32) -> u64 {
        let link = &self.links[number as usize];
        let acks = match link.is_source {
            true => carried(link.offered[ACKS], self.links[(number ^ 1) as usize].passed[DATA]),
            false => link.arriving[ACKS],
        };
        link.capacity - acks.min(link.capacity / 2)
    }

    /// What is in the queue of a link: while it is not empty, the link sends as fast as it can, whether or not
    /// the links behind it have been told.
    fn backlog(&self, number: u32, now: Instant) -> u128 {
        let link = &self.links[number as usize];
        let span = u128::from(now.since(link.since).0);
        let more = u128::from(link.arriving[DATA]) * span;
        (link.backlog + more).saturating_sub(u128::from(self.capacity_for_data(number)) * span)
    }
}

/// Whether a part that leaves differs from another by more than what is not worth a change downstream.
fn differs(before: u64, after: u64, bits: u32) -> bool {
    let is_either_all = (before == ALL_PASSED) != (after == ALL_PASSED);
    before.abs_diff(after) > if is_either_all { 0 } else { before >> bits }
}

fn carried(offered: u64, passed: u64) -> u64 {
    if passed == ALL_PASSED {
        return offered;
    }
    u64::try_from((u128::from(offered) * u128::from(passed)) >> PASSED_BITS).unwrap_or(u64::MAX)
}

fn parts_of(part: u64, whole: u64) -> u64 {
    if part == whole {
        return ALL_PASSED;
    }
    let parts = (u128::from(part) << PASSED_BITS) / u128::from(whole.max(1));
    u64::try_from(parts).unwrap_or(ALL_PASSED)
}
