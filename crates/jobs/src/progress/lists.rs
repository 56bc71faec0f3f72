//! State of each transfer that starts or ends at a place: unfinished parts, dependencies, rank. A run may
//! have a million transfers, so values that are equal for all, or that the schedule computes, are not stored.

use super::plan::{InboundPlan, InboundTimes, OutgoingPlan, OutgoingTimes, ProgressPlan};
use engine::prefetch::prefetch;
use std::sync::Arc;
use units::{Instant, TransferId};
use workload::{Message, RankTimes, Schedule};

/// Times around each transfer of a schedule, and its type; none if they need none.
fn rank_times(schedule: &Schedule) -> impl Iterator<Item = (RankTimes, Message)> {
    let count = if schedule.has_rank_times() { schedule.transfers().len() } else { 0 };
    (0..count).map(TransferId::from_index).map(|id| (schedule.rank_times(id), schedule.message(id)))
}

/// The transfers that start at a place.
#[derive(Debug)]
pub(super) struct Outgoing {
    count: u32,
    processes: Processes,
    parts: PartsLeft,
    /// Number of events for which each waits: transfers that have not arrived, and its predecessor, if its
    /// rank has one transfer in progress at a time. Empty if none waits.
    waits_for: Box<[u32]>,
    /// One past the transfer that waits for the acknowledgement of each, 0 if none does. Empty if none does
    /// for any.
    next: Box<[u32]>,
    /// Times before the post of each; empty if none needs any.
    times: Box<[OutgoingTimes]>,
    /// Earliest post of each in this phase; empty if none needs time before it.
    earliest: Box<[Instant]>,
}

impl Outgoing {
    pub(super) fn new(plan: &ProgressPlan) -> Self {
        let ProgressPlan { outgoing, successors, split, .. } = plan;
        let next = |outgoing: OutgoingPlan| outgoing.next.map_or(0, |next| next + 1);
        let is_blocking = outgoing.any(|outgoing| outgoing.next.is_some());
        let waits = is_blocking || !successors.is_empty();
        let takes_time = outgoing.any(|outgoing| outgoing.times != OutgoingTimes::default());
        Self {
            count: outgoing.count(),
            processes: Processes::new(plan.processes, outgoing.iter().map(|outgoing| outgoing.process)),
            parts: PartsLeft::new(*split, outgoing.count()),
            waits_for: vec![0; if waits { outgoing.count() as usize } else { 0 }].into(),
            next: if is_blocking { outgoing.iter().map(next).collect() } else { Box::default() },
            earliest: vec![Instant::default(); if takes_time { outgoing.count() as usize } else { 0 }].into(),
            times: match takes_time {
                true => outgoing.iter().map(|outgoing| outgoing.times).collect(),
                false => Box::default(),
            },
        }
    }

    /// The transfers of a schedule, each with its number; `next` is that of [`blocking_order`].
    ///
    /// [`blocking_order`]: super::places::blocking_order
    pub(super) fn of_schedule(schedule: &Arc<Schedule>, split: u32, next: Vec<u32>) -> Self {
        let count = schedule.transfers().len();
        Self {
            count: count as u32,
            processes: Processes::OfSchedule(Arc::clone(schedule)),
            parts: PartsLeft::new(split, count as u32),
            waits_for: vec![0; count].into(),
            next: next.into(),
            earliest: rank_times(schedule).map(|_| Instant::default()).collect(),
            times: rank_times(schedule).map(|(times, message)| OutgoingTimes::of(times, message)).collect(),
        }
    }

    /// The independent transfers of a schedule, which are not counted.
    pub(super) fn uncounted(schedule: &Arc<Schedule>) -> Self {
        Self {
            count: 0,
            processes: Processes::OfSchedule(Arc::clone(schedule)),
            parts: PartsLeft::new(1, 0),
            waits_for: Box::default(),
            next: Box::default(),
            times: Box::default(),
            earliest: Box::default(),
        }
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// No list is in use: each transfer has one part, there is one rank, and none waits.
    pub(super) fn are_uniform(&self) -> bool {
        self.processes.is_one()
            && self.parts.0.is_empty()
            && self.waits_for.is_empty()
            && self.times.is_empty()
    }

    /// Whether transfers take time before their post.
    pub(super) const fn take_time(&self) -> bool {
        !self.times.is_empty()
    }

    /// Earliest post of a transfer that may start at `now`.
    #[inline]
    pub(super) fn earliest(&self, outgoing: u32, now: Instant) -> Instant {
        self.earliest.get(outgoing as usize).map_or(now, |earliest| now.max(*earliest))
    }

    /// Whether a transfer clears a buffer, which costs the software no time.
    #[inline]
    pub(super) fn is_clearance(&self, outgoing: u32) -> bool {
        self.times.get(outgoing as usize).is_some_and(|times| times.is_clearance)
    }

    /// The data that a transfer forwards is there at `now`, or its phase starts.
    #[inline]
    pub(super) fn note_data(&mut self, outgoing: u32, now: Instant) {
        if let Some(times) = self.times.get(outgoing as usize) {
            self.earliest[outgoing as usize] = now + times.before;
        }
    }

    /// The rank of a transfer.
    #[inline]
    pub(super) fn process_of(&self, outgoing: u32) -> u32 {
        self.processes.of(outgoing, |schedule, id| schedule.transfer(id).src.0)
    }

    /// Prefetches the state for an acknowledgement of a transfer.
    #[inline]
    pub(super) fn prefetch(&self, outgoing: usize) {
        prefetch(&self.parts.0, outgoing);
        prefetch(&self.next, outgoing);
    }

    /// A phase starts: none of the `split` parts of the transfer is acknowledged, and it waits for nothing
    /// yet.
    pub(super) fn arm(&mut self, outgoing: u32, split: u32) {
        self.parts.arm(outgoing, split);
        if let Some(waits_for) = self.waits_for.get_mut(outgoing as usize) {
            *waits_for = 0;
        }
    }

    /// The transfer that waits for the acknowledgement of `outgoing`.
    #[inline]
    pub(super) fn next(&self, outgoing: u32) -> Option<u32> {
        self.next.get(outgoing as usize)?.checked_sub(1)
    }

    /// Adds an event for which a transfer waits.
    pub(super) fn wait(&mut self, outgoing: u32) {
        self.waits_for[outgoing as usize] += 1;
    }

    /// Number of events for which a transfer waits.
    pub(super) fn waits_for(&self, outgoing: u32) -> u32 {
        self.waits_for.get(outgoing as usize).copied().unwrap_or(0)
    }

    /// An event for which a transfer waits has occurred; returns true for the last.
    #[inline]
    pub(super) fn release(&mut self, outgoing: u32) -> bool {
        let waits_for = &mut self.waits_for[outgoing as usize];
        *waits_for -= 1;
        *waits_for == 0
    }

    /// One part of a transfer is done; returns true for the last.
    #[inline]
    pub(super) fn take_part(&mut self, outgoing: u32) -> bool {
        self.parts.take(outgoing)
    }
}

/// The transfers that end at a place.
#[derive(Debug)]
pub(super) struct Inbound {
    count: u32,
    processes: Processes,
    parts: PartsLeft,
    successors: Successors,
    /// Times after the arrival of each; empty if none needs any.
    times: Box<[InboundTimes]>,
}

impl Inbound {
    pub(super) fn new(plan: &ProgressPlan) -> Self {
        let ProgressPlan { inbound, split, .. } = plan;
        Self {
            count: inbound.count(),
            processes: Processes::new(plan.processes, inbound.iter().map(|inbound| inbound.process)),
            parts: PartsLeft::new(*split, inbound.count()),
            successors: Successors::new(plan),
            times: match inbound.any(|inbound| inbound.times != InboundTimes::default()) {
                true => inbound.iter().map(|inbound| inbound.times).collect(),
                false => Box::default(),
            },
        }
    }

    /// The transfers of a schedule, each with its number.
    pub(super) fn of_schedule(schedule: &Arc<Schedule>, split: u32) -> Self {
        let count = schedule.transfers().len() as u32;
        Self {
            count,
            processes: Processes::OfSchedule(Arc::clone(schedule)),
            parts: PartsLeft::new(split, count),
            successors: Successors::OfSchedule(Arc::clone(schedule)),
            times: rank_times(schedule).map(|(times, message)| InboundTimes::of(times, message)).collect(),
        }
    }

    /// The independent transfers of a schedule, which are not counted.
    pub(super) fn uncounted(schedule: &Arc<Schedule>) -> Self {
        Self {
            count: 0,
            processes: Processes::OfSchedule(Arc::clone(schedule)),
            parts: PartsLeft::new(1, 0),
            successors: Successors::Ahead { count: 0, ahead: 0 },
            times: Box::default(),
        }
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// No list is in use: each transfer has one part, there is one rank, and no transfer waits for any.
    pub(super) fn are_uniform(&self) -> bool {
        self.processes.is_one()
            && self.parts.0.is_empty()
            && self.successors.are_none()
            && self.times.is_empty()
    }

    /// Whether transfers take time after their arrival.
    pub(super) const fn take_time(&self) -> bool {
        !self.times.is_empty()
    }

    /// Times after the arrival of a transfer.
    #[inline]
    pub(super) fn times(&self, inbound: u32) -> InboundTimes {
        self.times.get(inbound as usize).copied().unwrap_or_default()
    }

    /// The rank of a transfer.
    #[inline]
    pub(super) fn process_of(&self, inbound: u32) -> u32 {
        self.processes.of(inbound, |schedule, id| schedule.transfer(id).dst.0)
    }

    /// Prefetches the state for the arrival of a transfer.
    #[inline]
    pub(super) fn prefetch(&self, inbound: usize) {
        prefetch(&self.parts.0, inbound);
        self.successors.prefetch(inbound);
    }

    /// A phase starts: none of the `split` parts of the transfer has arrived.
    pub(super) fn arm(&mut self, inbound: u32, split: u32) {
        self.parts.arm(inbound, split);
    }

    /// Calls `visit` for each outgoing transfer that waits for `inbound`.
    #[inline]
    pub(super) fn each_successor(&self, inbound: u32, visit: impl FnMut(u32)) {
        self.successors.each(inbound, visit);
    }

    /// One part of a transfer is done; returns true for the last.
    #[inline]
    pub(super) fn take_part(&mut self, inbound: u32) -> bool {
        self.parts.take(inbound)
    }
}

/// Outgoing transfers that wait for each inbound one.
#[derive(Debug)]
enum Successors {
    /// Each of the first `count` has one successor, numbered `ahead` higher; the others have none.
    Ahead { count: u32, ahead: u32 },
    /// Range in the second list of those that wait for each: first, and number.
    Listed(Box<[(u32, u32)]>, Box<[u32]>),
    /// Those of the schedule: transfers have its numbers.
    OfSchedule(Arc<Schedule>),
}

impl Successors {
    fn new(plan: &ProgressPlan) -> Self {
        let ProgressPlan { inbound, successors, .. } = plan;
        let (count, ahead) = (successors.len() as u32, successors.first().copied().unwrap_or(0));
        let waiting = |inbound: InboundPlan| inbound.successors;
        let one_each = (0..).zip(inbound.iter().map(waiting)).all(|(number, waiting)| match number < count {
            true => waiting == (number, 1),
            false => waiting.1 == 0,
        });
        if one_each && (ahead..).zip(successors).all(|(expected, &successor)| successor == expected) {
            return Self::Ahead { count, ahead };
        }
        Self::Listed(inbound.iter().map(waiting).collect(), successors.as_slice().into())
    }

    /// No transfer waits for any.
    const fn are_none(&self) -> bool {
        matches!(self, Self::Ahead { count: 0, .. })
    }

    #[inline]
    fn each(&self, inbound: u32, mut visit: impl FnMut(u32)) {
        match self {
            Self::Ahead { count, ahead } => {
                if inbound < *count {
                    visit(inbound + ahead);
                }
            }
            Self::Listed(waiting, successors) => {
                let (first, count) = waiting[inbound as usize];
                successors[first as usize..][..count as usize].iter().copied().for_each(visit);
            }
            Self::OfSchedule(schedule) => {
                schedule.successors(TransferId(inbound)).for_each(|next| visit(next.0));
            }
        }
    }

    #[inline]
    fn prefetch(&self, inbound: usize) {
        if let Self::Listed(waiting, _) = self {
            prefetch(waiting, inbound);
        }
    }
}

/// The rank of each transfer, among those of the place.
#[derive(Debug)]
enum Processes {
    /// By transfer; empty if there is one rank.
    Listed(Box<[u32]>),
    /// Transfers and ranks have the numbers of the schedule.
    OfSchedule(Arc<Schedule>),
}

impl Processes {
    fn new(processes: u32, of_each: impl Iterator<Item = u32>) -> Self {
        Self::Listed(if processes > 1 { of_each.collect() } else { Box::default() })
    }

    /// Whether there is one rank.
    fn is_one(&self) -> bool {
        matches!(self, Self::Listed(ranks) if ranks.is_empty())
    }

    #[inline]
    fn of(&self, transfer: u32, in_schedule: impl Fn(&Schedule, TransferId) -> u32) -> u32 {
        match self {
            Self::Listed(ranks) => ranks.get(transfer as usize).copied().unwrap_or(0),
            Self::OfSchedule(schedule) => in_schedule(schedule, TransferId(transfer)),
        }
    }
}

/// Unfinished parts of each transfer in this phase; empty if each has one part.
#[derive(Debug)]
struct PartsLeft(Box<[u32]>);

impl PartsLeft {
    fn new(split: u32, transfers: u32) -> Self {
        Self(vec![0; if split > 1 { transfers as usize } else { 0 }].into())
    }

    fn arm(&mut self, transfer: u32, split: u32) {
        if let Some(left) = self.0.get_mut(transfer as usize) {
            *left = split;
        }
    }

    #[inline]
    fn take(&mut self, transfer: u32) -> bool {
        self.0.get_mut(transfer as usize).is_none_or(|left| {
            *left -= 1;
            *left == 0
        })
    }
}
