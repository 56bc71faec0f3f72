//! Flows of senders that react: each gets its max-min fair rate at once.

use crate::events::{Events, Kind};
use crate::fluid::{Fluid, Share};
use crate::work::{of_bytes, time_for};
use units::Instant;

/// No flow.
const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Flow {
    number: u32,
    /// What is left at `since` [2^-16 bit/s x ps].
    left: u128,
    since: Instant,
    /// How often its end was told, whatever chunk the slot had.
    told: u32,
}

/// Flows, by slot.
pub(crate) struct Fair {
    fluid: Fluid,
    /// Slot of each flow.
    owners: Vec<u32>,
    flows: Vec<Flow>,
    fresh: Vec<u32>,
    pub(crate) rate_changes: u64,
}

impl Fair {
    pub(crate) fn new(capacities: impl Iterator<Item = u64>) -> Self {
        Self {
            fluid: Fluid::new(capacities),
            owners: Vec::new(),
            flows: Vec::new(),
            fresh: Vec::new(),
            rate_changes: 0,
        }
    }

    /// A flow begins: over these links, never faster than `bound`.
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
            let none = Flow { number: NONE, left: 0, since: Instant::ZERO, told: 0 };
            self.flows.resize(slot as usize + 1, none);
        }
        let flow = &mut self.flows[slot as usize];
        (flow.number, flow.left, flow.since) = (number, of_bytes(wire_bytes), now);
        if number as usize == self.owners.len() {
            self.owners.push(slot);
        }
        self.owners[number as usize] = slot;
        self.fresh.push(slot);
    }

    /// A flow is said to have ended: whether that still holds.
    pub(crate) fn has_ended(&mut self, slot: u32, told: u32) -> bool {
        let flow = &mut self.flows[slot as usize];
        let holds = flow.told == told && flow.number != NONE;
        if holds {
            self.fluid.end(std::mem::replace(&mut flow.number, NONE));
        }
        holds
    }

    /// Computes rates after what happened at `now`.
    pub(crate) fn settle(&mut self, now: Instant, events: &mut Events) {
        let Self { fluid, owners, flows, fresh, rate_changes } = self;
        fluid.settle(|number, before| {
            let slot = owners[number as usize];
            let flow = &mut flows[slot as usize];
            let sent = u128::from(before) * u128::from(now.since(flow.since).0);
            flow.left = flow.left.saturating_sub(sent);
            flow.since = now;
            fresh.push(slot);
            *rate_changes += 1;
        });
        for slot in fresh.drain(..) {
            let flow = &mut flows[slot as usize];
            flow.told = flow.told.wrapping_add(1);
            let end = now + time_for(flow.left, fluid.rate(flow.number));
            events.push(end, Kind::Drained(flow.told), 0, slot);
        }
    }
}
