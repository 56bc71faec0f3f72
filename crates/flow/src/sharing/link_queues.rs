//! Links with FIFO queues, and the rates on them if senders do not react to congestion.
//!
//! Such a sender sends at the rate of its port, whatever happens to its frames, so an overloaded link stores
//! the excess in a queue. Each link has an arrival rate, a departure rate and a queue; departures are divided
//! among flows in proportion to their arrival rates. Approximation: the mixture that departs is the one that
//! arrives now, not the one that arrived when the departing data did. The waiting time of the last bit of a
//! flow is exact for the present queues.
//!
//! Acknowledgements have priority over data: the capacity they use is not available to data.

use crate::network::{Leg, Transit};
use crate::rates::{RateChange, fraction_of, time_for, work_of_bytes};
use crate::sharing::bitmap_set::BitmapSet;
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
/// Divisor of the rest time of a link: a fraction of a cycle, in which each flow sends a frame.
const REST_DIVISOR: u64 = 4;
/// Changes below this fraction of a link's rate, as a negative power of two, are accumulated before the link
/// is recomputed.
const PENDING_CHANGE_BITS: u32 = 12;
/// Maximum number of recomputations of a link for one change: acknowledgements close cycles.
const RECOMPUTATIONS_MAX: u8 = 4;

/// Rate of the flows from one link to another if nothing before limited them; of data, and of
/// acknowledgements. Their actual rate is the fraction that the link passes on.
type TransitRates = [u64; 2];

/// A directed link with its queue. Fields in the order of cache lines: those that every change needs, those
/// that it may need, then the rest.
#[repr(C, align(64))]
struct Link {
    /// [2^-16 bit/s x ps], at `since`.
    backlog: u128,
    since: Instant,
    capacity: u64,
    /// Arrival rates of data and of acknowledgements.
    arrival_rate: [u64; 2],
    /// Rates that its flows would pass on if nothing limited them.
    offered_rate: [u64; 2],
    /// Fraction of `offered_rate` that is passed on, in units of 1/[`ALL_PASSED`].
    passed_fraction: [u64; 2],
    /// Accumulated changes since the last recomputation.
    pending_change: u64,
    /// Departure rate of data.
    departure_rate: u64,
    /// Time of the last recomputation, and whether another one is scheduled for later changes.
    recomputed_at: Instant,
    is_deferred: bool,
    recomputations: u8,
    /// First link of a sender: its load is `offered_rate`, not `arrival_rate`.
    is_source: bool,
    /// Number of flows that leave it for another link or for the host at its end.
    flows: u32,
    /// Its index in the order in which changes propagate along paths.
    order_index: u32,
    /// When its queue will be empty at the present rates, and the time of the event scheduled for that.
    empty_at: Instant,
    empty_event_at: Instant,
    first_transit: usize,
    transits: u32,
    /// Index in `next` of the first link that its transits lead to.
    first_next: u32,
}

impl Link {
    /// Counts a flow whose rate changes from or to zero.
    fn count_flow(&mut self, RateChange { before, after }: RateChange) {
        self.flows = self.flows + u32::from(before == 0 && after > 0) - u32::from(before > 0 && after == 0);
    }

    /// Earliest time of the next recomputation. The order of frames within a cycle is unknown, so a quarter
    /// of a cycle makes no difference.
    fn rest_end(&self, frame: u128) -> Instant {
        let cycle = time_for(frame * u128::from(self.flows), self.capacity);
        self.recomputed_at + Span(cycle.0 / REST_DIVISOR)
    }

    /// Whether that time is later than `now`, without a division.
    fn is_resting(&self, frame: u128, now: Instant) -> bool {
        let cycle = frame * u128::from(self.flows) + u128::from(self.capacity / 2);
        let parts = u128::from(REST_DIVISOR) * (u128::from(now.since(self.recomputed_at).0) + 1);
        parts.checked_mul(u128::from(self.capacity)).is_some_and(|past| cycle >= past)
    }

    /// When its queue will be empty, if it is shrinking.
    fn next_empty_at(&self, now: Instant, capacity: u64) -> Option<Instant> {
        let surplus = capacity.checked_sub(self.arrival_rate[DATA]).filter(|&surplus| surplus > 0)?;
        let span = (self.backlog > 0).then(|| time_for(self.backlog, surplus))?;
        // Rounded up, so that the queue is empty then.
        now.0.checked_add(span.0)?.checked_add(1).map(Instant)
    }
}

/// Links of a fabric as queues.
pub(crate) struct LinkQueues {
    links: Vec<Link>,
    transits: Vec<TransitRates>,
    /// The receiving link of each transit; links that lead to the same node have the same list.
    next: Vec<u32>,
    /// Links to recompute by their index in the order, and the link at each index.
    dirty: BitmapSet,
    order: Vec<u32>,
    recomputed: Vec<u32>,
    /// Shorter queues count as empty [2^-16 bit/s x ps].
    frame: u128,
    /// `None` if data are paused instead of lost.
    buffer: Option<Buffer>,
    pub(crate) overflow: Option<Overflow>,
    pub(crate) recomputations: u64,
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
        let free = work_of_bytes(self.bytes).saturating_sub(all);
        let limit =
            self.alpha.map_or(free + queue, |[over, under]| free / u128::from(under) * u128::from(over));
        all <= work_of_bytes(self.bytes) && queue <= limit
    }
}

/// A queue that exceeds its limit in the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overflow {
    pub(crate) link: u32,
    pub(crate) bytes: u64,
}

/// Parameters of a link for [`LinkQueues::new`].
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
pub(crate) trait QueueEvents {
    /// A queue may be empty at `at`.
    fn queue_may_be_empty(&mut self, at: Instant, link: u32);
    /// A link must be recomputed at `at`.
    fn rest_over(&mut self, at: Instant, link: u32);
    /// The rate that the link of a sender passes on has changed.
    fn sender_rate_changed(&mut self, link: u32);
}

impl LinkQueues {
    pub(crate) fn new(
        plans: impl Iterator<Item = LinkPlan>,
        next: Vec<u32>,
        frame_bytes: u64,
        buffer: Option<Buffer>,
    ) -> Self {
        let (mut links, mut transits, mut ranks) = (Vec::new(), 0, Vec::new());
        for plan in plans {
            links.push(Link {
                capacity: plan.capacity,
                arrival_rate: [0; 2],
                departure_rate: 0,
                offered_rate: [0; 2],
                passed_fraction: [ALL_PASSED; 2],
                is_source: plan.is_source,
                backlog: 0,
                since: Instant::ZERO,
                first_transit: transits,
                transits: plan.next.len() as u32,
                first_next: plan.next.start,
                order_index: 0,
                flows: 0,
                pending_change: 0,
                recomputed_at: Instant::ZERO,
                is_deferred: false,
                recomputations: 0,
                empty_at: Instant::ZERO,
                empty_event_at: Instant::NEVER,
            });
            ranks.push(plan.rank);
            transits += plan.next.len();
        }
        let mut order: Vec<u32> = (0..links.len() as u32).collect();
        order.sort_by_key(|&link| ranks[link as usize]);
        (0..).zip(&order).for_each(|(order_index, &link)| links[link as usize].order_index = order_index);
        Self {
            dirty: BitmapSet::new(links.len()),
            order,
            links,
            transits: vec![[0; 2]; transits],
            next,
            recomputed: Vec::new(),
            frame: work_of_bytes(frame_bytes),
            buffer,
            overflow: None,
            recomputations: 0,
        }
    }

    /// Loads the state of the links and transits of a path together, since it is not in the processor's
    /// caches.
    #[inline]
    pub(crate) fn prefetch(&self, legs: &[Leg]) {
        let links = legs.iter().map(|leg| &self.links[leg.link as usize]);
        let of_links = links.fold(0, |all, link| all ^ link.capacity ^ link.departure_rate);
        let transits = legs.windows(2).map(|legs| legs[0].transit_index(&legs[1]));
        let of_transits = transits.fold(0, |all, transit| all ^ self.transits[transit as usize][DATA]);
        black_box(of_links ^ of_transits);
    }

    /// Data rate that the link of a sender passes on [2^-16 bit/s].
    pub(crate) fn sending_rate(&self, link: u32) -> u64 {
        let link = &self.links[link as usize];
        passed_rate(link.capacity, link.passed_fraction[DATA])
    }

    /// Changes the rate of a flow, or of its acknowledgements, on a transit.
    pub(crate) fn change_transit_rate(
        &mut self,
        now: Instant,
        class: usize,
        transit: &Transit,
        change: RateChange,
    ) {
        let change = change.map(|rate| fraction_of(rate, transit.weight));
        let offered = &mut self.transits[transit.index as usize][class];
        let link = &mut self.links[transit.from as usize];
        let offered_before = std::mem::replace(offered, change.apply_to(*offered));
        let offered = RateChange { before: offered_before, after: *offered };
        link.offered_rate[class] = change.apply_to(link.offered_rate[class]);
        if class == DATA {
            link.count_flow(change);
        }
        let passed = offered.map(|rate| passed_rate(rate, link.passed_fraction[class]));
        self.change_arrival_rate(now, class, transit.to, passed);
        self.accumulate_change(transit.from, class, change);
    }

    /// Changes the rate of a flow to the host at the end of a link.
    pub(crate) fn change_delivery_rate(&mut self, link_index: u32, change: RateChange) {
        let link = &mut self.links[link_index as usize];
        link.offered_rate[DATA] = change.apply_to(link.offered_rate[DATA]);
        link.count_flow(change);
        self.accumulate_change(link_index, DATA, change);
    }

    /// Handles a change of the rates offered to a link: schedules a recomputation if it is large enough.
    fn accumulate_change(&mut self, link_index: u32, class: usize, change: RateChange) {
        let link = &mut self.links[link_index as usize];
        link.pending_change += change.size();
        let others = link.offered_rate[class] - change.after;
        if others == 0 || link.pending_change > link.capacity >> PENDING_CHANGE_BITS {
            self.mark_dirty(link_index);
        }
    }

    /// Changes the arrival rate at a link.
    fn change_arrival_rate(&mut self, now: Instant, class: usize, to: u32, change: RateChange) {
        if change.size() > 0 {
            self.update_backlog(to, now);
            let link = &mut self.links[to as usize];
            link.arrival_rate[class] = change.apply_to(link.arrival_rate[class]);
            let is_only = link.arrival_rate[class] == change.after;
            link.pending_change += change.size();
            if is_only || link.pending_change > link.capacity >> PENDING_CHANGE_BITS {
                self.mark_dirty(to);
            }
        }
    }

    /// Updates the queue of a link to the present time.
    fn update_backlog(&mut self, link_index: u32, now: Instant) {
        let backlog = self.backlog(link_index, now);
        let link = &mut self.links[link_index as usize];
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
    pub(crate) fn enqueue(&mut self, now: Instant, link_index: u32, bytes: u64) {
        if bytes > 0 {
            self.update_backlog(link_index, now);
            self.links[link_index as usize].backlog += work_of_bytes(bytes);
            self.check_buffer(link_index, now);
        }
    }

    /// Additional transmission time of `bytes` on this link compared with a link of capacity `slowest`.
    pub(crate) fn extra_time(&self, link: u32, slowest: Option<u64>, bytes: u64) -> Span {
        let spans = [Some(self.links[link as usize].capacity), slowest]
            .map(|rate| rate.map(|rate| time_for(work_of_bytes(bytes), rate)));
        let [on_this, before] = spans.map(|span| span.unwrap_or_default());
        Span(on_this.0.saturating_sub(before.0))
    }

    /// Handles a queue that may be empty; if it will be later, schedules another event.
    pub(crate) fn queue_may_be_empty(&mut self, now: Instant, link: u32, events: &mut impl QueueEvents) {
        let queue = &mut self.links[link as usize];
        if queue.empty_event_at == now {
            queue.empty_event_at = Instant::NEVER;
        }
        if queue.empty_at == now {
            queue.recomputed_at = Instant::ZERO;
            self.mark_dirty(link);
        } else if queue.empty_at > now {
            self.schedule_empty_event(link, events);
        }
    }

    /// Schedules an event for when a queue is empty, unless an earlier one is scheduled.
    fn schedule_empty_event(&mut self, link_index: u32, events: &mut impl QueueEvents) {
        let link = &mut self.links[link_index as usize];
        if link.empty_at < link.empty_event_at {
            link.empty_event_at = link.empty_at;
            events.queue_may_be_empty(link.empty_at, link_index);
        }
    }

    /// Handles the end of the rest time of a link.
    pub(crate) fn rest_over(&mut self, link: u32) {
        self.links[link as usize].is_deferred = false;
        self.mark_dirty(link);
    }

    fn mark_dirty(&mut self, link_index: u32) {
        self.dirty.insert(self.links[link_index as usize].order_index);
    }

    /// Recomputes the departures of every link that a change affects.
    pub(crate) fn recompute(&mut self, now: Instant, events: &mut impl QueueEvents) {
        while let Some(order_index) = self.dirty.pop() {
            let link_index = self.order[order_index as usize];
            let link = &mut self.links[link_index as usize];
            if link.departure_rate > 0 && link.recomputations == 0 && link.is_resting(self.frame, now) {
                if !std::mem::replace(&mut link.is_deferred, true) {
                    events.rest_over(link.rest_end(self.frame), link_index);
                }
                continue;
            }
            if link.recomputations == RECOMPUTATIONS_MAX {
                continue;
            }
            if link.recomputations == 0 {
                self.recomputed.push(link_index);
            }
            link.recomputations += 1;
            link.recomputed_at = now;
            link.pending_change = 0;
            self.recomputations += 1;
            self.recompute_link(link_index, now, events);
        }
        for link_index in self.recomputed.drain(..) {
            self.links[link_index as usize].recomputations = 0;
        }
    }

    fn recompute_link(&mut self, link_index: u32, now: Instant, events: &mut impl QueueEvents) {
        let capacity = self.capacity_for_data(link_index);
        self.update_backlog(link_index, now);
        self.check_buffer(link_index, now);
        let back = self.links[(link_index ^ 1) as usize].passed_fraction[DATA];
        let link = &mut self.links[link_index as usize];
        if link.arrival_rate[DATA] <= capacity && link.backlog < self.frame / 16 {
            link.backlog = 0;
        }
        let before = link.passed_fraction;
        if link.is_source {
            // A host acknowledges data at the rate at which they reach it.
            link.passed_fraction = [fraction(capacity, link.capacity), back];
        } else {
            let is_full = link.arrival_rate[DATA] > capacity || link.backlog > 0;
            link.departure_rate = if is_full { capacity } else { link.arrival_rate[DATA] };
            link.passed_fraction = [
                fraction(link.departure_rate, link.offered_rate[DATA]),
                fraction(link.arrival_rate[ACKS], link.offered_rate[ACKS]),
            ];
            if let Some(end) = link.next_empty_at(now, capacity) {
                link.empty_at = end;
                self.schedule_empty_event(link_index, events);
            }
        }
        let link = &mut self.links[link_index as usize];
        let is_source = link.is_source;
        let bits = if is_source { SMALL_CHANGE_BITS + 5 } else { SMALL_CHANGE_BITS };
        let differs = [DATA, ACKS].map(|class| differs(before[class], link.passed_fraction[class], bits));
        for class in [DATA, ACKS] {
            if !differs[class] {
                link.passed_fraction[class] = before[class];
            }
        }
        if differs[DATA] {
            self.propagate(link_index, now, DATA, before[DATA]);
            match is_source {
                true => events.sender_rate_changed(link_index),
                false => self.mark_acknowledging_host(link_index ^ 1),
            }
        }
        if differs[ACKS] {
            self.propagate(link_index, now, ACKS, before[ACKS]);
        }
    }

    /// Records the first queue that does not fit into its switch.
    fn check_buffer(&mut self, link_index: u32, now: Instant) {
        let link = &self.links[link_index as usize];
        let Some(buffer) = self.buffer.filter(|_| self.overflow.is_none() && !link.is_source) else { return };
        // The reverse link leads to the same switch, so its transits lead to all queues of that switch.
        let back = &self.links[(link_index ^ 1) as usize];
        if link.backlog <= work_of_bytes(buffer.bytes) / (4 * u128::from(back.transits.max(1))) {
            return;
        }
        let indices = back.first_next as usize..(back.first_next + back.transits) as usize;
        let all = self.next[indices].iter().map(|&queue| self.backlog(queue, now)).sum();
        if !buffer.holds(link.backlog, all) {
            let bytes = u64::try_from(link.backlog / work_of_bytes(1)).unwrap_or(u64::MAX);
            self.overflow = Some(Overflow { link: link_index, bytes });
        }
    }

    fn mark_acknowledging_host(&mut self, link_index: u32) {
        let link = &self.links[link_index as usize];
        if link.is_source && link.offered_rate[ACKS] > 0 {
            self.mark_dirty(link_index);
        }
    }

    /// Propagates a change of the fraction that a link passes on.
    fn propagate(&mut self, link_index: u32, now: Instant, class: usize, before: u64) {
        let link = &self.links[link_index as usize];
        let (after, first, next) =
            (link.passed_fraction[class], link.first_transit, link.first_next as usize);
        for offset in 0..link.transits as usize {
            let offered = self.transits[first + offset][class];
            if offered > 0 {
                let change = RateChange { before, after }.map(|fraction| passed_rate(offered, fraction));
                self.change_arrival_rate(now, class, self.next[next + offset], change);
            }
        }
    }

    /// Capacity of a link that acknowledgements leave for data.
    fn capacity_for_data(&self, link_index: u32) -> u64 {
        let link = &self.links[link_index as usize];
        let acks = match link.is_source {
            true => passed_rate(
                link.offered_rate[ACKS],
                self.links[(link_index ^ 1) as usize].passed_fraction[DATA],
            ),
            false => link.arrival_rate[ACKS],
        };
        link.capacity - acks.min(link.capacity / 2)
    }

    /// Present queue of a link. While it is not empty the link sends at full rate, even if the links after it
    /// have not been updated.
    fn backlog(&self, link_index: u32, now: Instant) -> u128 {
        let link = &self.links[link_index as usize];
        if link.since == now {
            return link.backlog;
        }
        let span = u128::from(now.since(link.since).0);
        let more = u128::from(link.arrival_rate[DATA]) * span;
        (link.backlog + more).saturating_sub(u128::from(self.capacity_for_data(link_index)) * span)
    }
}

/// Whether two fractions differ by more than the limit for propagation downstream.
fn differs(before: u64, after: u64, bits: u32) -> bool {
    let is_either_all = (before == ALL_PASSED) != (after == ALL_PASSED);
    before.abs_diff(after) > if is_either_all { 0 } else { before >> bits }
}

fn passed_rate(offered_rate: u64, passed_fraction: u64) -> u64 {
    if passed_fraction == ALL_PASSED {
        return offered_rate;
    }
    u64::try_from((u128::from(offered_rate) * u128::from(passed_fraction)) >> PASSED_BITS).unwrap_or(u64::MAX)
}

fn fraction(part: u64, whole: u64) -> u64 {
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
            recomputed_at in 0..1_u64 << 40,
            elapsed in 0..1_u64 << 40,
        ) {
            let plan = LinkPlan { capacity: capacity << 16, rank: 0, is_source: false, next: 0..0 };
            let mut queues = LinkQueues::new(std::iter::once(plan), Vec::new(), 4_178, None);
            let link = &mut queues.links[0];
            (link.flows, link.recomputed_at) = (flows, Instant(recomputed_at));
            let until = link.rest_end(queues.frame);
            for now in [recomputed_at + elapsed, until.0.saturating_sub(1).max(recomputed_at), until.0, until.0 + 1] {
                prop_assert_eq!(link.is_resting(queues.frame, Instant(now)), until > Instant(now));
            }
        }
    }
}
