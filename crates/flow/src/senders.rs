//! Host ports: the concurrent flows of a port share it evenly, frame by frame.
//!
//! A flow ends when the port has served each of its flows a certain number of bytes. So a flow is processed
//! only when it starts and when it ends, however many others start and end. Flows that would end together end
//! one frame after the other, in the order of the schedule, as with round-robin service.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{Instant, Span};

/// Fractional bits of bytes.
const BYTE_BITS: u32 = 20;
/// [2^-16 bit/s x ps] of 2^-20 byte.
const WORK_OF_PART: u128 = 1_000_000_000_000 / 2;

/// Capacity for flows that is retained when there are none.
const FLOWS_KEPT: usize = 64;

/// A flow at a port, ordered by its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flow {
    /// Bytes that the port has served each flow when this one ends [2^-20 byte].
    end: u64,
    chunk: u32,
    slot: u32,
}

/// Flows that end together, one frame after the other.
#[derive(Default)]
struct LastRound {
    /// Flows that have not ended yet.
    slots: VecDeque<u32>,
    /// All flows: those that have ended keep their share until the round is over.
    count: u64,
    begun: Instant,
    span: Span,
}

impl LastRound {
    /// When the next one ends.
    fn next(&self) -> Option<Instant> {
        let left = self.slots.len() as u64;
        let place = u128::from(self.count - left + 1);
        let span = u128::from(self.span.0) * place / u128::from(self.count.max(1));
        (left > 0).then(|| self.begun + Span(span as u64))
    }
}

/// The port of a sending host.
#[derive(Default)]
pub(crate) struct Sender {
    /// Bytes served, at `since`, to each flow that has been active all the time [2^-20 byte].
    given: u64,
    since: Instant,
    /// [2^-16 bit/s].
    rate: u64,
    sharing: u64,
    flows: BinaryHeap<Reverse<Flow>>,
    last: LastRound,
    /// Chunk, slot and bytes of flows that start after the round.
    entering: Vec<(u32, u32, u64)>,
}

impl Sender {
    /// Starts a flow of `wire_bytes`.
    pub(crate) fn begin(&mut self, now: Instant, (chunk, slot): (u32, u32), wire_bytes: u64) {
        self.advance(now);
        match self.last.slots.is_empty() {
            true => self.enter((chunk, slot), wire_bytes),
            false => self.entering.push((chunk, slot, wire_bytes)),
        }
    }

    fn enter(&mut self, (chunk, slot): (u32, u32), wire_bytes: u64) {
        self.sharing += 1;
        self.flows.push(Reverse(Flow { end: self.given + (wire_bytes << BYTE_BITS), chunk, slot }));
    }

    /// Changes the rate [2^-16 bit/s].
    pub(crate) fn set_rate(&mut self, now: Instant, rate: u64) {
        self.advance(now);
        self.rate = rate;
    }

    /// Delays its flows by `span` for traffic with priority; returns whether there are any.
    pub(crate) fn yields(&mut self, now: Instant, span: Span) -> bool {
        self.advance(now);
        let sends = self.sharing > 0;
        if sends {
            self.since += span;
            self.last.begun += span;
        }
        sends
    }

    /// Number of flows that share the port.
    pub(crate) const fn sharing(&self) -> u64 {
        self.sharing
    }

    /// Slots of flows still being sent.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        let others = self.last.slots.iter().copied().chain(self.entering.iter().map(|flow| flow.1));
        self.flows.iter().map(|flow| flow.0.slot).chain(others)
    }

    /// Removes the flow that has sent its last frame at `now`, if there is one.
    pub(crate) fn take_ended(&mut self, now: Instant, frame_bytes: u64) -> Option<u32> {
        self.advance(now);
        if self.last.slots.is_empty() {
            self.end_round();
            if self.last_round(now, frame_bytes) == Some(now) {
                self.begin_last_round(now);
            }
        }
        self.last.next().filter(|&at| at <= now)?;
        self.last.slots.pop_front()
    }

    /// Redistributes the shares of ended flows once the round is over. Returns when the port must be
    /// processed next; `frame_bytes`: bytes for which a frame occupies the link.
    pub(crate) fn settle(&mut self, now: Instant, frame_bytes: u64) -> Option<Instant> {
        if let Some(at) = self.last.next() {
            return Some(at);
        }
        self.advance(now);
        self.end_round();
        self.last_round(now, frame_bytes)
    }

    /// Redistributes the shares of ended flows, and starts flows that arrived during the round.
    fn end_round(&mut self) {
        self.sharing -= std::mem::take(&mut self.last.count);
        if self.flows.is_empty() {
            self.given = 0;
        }
        for (chunk, slot, wire_bytes) in std::mem::take(&mut self.entering) {
            self.enter((chunk, slot), wire_bytes);
        }
    }

    /// When the last round begins for the flow that ends next.
    fn last_round(&self, now: Instant, frame_bytes: u64) -> Option<Instant> {
        let next = self.flows.peek()?.0;
        self.when_given(now, next.end.saturating_sub(frame_bytes << BYTE_BITS))
    }

    /// Starts the last round of the flows that end next, together.
    fn begin_last_round(&mut self, now: Instant) {
        let Some(&Reverse(first)) = self.flows.peek() else { return };
        let over = self.when_given(now, first.end).unwrap_or(now);
        while self.flows.peek().is_some_and(|flow| flow.0.end <= first.end) {
            self.last.slots.extend(self.flows.pop().map(|flow| flow.0.slot));
        }
        if self.flows.is_empty() {
            self.flows.shrink_to(FLOWS_KEPT);
        }
        let count = self.last.slots.len() as u64;
        self.last = LastRound {
            count,
            begun: now,
            span: over.since(now),
            slots: std::mem::take(&mut self.last.slots),
        };
    }

    /// When it has served each flow `end`; `None` if it sends nothing.
    fn when_given(&self, now: Instant, end: u64) -> Option<Instant> {
        let work = u128::from(end.saturating_sub(self.given)) * u128::from(self.sharing) * WORK_OF_PART;
        let rate = u128::from(self.rate);
        let start = now.max(self.since);
        (rate > 0).then(|| start + Span(u64::try_from((work + rate / 2) / rate).unwrap_or(u64::MAX)))
    }

    fn advance(&mut self, now: Instant) {
        if now <= self.since {
            return;
        }
        let span = now.since(std::mem::replace(&mut self.since, now)).0;
        if self.sharing > 0 {
            let work = u128::from(self.rate) * u128::from(span);
            self.given += (work / (u128::from(self.sharing) * WORK_OF_PART)) as u64;
        }
    }
}
