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
use crate::network::{Leg, Turn};
use crate::work::{of_bytes, part_of, time_for};
use std::hint::black_box;
use std::ops::Range;
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

/// What the flows from a link to another would carry if nothing held them back before it; of data, and of
/// acknowledgements. What they do carry is the part of it that the link passes on.
type Passage = [u64; 2];

/// In the order of cache lines: what every change needs, then what it may need, then the rest.
#[repr(C, align(64))]
struct Link {
    /// [2^-16 bit/s x ps], at `since`.
    backlog: u128,
    since: Instant,
    capacity: u64,
    /// What arrives, of data and of acknowledgements.
    arriving: [u64; 2],
    /// What its flows would carry on if nothing held them back.
    offered: [u64; 2],
    /// Part of what is offered that is carried on, of [`ALL_PASSED`].
    passed: [u64; 2],
    /// What of it has changed since it was looked at.
    unseen: u64,
    /// Data that leave.
    leaving: u64,
    /// When it was looked at, and whether it will be looked at again for what came since.
    looked: Instant,
    is_deferred: bool,
    looks: u8,
    /// What a sender at its start offers, instead of what arrives.
    is_source: bool,
    /// Flows that go on from it or to the host that it leads to.
    flows: u32,
    /// Its place in the order in which changes go along paths.
    place: u32,
    /// When its queue will be empty as it was last worked out, and when it is to be looked at for that.
    empties: Instant,
    asked: Instant,
    first_passage: usize,
    passages: u32,
    /// The first of the links that they lead to, in `next`.
    first_next: u32,
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

    /// Whether that is later than `now`, without a division.
    fn rests(&self, frame: u128, now: Instant) -> bool {
        let round = frame * u128::from(self.flows) + u128::from(self.capacity / 2);
        let parts = u128::from(ROUND_PARTS) * (u128::from(now.since(self.looked).0) + 1);
        parts.checked_mul(u128::from(self.capacity)).is_some_and(|past| round >= past)
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
    /// Where each passage leads to: links that lead to the same node have the same.
    next: Vec<u32>,
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
    /// The links that a flow may go on to, as places of the list of all.
    pub(crate) next: Range<u32>,
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
        next: Vec<u32>,
        (frame_bytes, buffer): (u64, Option<Buffer>),
    ) -> Self {
        let (mut links, mut passages, mut ranks) = (Vec::new(), 0, Vec::new());
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
                first_passage: passages,
                passages: plan.next.len() as u32,
                first_next: plan.next.start,
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
            passages += plan.next.len();
        }
        let mut order: Vec<u32> = (0..links.len() as u32).collect();
        order.sort_by_key(|&link| ranks[link as usize]);
        (0..).zip(&order).for_each(|(place, &link)| links[link as usize].place = place);
        Self {
            dirty: Marks::new(links.len()),
            order,
            links,
            passages: vec![[0; 2]; passages],
            next,
            looked: Vec::new(),
            frame: of_bytes(frame_bytes),
            buffer,
            overflow: None,
            looks: 0,
        }
    }

    /// Asks for what is known of the links and turns of a path, all at once, as it is not in the processor's
    /// caches.
    #[inline]
    pub(crate) fn fetch(&self, legs: &[Leg]) {
        let links = legs.iter().map(|leg| &self.links[leg.link as usize]);
        let of_links = links.fold(0, |all, link| all ^ link.capacity ^ link.leaving);
        let turns = legs.windows(2).map(|legs| legs[0].turn(&legs[1]));
        let of_turns = turns.fold(0, |all, turn| all ^ self.passages[turn as usize][DATA]);
        black_box(of_links ^ of_turns);
    }

    /// What a sender's link lets through of its data [2^-16 bit/s].
    pub(crate) fn sending_rate(&self, link: u32) -> u64 {
        let link = &self.links[link as usize];
        carried(link.capacity, link.passed[DATA])
    }

    /// A flow, or its acknowledgements, takes a turn with another rate than before.
    pub(crate) fn offer(&mut self, now: Instant, class: usize, turn: &Turn, [before, rate]: [u64; 2]) {
        let [before, rate] = [before, rate].map(|rate| part_of(rate, turn.part));
        let place = turn.number as usize;
        let (offered, link) = (&mut self.passages[place][class], &mut self.links[turn.from as usize]);
        let offered_before = std::mem::replace(offered, *offered - before + rate);
        link.offered[class] = link.offered[class] - before + rate;
        if class == DATA {
            link.count([before, rate]);
        }
        let carried = [offered_before, *offered].map(|offered| carried(offered, link.passed[class]));
        self.carry(now, class, turn.to, carried);
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

    /// Another rate than before goes to a link.
    fn carry(&mut self, now: Instant, class: usize, to: u32, [before, carried]: [u64; 2]) {
        if before != carried {
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
            if link.leaving > 0 && link.looks == 0 && link.rests(self.frame, now) {
                if !std::mem::replace(&mut link.is_deferred, true) {
                    told.looks(link.rests_until(self.frame), number);
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
            self.pass_on(number, now, DATA, before[DATA]);
            match is_source {
                true => told.sends(number),
                false => self.mark_acknowledging(number ^ 1),
            }
        }
        if differs[ACKS] {
            self.pass_on(number, now, ACKS, before[ACKS]);
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
        let places = back.first_next as usize..(back.first_next + back.passages) as usize;
        let all = self.next[places].iter().map(|&queue| self.backlog(queue, now)).sum();
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

    /// A link passes on another part of what is offered than before.
    fn pass_on(&mut self, number: u32, now: Instant, class: usize, passed_before: u64) {
        let link = &self.links[number as usize];
        let (passed, first, next) = (link.passed[class], link.first_passage, link.first_next as usize);
        for place in 0..link.passages as usize {
            let offered = self.passages[first + place][class];
            if offered > 0 {
                let carried = [passed_before, passed].map(|passed| carried(offered, passed));
                self.carry(now, class, self.next[next + place], carried);
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
        if link.since == now {
            return link.backlog;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_link_rests_until_then(
            capacity in 1_000_000_000..800_000_000_000_u64,
            flows in 0..1_000_000_u32,
            looked in 0..1_u64 << 40,
            apart in 0..1_u64 << 40,
        ) {
            let plan = LinkPlan { capacity: capacity << 16, rank: 0, is_source: false, next: 0..0 };
            let mut queues = Queues::new(std::iter::once(plan), Vec::new(), (4_178, None));
            let link = &mut queues.links[0];
            (link.flows, link.looked) = (flows, Instant(looked));
            let until = link.rests_until(queues.frame);
            for now in [looked + apart, until.0.saturating_sub(1).max(looked), until.0, until.0 + 1] {
                prop_assert_eq!(link.rests(queues.frame, Instant(now)), until > Instant(now));
            }
        }
    }
}
