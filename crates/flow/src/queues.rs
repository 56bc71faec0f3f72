//! Links with FIFO queues, and the rates on them if senders do not react.
//!
//! Such a sender sends at the rate of its port, whatever happens to its frames, so an overloaded link stores
//! the excess in a queue. Each link has an arrival rate, a departure rate and a queue; departures are divided
//! among flows in proportion to their arrival rates. Approximation: the mixture that departs is the one that
//! arrives now, not the one that arrived when the departing data did. The waiting time of the last bit of a
//! flow is exact for the present queues.
//!
//! Acknowledgements have priority over data: the capacity they use is not available to data.

use crate::marks::Marks;
use crate::network::{Leg, Turn};
use crate::work::{of_bytes, part_of, time_for};
use std::hint::black_box;
use std::ops::Range;
use units::{Instant, Span};

/// Fractional bits of the ratio of departures to arrivals.
const PASSED_BITS: u32 = 32;
const ALL_PASSED: u64 = 1 << PASSED_BITS;
/// Smaller relative changes, as a negative power of two, are not propagated.
const SMALL_CHANGE_BITS: u32 = 7;
/// Classes of traffic.
pub(crate) const DATA: usize = 0;
pub(crate) const ACKS: usize = 1;
/// Divisor of the rest time of a link: a fraction of a round, in which each flow sends a frame.
const ROUND_PARTS: u64 = 4;
/// Changes below this fraction of a link's rate, as a negative power of two, are accumulated before the link
/// is recomputed.
const UNSEEN_BITS: u32 = 12;
/// Maximum number of recomputations of a link for one change: acknowledgements close cycles.
const LOOKS_MAX: u8 = 4;

/// Rate of the flows from one link to another if nothing before limited them; of data, and of
/// acknowledgements. Their actual rate is the fraction that the link passes on.
type Passage = [u64; 2];

/// Fields in the order of cache lines: those that every change needs, those that it may need, then the rest.
#[repr(C, align(64))]
struct Link {
    /// [2^-16 bit/s x ps], at `since`.
    backlog: u128,
    since: Instant,
    capacity: u64,
    /// Arrival rates of data and of acknowledgements.
    arriving: [u64; 2],
    /// Rates that its flows would pass on if nothing limited them.
    offered: [u64; 2],
    /// Fraction of `offered` that is passed on, in units of 1/[`ALL_PASSED`].
    passed: [u64; 2],
    /// Accumulated changes since the last recomputation.
    unseen: u64,
    /// Departure rate of data.
    leaving: u64,
    /// Time of the last recomputation, and whether another one is scheduled for later changes.
    looked: Instant,
    is_deferred: bool,
    looks: u8,
    /// First link of a sender: its load is `offered`, not `arriving`.
    is_source: bool,
    /// Number of flows that leave it for another link or for the host at its end.
    flows: u32,
    /// Its index in the order in which changes propagate along paths.
    place: u32,
    /// When its queue will be empty at the present rates, and the time of the event scheduled for that.
    empties: Instant,
    asked: Instant,
    first_passage: usize,
    passages: u32,
    /// Index in `next` of the first link that its passages lead to.
    first_next: u32,
}

impl Link {
    fn count(&mut self, [before, rate]: [u64; 2]) {
        self.flows = self.flows + u32::from(before == 0 && rate > 0) - u32::from(before > 0 && rate == 0);
    }

    /// Earliest time of the next recomputation. The order of frames within a round is unknown, so a quarter
    /// of a round makes no difference.
    fn rests_until(&self, frame: u128) -> Instant {
        let round = time_for(frame * u128::from(self.flows), self.capacity);
        self.looked + Span(round.0 / ROUND_PARTS)
    }

    /// Whether that time is later than `now`, without a division.
    fn rests(&self, frame: u128, now: Instant) -> bool {
        let round = frame * u128::from(self.flows) + u128::from(self.capacity / 2);
        let parts = u128::from(ROUND_PARTS) * (u128::from(now.since(self.looked).0) + 1);
        parts.checked_mul(u128::from(self.capacity)).is_some_and(|past| round >= past)
    }

    /// When its queue will be empty, if it is shrinking.
    fn empties_at(&self, now: Instant, capacity: u64) -> Option<Instant> {
        let surplus = capacity.checked_sub(self.arriving[DATA]).filter(|&surplus| surplus > 0)?;
        let span = (self.backlog > 0).then(|| time_for(self.backlog, surplus))?;
        // Rounded up, so that the queue is empty then.
        now.0.checked_add(span.0)?.checked_add(1).map(Instant)
    }
}

/// Links of a fabric as queues.
pub(crate) struct Queues {
    links: Vec<Link>,
    passages: Vec<Passage>,
    /// The receiving link of each passage; links that lead to the same node have the same list.
    next: Vec<u32>,
    /// Links to recompute by their index in the order, and the link at each index.
    dirty: Marks,
    order: Vec<u32>,
    looked: Vec<u32>,
    /// Shorter queues count as empty [2^-16 bit/s x ps].
    frame: u128,
    /// `None` if data are paused instead of lost.
    buffer: Option<Buffer>,
    pub(crate) overflow: Option<Overflow>,
    pub(crate) looks: u64,
}

/// Buffer of a switch for queues that may lose frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) bytes: u64,
    /// Maximum ratio of a queue to the free buffer: numerator and denominator.
    pub(crate) alpha: Option<[u32; 2]>,
}

impl Buffer {
    /// Whether a queue fits if all queues of its switch take `all` [2^-16 bit/s x ps].
    fn holds(self, queue: u128, all: u128) -> bool {
        let free = of_bytes(self.bytes).saturating_sub(all);
        let limit =
            self.alpha.map_or(free + queue, |[over, under]| free / u128::from(under) * u128::from(over));
        all <= of_bytes(self.bytes) && queue <= limit
    }
}

/// A queue that exceeds its limit in the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overflow {
    pub(crate) link: u32,
    pub(crate) bytes: u64,
}

/// Parameters of a link for [`Queues::new`].
pub(crate) struct LinkPlan {
    /// [2^-16 bit/s].
    pub(crate) capacity: u64,
    /// Order in which changes propagate along paths.
    pub(crate) rank: u32,
    /// Whether a host sends on it.
    pub(crate) is_source: bool,
    /// The links that a flow may take next, as indices in the list of all.
    pub(crate) next: Range<u32>,
}

/// Notifications from a recomputation of the network.
pub(crate) trait Told {
    /// A queue may be empty at `at`.
    fn empties(&mut self, at: Instant, link: u32);
    /// A link must be recomputed at `at`.
    fn looks(&mut self, at: Instant, link: u32);
    /// The rate that the link of a sender passes on has changed.
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

    /// Loads the state of the links and turns of a path together, since it is not in the processor's caches.
    #[inline]
    pub(crate) fn fetch(&self, legs: &[Leg]) {
        let links = legs.iter().map(|leg| &self.links[leg.link as usize]);
        let of_links = links.fold(0, |all, link| all ^ link.capacity ^ link.leaving);
        let turns = legs.windows(2).map(|legs| legs[0].turn(&legs[1]));
        let of_turns = turns.fold(0, |all, turn| all ^ self.passages[turn as usize][DATA]);
        black_box(of_links ^ of_turns);
    }

    /// Data rate that the link of a sender passes on [2^-16 bit/s].
    pub(crate) fn sending_rate(&self, link: u32) -> u64 {
        let link = &self.links[link as usize];
        carried(link.capacity, link.passed[DATA])
    }

    /// Changes the rate of a flow, or of its acknowledgements, on a turn.
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

    /// Changes the rate of a flow to the host at the end of a link.
    pub(crate) fn deliver(&mut self, link: u32, [before, rate]: [u64; 2]) {
        let place = &mut self.links[link as usize];
        place.offered[DATA] = place.offered[DATA] - before + rate;
        place.count([before, rate]);
        self.change(link, DATA, [before, rate]);
    }

    /// Handles a change of the rates offered to a link: schedules a recomputation if it is large enough.
    fn change(&mut self, number: u32, class: usize, [before, rate]: [u64; 2]) {
        let link = &mut self.links[number as usize];
        link.unseen += before.abs_diff(rate);
        let others = link.offered[class] - rate;
        if others == 0 || link.unseen > link.capacity >> UNSEEN_BITS {
            self.mark(number);
        }
    }

    /// Changes the arrival rate at a link.
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

    /// Updates the queue of a link to the present time.
    fn bring_up(&mut self, number: u32, now: Instant) {
        let backlog = self.backlog(number, now);
        let link = &mut self.links[number as usize];
        (link.backlog, link.since) = (backlog, now);
    }

    /// Waiting time of data that arrive at a link now.
    pub(crate) fn wait(&self, link: u32, now: Instant) -> Span {
        match self.backlog(link, now) {
            0 => Span::ZERO,
            backlog => time_for(backlog, self.capacity_for_data(link)),
        }
    }

    /// Adds frames of `bytes` to the queue of a link at once.
    pub(crate) fn join(&mut self, now: Instant, number: u32, bytes: u64) {
        if bytes > 0 {
            self.bring_up(number, now);
            self.links[number as usize].backlog += of_bytes(bytes);
            self.check_buffer(number, now);
        }
    }

    /// Additional transmission time of `bytes` on this link compared with a link of capacity `slowest`.
    pub(crate) fn longer(&self, link: u32, slowest: Option<u64>, bytes: u64) -> Span {
        let spans = [Some(self.links[link as usize].capacity), slowest]
            .map(|rate| rate.map(|rate| time_for(of_bytes(bytes), rate)));
        let [on_this, before] = spans.map(|span| span.unwrap_or_default());
        Span(on_this.0.saturating_sub(before.0))
    }

    /// Handles a queue that may be empty; if it will be later, schedules another event.
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

    /// Schedules an event for when a queue is empty, unless an earlier one is scheduled.
    fn ask(&mut self, number: u32, told: &mut impl Told) {
        let link = &mut self.links[number as usize];
        if link.empties < link.asked {
            link.asked = link.empties;
            told.empties(link.empties, number);
        }
    }

    /// Handles the end of the rest time of a link.
    pub(crate) fn rested(&mut self, link: u32) {
        self.links[link as usize].is_deferred = false;
        self.mark(link);
    }

    fn mark(&mut self, number: u32) {
        self.dirty.insert(self.links[number as usize].place);
    }

    /// Recomputes the departures of every link that a change affects.
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
            // A host acknowledges data at the rate at which they reach it.
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

    /// Records the first queue that does not fit into its switch.
    fn check_buffer(&mut self, number: u32, now: Instant) {
        let link = &self.links[number as usize];
        let Some(buffer) = self.buffer.filter(|_| self.overflow.is_none() && !link.is_source) else { return };
        // The reverse link leads to the same switch, so its passages lead to all queues of that switch.
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

    /// Propagates a change of the fraction that a link passes on.
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

    /// Capacity of a link that acknowledgements leave for data.
    fn capacity_for_data(&self, number: u32) -> u64 {
        let link = &self.links[number as usize];
        let acks = match link.is_source {
            true => carried(link.offered[ACKS], self.links[(number ^ 1) as usize].passed[DATA]),
            false => link.arriving[ACKS],
        };
        link.capacity - acks.min(link.capacity / 2)
    }

    /// Present queue of a link. While it is not empty the link sends at full rate, even if the links after it
    /// have not been updated.
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

/// Whether two fractions differ by more than the limit for propagation downstream.
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
