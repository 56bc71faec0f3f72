//! Flows of senders that react to congestion: each receives its max-min fair rate at once.
//!
//! If very many flows share links, the rates of ended flows are not redistributed at once, since each
//! redistribution changes the rates of all flows. They are redistributed when they exceed a small fraction of
//! the total, or after a small fraction of the remaining time of the flows.

use crate::rates::{RATE_BITS, time_for, work_of_bytes};
use crate::run::events::{Event, Events};
use crate::sharing::completion_heap::CompletionHeap;
use crate::sharing::max_min::{LinkWeight, MaxMinRates};
use units::{Instant, Span};

/// Number of flows with interdependent rates from which redistribution is deferred.
const FLOWS_MIN: u64 = 4_096;
/// Bounds of the divisor that defines the two small fractions (of the total rate, of the remaining time); the
/// divisor is lower the more flows are recomputed each time.
const DIVISORS: [u64; 2] = [16, 128];
/// Budget of recomputed flows in total: flows times divisor.
const RECOMPUTED_FLOWS_MAX: u64 = 1 << 22;

#[derive(Clone, Default)]
struct Flow {
    number: u32,
    /// Remaining work at `since` [2^-16 bit/s x ps].
    remaining: u128,
    since: Instant,
}

/// Rates of ended flows that are not redistributed yet.
#[derive(Default)]
struct UnusedRate {
    /// Number of flows in the last computation.
    flows: u64,
    /// Their total rate and their mean end time, at the last computation that changed most rates.
    total_rate: u128,
    mean_end: Instant,
    /// Total rate of the flows that have ended since.
    rate: u128,
    /// Latest time of the redistribution.
    due: Option<Instant>,
}

impl UnusedRate {
    /// Whether the redistribution may be deferred at `now`; sets `due` if it was not set.
    fn may_defer(&mut self, now: Instant) -> bool {
        let divisor = (RECOMPUTED_FLOWS_MAX / self.flows.max(1)).clamp(DIVISORS[0], DIVISORS[1]);
        if self.flows < FLOWS_MIN || self.rate * u128::from(divisor) > self.total_rate {
            return false;
        }
        let remaining = self.mean_end.since(now).0 / divisor;
        let due = *self.due.get_or_insert(now + Span(remaining));
        now < due
    }

    /// Records a redistribution to `flows` flows.
    fn redistributed(&mut self, flows: u64) {
        (self.flows, self.due) = (flows, None);
        self.total_rate = self.total_rate.saturating_sub(std::mem::take(&mut self.rate));
    }
}

/// Flows, by slot.
pub(crate) struct FairFlows {
    rates: MaxMinRates,
    /// Slot of each flow.
    slot_of: Vec<u32>,
    flows: Vec<Flow>,
    new_slots: Vec<u32>,
    completions: CompletionHeap,
    unused: UnusedRate,
    /// Time of the last event that was scheduled.
    scheduled_at: Option<Instant>,
    pub(crate) rate_changes: u64,
}

impl FairFlows {
    pub(crate) fn new(capacities: impl Iterator<Item = u64>) -> Self {
        Self {
            rates: MaxMinRates::new(capacities),
            slot_of: Vec::new(),
            flows: Vec::new(),
            new_slots: Vec::new(),
            completions: CompletionHeap::default(),
            unused: UnusedRate::default(),
            scheduled_at: None,
            rate_changes: 0,
        }
    }

    /// Starts a flow over the links of `links`, with a rate of at most `bound`.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        slot: u32,
        links: Box<[LinkWeight]>,
        bound: u64,
        wire_bytes: u64,
    ) {
        let number = self.rates.add(links, bound);
        if slot as usize >= self.flows.len() {
            self.flows.resize(slot as usize + 1, Flow::default());
        }
        self.flows[slot as usize] = Flow { number, remaining: work_of_bytes(wire_bytes), since: now };
        if number as usize == self.slot_of.len() {
            self.slot_of.push(slot);
        }
        self.slot_of[number as usize] = slot;
        self.new_slots.push(slot);
    }

    /// Removes the next flow that has ended by `now`.
    pub(crate) fn pop_ended(&mut self, now: Instant) -> Option<u32> {
        let slot = self.completions.pop_until(now)?;
        let number = self.flows[slot as usize].number;
        self.unused.rate += u128::from(self.rates.rate(number));
        self.rates.remove(number);
        Some(slot)
    }

    /// Recomputes rates after the events at `now`, and schedules the next end.
    pub(crate) fn recompute(&mut self, now: Instant, events: &mut Events) {
        let is_deferred = self.new_slots.is_empty() && self.rates.is_dirty() && self.unused.may_defer(now);
        if !is_deferred {
            self.recompute_rates(now);
        }
        let due = self.unused.due.filter(|_| is_deferred);
        let next = [self.completions.first(), due].into_iter().flatten().min();
        // An event scheduled for now has been processed.
        let scheduled_at = self.scheduled_at.filter(|&at| at > now);
        if let Some(at) = next.filter(|_| next != scheduled_at) {
            events.push(at, Event::FlowEnded);
        }
        self.scheduled_at = next;
    }

    fn recompute_rates(&mut self, now: Instant) {
        let Self { rates, slot_of, flows, new_slots, completions, unused, rate_changes, .. } = self;
        let (mut remaining, mut total_rate, mut changed) = (0, 0, 0);
        let examined = rates.recompute(|number, before, rate| {
            let slot = slot_of[number as usize];
            let flow = &mut flows[slot as usize];
            let sent = u128::from(before) * u128::from(now.since(flow.since).0);
            flow.remaining = flow.remaining.saturating_sub(sent);
            flow.since = now;
            completions.set(slot, now + time_for(flow.remaining, rate));
            remaining += flow.remaining >> RATE_BITS;
            total_rate += u128::from(rate);
            changed += 1;
        });
        *rate_changes += changed;
        for slot in new_slots.drain(..) {
            let flow = &flows[slot as usize];
            completions.set(slot, now + time_for(flow.remaining, rates.rate(flow.number)));
        }
        completions.apply_changes();
        if let Some(examined) = examined {
            unused.redistributed(examined);
            if 2 * changed > examined {
                let rate = u64::try_from(total_rate >> RATE_BITS).unwrap_or(u64::MAX);
                (unused.total_rate, unused.mean_end) = (total_rate, now + time_for(remaining, rate));
            }
        }
    }
}
