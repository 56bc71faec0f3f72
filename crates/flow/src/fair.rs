//! Flows of senders that react: each receives its max-min fair rate at once.
//!
//! If very many flows share links, the rates of ended flows are not redistributed at once, since each
//! redistribution changes the rates of all flows. They are redistributed when they exceed a small fraction of
//! the total, or after a small fraction of the remaining time of the flows.

use crate::ends::Ends;
use crate::events::{Events, Kind};
use crate::fluid::{Fluid, Share};
use crate::work::{RATE_BITS, of_bytes, time_for};
use units::{Instant, Span};

/// No flow.
const NONE: u32 = u32::MAX;
/// Number of flows with interdependent rates from which redistribution is deferred.
const MANY: u64 = 4_096;
/// Bounds of the divisor that defines the two small fractions (of the total rate, of the remaining time); the
/// divisor is lower the more flows are recomputed each time.
const PARTS: [u64; 2] = [16, 128];
/// Budget of recomputed flows in total: flows times divisor.
const LOOKED_AT: u64 = 1 << 22;

#[derive(Clone)]
struct Flow {
    number: u32,
    /// Remaining work at `since` [2^-16 bit/s x ps].
    left: u128,
    since: Instant,
}

/// Rates of ended flows that are not redistributed yet.
#[derive(Default)]
struct Unused {
    /// Number of flows in the last computation.
    flows: u64,
    /// Their total rate and their mean end time, at the last computation that changed most rates.
    carried: u128,
    mean_end: Instant,
    /// Total rate of the flows that have ended since.
    rate: u128,
    /// Latest time of the redistribution.
    due: Option<Instant>,
}

impl Unused {
    /// Whether the redistribution may be deferred at `now`; sets `due` if it was not set.
    fn may_wait(&mut self, now: Instant) -> bool {
        let parts = (LOOKED_AT / self.flows.max(1)).clamp(PARTS[0], PARTS[1]);
        if self.flows < MANY || self.rate * u128::from(parts) > self.carried {
            return false;
        }
        let left = self.mean_end.since(now).0 / parts;
        let due = *self.due.get_or_insert(now + Span(left));
        now < due
    }

    /// Records a redistribution to `flows` flows.
    fn handed_on(&mut self, flows: u64) {
        (self.flows, self.due) = (flows, None);
        self.carried = self.carried.saturating_sub(std::mem::take(&mut self.rate));
    }
}

/// Flows, by slot.
pub(crate) struct Fair {
    fluid: Fluid,
    /// Slot of each flow.
    owners: Vec<u32>,
    flows: Vec<Flow>,
    fresh: Vec<u32>,
    ends: Ends,
    unused: Unused,
    /// Time of the last event that was scheduled.
    told: Option<Instant>,
    pub(crate) rate_changes: u64,
}

impl Fair {
    pub(crate) fn new(capacities: impl Iterator<Item = u64>) -> Self {
        Self {
            fluid: Fluid::new(capacities),
            owners: Vec::new(),
            flows: Vec::new(),
            fresh: Vec::new(),
            ends: Ends::default(),
            unused: Unused::default(),
            told: None,
            rate_changes: 0,
        }
    }

    /// Starts a flow over the links of `shares`, with a rate of at most `bound`.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        slot: u32,
        shares: Box<[Share]>,
        bound: u64,
        wire_bytes: u64,
    ) {
        let number = self.fluid.begin(shares, bound);
        if slot as usize >= self.flows.len() {
            let none = Flow { number: NONE, left: 0, since: Instant::ZERO };
            self.flows.resize(slot as usize + 1, none);
        }
        self.flows[slot as usize] = Flow { number, left: of_bytes(wire_bytes), since: now };
        if number as usize == self.owners.len() {
            self.owners.push(slot);
        }
        self.owners[number as usize] = slot;
        self.fresh.push(slot);
    }

    /// Removes the next flow that has ended by `now`.
    pub(crate) fn take_ended(&mut self, now: Instant) -> Option<u32> {
        let slot = self.ends.take(now)?;
        let number = std::mem::replace(&mut self.flows[slot as usize].number, NONE);
        self.unused.rate += u128::from(self.fluid.rate(number));
        self.fluid.end(number);
        Some(slot)
    }

    /// Recomputes rates after the events at `now`, and schedules the next end.
    pub(crate) fn settle(&mut self, now: Instant, events: &mut Events) {
        let waits = self.fresh.is_empty() && self.fluid.is_dirty() && self.unused.may_wait(now);
        if !waits {
            self.compute(now);
        }
        let due = self.unused.due.filter(|_| waits);
        let next = [self.ends.next(), due].into_iter().flatten().min();
        // An event scheduled for now has been processed.
        let told = self.told.filter(|&at| at > now);
        if let Some(at) = next.filter(|_| next != told) {
            events.push(at, Kind::Drained, 0, 0);
        }
        self.told = next;
    }

    fn compute(&mut self, now: Instant) {
        let Self { fluid, owners, flows, fresh, ends, unused, rate_changes, .. } = self;
        let (mut left, mut carried, mut changed) = (0, 0, 0);
        let reached = fluid.settle(|number, before, rate| {
            let slot = owners[number as usize];
            let flow = &mut flows[slot as usize];
            let sent = u128::from(before) * u128::from(now.since(flow.since).0);
            flow.left = flow.left.saturating_sub(sent);
            flow.since = now;
            ends.set(slot, now + time_for(flow.left, rate));
            left += flow.left >> RATE_BITS;
            carried += u128::from(rate);
            changed += 1;
        });
        *rate_changes += changed;
        for slot in fresh.drain(..) {
            let flow = &flows[slot as usize];
            if flow.number != NONE {
                ends.set(slot, now + time_for(flow.left, fluid.rate(flow.number)));
            }
        }
        ends.order();
        if let Some(reached) = reached {
            unused.handed_on(reached);
            if 2 * changed > reached {
                let rate = u64::try_from(carried >> RATE_BITS).unwrap_or(u64::MAX);
                (unused.carried, unused.mean_end) = (carried, now + time_for(left, rate));
            }
        }
    }
}
