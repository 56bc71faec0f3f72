//! Port of a sending host whose flows do not react to congestion: they share it evenly, frame by frame.
//!
//! A flow ends when the port has served each of its flows a certain number of bytes. So a flow is processed
//! only when it starts and when it ends, however many others start and end. Flows that would end together end
//! one frame after the other, in the order of the schedule, as with round-robin service: their last round.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{Instant, Span};

/// Fractional bits of bytes.
const BYTE_BITS: u32 = 20;
/// [2^-16 bit/s x ps] of 2^-20 byte.
const WORK_OF_UNIT: u128 = 1_000_000_000_000 / 2;

/// Capacity for flows that is retained when there are none.
const FLOWS_CAPACITY_MIN: usize = 64;

/// A flow to start.
#[derive(Clone, Copy)]
pub(crate) struct NewFlow {
    pub(crate) chunk: u32,
    pub(crate) slot: u32,
    /// Bytes for which it occupies the link.
    pub(crate) wire_bytes: u64,
}

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
    flow_count: u64,
    start: Instant,
    span: Span,
}

impl LastRound {
    /// When the next one ends.
    fn next(&self) -> Option<Instant> {
        let left = self.slots.len() as u64;
        let turn_index = u128::from(self.flow_count - left + 1);
        let span = u128::from(self.span.0) * turn_index / u128::from(self.flow_count.max(1));
        (left > 0).then(|| self.start + Span(span as u64))
    }
}

/// The port of a sending host.
#[derive(Default)]
pub(crate) struct SenderPort {
    /// Bytes served, at `since`, to each flow that has been active all the time [2^-20 byte].
    served: u64,
    since: Instant,
    /// [2^-16 bit/s].
    rate: u64,
    flow_count: u64,
    flows: BinaryHeap<Reverse<Flow>>,
    last_round: LastRound,
    /// Flows that start after the last round.
    waiting: Vec<NewFlow>,
}

impl SenderPort {
    /// Starts a flow.
    pub(crate) fn begin(&mut self, now: Instant, flow: NewFlow) {
        self.advance(now);
        match self.last_round.slots.is_empty() {
            true => self.add(flow),
            false => self.waiting.push(flow),
        }
    }

    fn add(&mut self, NewFlow { chunk, slot, wire_bytes }: NewFlow) {
        self.flow_count += 1;
        self.flows.push(Reverse(Flow { end: self.served + (wire_bytes << BYTE_BITS), chunk, slot }));
    }

    /// Changes the rate [2^-16 bit/s].
    pub(crate) fn set_rate(&mut self, now: Instant, rate: u64) {
        self.advance(now);
        self.rate = rate;
    }

    /// Delays its flows by `span` for traffic with priority; returns whether there are any.
    pub(crate) fn delay(&mut self, now: Instant, span: Span) -> bool {
        self.advance(now);
        let is_sending = self.flow_count > 0;
        if is_sending {
            self.since += span;
            self.last_round.start += span;
        }
        is_sending
    }

    /// Number of flows that share the port.
    pub(crate) const fn flow_count(&self) -> u64 {
        self.flow_count
    }

    /// Slots of flows still being sent.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        let others = self.last_round.slots.iter().copied().chain(self.waiting.iter().map(|flow| flow.slot));
        self.flows.iter().map(|flow| flow.0.slot).chain(others)
    }

    /// Removes the flow that has sent its last frame at `now`, if there is one.
    pub(crate) fn pop_ended(&mut self, now: Instant, frame_bytes: u64) -> Option<u32> {
        self.advance(now);
        if self.last_round.slots.is_empty() {
            self.end_round();
            if self.last_round_at(now, frame_bytes) == Some(now) {
                self.start_last_round(now);
            }
        }
        self.last_round.next().filter(|&at| at <= now)?;
        self.last_round.slots.pop_front()
    }

    /// Redistributes the shares of ended flows once the round is over. Returns when the port must be
    /// processed next; `frame_bytes`: bytes for which a frame occupies the link.
    pub(crate) fn recompute(&mut self, now: Instant, frame_bytes: u64) -> Option<Instant> {
        if let Some(at) = self.last_round.next() {
            return Some(at);
        }
        self.advance(now);
        self.end_round();
        self.last_round_at(now, frame_bytes)
    }

    /// Redistributes the shares of ended flows, and starts flows that arrived during the round.
    fn end_round(&mut self) {
        self.flow_count -= std::mem::take(&mut self.last_round.flow_count);
        if self.flows.is_empty() {
            self.served = 0;
        }
        for flow in std::mem::take(&mut self.waiting) {
            self.add(flow);
        }
    }

    /// When the last round begins for the flow that ends next.
    fn last_round_at(&self, now: Instant, frame_bytes: u64) -> Option<Instant> {
        let next = self.flows.peek()?.0;
        self.served_at(now, next.end.saturating_sub(frame_bytes << BYTE_BITS))
    }

    /// Starts the last round of the flows that end next, together.
    fn start_last_round(&mut self, now: Instant) {
        let Some(&Reverse(first)) = self.flows.peek() else { return };
        let end = self.served_at(now, first.end).unwrap_or(now);
        while self.flows.peek().is_some_and(|flow| flow.0.end <= first.end) {
            self.last_round.slots.extend(self.flows.pop().map(|flow| flow.0.slot));
        }
        if self.flows.is_empty() {
            self.flows.shrink_to(FLOWS_CAPACITY_MIN);
        }
        let flow_count = self.last_round.slots.len() as u64;
        self.last_round = LastRound {
            flow_count,
            start: now,
            span: end.since(now),
            slots: std::mem::take(&mut self.last_round.slots),
        };
    }

    /// When it has served each flow `end`; `None` if it sends nothing.
    fn served_at(&self, now: Instant, end: u64) -> Option<Instant> {
        let work = u128::from(end.saturating_sub(self.served)) * u128::from(self.flow_count) * WORK_OF_UNIT;
        let rate = u128::from(self.rate);
        let start = now.max(self.since);
        (rate > 0).then(|| start + Span(u64::try_from((work + rate / 2) / rate).unwrap_or(u64::MAX)))
    }

    fn advance(&mut self, now: Instant) {
        if now <= self.since {
            return;
        }
        let span = now.since(std::mem::replace(&mut self.since, now)).0;
        if self.flow_count > 0 {
            let work = u128::from(self.rate) * u128::from(span);
            self.served += (work / (u128::from(self.flow_count) * WORK_OF_UNIT)) as u64;
        }
    }
}
